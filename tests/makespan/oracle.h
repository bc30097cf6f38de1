/*
 * Independent of src/makespan: the schedule of a pseudo-precedence string built cell by cell as
 * Fig. 4 says, and the worst case by trying every choice in every cycle. Slow and plain on purpose.
 */
#ifndef TESTS_MAKESPAN_ORACLE_H
#define TESTS_MAKESPAN_ORACLE_H

#include <stdbool.h>

#include "makespan/kernel.h"

/* The makespan; cycles[] (from 0) if not NULL. */
unsigned oracle_evaluate(const struct problem *problem, const uint16_t order[], uint32_t ret_cycles[]);

/* The worst case over all work-conserving schedules, by exhaustion; for a handful of warps only. */
unsigned oracle_worst(const struct problem *problem);

/*
 * Does the schedule of these cycles keep the rules: order, capacities, cap, and never idle while
 * a warp could execute?
 */
bool oracle_is_work_conserving(const struct problem *problem, const uint16_t order[],
                               const uint32_t cycles[]);

#endif
