/*
 * One small routine per entry of an OpenCL dispatch table, for x86-64. Each locks, calls the
 * driver's own function with the arguments as they came, unlocks, and returns its result. No OpenCL
 * function takes floating-point or returns more than a word, so six registers and the caller's
 * stack are all that must survive. The return address is kept by oclgrind_enter() while the
 * driver's function runs, because arguments beyond the sixth are on the stack above it.
 */
#define ENTRIES 192

    .text
    .globl oclgrind_calls
    .hidden oclgrind_calls
    .type oclgrind_calls, @function
    .balign 16
oclgrind_calls:
    .set number, 0
    .rept ENTRIES
    .balign 16
    movl $number, %eax
    jmp common
    .set number, number + 1
    .endr

    .balign 16
    .type common, @function
common:
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %rax /* the seventh: the stack is aligned for a call */
    mov 56(%rsp), %rdi
    mov %eax, %esi
    call oclgrind_enter
    mov %rax, %r11
    pop %rax
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    lea back(%rip), %rax
    mov %rax, (%rsp)
    jmp *%r11
back:
    push %rax
    sub $8, %rsp
    call oclgrind_leave
    mov %rax, %rcx
    add $8, %rsp
    pop %rax
    jmp *%rcx

    .section .note.GNU-stack,"",@progbits
