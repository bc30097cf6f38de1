/*
 * Modules, libraries and their kernels as the front knows them: names, parameters, how long a block
 * takes, and the sibling that runs in pieces.
 *
 * When a program loads PTX, as text or in a container, the text is rewritten
 * (translate/translate_cut.h) and loaded in place of the program's own. It has the program's
 * kernels unchanged and their siblings beside them, so that module variables are shared and each
 * launch decides. What cannot be rewritten, or is refused by the driver, is loaded as it is; its
 * kernels run whole, with a reason.
 *
 * A kernel has one record per handle: CUfunction, or CUkernel of a library, which launches take
 * too. Records live until their module is unloaded and the last command has dropped its reference.
 */
#ifndef CUDA_FUNCTION_H
#define CUDA_FUNCTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/refs.h"
#include "client/session.h"
#include "cuda_abi/driver_abi.h"
#include "cuda/objects.h"
#include "engine/handle_table.h"
#include "engine/meter.h"
#include "ptx/cut/ptx_cut.h"

enum { FUNCTION_MOST_PARAMS = 1024, FUNCTION_MOST_BYTES = 32764 }; /* of a kernel, as CUDA 12 allows */

struct module_record;

struct function_record {
    struct meter meter;
    struct refs refs;
    void *handle;
    void *module;   /* the driver's handle: a CUlibrary where the kernel is a CUkernel, else a CUmodule */
    bool is_kernel; /* a CUkernel */
    char *name;     /* owned */
    void *piece;    /* the sibling's handle of the same kind; NULL: it runs whole */
    uint32_t n_own; /* parameters without the descriptor, and where an `extra` buffer has that */
    uint32_t piece_offset;
    unsigned n_params;
    struct function_param {
        size_t offset, size;
    } * params;                             /* owned */
    size_t bytes;                           /* of all parameters */
    bool params_known;                      /* a driver before CUDA 12.4 does not tell */
    int threads_limit, piece_threads_limit; /* of a block; the sibling's */
    atomic_int shared_limit;                /* dynamic bytes */
    _Atomic(const char *) apart;            /* what the kernel has and no piece can have; NULL: nothing */
    struct function_record *kernel;         /* a reference: of the library's kernel that it is; NULL: none */
    enum session_counter whole;             /* why it is not cut, if piece is NULL */
    char *why;                              /* what is known besides; owned; NULL: nothing */
    atomic_int notice;                      /* number of the notice; -1: none was given */
    struct function_record *next;           /* module_record::functions */
};

void functions_init(void);

/* The record of a handle that a launch names, with a reference; NULL: not known. */
struct function_record *function_find(const void *handle);
void function_keep(struct function_record *function);
void function_drop(struct function_record *function);

/*
 * Does the driver surely take blocks of so many threads and dynamic bytes? In the context that is
 * current.
 */
bool function_takes(const struct function_record *function, uint64_t threads, uint32_t shared);

/*
 * Loading. The image as the program gave it, for a device (NULL: a library, for all of them).
 * *ret_text is what to load in place of it, borrowed from the record; NULL: the image itself. The
 * record becomes known with module_loaded(), or is freed by module_discard().
 */
struct module_record *module_prepare(const void *image, const struct device_record *device,
                                     const char **ret_text);
/* The driver refused the rewritten text. */
void module_refused(struct module_record *module);
/* context: that the module ends with; NULL: a library. */
void module_loaded(struct module_record *module, void *handle, CUcontext context);
void module_discard(struct module_record *module);
/* The program unloads it. */
void module_forget(void *handle);
/* A module that is the same as a library in one context. */
void module_alias(void *handle, void *library, CUcontext context);
/* All that ends with a context. */
void modules_forget_context(CUcontext context);

/* The program was given a kernel's handle. */
void function_found(void *handle, bool is_kernel, void *module, const char *name, CUdevice device);
/* A kernel of a library as a function of the current context. */
void function_of_kernel(void *function, void *kernel);

/* How many kernels of the module are siblings, and is the name one of them? */
unsigned module_n_pieces(void *handle);
bool module_is_piece(void *handle, const char *name);
/* The name of a kernel or a sibling, from the module's text; NULL: it has none of that handle. */
const char *module_name_of(void *handle, const void *kernel, bool is_kernel);

/* --- what runs whole (function_whole.c) --- */

/*
 * The program has set an attribute of a kernel with a sibling. function_differs: the sibling could
 * not be given what the kernel has. From then on the kernel runs whole if pieces would differ.
 */
void function_is_set(struct function_record *function, CUfunction_attribute attribute, int value);
void function_differs(struct function_record *function);

/*
 * What keeps a kernel with a sibling from being launched in pieces, with blocks of so many threads;
 * NULL: nothing.
 */
const char *function_apart(const struct function_record *function, uint64_t threads);

/*
 * Counts a launch that is not cut, and says why: once per kernel. detail: what is known besides;
 * NULL: what the kernel's text says.
 */
void function_count_whole(struct function_record *function, enum session_counter counter, const char *detail);

/* Modules and kernels (cuda_front.known). */
struct cuda_known {
    struct handle_table modules, functions;
    pthread_mutex_t lock; /* guards lists of functions and modules */
    struct list all;      /* module_record::link */
};

#endif
