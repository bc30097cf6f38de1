#include "client/batch/batch_emulator.h"

#include <math.h>

#include "transfer/throughput.h"

#define NEARLY 0.5 /* of a byte */

void batch_emulator_init(struct batch_emulator *emulator, const struct batch *batch)
{
    *emulator = (struct batch_emulator){.batch = *batch};
}

static void share_out(struct batch_emulator *emulator)
{
    size_t active[BATCH_MAX_STREAMS];
    double rates[BATCH_MAX_STREAMS];
    size_t n = 0;

    for (size_t i = 0; i < emulator->batch.n; i++) {
        if (emulator->active[i])
            active[n++] = i;
    }
    if (n)
        throughput_rates(&emulator->batch, active, n, rates);
    for (size_t k = 0; k < n; k++)
        emulator->rate[active[k]] = rates[k];
}

static void advance(struct batch_emulator *emulator, baton_nsec now)
{
    double left = (double)(now - emulator->at);

    while (left > 0) {
        double step = left;
        bool completed = false;

        for (size_t i = 0; i < emulator->batch.n; i++) {
            if (emulator->active[i])
                step = fmin(step, (emulator->until[i] - emulator->moved[i]) / emulator->rate[i]);
        }
        for (size_t i = 0; i < emulator->batch.n; i++) {
            if (!emulator->active[i])
                continue;
            emulator->moved[i] += step * emulator->rate[i];
            if (emulator->moved[i] >= emulator->until[i] - NEARLY) {
                emulator->moved[i] = emulator->until[i];
                emulator->active[i] = false;
                completed = true;
            }
        }
        if (completed)
            share_out(emulator);
        left -= step;
    }
    emulator->at = now;
}

void batch_emulator_begin(struct batch_emulator *emulator, size_t stream, double until, baton_nsec now)
{
    advance(emulator, now);
    if (until <= emulator->moved[stream] + NEARLY)
        return;
    emulator->active[stream] = true;
    emulator->until[stream] = until;
    share_out(emulator);
}

baton_nsec batch_emulator_reaches(struct batch_emulator *emulator, size_t stream, double target,
                                  baton_nsec now)
{
    double missing;

    advance(emulator, now);
    missing = target - emulator->moved[stream];
    if (missing <= NEARLY || !emulator->active[stream])
        return now;
    return now + (baton_nsec)ceil(missing / emulator->rate[stream]);
}
