/*
 * Modules and their functions. A module is an image (cuda_cpu/image.h) in one context. A library is
 * the text of a module; each context that needs the library gets a module of its own. A function
 * belongs to its module. A kernel of a library means the function of the module in the current
 * context.
 */
#ifndef CUDA_CPU_DRIVER_MODULE_H
#define CUDA_CPU_DRIVER_MODULE_H

#include "cuda_cpu/driver/action.h"
#include "cuda_cpu/image.h"

/* What the calls that precede cuLaunchKernel leave for the next launch of a function. */
struct function_legacy {
    unsigned block[3], shared, bytes;
    char parameters[4096];
};

struct function {
    CUmodule module;
    const struct image_entry *entry; /* the image's */
    int most_dynamic;                /* bytes of dynamic shared memory that a launch may ask for */
    int carveout;
    int cache_config;
    struct function_legacy *legacy; /* owned; NULL: no such call was made (legacy_api.c) */
};

struct CUmod_st {
    atomic_uint refs;           /* the program's, and one per launch and per kernel node */
    _Atomic(CUcontext) context; /* NULL: the module was unloaded, or its context has ended */
    struct image *image;        /* owned */
    struct function *functions; /* owned: one per entry */
    struct list link;           /* all modules; modules.lock */
    CUlibrary library;          /* the library that it was made for; NULL: loaded by the program */
};

struct driver_modules {
    pthread_mutex_t lock;
    struct list all; /* CUmod_st::link */
};

/* Where the log of a load is written. */
struct module_log {
    char *text; /* may be NULL */
    size_t size;
};

/* The log that the options of a load name; an empty one if they name none. */
struct module_log module_log_of(const CUjit_option options[], void *const values[], unsigned n);

/* The code of the API for a status of the device. */
CUresult status_code(enum cpu_status status);

/* Several texts that refer to each other. */
CUresult module_load_texts(CUcontext context, const struct image_text texts[], size_t n,
                           struct module_log log, CUmodule *ret_module);
/* From PTX, a fatbin or its wrapper. */
CUresult module_load(CUcontext context, const void *image, struct module_log log, CUmodule *ret_module);
/* Waits for the context's work. Graphs with its kernels can then not be launched. */
void module_unload(CUmodule module);
CUmodule module_ref(CUmodule module);
void module_unref(CUmodule module);
/* Frees all modules of a context that ends, whose work is done. */
void module_free_all(CUcontext context);

/*
 * The function behind a handle of the program: a CUfunction, or a CUkernel in the current context.
 */
CUresult function_of_handle(CUfunction handle, struct function **ret_function);

/* Executes a launch on the calling engine thread. */
CUresult function_run(const struct action_launch *launch, struct work_context *context);

#endif
