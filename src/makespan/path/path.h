/*
 * From PTX (what `nvcc -ptx` prints) to a kernel instruction string: every instruction is
 * classified (units.h), the control-flow graph of the entry is built (ptx/blocks.h), and the string
 * is that of a worst-case path through it.
 *
 * The worst path is the one whose instructions weigh most, each by weight[unit] (kernel_weights():
 * how long it occupies its share of the multiprocessor). A predicated instruction is counted as
 * executed. A loop's body is taken as often as its bound says, counted in passes through the loop's
 * label; calls into the same file are followed. A barrier of the whole group is one C, then a wait.
 * What cannot be known from the file is an error, never a guess. So are barriers of some threads
 * only, predicated barriers, and other waits (units_wait_of()).
 */
#ifndef MAKESPAN_PATH_H
#define MAKESPAN_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/input_error.h"
#include "makespan/kernel.h"

#define PATH_FILE_LIMIT ((size_t)64 << 20)

struct path_bound {
    const char *label; /* of the loop's first instruction, as in the file; borrowed */
    size_t passes;     /* at least 1 */
};

struct path_settings {
    const struct path_bound *bounds;
    size_t n_bounds;
    /* Every loop without a bound is passed once, as the paper does: not a worst case. */
    bool first_iteration;
    double weight[N_UNITS];
};

/*
 * Reads text[0..size) and makes the string of the named entry (NULL: the only one). 0, -ENOMEM or
 * INPUT_REJECTED: malformed, no such entry, a loop without a bound (its label is named), a bound
 * for no loop, recursion, an indirect branch or call, a wait whose end is not known, too long.
 */
int path_read(const char *path, const char *text, size_t size, const char *entry,
              const struct path_settings *settings, struct kernel *ret_kernel, struct input_error *ret_error);

#endif
