#include "cuda_cpu/exec/fibre.h"

#if defined(__x86_64__)

/* The callee must preserve rbx, rbp and r12 to r15; the return address is already on the stack. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl fibre_switch\n"
        ".hidden fibre_switch\n"
        ".type fibre_switch, @function\n"
        "fibre_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fibre_switch, .-fibre_switch\n"
        ".type fibre_start, @function\n"
        "fibre_start:\n"
        "    movq %r12, %rdi\n"
        "    callq *%rbx\n"
        "    ud2\n"
        ".size fibre_start, .-fibre_start\n");

extern void fibre_start(void) __asm__("fibre_start");

void *fibre_prepare(uint64_t low, uint64_t high, void (*run)(void *argument), void *argument)
{
    uint64_t *top = (uint64_t *)(uintptr_t)(high & ~UINT64_C(15));

    (void)low;
    *--top = 0;
    *--top = 0;
    *--top = (uint64_t)(uintptr_t)fibre_start; /* popped by ret: the stack is then aligned as before a call */
    *--top = 0;                                /* rbp */
    *--top = (uint64_t)(uintptr_t)run;         /* rbx */
    *--top = (uint64_t)(uintptr_t)argument;    /* r12 */
    *--top = 0;
    *--top = 0;
    *--top = 0;
    return top;
}

#elif defined(__aarch64__)

/* The callee must preserve x19 to x30 and d8 to d15. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl fibre_switch\n"
        ".hidden fibre_switch\n"
        ".type fibre_switch, %function\n"
        "fibre_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size fibre_switch, .-fibre_switch\n"
        ".type fibre_start, %function\n"
        "fibre_start:\n"
        "    mov x0, x20\n"
        "    blr x19\n"
        "    brk #0\n"
        ".size fibre_start, .-fibre_start\n");

extern void fibre_start(void) __asm__("fibre_start");

void *fibre_prepare(uint64_t low, uint64_t high, void (*run)(void *argument), void *argument)
{
    uint64_t *top = (uint64_t *)(uintptr_t)(high & ~UINT64_C(15)) - 20;

    (void)low;
    for (unsigned i = 0; i < 20; i++)
        top[i] = 0;
    top[0] = (uint64_t)(uintptr_t)run;
    top[1] = (uint64_t)(uintptr_t)argument;
    top[11] = (uint64_t)(uintptr_t)fibre_start;
    return top;
}

#else

/* Any other processor: the C library's contexts, kept at the top of each stack. */
#include <ucontext.h>

void fibre_switch(void **save, void *other)
{
    ucontext_t here;

    *save = &here; /* cppcheck-suppress autoVariables ; it is gone only when this stack is */
    (void)swapcontext(&here, other);
}

static void start(unsigned run_high, unsigned run_low, unsigned argument_high, unsigned argument_low)
{
    void (*run)(void *) = (void (*)(void *))(uintptr_t)((uint64_t)run_high << 32 | run_low);

    run((void *)(uintptr_t)((uint64_t)argument_high << 32 | argument_low));
}

void *fibre_prepare(uint64_t low, uint64_t high, void (*run)(void *argument), void *argument)
{
    uint64_t at = (high - sizeof(ucontext_t)) & ~UINT64_C(63);
    ucontext_t *context = (ucontext_t *)(uintptr_t)at;
    uint64_t r = (uint64_t)(uintptr_t)run;
    uint64_t a = (uint64_t)(uintptr_t)argument;

    (void)getcontext(context);
    context->uc_stack.ss_sp = (void *)(uintptr_t)low;
    context->uc_stack.ss_size = at - low;
    context->uc_link = NULL;
    makecontext(context, (void (*)(void))start, 4, (unsigned)(r >> 32), (unsigned)r, (unsigned)(a >> 32),
                (unsigned)a);
    return context;
}

#endif
