/*
 * Names that libcudart.so.13 exports and this library does not implement: see unsupported.c of the
 * driver.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "cuda_cpu/runtime/cuda_runtime.h"
#include "cuda_cpu/runtime/cudart_state.h"

static cudaError_t refuse(const char *name, atomic_bool *said)
{
    if (!atomic_exchange(said, true))
        fprintf(stderr, "baton-cuda-cpu: %s is not supported by the CPU device\n", name);
    return runtime_end(cudaErrorNotSupported);
}

#define NAME(symbol)                                                                                         \
    __attribute__((weak, visibility("default"))) cudaError_t unsupported_##symbol(void) __asm__(#symbol);    \
    cudaError_t unsupported_##symbol(void)                                                                   \
    {                                                                                                        \
        return refuse(#symbol, &cudart.said[SAID_##symbol]);                                                 \
    }
#include "cuda_abi/runtime_names.def"
#undef NAME
