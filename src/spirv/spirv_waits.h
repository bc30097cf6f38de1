/*
 * May a kernel wait for another work-group? Pieces of such a kernel could wait for each other for
 * ever, so it runs whole. In doubt the answer is yes.
 *
 * A loop is harmless in three cases. Its course depends on nothing that another group can write. Or
 * it ends by itself: every round passes an exit that compares a variable which each round moves. Or
 * it retries a compare-and-exchange with the value just seen there: it repeats only because another
 * group has made progress. A call counts with what the called function reads.
 */
#ifndef SPIRV_SPIRV_WAITS_H
#define SPIRV_SPIRV_WAITS_H

#include "spirv/spirv_flow.h"

/* What is known of a function, by index in module->functions. */
struct spirv_waits {
    bool reads;        /* reads memory that other groups may write; also through calls */
    const char *waits; /* NULL: it has no obstacle of its own; else why it runs whole */
};

/* Fills ret_functions[module->n_functions]. 0; 1: refused; -ENOMEM. */
int spirv_waits_find(struct arena *arena, const struct spirv_module *module,
                     struct spirv_waits *ret_functions, struct spirv_refusal *ret_refusal);

#endif
