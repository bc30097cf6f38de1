/*
 * The linear program behind the paced method and the bound: how many bytes of each copy are
 * transferred between two deadlines.
 *
 * Stream i must be copied by T - tail[i]. The sorted tails divide the batch into intervals. Only
 * the length of the first interval depends on T, and all rates are constant within an interval. The
 * program minimises T subject to the capacity of every link and DMA engine in every interval.
 */
#ifndef TRANSFER_LP_H
#define TRANSFER_LP_H

#include "transfer/batch.h"

struct lp_solution {
    double total;                                       /* T, ns, without set-up */
    double end[BATCH_MAX_STREAMS];                      /* of each interval, ns from 0 */
    double bytes[BATCH_MAX_STREAMS][BATCH_MAX_STREAMS]; /* [interval][stream] */
    size_t n_intervals;
};

/*
 * With `promise` the rates can be kept: sums that the look-up table measured below the graph limit
 * them. Without it no schedule is shorter than T: links carry as much as the table ever measured on
 * them. ret_solution->bytes is filled only with promise. 0, -ENOMEM.
 */
int lp_solve(const struct batch *batch, const double tail[], bool promise, struct lp_solution *ret_solution);

#endif
