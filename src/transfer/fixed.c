/*
 * The two methods that real-time systems use today, for comparison (Batch, sec. 2.4). Every copy
 * has a fixed share of the bandwidth, or copies use the whole interconnect one after the other.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "transfer/batch.h"
#include "transfer/throughput.h"

#define MAX_EXHAUSTIVE 7 /* all orders of up to this many streams are tried */

/*
 * Kernels of one GPU run in the order in which their copies end. Fills the kernel times and answers
 * the end of the batch.
 */
static double run_kernels(const struct batch *batch, const double copy_end[], const size_t order[],
                          double ret_begin[])
{
    double busy[TOPOLOGY_MAX_NODES];
    double total = 0;

    for (size_t i = 0; i < batch->n; i++) {
        if (batch->flows[i].gpu >= 0)
            busy[batch->flows[i].gpu] = 0;
    }
    for (size_t k = 0; k < batch->n; k++) {
        size_t i = order[k];
        const struct batch_flow *flow = &batch->flows[i];

        ret_begin[i] = copy_end[i];
        if (flow->gpu >= 0) {
            ret_begin[i] = fmax(copy_end[i], busy[flow->gpu]);
            busy[flow->gpu] = ret_begin[i] + flow->kernel;
        }
        total = fmax(total, ret_begin[i] + flow->kernel);
    }
    return total;
}

static void fill_timeline(const struct batch *batch, const double copy_begin[], const double copy_end[],
                          const size_t order[], struct batch_timeline *ret_timeline)
{
    double kernel[BATCH_MAX_STREAMS];
    double total = run_kernels(batch, copy_end, order, kernel);

    ret_timeline->n = batch->n;
    ret_timeline->total = (baton_nsec)llround(total + batch->setup);
    for (size_t i = 0; i < batch->n; i++) {
        struct stream_times *times = &ret_timeline->streams[i];
        bool copies = batch->flows[i].bytes > 0;

        times->copy_begin = (baton_nsec)llround(batch->setup + (copies ? copy_begin[i] : kernel[i]));
        times->copy_end = (baton_nsec)llround(batch->setup + (copies ? copy_end[i] : kernel[i]));
        times->kernel_begin = (baton_nsec)llround(batch->setup + kernel[i]);
        times->kernel_end = (baton_nsec)llround(batch->setup + kernel[i] + batch->flows[i].kernel);
    }
}

/* Copies on one DMA engine alternate, so the shares of its time must not exceed 1. */
static void fit_engines(const struct batch *batch, double rates[])
{
    for (size_t node = 0; node < 2 * batch->topology->n_nodes; node++) {
        double share = 0;
        bool on[BATCH_MAX_STREAMS] = {false};

        for (size_t i = 0; i < batch->n; i++) {
            for (size_t e = 0; e < batch->flows[i].n_engines; e++)
                on[i] = on[i] || batch->flows[i].engines[e] == node;
            share += on[i] ? rates[i] / batch->flows[i].alone : 0;
        }
        for (size_t i = 0; i < batch->n && share > 1; i++)
            rates[i] /= on[i] ? share : 1;
    }
}

static void sort_by(const double key[], size_t n, size_t ret_order[])
{
    for (size_t i = 0; i < n; i++) {
        size_t at = i;

        for (; at > 0 && key[i] < key[ret_order[at - 1]]; at--)
            ret_order[at] = ret_order[at - 1];
        ret_order[at] = i;
    }
}

static int predict_bandwidth(const struct batch *batch, struct batch_timeline *ret_timeline,
                             struct pacing *ret_pacing)
{
    size_t active[BATCH_MAX_STREAMS];
    size_t order[BATCH_MAX_STREAMS];
    double shares[BATCH_MAX_STREAMS];
    double rates[BATCH_MAX_STREAMS] = {0};
    double begin[BATCH_MAX_STREAMS] = {0};
    double end[BATCH_MAX_STREAMS] = {0};
    size_t n = 0;

    for (size_t i = 0; i < batch->n; i++) {
        if (batch->flows[i].bytes > 0)
            active[n++] = i;
    }
    if (n)
        throughput_rates(batch, active, n, shares);
    for (size_t k = 0; k < n; k++)
        rates[active[k]] = shares[k];
    fit_engines(batch, rates);
    for (size_t k = 0; k < n; k++)
        end[active[k]] = batch->flows[active[k]].bytes / rates[active[k]];
    sort_by(end, batch->n, order);
    fill_timeline(batch, begin, end, order, ret_timeline);
    if (ret_pacing) {
        ret_pacing->n_steps = 1;
        ret_pacing->end[0] = INFINITY;
        memcpy(ret_pacing->rate[0], rates, sizeof rates);
    }
    return 0;
}

/* The end of the batch when copies run one by one in this order. */
static double serve(const struct batch *batch, const size_t order[], double ret_begin[], double ret_end[])
{
    double kernel[BATCH_MAX_STREAMS];
    double now = 0;

    for (size_t k = 0; k < batch->n; k++) {
        const struct batch_flow *flow = &batch->flows[order[k]];

        ret_begin[order[k]] = flow->bytes > 0 ? now : 0;
        now += flow->bytes > 0 ? flow->bytes / flow->alone : 0;
        ret_end[order[k]] = flow->bytes > 0 ? now : 0;
    }
    return run_kernels(batch, ret_end, order, kernel);
}

/* The next permutation in lexicographic order; false after the last. */
static bool permute(size_t order[], size_t n)
{
    size_t i = n - 1;
    size_t k;
    size_t swap;

    while (i > 0 && order[i - 1] >= order[i])
        i--;
    if (i == 0)
        return false;
    for (k = n - 1; order[k] <= order[i - 1]; k--)
        ;
    swap = order[i - 1];
    order[i - 1] = order[k];
    order[k] = swap;
    for (size_t low = i, high = n - 1; low < high; low++, high--) {
        swap = order[low];
        order[low] = order[high];
        order[high] = swap;
    }
    return true;
}

static bool kernels_share_a_gpu(const struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (batch->flows[i].gpu >= 0 && batch->flows[i].gpu == batch->flows[k].gpu)
                return true;
        }
    }
    return false;
}

/*
 * The best order. With one kernel per GPU it is the longest kernel first: copies are jobs on one
 * machine, kernels their delivery times. If kernels share a GPU, all orders of up to MAX_EXHAUSTIVE
 * streams are tried. With more streams it is the better of that rule and Johnson's.
 */
static void best_order(const struct batch *batch, size_t ret_order[])
{
    double begin[BATCH_MAX_STREAMS];
    double end[BATCH_MAX_STREAMS];
    double key[BATCH_MAX_STREAMS];
    size_t order[BATCH_MAX_STREAMS];
    double best;
    double total;

    for (size_t i = 0; i < batch->n; i++) {
        key[i] = -batch->flows[i].kernel;
        order[i] = i;
    }
    sort_by(key, batch->n, ret_order);
    if (!kernels_share_a_gpu(batch))
        return;
    best = serve(batch, ret_order, begin, end);
    total = serve(batch, batch->order, begin, end);
    if (total < best) {
        best = total;
        memcpy(ret_order, batch->order, batch->n * sizeof ret_order[0]);
    }
    for (bool more = batch->n <= MAX_EXHAUSTIVE; more; more = permute(order, batch->n)) {
        total = serve(batch, order, begin, end);
        if (total < best) {
            best = total;
            memcpy(ret_order, order, batch->n * sizeof order[0]);
        }
    }
}

static int predict_time_division(const struct batch *batch, struct batch_timeline *ret_timeline,
                                 struct pacing *ret_pacing)
{
    double begin[BATCH_MAX_STREAMS];
    double end[BATCH_MAX_STREAMS];
    size_t order[BATCH_MAX_STREAMS];

    (void)ret_pacing;
    best_order(batch, order);
    (void)serve(batch, order, begin, end);
    fill_timeline(batch, begin, end, order, ret_timeline);
    return 0;
}

const struct batch_method method_bandwidth = {
    .name = "bandwidth",
    .summary = "every copy keeps a fixed share of the links from beginning to end",
    .paces = true,
    .predict = predict_bandwidth,
};

const struct batch_method method_time_division = {
    .name = "time-division",
    .summary = "one copy at a time, in the best order; kernels overlap",
    .one_at_a_time = true,
    .predict = predict_time_division,
};
