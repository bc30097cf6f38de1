/*
 * Results in one SQLite file, in the tables of GPUSync's App. D (docs/studies.md): distrs, dp_ptested, sched_results, and for gema studies
 * gema_results; `study`, `overheads` and `provenance` say what was run. Every batch of points is one transaction in rollback-journal
 * mode: a crash or a full disk loses that batch and leaves the file whole. A point that is already there stays as it is.
 *
 * The content depends on what was asked, not on how it was computed: no times, no host names, keys in the order of the spec.
 *
 * Calls answer 0, -errno, or STORE_OTHER; store_message() then says why. One thread at a time.
 */
#ifndef STUDY_STORE_H
#define STUDY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "study/spec/unit.h"

#define STORE_OTHER 1 /* the file is another study's, or no study's */

struct store;
struct sqlite3;

/* For reading only, or for a run: then the file is created if need be, and the experiments of spec (borrowed) are entered. */
int store_open_read(const char *path, struct store **ret_store);
int store_open_run(const char *path, const struct study_spec *spec, struct store **ret_store);
void store_close(struct store *store);

/* What the last failure was, for people; "" if none. Valid until the next call. A store that could not be opened is still given back for it. */
const char *store_message(const struct store *store);

/* What is known of a unit. */
int store_unit(struct store *store, uint32_t index, struct study_unit *ret_unit);

/* Writes the points in one transaction; *ret_new is the number of cells that were not there before. */
int store_put(struct store *store, const struct study_point points[], size_t n, size_t *ret_new);

/* Adds another file's results to this one, experiments matched by what they are. */
int store_merge(const char *path, const char *const sources[], size_t n, size_t *ret_new,
                struct store **ret_store);

/* For readers that ask their own questions. */
struct sqlite3 *store_database(struct store *store);

/* Finished and all experiments of the file, points and tests; units of gema are experiments of one point. */
struct store_totals {
    enum study_kind kind;
    uint64_t experiments, finished, points, tests;
    uint64_t grid; /* points of a whole curve */
};
int store_totals(struct store *store, struct store_totals *ret_totals);

/* The value that `study` keeps under this key; "" if none. Valid until the store is closed. */
int store_fact(struct store *store, const char *key, char ret_value[], size_t size);

#endif
