/*
 * What the programs of this folder share: each compares the device's results with its own on the
 * host, prints what differs, and ends with 0 when nothing did.
 */
#ifndef CUDA_PROGRAMS_EXPECT_H
#define CUDA_PROGRAMS_EXPECT_H

#include <cmath>
#include <cstdio>
#include <cstdlib>

static int expect_failures;

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != cudaSuccess) {                                                                         \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_));                \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition) && expect_failures++ < 10)                                                          \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                   \
    } while (0)

#define EXPECT_EQUAL(a, b)                                                                                   \
    do {                                                                                                     \
        double a_ = (double)(a), b_ = (double)(b);                                                           \
        if (a_ != b_ && expect_failures++ < 10)                                                              \
            printf("%s:%d: %s is %.17g, expected %.17g\n", __FILE__, __LINE__, #a, a_, b_);                  \
    } while (0)

#define EXPECT_NEAR(a, b, relative)                                                                          \
    do {                                                                                                     \
        double a_ = (double)(a), b_ = (double)(b);                                                           \
        if (!(fabs(a_ - b_) <= (relative) * (1e-30 + fabs(b_))) && expect_failures++ < 10)                   \
            printf("%s:%d: %s is %.17g, expected about %.17g\n", __FILE__, __LINE__, #a, a_, b_);            \
    } while (0)

#define EXPECT_ERROR(call, expected)                                                                         \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != (expected) && expect_failures++ < 10)                                                  \
            printf("%s:%d: %s: %s, expected %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_),      \
                   cudaGetErrorName(expected));                                                              \
    } while (0)

static inline unsigned next_random(unsigned *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

#endif
