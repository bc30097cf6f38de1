/* The one state of the library that runs PTX on the CPU. */
#ifndef CUDA_CPU_DEVICE_STATE_H
#define CUDA_CPU_DEVICE_STATE_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { DEVICE_SIGNALS = 4 }; /* signals that a kernel's fault raises */

struct device_state {
    pthread_mutex_t lock;                    /* guards `before` */
    struct sigaction before[DEVICE_SIGNALS]; /* what the program had installed (exec/fault.c) */
    atomic_uint n_loaded;                    /* images that were loaded (compile.c) */
};

extern struct device_state device_state __attribute__((visibility("hidden")));

#endif
