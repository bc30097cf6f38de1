/*
 * Rates chosen so that the batch ends as early as the linear program allows, kept by pacing chunks;
 * and the bound of every answer. Aligning is not optimal: 600 + 3 x 66.67 MB over 8 / 6 GB/s take
 * 122.2 ms aligned and 100.0 ms paced.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "transfer/lp.h"

/*
 * How long before the end of the batch each kernel begins, when the kernels of a GPU run one after
 * the other.
 */
static void kernel_tails(const struct batch *batch, double ret_tail[])
{
    for (size_t k = batch->n; k-- > 0;) {
        size_t i = batch->order[k];

        ret_tail[i] = batch->flows[i].kernel;
        for (size_t later = k + 1; later < batch->n && batch->flows[i].gpu >= 0; later++) {
            size_t other = batch->order[later];

            if (batch->flows[other].gpu == batch->flows[i].gpu)
                ret_tail[i] += batch->flows[other].kernel;
        }
    }
}

/*
 * Is the amount only rounding of the simplex method, in an interval that the stream does not use?
 */
static bool is_nothing(const struct lp_solution *solution, size_t interval, size_t stream,
                       const struct batch *batch)
{
    return solution->bytes[interval][stream] <= 1e-9 * batch->flows[stream].bytes;
}

static void fill_pacing(const struct batch *batch, const struct lp_solution *solution,
                        struct pacing *ret_pacing)
{
    double begin = 0;

    ret_pacing->n_steps = solution->n_intervals;
    for (size_t k = 0; k < solution->n_intervals; k++) {
        double length = solution->end[k] - begin;

        ret_pacing->end[k] = batch->setup + solution->end[k];
        for (size_t i = 0; i < batch->n; i++)
            ret_pacing->rate[k][i] = is_nothing(solution, k, i, batch) ? 0 : solution->bytes[k][i] / length;
        begin = solution->end[k];
    }
}

static int predict(const struct batch *batch, struct batch_timeline *ret_timeline, struct pacing *ret_pacing)
{
    struct lp_solution *solution = malloc(sizeof *solution);
    double tail[BATCH_MAX_STREAMS];
    int result;

    if (!solution)
        return -ENOMEM;
    kernel_tails(batch, tail);
    result = lp_solve(batch, tail, true, solution);
    if (result) {
        free(solution);
        return result;
    }
    ret_timeline->n = batch->n;
    ret_timeline->total = (baton_nsec)llround(solution->total + batch->setup);
    for (size_t i = 0; i < batch->n; i++) {
        struct stream_times *times = &ret_timeline->streams[i];
        double begin = solution->total - tail[i];
        double end = begin;
        bool begun = false;

        for (size_t k = 0; k < solution->n_intervals && batch->flows[i].bytes > 0; k++) {
            if (is_nothing(solution, k, i, batch))
                continue;
            if (!begun)
                begin = k ? solution->end[k - 1] : 0;
            begun = true;
            end = solution->end[k];
        }
        times->copy_begin = (baton_nsec)llround(batch->setup + begin);
        times->copy_end = (baton_nsec)llround(batch->setup + end);
        times->kernel_begin = times->kernel_end = times->copy_end;
        if (batch->flows[i].kernel > 0) {
            times->kernel_begin = (baton_nsec)llround(batch->setup + solution->total - tail[i]);
            times->kernel_end = times->kernel_begin + (baton_nsec)llround(batch->flows[i].kernel);
        }
    }
    if (ret_pacing)
        fill_pacing(batch, solution, ret_pacing);
    free(solution);
    return 0;
}

/*
 * Copy and kernel on one GPU are a two-machine flow shop, for which Johnson's order is optimal.
 * With every copy at its speed alone, the result is a bound.
 */
static double flow_shop_bound(const struct batch *batch, int gpu)
{
    double copied = 0;
    double ended = 0;

    for (size_t k = 0; k < batch->n; k++) {
        const struct batch_flow *flow = &batch->flows[batch->order[k]];

        if (flow->gpu != gpu)
            continue;
        copied += flow->bytes > 0 ? flow->bytes / flow->alone : 0;
        ended = fmax(ended, copied) + flow->kernel;
    }
    return ended;
}

/* The bound for copies of the sizes that are now in the flows. */
static int bound_of(const struct batch *batch, baton_nsec *ret_bound)
{
    struct lp_solution *solution = malloc(sizeof *solution);
    double tail[BATCH_MAX_STREAMS];
    double bound;
    int result;

    if (!solution)
        return -ENOMEM;
    for (size_t i = 0; i < batch->n; i++)
        tail[i] = batch->flows[i].kernel;
    result = lp_solve(batch, tail, false, solution);
    bound = solution->total;
    free(solution);
    if (result)
        return result;
    /*
     * With a look-up table a copy may be faster beside others than alone, so its speed alone gives
     * no bound.
     */
    for (size_t i = 0; i < batch->n && batch->topology->n_table == 0; i++) {
        if (batch->flows[i].gpu >= 0)
            bound = fmax(bound, flow_shop_bound(batch, batch->flows[i].gpu));
    }
    *ret_bound = (baton_nsec)floor(bound + batch->setup);
    return 0;
}

int batch_bound(const struct batch *batch, baton_nsec *ret_bound)
{
    struct batch faster;

    if (batch->topology->n_sizes == 0)
        return bound_of(batch, ret_bound);
    faster = *batch;
    for (size_t i = 0; i < batch->n; i++) /* whole or in chunks, the faster of the two */
        faster.flows[i].bytes = fmin(batch->flows[i].bytes, batch->flows[i].paced);
    return bound_of(&faster, ret_bound);
}

const struct batch_method method_paced = {
    .name = "paced",
    .summary = "rates from a linear program, kept by pacing chunks: ends as early as the links allow",
    .paces = true,
    .predict = predict,
};
