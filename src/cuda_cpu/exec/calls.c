/* The functions that generated code calls. */
#include "cuda_cpu/exec/exec.h"
#include "cuda_cpu/image_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An address outside of the space, or misaligned. Registered memory of the host is allowed. */
EXEC_PLAIN static void bad_access(struct device_thread *t, uint64_t address, uint64_t size, uint32_t line)
{
    const struct launch_calls *calls = &exec_worker(t)->launch->calls;

    exec_enter_library(t);
    if (address % size)
        exec_fail(t, CPU_MISALIGNED, address, line, "an access of %llu bytes to 0x%llx (line %u of the PTX)",
                  (unsigned long long)size, (unsigned long long)address, line);
    if (!calls->may_access || !calls->may_access(calls->context, address, size, true))
        exec_fail(t, CPU_ILLEGAL_ADDRESS, address, line,
                  "an access of %llu bytes to 0x%llx (line %u of the PTX)", (unsigned long long)size,
                  (unsigned long long)address, line);
    exec_leave_library(t);
}

EXEC_PLAIN EXEC_DOES_NOT_RETURN static void fault(struct device_thread *t, uint32_t kind, uint32_t line)
{
    exec_enter_library(t);
    if (kind == DEVICE_TRAP)
        exec_fail(t, CPU_TRAP, 0, line, "the kernel executed trap (line %u of the PTX)", line);
    exec_fail(t, CPU_ILLEGAL_INSTRUCTION, 0, line, "a call or branch to what is none (line %u of the PTX)",
              line);
}

EXEC_PLAIN static void check_function(struct device_thread *t, uint64_t address, uint64_t shape,
                                      uint32_t line)
{
    const struct device_code *code = exec_worker(t)->launch->image->code;

    for (uint32_t i = 0; i < code->n_functions; i++)
        if (code->functions[i].address == address && code->functions[i].shape == shape)
            return;
    exec_enter_library(t);
    exec_fail(t, CPU_ILLEGAL_INSTRUCTION, address, line,
              "an indirect call to 0x%llx, which is no function of this shape", (unsigned long long)address);
}

EXEC_PLAIN static void pause_for(struct device_thread *t, uint32_t nanoseconds)
{
    struct timespec duration = {.tv_nsec = nanoseconds > 1000000 ? 1000000 : (long)nanoseconds};

    exec_enter_library(t);
    if (exec_worker(t)->current) { /* other threads may run meanwhile */
        exec_leave_library(t);
        exec_yield(t);
        return;
    }
    (void)nanosleep(&duration, NULL);
    exec_leave_library(t);
}

EXEC_PLAIN static uint64_t ticks(struct device_thread *t)
{
    struct timespec now;

    exec_enter_library(t);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    exec_leave_library(t);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

EXEC_PLAIN static uint64_t global_time(struct device_thread *t)
{
    const struct launch_calls *calls = &exec_worker(t)->launch->calls;
    struct timespec now;
    uint64_t time;

    exec_enter_library(t);
    if (calls->global_time) {
        time = calls->global_time(calls->context);
    } else {
        (void)clock_gettime(CLOCK_REALTIME, &now);
        time = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    }
    exec_leave_library(t);
    return time;
}

/* The heap of device code: each allocation is a block of the space, so a stray access faults. */
EXEC_PLAIN static uint64_t allocate(struct device_thread *t, uint64_t size)
{
    struct worker *worker = exec_worker(t);
    uint64_t limit = worker->launch->heap_bytes ? worker->launch->heap_bytes : 8 << 20;
    uint64_t address = 0;

    exec_enter_library(t);
    if (size && size <= limit && worker->heap_used <= limit - size &&
        space_allocate(worker->space, size, 16, worker, &address) == 0)
        worker->heap_used += size;
    exec_leave_library(t);
    return address;
}

EXEC_PLAIN static void release(struct device_thread *t, uint64_t address)
{
    struct worker *worker = exec_worker(t);
    struct space_block block;

    exec_enter_library(t);
    if (address) {
        if (!space_find(worker->space, address, &block) || block.address != address || block.owner != worker)
            exec_fail(t, CPU_ILLEGAL_ADDRESS, address, 0, "free of 0x%llx, which malloc did not return",
                      (unsigned long long)address);
        worker->heap_used -= block.size < worker->heap_used ? block.size : worker->heap_used;
        (void)space_release(worker->space, address);
    }
    exec_leave_library(t);
}

const struct device_calls exec_calls = {
    .bad_access = bad_access,
    .fault = fault,
    .exit = exec_exit,
    .barrier = exec_barrier,
    .collective = exec_collective,
    .yield = exec_yield,
    .sleep = pause_for,
    .print = exec_print,
    .assertion = exec_assertion,
    .allocate = allocate,
    .release = release,
    .texture = exec_texture,
    .surface = exec_surface,
    .query = exec_query,
    .check_function = check_function,
    .clock = ticks,
    .global_time = global_time,
};
