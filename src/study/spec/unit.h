/* The pieces of a study's work and of its results: what workers, the store and the network exchange. */
#ifndef STUDY_SPEC_UNIT_H
#define STUDY_SPEC_UNIT_H

#include <stdint.h>

#include "study/spec/spec.h"

/* Where one row (configuration) of a unit stands. */
struct study_progress {
    uint32_t next;  /* first point that is not known yet */
    uint32_t zeros; /* points at 0 just before it */
};

/* A piece of work, with what an earlier run left. Fixed-width, because it travels between processes. */
struct study_unit {
    uint32_t index;
    uint32_t n; /* rows */
    struct study_progress rows[STUDY_MAX_CONFIGURATIONS];
};

struct study_cell {
    uint32_t row;
    uint32_t tested, schedulable;
    uint32_t finished; /* the curve ends here */
    double tardiness;  /* mean over schedulable sets of the mean of tardiness / period; < 0: none */
    double bandwidth; /* mean over schedulable sets of sum (in + out) / period, bytes per second; < 0: none */
};

/* One point of a unit: a cell for every row that is not finished. */
struct study_point {
    uint32_t unit;
    uint32_t point;
    uint32_t n;
    uint32_t unused;
    struct study_cell cells[STUDY_MAX_CONFIGURATIONS];
};

#endif
