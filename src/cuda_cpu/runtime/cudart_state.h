/* The one state of libcudart.so.13: what the process has, and what each of its threads has. */
#ifndef CUDA_CPU_RUNTIME_CUDART_STATE_H
#define CUDA_CPU_RUNTIME_CUDART_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cuda_cpu/runtime/cuda_runtime.h"

enum { CUDART_DEVICES = 64, CUDART_CONFIGURATIONS = 16 };

/* The names that the library exports, as indices. */
enum cudart_name {
#define NAME(symbol) SAID_##symbol,
#include "cuda_abi/runtime_names.def"
#undef NAME
    CUDART_NAMES
};

struct registry_symbol;

/*
 * registry.c; under the lock. Registration happens before main and at dlopen; the first look-up
 * afterwards sorts, so that look-ups can use binary search.
 */
struct cudart_registry {
    pthread_mutex_t lock;
    struct registry_symbol *symbols; /* sorted by host when `sorted` */
    size_t n, room;
    bool sorted;
    cudaError_t failure; /* of the latest kernel that a compiled file asked for and did not get */
};

struct cudart {
    pthread_mutex_t lock;
    CUcontext contexts[CUDART_DEVICES]; /* primary, retained once and kept until cudaDeviceReset; `lock` */
    struct cudart_registry registry;
    atomic_bool said[CUDART_NAMES]; /* by enum cudart_name: the user has been told that it is not supported */
};

/* The values of <<<grid, block, shared, stream>>>, until the kernel's stub takes them. */
struct configuration {
    dim3 grid, block;
    size_t shared;
    void *stream;
};

/* What the calling thread has. */
struct cudart_thread {
    int device;
    cudaError_t last;
    struct {
        struct configuration items[CUDART_CONFIGURATIONS];
        unsigned n;
    } configurations;
};

/* Hidden, so that a use needs no entry in the global offset table. */
extern struct cudart cudart __attribute__((visibility("hidden")));
extern _Thread_local struct cudart_thread cudart_thread __attribute__((visibility("hidden")));

#endif
