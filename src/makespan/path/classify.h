/* The units of a routine's instructions, and what keeps a routine from being analysed. */
#ifndef MAKESPAN_PATH_CLASSIFY_H
#define MAKESPAN_PATH_CLASSIFY_H

#include "makespan/kernel.h"
#include "ptx/ptx_module.h"

/*
 * ret_units[i], in the arena, is the unit of statement i, with KERNEL_BARRIER if it waits for the
 * group. 0, -ENOMEM or INPUT_REJECTED. Reasons: an unknown instruction, a wait that the model does
 * not have, a branch or call whose target is not known before the kernel runs.
 */
int classify_routine(const struct ptx_module *module, const struct ptx_routine *routine, struct arena *arena,
                     const uint8_t **ret_units, struct input_error *ret_error);

/* Every routine of the module can be classified. */
int classify_all(const struct ptx_module *module, struct arena *arena, struct input_error *ret_error);

#endif
