/*
 * An interconnect in software, for devices that share the host's memory. Each copy of a batch
 * advances in real time at the rate that the emulated links would give it. It demonstrates pacing
 * and timing, not a real bus.
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
    baton_nsec at; /* the instant that the emulation has reached */
};

/* Copies the batch; its topology stays borrowed. Callers hold one lock around every call below. */
void batch_emulator_init(struct batch_emulator *emulator, const struct batch *batch);

/* Lets the stream move up to `until` bytes in total. */
void batch_emulator_begin(struct batch_emulator *emulator, size_t stream, double until, baton_nsec now);

/*
 * Advances to now, with completions in order. Answers when the stream will have moved `target`
 * bytes if nothing changes; an instant up to now if it already has. A worker that sees its stream
 * complete wakes the others, because their rates have changed.
 */
baton_nsec batch_emulator_reaches(struct batch_emulator *emulator, size_t stream, double target,
                                  baton_nsec now);

#endif
