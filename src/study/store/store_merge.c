/* Merges shards into one file. Rows are matched by their properties, never by their keys. */
#include <errno.h>
#include <stdio.h>

#include "study/store/store_internal.h"

/* The same key with different values means different studies. */
static const char differences[] =
    "SELECT key FROM (SELECT key FROM study JOIN other.study o USING (key) WHERE study.value <> o.value"
    " UNION ALL SELECT 'overheads ' || name FROM overheads v JOIN other.overheads o USING (name, "
    "organisation)"
    " WHERE v.us <> o.us"
    " UNION ALL SELECT 'distribution ' || name FROM distrs d JOIN other.distrs o USING (kind, name)"
    " WHERE d.low <> o.low OR d.high <> o.high) LIMIT 1";

#define SAME_DISTRIBUTION(column)                                                                            \
    " JOIN other.distrs t_" #column " ON t_" #column ".id = o." #column " JOIN distrs d_" #column            \
    " ON d_" #column ".kind = t_" #column ".kind AND d_" #column ".name = t_" #column ".name"
#define SAME_DISTRIBUTIONS                                                                                   \
    SAME_DISTRIBUTION(util_dist)                                                                             \
    SAME_DISTRIBUTION(period_dist)                                                                           \
    SAME_DISTRIBUTION(kernel_dist) SAME_DISTRIBUTION(data_dist) SAME_DISTRIBUTION(state_dist)

static const char *const steps[] = {
    "INSERT OR IGNORE INTO study SELECT * FROM other.study",
    "INSERT OR IGNORE INTO overheads SELECT * FROM other.overheads",
    "INSERT OR IGNORE INTO provenance (version, seed, spec) SELECT version, seed, spec FROM other.provenance "
    "ORDER BY id",
    "INSERT OR IGNORE INTO distrs (kind, name, low, high) SELECT kind, name, low, high FROM other.distrs "
    "ORDER BY id",
    "INSERT OR IGNORE INTO dp_ptested (is_worst_case, is_polluters, util_dist, period_dist, kernel_dist, "
    "data_dist,"
    " state_dist, gpu_population, is_p2p, cpu_cluster_size, gpu_cluster_size, rho, overheads, configuration)"
    " SELECT o.is_worst_case, o.is_polluters, d_util_dist.id, d_period_dist.id, d_kernel_dist.id, "
    "d_data_dist.id,"
    " d_state_dist.id, o.gpu_population, o.is_p2p, o.cpu_cluster_size, o.gpu_cluster_size, o.rho, "
    "o.overheads,"
    " o.configuration FROM other.dp_ptested o" SAME_DISTRIBUTIONS " ORDER BY o.id",
    "CREATE TEMP TABLE map AS SELECT o.id AS theirs, m.id AS ours, o.finished AS finished FROM "
    "other.dp_ptested o" SAME_DISTRIBUTIONS
    " JOIN main.dp_ptested m ON m.util_dist = d_util_dist.id AND m.period_dist = d_period_dist.id"
    " AND m.kernel_dist = d_kernel_dist.id AND m.data_dist = d_data_dist.id AND m.state_dist = "
    "d_state_dist.id"
    " AND m.gpu_population = o.gpu_population AND m.overheads = o.overheads AND m.configuration = "
    "o.configuration",
    "CREATE TEMP TABLE origin AS SELECT o.id AS theirs, p.id AS ours FROM other.provenance o"
    " JOIN main.provenance p ON p.version = o.version AND p.spec = o.spec",
    "UPDATE dp_ptested SET finished = 1 WHERE id IN (SELECT ours FROM map WHERE finished) AND NOT finished",
};

static const char *const results[] = {
    "INSERT OR IGNORE INTO sched_results SELECT map.ours, r.ts_util, r.sched, r.avg_tard, r.avg_bandwidth, "
    "r.tested,"
    " r.schedulable, origin.ours FROM other.sched_results r JOIN map ON map.theirs = r.dp"
    " JOIN origin ON origin.theirs = r.provenance",
    "INSERT OR IGNORE INTO gema_results SELECT r.ts_util, r.dependent, r.analysis, r.policy, r.sched, "
    "r.tested,"
    " r.schedulable, origin.ours FROM other.gema_results r JOIN origin ON origin.theirs = r.provenance",
};

static int compare(struct store *store, const char *source)
{
    sqlite3_stmt *statement;
    int result = store_prepare(store, differences, &statement);

    if (result)
        return result;
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        (void)snprintf(store->message, sizeof store->message, "%s is of another study: %s differs", source,
                       (const char *)sqlite3_column_text(statement, 0));
        sqlite3_finalize(statement);
        return STORE_OTHER;
    }
    result = store_result(store, result);
    sqlite3_finalize(statement);
    return result;
}

static int take_over(struct store *store, const char *source, size_t *new_rows)
{
    int result = store_execute(store, "BEGIN IMMEDIATE");
    int before;

    if (result)
        return result;
    result = compare(store, source);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !result; i++)
        result = store_execute(store, steps[i]);
    before = sqlite3_total_changes(store->database);
    for (size_t i = 0; i < sizeof results / sizeof results[0] && !result; i++)
        result = store_execute(store, results[i]);
    *new_rows += (size_t)(sqlite3_total_changes(store->database) - before);
    if (!result)
        result = store_execute(store, "DROP TABLE temp.map; DROP TABLE temp.origin; COMMIT");
    if (result)
        (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return result;
}

static int merge_one(struct store *store, const char *source, size_t *new_rows)
{
    struct store *other = NULL;
    sqlite3_stmt *statement;
    int result = store_open_read(source, &other); /* ATTACH would create a missing file */

    if (result)
        (void)snprintf(store->message, sizeof store->message, "%s: %s", source, store_message(other));
    store_close(other);
    if (result)
        return result;
    result = store_prepare(store, "ATTACH ? AS other", &statement);
    if (result)
        return result;
    (void)sqlite3_bind_text(statement, 1, source, -1, SQLITE_STATIC);
    result = store_step(store, statement);
    sqlite3_finalize(statement);
    if (result)
        return result;
    result = take_over(store, source, new_rows);
    (void)sqlite3_exec(store->database, "DETACH other", NULL, NULL, NULL);
    return result;
}

int store_merge(const char *path, const char *const sources[], size_t n, size_t *ret_new,
                struct store **ret_store)
{
    size_t new_rows = 0;
    int result = store_open(path, true, ret_store);

    for (size_t i = 0; i < n && !result; i++)
        result = merge_one(*ret_store, sources[i], &new_rows);
    if (!result)
        *ret_new = new_rows;
    return result;
}
