/* Queries of the store: progress of units, totals. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/store/store_internal.h"

/*
 * How many points an experiment has from the first without a gap, and how many of the last ones are
 * 0.
 */
static int read_progress(struct store *store, sqlite3_stmt *statement, int64_t id,
                         struct study_progress *ret_progress)
{
    struct study_progress progress = {0};
    int result;

    sqlite3_reset(statement);
    (void)sqlite3_bind_int64(statement, 1, id);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW &&
           fabs(sqlite3_column_double(statement, 1) - store->spec->step * (progress.next + 1)) <
               store->spec->step / 2) {
        progress.next++;
        progress.zeros = sqlite3_column_int(statement, 0) == 0 ? progress.zeros + 1 : 0;
    }
    result = store_result(store, result);
    if (!result)
        *ret_progress = progress;
    return result;
}

static int read_gema_unit(struct store *store, struct study_unit *unit)
{
    const struct study_gema *gema = &store->spec->gema;
    sqlite3_stmt *statement;
    int result = store_prepare(store, "SELECT count(*) FROM gema_results WHERE ts_util = ? AND dependent = ?",
                               &statement);

    if (result)
        return result;
    (void)sqlite3_bind_double(statement, 1, gema->utilisation[unit->index % gema->n_utilisation]);
    (void)sqlite3_bind_double(statement, 2, gema->dependent[unit->index / gema->n_utilisation]);
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        for (uint32_t row = 0; row < unit->n; row++)
            unit->rows[row].next = sqlite3_column_int64(statement, 0) == unit->n;
    result = store_result(store, result);
    sqlite3_finalize(statement);
    return result;
}

int store_unit(struct store *store, uint32_t index, struct study_unit *ret_unit)
{
    const struct study_spec *spec = store->spec;
    sqlite3_stmt *statement;
    int result;

    *ret_unit = (struct study_unit){.index = index, .n = (uint32_t)study_rows(spec)};
    if (spec->kind == STUDY_GEMA)
        return read_gema_unit(store, ret_unit);
    result = store_prepare(
        store, "SELECT schedulable, ts_util FROM sched_results WHERE dp = ? ORDER BY ts_util", &statement);
    for (uint32_t row = 0; row < ret_unit->n && !result; row++)
        result = read_progress(store, statement, store->experiments[index * spec->n_configurations + row],
                               &ret_unit->rows[row]);
    sqlite3_finalize(statement);
    return result;
}

static int read_numbers(struct store *store, const char *sql, uint64_t *const ret_numbers[], int n)
{
    sqlite3_stmt *statement;
    int result = store_prepare(store, sql, &statement);

    if (result)
        return result;
    result = sqlite3_step(statement);
    for (int i = 0; i < n && result == SQLITE_ROW; i++)
        *ret_numbers[i] = (uint64_t)sqlite3_column_int64(statement, i);
    result = store_result(store, result);
    sqlite3_finalize(statement);
    return result;
}

int store_totals(struct store *store, struct store_totals *ret_totals)
{
    struct store_totals totals = {0};
    char value[32];
    int result = store_fact(store, "kind", value, sizeof value);

    totals.kind = strcmp(value, "gema") == 0 ? STUDY_GEMA : STUDY_GPUSYNC;
    if (!result)
        result = store_fact(store, "points", value, sizeof value);
    if (result)
        return result;
    totals.grid = strtoull(value, NULL, 10);
    if (totals.kind == STUDY_GEMA) {
        result = read_numbers(
            store,
            "SELECT count(DISTINCT ts_util || ' ' || dependent), coalesce(sum(tested), 0) FROM gema_results",
            (uint64_t *const[]){&totals.finished, &totals.tests}, 2);
        totals.points = totals.finished;
        totals.experiments = totals.grid;
    } else {
        result = read_numbers(store, "SELECT count(*), coalesce(sum(finished), 0) FROM dp_ptested",
                              (uint64_t *const[]){&totals.experiments, &totals.finished}, 2);
        if (!result)
            result = read_numbers(store, "SELECT count(*), coalesce(sum(tested), 0) FROM sched_results",
                                  (uint64_t *const[]){&totals.points, &totals.tests}, 2);
    }
    if (!result)
        *ret_totals = totals;
    return result;
}
