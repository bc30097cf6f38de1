/*
 * The CUDA front is two libraries. libbaton-cuda.so has the names of libcuda.so.1, a stub for each,
 * and nothing behind them: `baton run` preloads it into every program. libbaton-layer.so has the
 * fronts of both APIs, so that a program which uses both has one engine and one session. The first
 * CUDA call loads libbaton-layer.so from the folder of libbaton-cuda.so and hands the stubs over.
 * If the OpenCL loader has loaded the same file, this is the same library.
 */
#ifndef CUDA_STUBS_H
#define CUDA_STUBS_H

#define STUBS_LAYER  "libbaton-layer.so"
#define STUBS_SYMBOL "baton_cuda_begin" /* exported by it */

enum { STUB_SIZE = 16 };

/* Both libraries must be of one build's sources: an index names the same call in both. */
struct stubs {
    const char *version; /* of Baton */
    unsigned n;          /* ENTRY_N (entries.h) */
    char *begin;         /* STUB_SIZE bytes each, in the order of their indices */
    void *_Atomic *targets;
};

/* Finds the target of a stub and stores it. Any thread. */
typedef void *(*stubs_resolve)(unsigned index);

/* Borrows *stubs for ever. NULL: they are of another version. */
stubs_resolve baton_cuda_begin(const struct stubs *stubs);

#endif
