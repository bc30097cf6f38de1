/*
 * Device code of a program that may run on several GPUs. A kernel of a library (CUkernel) can be
 * launched in any context. A kernel of a module belongs to one. So the module's text is kept, and
 * loaded on another GPU when one of its kernels is first launched there.
 */
#ifndef CUDA_MIGRATE_CODE_H
#define CUDA_MIGRATE_CODE_H

#include "cuda/function.h"
#include "cuda/migrate/migrate_private.h"

/*
 * The program has loaded an image, as `text` if that is not NULL. Keeps it, or has the program stay
 * at home. call: of the program.
 */
void code_loaded(const struct call *call, const void *image, const char *text,
                 const struct device_record *device);
/* The module or library goes. Nothing of it runs. */
void code_unloaded(void *handle);
/* The function is a kernel of a library in the program's context. */
void code_same(void *function, void *kernel);
/* The program has set an attribute of the function: the call again, on every GPU that has it. */
void code_set(const struct call *call, const struct function_record *function);

/* The function at a place, and its sibling (NULL: none). The place is ready. */
CUresult code_find(const struct function_record *function, unsigned place, void **ret_function,
                   void **ret_piece);

/* --- ptx_state.c --- */

/* Does the text begin as PTX does? */
bool ptx_is(const char *text);

/*
 * Why kernels of this PTX leave something behind on their GPU, or need more than their memory. Such
 * are variables that they can write, functions of the driver, and textures. NULL: they do not.
 */
const char *ptx_state(const char *text);

#endif
