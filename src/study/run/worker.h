/*
 * Works units off: draws sets and tests them with the analyses of src/analysis. One thread per worker; the spec is read only. What
 * comes out depends on the spec's seed alone.
 */
#ifndef STUDY_WORKER_H
#define STUDY_WORKER_H

#include <stdatomic.h>

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

struct study_worker;

int study_worker_new(const struct study_spec *spec, struct study_worker **ret_worker);
void study_worker_free(struct study_worker *worker);

/*
 * Works the unit to its end, calling done() for every new point in ascending order; an answer of done() other than 0 ends it and is returned.
 * When *stop becomes true the point under way is dropped and -EINTR returned.
 */
int study_worker_unit(struct study_worker *worker, const struct study_unit *unit, const atomic_bool *stop,
                      int (*done)(void *context, const struct study_point *point), void *context);

/* Whether a row that stands there is at its end. */
bool study_row_finished(const struct study_spec *spec, const struct study_progress *progress);

#endif
