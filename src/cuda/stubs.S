/*
 * One stub per name that libcuda.so.1 exports, and ENTRY_SPARE more for names that no table knows
 * and that cuGetProcAddress gives out. A stub loads its index (entries.h) and jumps to
 * stub_targets[index], which is
 *   - stub_first at the beginning: finds out what the target is, stores it, goes there;
 *   - the genuine library's function, for names that pass;
 *   - stub_drain: waits until nothing is held back, then goes to the genuine library's function;
 *   - stub_gate: hands the index and the arguments to front_call().
 * System V calling convention of x86-64: six arguments in registers, the others on the stack.
 */
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
    jmp     *stub_targets + 8 * index(%rip)
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
    jmp     *stub_targets + 8 * index(%rip)
    .set    index, index + 1
    .endr
    .p2align 4

/* eax: the index. Asks a function for the target and goes there, with every argument as it was. */
    .macro ask name function
    .globl  \name
    .hidden \name
    .type   \name, @function
    .p2align 4
\name:
    .cfi_startproc
    endbr64
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq    $192, %rsp
    movq    %rdi, -8(%rbp)
    movq    %rsi, -16(%rbp)
    movq    %rdx, -24(%rbp)
    movq    %rcx, -32(%rbp)
    movq    %r8, -40(%rbp)
    movq    %r9, -48(%rbp)
    movl    %eax, -56(%rbp)
    movups  %xmm0, -80(%rbp)
    movups  %xmm1, -96(%rbp)
    movups  %xmm2, -112(%rbp)
    movups  %xmm3, -128(%rbp)
    movl    %eax, %edi
    call    \function
    movq    %rax, %r11
    movq    -8(%rbp), %rdi
    movq    -16(%rbp), %rsi
    movq    -24(%rbp), %rdx
    movq    -32(%rbp), %rcx
    movq    -40(%rbp), %r8
    movq    -48(%rbp), %r9
    movl    -56(%rbp), %eax
    movups  -80(%rbp), %xmm0
    movups  -96(%rbp), %xmm1
    movups  -112(%rbp), %xmm2
    movups  -128(%rbp), %xmm3
    leave
    .cfi_def_cfa %rsp, 8
    jmp     *%r11
    .cfi_endproc
    .size   \name, . - \name
    .endm

    ask     stub_first stub_resolve
    ask     stub_drain front_drain

/* eax: the index. CUresult front_call(index, registers, stack). */
    .globl  stub_gate
    .hidden stub_gate
    .type   stub_gate, @function
    .p2align 4
stub_gate:
    .cfi_startproc
    endbr64
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq    $48, %rsp
    movq    %rdi, (%rsp)
    movq    %rsi, 8(%rsp)
    movq    %rdx, 16(%rsp)
    movq    %rcx, 24(%rsp)
    movq    %r8, 32(%rsp)
    movq    %r9, 40(%rsp)
    movl    %eax, %edi
    movq    %rsp, %rsi
    leaq    16(%rbp), %rdx
    call    front_call
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size   stub_gate, . - stub_gate

    .section .data.rel, "aw", @progbits
    .globl  stub_targets
    .hidden stub_targets
    .type   stub_targets, @object
    .p2align 3
stub_targets:
    .rept   index
    .quad   stub_first
    .endr
    .size   stub_targets, . - stub_targets

    .section .note.GNU-stack, "", @progbits
