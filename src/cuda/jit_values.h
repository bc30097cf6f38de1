/*
 * Values of the options of a call that compiles code. A driver writes into some of them, the sizes
 * of logs among them. So a second attempt of the same call needs what the program gave.
 */
#ifndef CUDA_JIT_VALUES_H
#define CUDA_JIT_VALUES_H

struct call;

enum { JIT_MOST_VALUES = 64 }; /* CUDA 13 knows 36 options */

struct jit_values {
    void **at; /* the program's; NULL: none */
    unsigned n;
    void *kept[JIT_MOST_VALUES];
};

/* Before the first attempt; the call is one of cuModuleLoad*, cuLibraryLoad*, cuLinkAdd*. */
void jit_values_keep(const struct call *call, struct jit_values *ret_values);
/* Before the second one. */
void jit_values_restore(const struct jit_values *values);

#endif
