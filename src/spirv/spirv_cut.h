/*
 * Rewrites a SPIR-V module so that its kernels can run in pieces (translate/piece.h), as
 * src/translate/tool does with OpenCL C.
 *
 * Every kernel gets one more parameter, a struct piece by value, as its last. So does every
 * function that needs it. The rewriting concerns loads of the built-in variables WorkgroupId,
 * NumWorkgroups, GlobalInvocationId, GlobalSize, GlobalOffset, GlobalLinearId and WorkDim. A
 * function that loads one of them computes, at its entry, what the whole launch looks like from
 * this group. It keeps the result in a variable of its own (the view, spirv/view.h), and its loads
 * of these built-ins become loads from the view.
 *
 * All functions take the same parameter. A consumer may drop a kernel that only calls another
 * function and take that function for the kernel (llvm-spirv does).
 *
 * A pure function over any bytes.
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
 * Everything in *ret_cut lives in the arena. 0; 1: the module stays unchanged, and *ret_refusal
 * says why; -ENOMEM.
 */
int spirv_cut(struct arena *arena, const void *bytes, size_t n, struct spirv_cut *ret_cut,
              struct spirv_refusal *ret_refusal);

#endif
