/*
 * Libraries: code that is loaded without a context. A context that uses a kernel or variable of a
 * library gets a module of its own. The module is made at its first use and kept until the context
 * or the library ends.
 */
#ifndef CUDA_CPU_DRIVER_LIBRARY_H
#define CUDA_CPU_DRIVER_LIBRARY_H

#include "cuda_cpu/driver/module.h"

struct CUkern_st {
    CUlibrary library;
    char *name;       /* owned */
    int most_dynamic; /* the value of cuKernelSetAttribute, for modules made later; -1: not set */
};

struct CUlib_st {
    pthread_mutex_t lock; /* guards everything below */
    char *text;           /* owned: PTX, or several texts packed (source.h) */
    struct library_module {
        CUcontext context;
        CUmodule module;
    } * modules; /* owned array */
    size_t n_modules;
    CUkernel *kernels; /* owned: the kernels that the program has asked for */
    size_t n_kernels;
};

/* All libraries, for contexts that end. */
struct driver_libraries {
    pthread_mutex_t lock;
    CUlibrary *items;
    size_t n;
};

/* The library's module in the context. */
CUresult library_module(CUlibrary library, CUcontext context, CUmodule *ret_module);
/* A context ends: its modules leave their libraries. */
void library_forget_context(CUcontext context);
/* The function of the kernel in this context. */
CUresult kernel_function(CUkernel kernel, CUcontext context, struct function **ret_function);

#endif
