/*
 * libbaton-cuda.so: one stub per name that libcuda.so.1 exports, and ENTRY_SPARE more for names
 * that no table knows and that cuGetProcAddress gives out. A stub loads its index (entries.h) and
 * jumps to stubs_state.targets[index], which is
 *   - stub_first at the beginning: finds out what the target is, stores it, goes there;
 *   - the genuine library's function, for names that pass;
 *   - a target in libbaton-layer.so (stub_targets.S).
 */
#include "cuda/stub_ask.inc"

    .text

    .set index, 0

/* All stubs, 16 bytes each, in the order of their indices. */
    .globl  stub_begin
    .hidden stub_begin
    .p2align 4
stub_begin:

    .macro stub symbol
    .globl  \symbol
    .type   \symbol, @function
    .p2align 4
\symbol:
    endbr64
    movl    $index, %eax
    jmp     *stubs_state + 8 * index(%rip)
    .size   \symbol, . - \symbol
    .set    index, index + 1
    .endm

#define NAME(symbol, base, since, form) stub symbol
#include "cuda_abi/names.def"
#undef NAME
#define ROUTE(symbol, base, handler, arguments, stream)
#define DRAIN(base)
#define PASS(base)
#define EXTRA(symbol) stub symbol
#include "cuda/entries.def"

/* Names that no table knows: ENTRY_SPARE. */
    .rept   64
    .p2align 4
    endbr64
    movl    $index, %eax
    jmp     *stubs_state + 8 * index(%rip)
    .set    index, index + 1
    .endr
    .p2align 4

    ask     stub_first stub_resolve

/* struct stubs_state (stubs.c): the targets, then resolve and begun, both zero. */
    .section .data.rel, "aw", @progbits
    .globl  stubs_state
    .hidden stubs_state
    .type   stubs_state, @object
    .p2align 3
stubs_state:
    .rept   index
    .quad   stub_first
    .endr
    .quad   0, 0
    .size   stubs_state, . - stubs_state

    .section .note.GNU-stack, "", @progbits
