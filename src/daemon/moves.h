/*
 * Predicts the cost of moving data to a GPU. Clients report copies; for each pair of places the
 * predictor averages the time per byte, where a new report counts one eighth. The prediction
 * decides where a job goes, never whether a bound holds: any choice of GPU keeps the bound. One
 * report changes it by at most a factor of two, so that no client can spoil it at once.
 */
#ifndef DAEMON_MOVES_H
#define DAEMON_MOVES_H

#include <stdint.h>

#include "base/nsec.h"
#include "model/platform.h"

#define MOVES_HOST PLATFORM_MAX_GPUS /* the index that stands for the host */

struct moves {
    uint32_t rates[PLATFORM_MAX_GPUS + 1]
                  [PLATFORM_MAX_GPUS]; /* [from][to], picoseconds per byte; 0: nothing known */
};

/* from: a GPU or MOVES_HOST. Without reports, 250 ps per byte (4 GB/s). */
baton_nsec moves_predict(const struct moves *moves, unsigned from, unsigned to, uint64_t bytes);

void moves_learn(struct moves *moves, unsigned from, unsigned to, uint64_t bytes, uint64_t length);

#endif
