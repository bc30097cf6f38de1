/* Kernels that show whether a piece can be told from the whole. */
#ifndef TESTS_SAMPLES_H
#define TESTS_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/*
 * One kernel k(in, out, n) with n = OUT - 1 as a mask, perhaps with a __local argument after them.
 */
struct sample {
    const char *what;
    const char *source;
    const char *options;
    uint32_t work_dim; /* 0: any */
    size_t local_bytes;
};

extern const struct sample samples[];
extern const size_t n_samples;

#endif
