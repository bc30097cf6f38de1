/*
 * Lengths of operations by script, for tests:
 * BATON_CUDA_CPU_TIMES="block:1000,in:300000,out:200000" makes a launch take 1 us for each of its
 * blocks, a copy in 300 us and a copy out 200 us, in nanoseconds of CLOCK_MONOTONIC from the
 * operation's begin. What an operation does takes no longer than without the script, and its engine
 * is held for the rest. So lengths do not depend on
 * the machine, and under a clock that a test moves they are exact. No thread of the driver waits
 * awake then: each look at such a clock may move it.
 *
 * Kernels still compute, but their device is not a core any more: it has the PCI address of a GPU.
 */
#ifndef CUDA_CPU_DRIVER_SCRIPTED_H
#define CUDA_CPU_DRIVER_SCRIPTED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"

enum scripted_kind { SCRIPTED_BLOCK, SCRIPTED_IN, SCRIPTED_OUT, SCRIPTED_KINDS };

/* The script, read once. */
struct driver_script {
    pthread_once_t once;
    bool any;
    baton_nsec lengths[SCRIPTED_KINDS];
};

/* Is there a script? */
bool scripted_any(void);

/* Sleeps until n operations, or blocks, of that kind that began at begin_at are over. */
void scripted_spend(enum scripted_kind kind, uint64_t n, baton_nsec begin_at);

/* For tests: the lengths of this script. 0, or -EINVAL: malformed. */
int scripted_read(const char *script, baton_nsec ret_lengths[SCRIPTED_KINDS]);

#endif
