/*
 * What does it cost to move data to a GPU? Learned from what clients report: per pair of places the time per byte, as an
 * average in which a new report counts one eighth. A guess only: it decides where a job goes, never whether a bound holds
 * (any choice of GPU keeps it), and one report moves it by at most a factor of two, so that nobody can poison it at once.
 */
#ifndef DAEMON_MOVES_H
#define DAEMON_MOVES_H

#include <stdint.h>

#include "base/nsec.h"
#include "model/platform.h"

#define MOVES_HOST PLATFORM_MAX_GPUS /* in place of a GPU */

struct moves {
    uint32_t rates[PLATFORM_MAX_GPUS + 1]
                  [PLATFORM_MAX_GPUS]; /* [from][to], picoseconds per byte; 0: nothing known */
};

/* from: a GPU or MOVES_HOST. Until something is known, 250 ps per byte (4 GB/s). */
baton_nsec moves_predict(const struct moves *moves, unsigned from, unsigned to, uint64_t bytes);

void moves_learn(struct moves *moves, unsigned from, unsigned to, uint64_t bytes, uint64_t length);

#endif
