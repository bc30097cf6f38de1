/*
 * A kernel's faults. While a worker runs generated code, a SIGSEGV, SIGBUS, SIGILL or SIGFPE of its
 * thread ends the launch. Every other such signal goes to the handler that the program had
 * installed. The handler returns, but not to the kernel. It returns to a function that leaves the
 * kernel's stack for good, by switching to the launching thread's stack. So no signal handler is
 * left unfinished.
 */
#include "cuda_cpu/device_state.h"
#include "cuda_cpu/exec/exec.h"
#include "cuda_cpu/exec/fibre.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { SIGNAL_STACK = 64 * 1024 };
static const int signals[DEVICE_SIGNALS] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/* The worker that the calling thread runs: the signal handler ends its launch. */
static _Thread_local struct worker *running __attribute__((tls_model("initial-exec")));

static void describe(struct worker *worker, const struct device_thread *t)
{
    memcpy(worker->fault.block, t->ctaid, sizeof worker->fault.block);
    memcpy(worker->fault.thread, t->tid, sizeof worker->fault.thread);
}

static const struct device_thread *thread_of(const struct worker *worker)
{
    return worker->current ? &worker->current->t : &worker->plain;
}

EXEC_LEAVES EXEC_PLAIN static void leave_kernel(struct worker *worker) EXEC_DOES_NOT_RETURN;
EXEC_LEAVES EXEC_PLAIN static void leave_kernel(struct worker *worker)
{
    void *unused;

    fibre_switch(&unused, worker->host);
    __builtin_unreachable();
}

/* Is the address in the page below one of the stacks? */
static bool is_guard(const struct worker *worker, uint64_t address)
{
    for (size_t i = 0; i < worker->n_stacks; i++)
        if (address < worker->stacks[i].low && worker->stacks[i].low - address <= 4096)
            return true;
    return false;
}

static void take_fault(struct worker *worker, int number, const siginfo_t *info)
{
    uint64_t address = (uint64_t)(uintptr_t)info->si_addr;

    describe(worker, thread_of(worker));
    worker->fault.address = address;
    worker->fault.line = 0;
    if (info->si_code <= 0) {
        worker->status = CPU_ABORTED;
        (void)snprintf(worker->fault.text, sizeof worker->fault.text, "the launch was aborted");
    } else if (number == SIGILL || number == SIGFPE) {
        worker->status = CPU_ILLEGAL_INSTRUCTION;
        (void)snprintf(worker->fault.text, sizeof worker->fault.text, "the processor refused an instruction");
    } else if (is_guard(worker, address)) {
        worker->status = CPU_STACK_OVERFLOW;
        (void)snprintf(worker->fault.text, sizeof worker->fault.text, "the stack of a thread is too small");
    } else {
        worker->status = CPU_ILLEGAL_ADDRESS;
        (void)snprintf(worker->fault.text, sizeof worker->fault.text,
                       "an access to 0x%llx, where nothing is allocated", (unsigned long long)address);
    }
}

/* Handles the signal as if this library had no handler. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    struct sigaction before = {.sa_handler = SIG_DFL};

    for (unsigned i = 0; i < DEVICE_SIGNALS; i++)
        if (signals[i] == number)
            before = device_state.before[i];
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler == SIG_IGN && info->si_code <= 0) {
        return;
    } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
        before.sa_handler = SIG_DFL;
        (void)sigaction(number, &before, NULL);
        /* a signal that was sent, not caused by an instruction: returning would lose it */
        if (info->si_code <= 0)
            (void)raise(number);
    } else {
        before.sa_handler(number);
    }
}

/*
 * When the handler returns, the thread calls leave_kernel(worker) on the signal stack, because the
 * kernel's own stack may be full. False: unknown processor; the caller leaves from within the
 * handler.
 */
static bool return_elsewhere(struct worker *worker, ucontext_t *context)
{
    uint64_t top = ((uint64_t)(uintptr_t)worker->signal_stack + SIGNAL_STACK) & ~UINT64_C(15);

    if (!worker->signal_stack)
        return false;
#if defined(__x86_64__)
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)leave_kernel;
    context->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)worker;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)(top - 8); /* as behind a call */
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x400;   /* the direction flag */
    return true;
#elif defined(__aarch64__)
    context->uc_mcontext.pc = (uint64_t)(uintptr_t)leave_kernel;
    context->uc_mcontext.regs[0] = (uint64_t)(uintptr_t)worker;
    context->uc_mcontext.sp = top;
    return true;
#else
    (void)context;
    (void)top;
    return false;
#endif
}

EXEC_LEAVES static void handle(int number, siginfo_t *info, void *context)
{
    struct worker *worker = running;
    int saved = errno;

    if (worker && info->si_code <= 0 && atomic_load(&worker->received) != atomic_load(&worker->sent)) {
        atomic_fetch_add(&worker->received, 1);
        if (worker->in_library) {
            errno = saved;
            return; /* exec_leave_library() handles it */
        }
    } else if (!worker || worker->in_library || info->si_code <= 0) {
        pass_on(number, info, context);
        errno = saved;
        return;
    }
    take_fault(worker, number, info);
    worker->in_library = 1;
    errno = saved;
    if (!return_elsewhere(worker, context))
        leave_kernel(worker);
}

/* Installs our handler, over any handler that the program has installed since the last launch. */
static void install(void)
{
    (void)pthread_mutex_lock(&device_state.lock);
    for (unsigned i = 0; i < DEVICE_SIGNALS; i++) {
        struct sigaction now;

        if (sigaction(signals[i], NULL, &now) == 0 &&
            !((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle)) {
            struct sigaction own = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

            device_state.before[i] = now;
            (void)sigemptyset(&own.sa_mask);
            (void)sigaction(signals[i], &own, NULL);
        }
    }
    (void)pthread_mutex_unlock(&device_state.lock);
}

void exec_guard(struct worker *worker)
{
    stack_t own = {.ss_sp = worker->signal_stack, .ss_size = SIGNAL_STACK};
    stack_t before;

    if (!worker->signal_stack) {
        own.ss_sp = worker->signal_stack = malloc(SIGNAL_STACK);
        if (!own.ss_sp)
            return;
    }
    if (sigaltstack(NULL, &before) == 0 && before.ss_sp != own.ss_sp &&
        (before.ss_flags & SS_DISABLE || before.ss_size < SIGNAL_STACK))
        (void)sigaltstack(&own, NULL);
    install();
    running = worker;
}

void exec_unguard(struct worker *worker)
{
    stack_t now;

    running = NULL;
    if (worker->signal_stack && sigaltstack(NULL, &now) == 0 && now.ss_sp == worker->signal_stack) {
        stack_t none = {.ss_flags = SS_DISABLE};

        (void)sigaltstack(&none, NULL);
    }
}

EXEC_PLAIN void exec_enter_library(struct device_thread *t)
{
    exec_worker(t)->in_library = 1;
}

EXEC_LEAVES EXEC_PLAIN void exec_leave_library(struct device_thread *t)
{
    struct worker *worker = exec_worker(t);

    if (atomic_load_explicit(&worker->is_aborted, memory_order_relaxed))
        exec_fail(t, CPU_ABORTED, 0, 0, "the launch was aborted");
    worker->in_library = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&worker->is_aborted, memory_order_relaxed)) {
        worker->in_library = 1;
        exec_fail(t, CPU_ABORTED, 0, 0, "the launch was aborted");
    }
}

EXEC_LEAVES EXEC_PLAIN void exec_fail(struct device_thread *t, enum cpu_status status, uint64_t address,
                                      uint32_t line, const char *format, ...)
{
    struct worker *worker = exec_worker(t);
    va_list list;

    worker->in_library = 1;
    describe(worker, t);
    worker->status = status;
    worker->fault.address = address;
    worker->fault.line = line;
    va_start(list, format);
    (void)vsnprintf(worker->fault.text, sizeof worker->fault.text, format, list);
    va_end(list);
    leave_kernel(worker);
}
