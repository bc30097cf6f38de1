/*
 * Lengths of operations by script, for tests.
 * BATON_CUDA_CPU_TIMES="block:1000,in:300000,out:200000" makes a launch take 1 us per block, a copy
 * in 300 us and a copy out 200 us. The numbers are nanoseconds of CLOCK_MONOTONIC from the begin of
 * the operation. The operation itself runs as without the script; its engine is held for the rest
 * of the time. So lengths do not depend on the machine, and under a test's own clock they are
 * exact. No thread of the driver spins while a script is set, because each reading may move such a
 * clock.
 *
 * Kernels still compute, but the device does not count as a core: it has the PCI address of a GPU.
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

/* Sleeps until the scripted end of n operations, or blocks, of this kind that began at begin_at. */
void scripted_spend(enum scripted_kind kind, uint64_t n, baton_nsec begin_at);

/* For tests: parses a script into lengths. 0, or -EINVAL: malformed. */
int scripted_read(const char *script, baton_nsec ret_lengths[SCRIPTED_KINDS]);

#endif
