/*
 * Processes units: draws sets and tests them with the analyses of src/analysis. One thread per
 * worker; the spec is read only. The results depend only on the spec's seed.
 */
#ifndef STUDY_WORKER_H
#define STUDY_WORKER_H

#include <stdatomic.h>

#include "study/spec/study_unit.h"

struct study_worker;

int study_worker_new(const struct study_spec *spec, struct study_worker **ret_worker);
void study_worker_free(struct study_worker *worker);

/*
 * Processes the whole unit and calls done() for every new point in ascending order. A result of
 * done() other than 0 ends the unit and is returned. When *stop becomes true the current point is
 * dropped and -EINTR returned.
 */
int study_worker_unit(struct study_worker *worker, const struct study_unit *unit, const atomic_bool *stop,
                      int (*done)(void *context, const struct study_point *point), void *context);

/* Whether a row with this progress is finished. */
bool study_row_finished(const struct study_spec *spec, const struct study_progress *progress);

#endif
