/* What the files of the rewriting share (spirv/spirv_cut.h). */
#ifndef SPIRV_CUT_PRIVATE_H
#define SPIRV_CUT_PRIVATE_H

#include "spirv/spirv_cut.h"
#include "spirv/view.h"
#include "spirv/spirv_waits.h"

/* How a function is rewritten. By index in module->functions. */
struct spirv_plan {
    bool kernel;
    bool loads;         /* it loads what pieces change, so it has a view */
    bool needs_piece;   /* it loads, or calls a function that does */
    uint32_t type;      /* of the function, with the added parameter */
    uint32_t parameter; /* the added parameter, a pointer to the piece; 0: none */
    uint32_t view;      /* its view variable; 0: none */
};

struct spirv_cutter {
    struct arena *arena;
    struct spirv_module module;
    struct spirv_refusal *refusal;
    struct spirv_writer writer;
    struct spirv_view view;
    struct spirv_plan *plans;
    struct spirv_waits *waits;
    int8_t *field;   /* [bound]: 1 + field of a variable or of a pointer into one; 0: no such */
    uint32_t *index; /* [bound]: of such a pointer: the id of the component; 0: the whole */
    struct spirv_writer_part out;
};

/*
 * kernels.c: the name of an entry point, from its words; *ret_words is its length in words. NULL:
 * the name does not end, or no memory.
 */
const char *spirv_entry_name(struct arena *arena, const struct spirv_instruction *entry, size_t *ret_words);

/* kernels.c: describes every kernel, and marks its function. 0; 1: refused; -ENOMEM. */
int spirv_find_kernels(struct spirv_cutter *cutter, struct spirv_cut *cut);

#endif
