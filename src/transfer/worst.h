/* How slow one transfer can get, whatever else is under way: for task sets, where no component times the copies. */
#ifndef TRANSFER_WORST_H
#define TRANSFER_WORST_H

#include "transfer/batch.h"

/*
 * The lowest rate (bytes per nanosecond) that flow `self` of the batch has at any time, when at any time some of the others are copied, but never two
 * with the same owner[] (a task has one copy under way at a time). Holds for the topology's graph and for its look-up table.
 *
 * Proof. While the flows of a set A are copied, max-min fairness gives each at least the least of capacity_l / n_l over its links l, n_l being
 * how many of A cross l: the first link to fill up shares its capacity equally, and every later level is higher. A holds at most
 * one flow of each owner, so n_l is at most one more than the number of other owners with a flow across l. Where the table has exactly
 * A, its entry counts instead: all entries of which self and otherwise only flows of this batch are part are looked at.  []
 */
double worst_rate(const struct batch *batch, size_t self, const size_t owner[]);

#endif
