/*
 * Turns PTX (the output of `nvcc -ptx`) into a kernel instruction string. Every instruction is
 * classified (units.h), the control-flow graph of the entry is built (ptx/blocks.h), and the string
 * is that of a worst-case path through it.
 *
 * The worst path has the largest sum of weight[unit] over its instructions (kernel_weights(): how
 * long an instruction occupies its share of the multiprocessor). A predicated instruction counts as
 * executed. A loop's body counts as often as its bound says, in passes through the loop's label.
 * Calls into the same file are followed. A barrier of the whole group is one C, then a wait. What
 * the file does not determine is an error, never a guess. So are barriers of some threads only,
 * predicated barriers, and other waits (units_wait_of()).
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
 * INPUT_REJECTED. Reasons: malformed or too long, no such entry, a loop without a bound (names its
 * label), a bound for no loop. Further ones: recursion, an indirect branch or call, a wait with an
 * unknown end.
 */
int path_read(const char *path, const char *text, size_t size, const char *entry,
              const struct path_settings *settings, struct kernel *ret_kernel, struct input_error *ret_error);

#endif
