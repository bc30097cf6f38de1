/*
 * Where the stubs of libbaton-cuda.so go with calls that do not simply pass, in libbaton-layer.so:
 *   - stub_drain: waits until nothing is held back, then goes to the genuine library's function;
 *   - stub_route: hands the index and the arguments to front_call().
 * System V calling convention of x86-64: six arguments in registers, the others on the stack.
 */
#include "cuda/stub_ask.inc"

    .text

    ask     stub_drain front_drain

/* eax: the index. CUresult front_call(index, registers, stack). */
    .globl  stub_route
    .hidden stub_route
    .type   stub_route, @function
    .p2align 4
stub_route:
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
    .size   stub_route, . - stub_route

    .section .note.GNU-stack, "", @progbits
