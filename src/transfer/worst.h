/*
 * The lowest rate of one transfer under any other transfers, for task sets, in which no component
 * schedules the copies.
 */
#ifndef TRANSFER_WORST_H
#define TRANSFER_WORST_H

#include "transfer/batch.h"

/*
 * The lowest rate (bytes per nanosecond) of flow `self` at any time. Any of the other flows may be
 * active, but never two with the same owner[]: a task has one copy in progress at a time. The rate
 * holds for the topology's graph and for its look-up table.
 *
 * Proof. While the flows of a set A are active, max-min fairness gives each flow at least the least
 * of capacity_l / n_l over its links l. Here n_l flows of A cross l. The first link to fill up
 * shares its capacity equally, and every later level is higher. A holds at most one flow of each
 * owner. So n_l is at most one more than the number of other owners with a flow across l. If the
 * table has exactly A, its entry counts instead. The minimum therefore covers all entries that
 * consist of self and flows of this batch. []
 */
double worst_rate(const struct batch *batch, size_t self, const size_t owner[]);

#endif
