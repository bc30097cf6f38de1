/*
 * Failures on demand, for tests. BATON_CUDA_CPU_FAIL="cuMemAlloc_v2:2:2,cuLaunchKernel:1:719" makes
 * the second cuMemAlloc_v2 answer 2 and the first cuLaunchKernel answer 719. These calls have no
 * effect. The number 0 means every call.
 */
#ifndef CUDA_CPU_DRIVER_INJECT_H
#define CUDA_CPU_DRIVER_INJECT_H

#include <pthread.h>
#include <stddef.h>

enum { INJECT_MOST = 32 };

struct inject_rule {
    char name[64];
    unsigned long at; /* the number of the call; 0: every call */
    int code;
    unsigned long n;
};

struct driver_inject {
    pthread_mutex_t lock;
    pthread_once_t once;
    struct inject_rule rules[INJECT_MOST];
    size_t n;
};

/* Counts a call of the name. Answers the code that the call must return, or 0. */
int inject_call(const char *name);

/*
 * For tests: reads this script instead of the environment's. NULL: none. 0, or -EINVAL: malformed
 * or too long.
 */
int inject_read(const char *script);

#endif
