/*
 * An interconnect in software, for machines whose devices share the host's memory: each copy of a batch advances at the rate
 * that the emulated links would give it, in real time. It shows our pacing and timing, not a bus.
 */
#ifndef CLIENT_BATCH_EMULATOR_H
#define CLIENT_BATCH_EMULATOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/nsec.h"
#include "transfer/batch.h"

struct batch_emulator {
    struct batch batch; /* the streams on the emulated topology */
    bool active[BATCH_MAX_STREAMS];
    double moved[BATCH_MAX_STREAMS], until[BATCH_MAX_STREAMS]; /* bytes of the emulated machine */
    double rate[BATCH_MAX_STREAMS];
    baton_nsec at; /* how far everything has been advanced */
};

/* The batch is copied; its topology stays borrowed. Callers hold one lock around every call below. */
void batch_emulator_init(struct batch_emulator *emulator, const struct batch *batch);

/* The stream may now move until `until` bytes in all. */
void batch_emulator_begin(struct batch_emulator *emulator, size_t stream, double until, baton_nsec now);

/*
 * Advances to now, completions in their order. Answers when the stream will have moved `target` bytes if nothing changes: an
 * instant not after now when it has. The worker that sees its stream complete wakes the others, whose rates have changed.
 */
baton_nsec batch_emulator_reaches(struct batch_emulator *emulator, size_t stream, double target,
                                  baton_nsec now);

#endif
