/* What the files of function.h share. */
#ifndef CUDA_FUNCTION_PRIVATE_H
#define CUDA_FUNCTION_PRIVATE_H

#include "cuda/function.h"

struct module_record {
    struct ptx_cut cut;
    enum session_counter whole;        /* why nothing of it is cut, where cut says nothing */
    char *text;                        /* PTX that is not to be cut; owned; NULL: none */
    struct ptx_cut *_Atomic studied;   /* what that text says; owned; NULL: not read yet */
    struct function_record *functions; /* lock */
    struct module_record *library;     /* a module of a library: its record */
    void *handle;
    struct module_record *aliases, *next; /* of a library: its modules; lock */
    CUcontext context;                    /* that it ends with; NULL: a library */
    struct list link;                     /* cuda_front.known.all; lock */
};

/*
 * Finds the parameters of a fresh record that has its name. of: the library's kernel that it is the
 * same as; NULL: none.
 */
void function_read_params(struct function_record *function, struct module_record *module,
                          const struct function_record *of);

#endif
