/* The text of siblings. */
#ifndef PTX_CUT_PTX_REWRITE_H
#define PTX_CUT_PTX_REWRITE_H

#include "ptx/ptx_module.h"

#include <stdio.h>

struct rewrite {
    const struct ptx_module *module;
    char suffix[32];   /* of siblings' names; occurs nowhere in the text */
    bool has_sections; /* it has sections of debug information, which may name labels */
};

/* Chooses names. */
void rewrite_begin(struct rewrite *rewrite, const struct ptx_module *module);

/* Most bytes of parameters that an entry of this module may have. */
uint32_t rewrite_most_parameters(const struct ptx_module *module);

/* Where the descriptor goes, behind the entry's own parameters. */
uint32_t rewrite_piece_offset(const struct ptx_routine *entry);

/* Writes the sibling of the entry. 0 or -ENOMEM. */
int rewrite_entry(const struct rewrite *rewrite, const struct ptx_routine *entry, FILE *out);

#endif
