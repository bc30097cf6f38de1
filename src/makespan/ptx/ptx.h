/*
 * From PTX (what `nvcc -ptx` prints) to a kernel instruction string: every instruction is classified (ptx_class.h), the control-flow graph of the
 * entry is built, and the string is that of a worst-case path through it.
 *
 * Worst is by a measure: the path whose instructions weigh most, each by weight[unit] (kernel_weights(): how long it occupies its share of
 * the multiprocessor). A predicated instruction is counted as executed. A loop's body is taken as often as its bound says, counted in
 * passes through the loop's label; calls into the same file are followed. A barrier of the whole group is one C, then a wait. What cannot be
 * known from the file is an error, never a guess: so are barriers of some threads only, predicated barriers, and other waits (ptx_wait_of()).
 */
#ifndef MAKESPAN_PTX_H
#define MAKESPAN_PTX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/input_error.h"
#include "makespan/kernel.h"

#define PTX_FILE_LIMIT ((size_t)64 << 20)

struct ptx_bound {
    const char *label; /* of the loop's first instruction, as in the file; borrowed */
    size_t passes;     /* at least 1 */
};

struct ptx_settings {
    const struct ptx_bound *bounds;
    size_t n_bounds;
    bool first_iteration; /* every loop without a bound is passed once, as the paper does: not a worst case */
    double weight[N_UNITS];
};

/*
 * Reads text[0..size) and makes the string of the named entry (NULL: the only one). 0, -ENOMEM or INPUT_REJECTED: malformed, no such
 * entry, a loop without a bound (its label is named), a bound for no loop, recursion, an indirect branch or call, a wait
 * whose end is not known, too long.
 */
int ptx_read(const char *path, const char *text, size_t size, const char *entry,
             const struct ptx_settings *settings, struct kernel *ret_kernel, struct input_error *ret_error);

#endif
