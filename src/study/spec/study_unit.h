/* Units of a study's work and results, as workers, the store and the network exchange them. */
#ifndef STUDY_SPEC_STUDY_UNIT_H
#define STUDY_SPEC_STUDY_UNIT_H

#include <stdint.h>

#include "study/spec/spec.h"

/* The progress of one row (configuration) of a unit. */
struct study_progress {
    uint32_t next;  /* first unknown point */
    uint32_t zeros; /* points at 0 just before it */
};

/*
 * A piece of work, with the results of earlier runs. Fields have fixed width, because processes
 * exchange it.
 */
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
    /* mean over schedulable sets of sum (in + out) / period, bytes per second; < 0: none */
    double bandwidth;
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
