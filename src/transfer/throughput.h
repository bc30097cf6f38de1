/*
 * How concurrent transfers share the interconnect: max-min fair over the directed links (Batch,
 * sec. 3.2), or as measured if the look-up table has exactly this combination (sec. 5).
 */
#ifndef TRANSFER_THROUGHPUT_H
#define TRANSFER_THROUGHPUT_H

#include <stddef.h>

#include "transfer/batch.h"

/*
 * Rates, in bytes per nanosecond, of the flows active[0..n) while exactly these are copied; all are
 * above 0.
 */
void throughput_rates(const struct batch *batch, const size_t active[], size_t n, double ret_rates[]);

/* The same from the graph alone. */
void throughput_graph(const struct batch *batch, const size_t active[], size_t n, double ret_rates[]);

/*
 * Measured rates of a table entry by ascending bit: the lowest ones in a worst case. Not divided by
 * the margin.
 */
const double *throughput_entry_rates(const struct batch *batch, const struct table_entry *entry);

#endif
