/*
 * An assembler macro for x86-64 (System V): a function that a stub jumps to with its index in eax.
 * It asks a C function, void *(unsigned index), for the target and goes there, with every argument
 * as it was.
 */
#ifndef CUDA_GATE_FRAME_H
#define CUDA_GATE_FRAME_H

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

#endif
