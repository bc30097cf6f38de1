/*
 * Results in one SQLite file, in the tables of GPUSync's App. D (docs/studies.md): distrs,
 * dp_ptested, sched_results, and gema_results for gema studies. `study`, `overheads` and
 * `provenance` describe the study. Every batch of points is one transaction in rollback-journal
 * mode: a crash or a full disk loses that batch and leaves the file consistent. An existing point
 * is never changed.
 *
 * The content depends on the question, not on how it was computed: no times, no host names, keys in
 * the order of the spec.
 *
 * Calls answer 0, -errno, or STORE_OTHER; store_message() then gives the reason. One thread at a
 * time.
 */
#ifndef STUDY_STORE_H
#define STUDY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "study/spec/study_unit.h"

#define STORE_OTHER 1 /* the file belongs to another study, or to none */

struct store;
struct sqlite3;

/*
 * The first opens for reading only. The second opens for a run: it creates the file if necessary,
 * and enters the experiments of spec (borrowed).
 */
int store_open_read(const char *path, struct store **ret_store);
int store_open_run(const char *path, const struct study_spec *spec, struct store **ret_store);
void store_close(struct store *store);

/*
 * The last failure in words; "" if none. Valid until the next call. A store that could not be
 * opened is returned too, for its message.
 */
const char *store_message(const struct store *store);

/* The known results of a unit. */
int store_unit(struct store *store, uint32_t index, struct study_unit *ret_unit);

/* Writes the points in one transaction; *ret_new is the number of new cells. */
int store_put(struct store *store, const struct study_point points[], size_t n, size_t *ret_new);

/* Adds another file's results to this one. Experiments are matched by their properties. */
int store_merge(const char *path, const char *const sources[], size_t n, size_t *ret_new,
                struct store **ret_store);

/* For readers with queries of their own. */
struct sqlite3 *store_database(struct store *store);

/*
 * Finished and all experiments of the file, points and tests; a unit of gema is an experiment of
 * one point.
 */
struct store_totals {
    enum study_kind kind;
    uint64_t experiments, finished, points, tests;
    uint64_t grid; /* points of a complete curve */
};
int store_totals(struct store *store, struct store_totals *ret_totals);

/* The value of this key in `study`; "" if none. Valid until the store is closed. */
int store_fact(struct store *store, const char *key, char ret_value[], size_t size);

#endif
