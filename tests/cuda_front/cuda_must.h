/*
 * For programs of these tests: MUST(call) ends the program with status 1 if a call of CUDA fails,
 * and prints the call and its code.
 */
#ifndef TESTS_CUDA_FRONT_CUDA_MUST_H
#define TESTS_CUDA_FRONT_CUDA_MUST_H

#include <stdio.h>
#include <stdlib.h>

#include "cuda_abi/driver_abi.h"

static inline void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    printf("%s: %d\n", what, (int)code);
    exit(1);
}

#define MUST(call) must(call, #call)

#endif
