/*
 * Rewriting a SPIR-V module so that its kernels can run in pieces (translate/piece.h): what
 * src/translate/tool does to OpenCL C, done to programs that come as SPIR-V.
 *
 * Every kernel gets one more parameter, a struct piece by value, as its last. So does every
 * function that needs it. A function that loads one of the built-in variables WorkgroupId,
 * NumWorkgroups, GlobalInvocationId, GlobalSize, GlobalOffset, GlobalLinearId and WorkDim computes
 * at its entry what the whole launch looks like from this group, and keeps that in a variable of
 * its own (the view, spirv/view.h). Its loads of these built-ins become loads from the view.
 *
 * All functions take the same parameter, because a consumer may drop a kernel that only calls
 * another function and take that one for the kernel (llvm-spirv does).
 *
 * A pure function over bytes, which may be anything.
 */
#ifndef SPIRV_SPIRV_CUT_H
#define SPIRV_SPIRV_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "spirv/spirv_module.h"

enum spirv_argument { SPIRV_VALUE, SPIRV_LOCAL, SPIRV_IMAGE, SPIRV_SAMPLER, SPIRV_MEMORY };

struct spirv_kernel {
    const char *name;
    const char *obstacle; /* why it runs whole; NULL: pieces are indistinguishable from the whole */
    bool atomics;         /* on global memory */
    bool reqd_local_given;
    uint32_t reqd_local[3];
    uint32_t n_args; /* the program's; the added parameter has this index */
    enum spirv_argument *args;
};

struct spirv_cut {
    const uint32_t *words; /* the rewritten module */
    size_t n_words;
    struct spirv_kernel *kernels;
    size_t n_kernels;
    bool observes_local_size; /* false: no kernel can tell which local size it runs with */
};

/*
 * Everything in *ret_cut lives in the arena. 0; 1: the module is left as it is, and *ret_refusal
 * says why; -ENOMEM.
 */
int spirv_cut(struct arena *arena, const void *bytes, size_t n, struct spirv_cut *ret_cut,
              struct spirv_refusal *ret_refusal);

#endif
