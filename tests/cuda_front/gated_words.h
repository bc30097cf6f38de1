/*
 * For programs of these tests: streams that wait for this thread, and words of device memory that
 * their work sets and copies. A program includes it once.
 */
#ifndef TESTS_CUDA_FRONT_GATED_WORDS_H
#define TESTS_CUDA_FRONT_GATED_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_must.h"

enum { GATES = 4, WORDS = 64 };

static const char *kernels;
static unsigned *gates; /* in pinned memory */
static CUcontext context;
static CUfunction fill, wait_for, hold;
static CUdeviceptr words;
static int n_wrong;

static inline void expect(bool holds, const char *what)
{
    n_wrong += !holds;
    if (!holds)
        printf("not so: %s\n", what);
}

static inline char *read_kernels(void)
{
    static char text[1 << 18];
    FILE *file = fopen(kernels, "r");

    if (!file || fread(text, 1, sizeof text - 1, file) == 0) {
        perror(kernels);
        exit(2);
    }
    (void)fclose(file);
    return text;
}

static inline void open_context(void)
{
    CUmodule module;
    void *pinned;

    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuModuleLoadData(&module, read_kernels()));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
    MUST(cuModuleGetFunction(&wait_for, module, "wait_for"));
    MUST(cuModuleGetFunction(&hold, module, "hold"));
    MUST(
        cuMemHostAlloc(&pinned, GATES * sizeof *gates, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    gates = pinned;
    memset(gates, 0, GATES * sizeof *gates);
    MUST(cuMemAlloc_v2(&words, WORDS * sizeof(unsigned)));
    MUST(cuMemsetD32_v2(words, 0, WORDS));
    MUST(cuCtxSynchronize()); /* streams that do not block would not wait for it */
}

/* Not by cuStreamCreate(), which `moved` lets fail. */
static inline CUstream new_stream(void)
{
    CUstream stream;

    MUST(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    return stream;
}

static inline CUevent new_event(void)
{
    CUevent event;

    MUST(cuEventCreate(&event, 0));
    return event;
}

/* What follows in the stream waits until this thread opens the gate. */
static inline void close_gate(int gate, CUstream stream)
{
    __atomic_store_n(&gates[gate], 0, __ATOMIC_RELEASE);
    MUST(cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)&gates[gate], 1, CU_STREAM_WAIT_VALUE_EQ));
}

static inline void open_gate(int gate)
{
    __atomic_store_n(&gates[gate], 1, __ATOMIC_RELEASE);
}

static inline void set_word(int word, unsigned value, CUstream stream)
{
    MUST(cuMemsetD32Async(words + (size_t)word * 4, value, 1, stream));
}

static inline void copy_word(int to, int from, CUstream stream)
{
    MUST(cuMemcpyDtoDAsync_v2(words + (size_t)to * 4, words + (size_t)from * 4, 4, stream));
}

static inline unsigned word_at(int word)
{
    CUstream stream = new_stream(); /* that waits for no other */
    unsigned value = 0;

    MUST(cuMemcpyDtoHAsync_v2(&value, words + (size_t)word * 4, 4, stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuStreamDestroy_v2(stream));
    return value;
}

/* What waits for nothing has time to run: what is not over now was held back. */
static inline void let_run(void)
{
    for (int i = 0; i < 20; i++)
        (void)word_at(WORDS - 1);
}

#endif
