/*
 * The paper's method (Batch, sec. 3.2, Algorithm 1): every stream starts so that all end together, and in between the bus
 * shares itself out. Time runs backwards from the end of the batch: kernels begin at 0, each copy begins where its kernel stops, rates are
 * constant between two events.
 *
 * Unlike the printed algorithm: a relative tolerance decides that a copy is complete; a stream without copy ends at its
 * kernel; streams that share a DMA engine or a GPU keep the flow-shop order instead of being merged into one; a peer
 * copy that is staged is one flow over both legs.
 */
#include <math.h>

#include "transfer/batch.h"
#include "transfer/throughput.h"

#define TOLERANCE 1e-9 /* of a copy's size */

enum progress { PENDING, ACTIVE, DONE };

struct backwards {
    const struct batch *batch;
    enum progress state[BATCH_MAX_STREAMS];
    double remaining[BATCH_MAX_STREAMS];
    double kernel_from[BATCH_MAX_STREAMS], kernel_to[BATCH_MAX_STREAMS]; /* on the reversed clock */
    double copy_from[BATCH_MAX_STREAMS], copy_to[BATCH_MAX_STREAMS];
    double now;
};

static bool shares_engine(const struct batch_flow *a, const struct batch_flow *b)
{
    for (size_t i = 0; i < a->n_engines; i++) {
        for (size_t k = 0; k < b->n_engines; k++) {
            if (a->engines[i] == b->engines[k])
                return true;
        }
    }
    return false;
}

/* The last kernel of each GPU ends with the batch, the one before it where that begins, and so on. */
static void place_kernels(struct backwards *run)
{
    const struct batch *batch = run->batch;

    for (size_t k = batch->n; k-- > 0;) {
        size_t i = batch->order[k];
        const struct batch_flow *flow = &batch->flows[i];

        run->kernel_from[i] = 0;
        for (size_t later = k + 1; later < batch->n && flow->gpu >= 0; later++) {
            size_t other = batch->order[later];

            if (batch->flows[other].gpu == flow->gpu)
                run->kernel_from[i] = fmax(run->kernel_from[i], run->kernel_to[other]);
        }
        run->kernel_to[i] = run->kernel_from[i] + flow->kernel;
        run->remaining[i] = flow->bytes;
        run->copy_from[i] = run->copy_to[i] = run->kernel_to[i];
        run->state[i] = flow->bytes > 0 ? PENDING : DONE;
    }
}

/* May this copy begin now? Its kernel is over, and every later stream on one of its engines has been copied. */
static bool may_begin(const struct backwards *run, size_t position)
{
    const struct batch *batch = run->batch;
    size_t i = batch->order[position];

    if (run->kernel_to[i] > run->now)
        return false;
    for (size_t later = position + 1; later < batch->n; later++) {
        size_t other = batch->order[later];

        if (run->state[other] != DONE && shares_engine(&batch->flows[i], &batch->flows[other]))
            return false;
    }
    for (size_t earlier = 0; earlier < position; earlier++) {
        size_t other = batch->order[earlier];

        if (run->state[other] == ACTIVE && shares_engine(&batch->flows[i], &batch->flows[other]))
            return false;
    }
    return true;
}

/* Begins what may begin; the active flows, and the next instant at which a kernel stops (INFINITY: none is left). */
static size_t begin_copies(struct backwards *run, size_t ret_active[], double *ret_next)
{
    const struct batch *batch = run->batch;
    size_t n = 0;

    *ret_next = INFINITY;
    for (size_t k = batch->n; k-- > 0;) {
        size_t i = batch->order[k];

        if (run->state[i] == PENDING && may_begin(run, k)) {
            run->state[i] = ACTIVE;
            run->copy_from[i] = run->now;
        }
        if (run->state[i] == PENDING && run->kernel_to[i] > run->now)
            *ret_next = fmin(*ret_next, run->kernel_to[i]);
        if (run->state[i] == ACTIVE)
            ret_active[n++] = i;
    }
    return n;
}

/* Goes on to the next event: a copy completes or a kernel stops. False when all is done. */
static bool next_event(struct backwards *run)
{
    size_t active[BATCH_MAX_STREAMS];
    double rates[BATCH_MAX_STREAMS];
    double next;
    double step;
    size_t n = begin_copies(run, active, &next);

    if (n == 0) {
        run->now = next;
        return isfinite(next);
    }
    throughput_rates(run->batch, active, n, rates);
    step = next - run->now;
    for (size_t k = 0; k < n; k++)
        step = fmin(step, run->remaining[active[k]] / rates[k]);
    run->now = step < next - run->now ? run->now + step : next;
    for (size_t k = 0; k < n; k++) {
        size_t i = active[k];

        run->remaining[i] -= step * rates[k];
        if (run->remaining[i] <= TOLERANCE * run->batch->flows[i].bytes) {
            run->state[i] = DONE;
            run->copy_to[i] = run->now;
        }
    }
    return true;
}

static int predict(const struct batch *batch, struct batch_timeline *ret_timeline, struct pacing *ret_pacing)
{
    struct backwards run = {.batch = batch};
    double total = 0;

    (void)ret_pacing;
    place_kernels(&run);
    while (next_event(&run))
        ;
    for (size_t i = 0; i < batch->n; i++)
        total = fmax(total, run.copy_to[i]);
    total += batch->setup;
    ret_timeline->n = batch->n;
    ret_timeline->total = (baton_nsec)llround(total);
    for (size_t i = 0; i < batch->n; i++) {
        struct stream_times *times = &ret_timeline->streams[i];

        times->copy_begin = (baton_nsec)llround(total - run.copy_to[i]);
        times->copy_end = (baton_nsec)llround(total - run.copy_from[i]);
        times->kernel_begin = times->kernel_end = times->copy_end;
        if (batch->flows[i].kernel > 0) {
            times->kernel_begin = (baton_nsec)llround(total - run.kernel_to[i]);
            times->kernel_end = (baton_nsec)llround(total - run.kernel_from[i]);
        }
    }
    return 0;
}

const struct batch_method method_aligned = {
    .name = "aligned",
    .summary = "each stream starts so that all end together; the bus shares itself out (Verner et al.)",
    .predict = predict,
};
