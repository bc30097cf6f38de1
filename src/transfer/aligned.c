/*
 * The paper's method (Batch, sec. 3.2, Algorithm 1): every stream starts so that all end together,
 * and concurrent copies share the bus. Time runs backwards from the end of the batch: kernels begin
 * at 0, and each copy begins where its kernel stops. Rates are constant between two events.
 *
 * Differences from the printed algorithm:
 * - A relative tolerance decides that a copy is complete.
 * - A stream without a copy ends at its kernel.
 * - Streams that share a DMA engine or a GPU keep the flow-shop order instead of being merged.
 * - A staged peer copy is one flow over both legs.
 * - If the host's cores copy and compute, no more streams are active than there are cores.
 */
#include <math.h>

#include "transfer/batch.h"
#include "transfer/throughput.h"

#define TOLERANCE 1e-9 /* of a copy's size, or of a kernel's length */

enum progress {
    WAITING,   /* for the kernels that come after its own on the same GPU */
    COMPUTING, /* its kernel */
    PENDING,   /* its copy, for its engines */
    COPYING,
    DONE,
};

struct backwards {
    const struct batch *batch;
    enum progress state[BATCH_MAX_STREAMS];
    /* of the kernel, then of the copy */
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

/*
 * The last kernel of each GPU ends with the batch. Each earlier kernel ends where the next one
 * begins.
 */
static bool may_compute(const struct backwards *run, size_t position)
{
    const struct batch *batch = run->batch;
    int gpu = batch->flows[batch->order[position]].gpu;

    for (size_t later = position + 1; later < batch->n && gpu >= 0; later++) {
        size_t other = batch->order[later];

        if (batch->flows[other].gpu == gpu && run->state[other] <= COMPUTING)
            return false;
    }
    return true;
}

/*
 * May this copy begin now? Its kernel must be complete, and so must the copy of every later stream
 * on one of its engines.
 */
static bool may_copy(const struct backwards *run, size_t position)
{
    const struct batch *batch = run->batch;
    size_t i = batch->order[position];

    for (size_t k = 0; k < batch->n; k++) {
        size_t other = batch->order[k];

        if (k != position && (k > position ? run->state[other] != DONE : run->state[other] == COPYING) &&
            shares_engine(&batch->flows[i], &batch->flows[other]))
            return false;
    }
    return true;
}

static void end_kernel(struct backwards *run, size_t i)
{
    run->kernel_to[i] = run->copy_from[i] = run->copy_to[i] = run->now;
    run->remaining[i] = run->batch->flows[i].bytes;
    run->state[i] = run->remaining[i] > 0 ? PENDING : DONE;
}

/*
 * How many more streams may be active: limited by the host's cores if they copy and compute. An
 * operating system would let more streams share the cores in time slices as long as a copy, and
 * chance would decide which ends first. The executor enforces the same limit.
 */
static size_t idle_cores(const struct backwards *run)
{
    size_t cores = run->batch->topology->cores;

    if (cores == 0)
        return BATCH_MAX_STREAMS;
    for (size_t i = 0; i < run->batch->n && cores > 0; i++)
        cores -= run->state[i] == COMPUTING || run->state[i] == COPYING;
    return cores;
}

/* Begins all work that may begin. Answers the active copies and the number of active kernels. */
static size_t begin_work(struct backwards *run, size_t ret_copies[], size_t *ret_kernels)
{
    const struct batch *batch = run->batch;
    size_t idle = idle_cores(run);
    size_t n = 0;

    *ret_kernels = 0;
    for (size_t k = batch->n; k-- > 0;) {
        size_t i = batch->order[k];
        double kernel = batch->flows[i].kernel;

        if (run->state[i] == WAITING && (kernel <= 0 || idle > 0) && may_compute(run, k)) {
            run->state[i] = COMPUTING;
            run->kernel_from[i] = run->now;
            run->remaining[i] = kernel;
            if (kernel <= 0)
                end_kernel(run, i);
            else
                idle--;
        }
        if (run->state[i] == PENDING && idle > 0 && may_copy(run, k)) {
            run->state[i] = COPYING;
            run->copy_from[i] = run->now;
            idle--;
        }
        *ret_kernels += run->state[i] == COMPUTING;
        if (run->state[i] == COPYING)
            ret_copies[n++] = i;
    }
    return n;
}

/* Advances to the next event: a copy or a kernel completes. False when all are complete. */
static bool next_event(struct backwards *run)
{
    const struct batch *batch = run->batch;
    size_t copies[BATCH_MAX_STREAMS];
    double rates[BATCH_MAX_STREAMS];
    double step = INFINITY;
    size_t n_kernels;
    size_t n = begin_work(run, copies, &n_kernels);

    if (n == 0 && n_kernels == 0)
        return false;
    if (n > 0)
        throughput_rates(batch, copies, n, rates);
    for (size_t k = 0; k < n; k++)
        step = fmin(step, run->remaining[copies[k]] / rates[k]);
    for (size_t i = 0; i < batch->n && n_kernels > 0; i++) {
        if (run->state[i] == COMPUTING)
            step = fmin(step, run->remaining[i]);
    }
    run->now += step;
    for (size_t i = 0; i < batch->n && n_kernels > 0; i++) {
        if (run->state[i] != COMPUTING)
            continue;
        run->remaining[i] -= step;
        if (run->remaining[i] <= TOLERANCE * batch->flows[i].kernel)
            end_kernel(run, i);
    }
    for (size_t k = 0; k < n; k++) {
        size_t i = copies[k];

        run->remaining[i] -= step * rates[k];
        if (run->remaining[i] <= TOLERANCE * batch->flows[i].bytes) {
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
