/*
 * A spec is entered into the file before any computation, so that keys do not depend on the order
 * of the workers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "study/store/store_internal.h"
#include "version.h"

/* Stores the fact, or compares it with the existing one. */
static int enter_fact(struct store *store, const char *key, const char *value)
{
    sqlite3_stmt *statement;
    char known[64];
    int result = store_fact(store, key, known, sizeof known);

    if (result)
        return result;
    if (known[0] && strcmp(known, value) != 0) {
        (void)snprintf(store->message, sizeof store->message,
                       "it holds another study (%s: %s there, %s here)", key, known, value);
        return STORE_OTHER;
    }
    result = store_prepare(store, "INSERT OR IGNORE INTO study VALUES (?, ?)", &statement);
    if (result)
        return result;
    (void)sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, 2, value, -1, SQLITE_STATIC);
    result = store_step(store, statement);
    sqlite3_finalize(statement);
    return result;
}

static int enter_number(struct store *store, const char *key, double value)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%.15g", value);
    return enter_fact(store, key, text);
}

static int enter_facts(struct store *store)
{
    const struct study_spec *spec = store->spec;
    bool gema = spec->kind == STUDY_GEMA;
    char seed[32];
    int result = enter_fact(store, "kind", gema ? "gema" : "gpusync");

    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)spec->seed);
    if (!result)
        result = enter_fact(store, "seed", seed);
    if (!result)
        result = enter_number(store, "points", (double)(gema ? spec->n_units : spec->n_points));
    if (gema)
        return result ? result : enter_number(store, "sets", spec->gema.sets);
    if (!result)
        result = enter_fact(store, "analysis", spec->analysis);
    if (!result)
        result = enter_number(store, "step", spec->step);
    if (!result)
        result = enter_number(store, "least", spec->stopping.least);
    if (!result)
        result = enter_number(store, "most", spec->stopping.most);
    if (!result)
        result = enter_number(store, "interval", spec->stopping.interval);
    return result ? result : enter_number(store, "cut", spec->stopping.cut);
}

/* INSERT OR IGNORE of a row, then a SELECT of one column; both take the same bindings. */
struct store_entry {
    sqlite3_stmt *insert, *select;
};

static int open_entry(struct store *store, const char *insert, const char *select,
                      struct store_entry *ret_entry)
{
    int result = store_prepare(store, insert, &ret_entry->insert);

    return result ? result : store_prepare(store, select, &ret_entry->select);
}

static void close_entry(struct store_entry *entry)
{
    sqlite3_finalize(entry->insert);
    sqlite3_finalize(entry->select);
}

static int enter_and_select(struct store *store, struct store_entry *entry, int64_t *ret_id)
{
    int result = store_step(store, entry->insert);

    if (result)
        return result;
    result = sqlite3_step(entry->select);
    if (result == SQLITE_ROW)
        *ret_id = sqlite3_column_int64(entry->select, 0);
    else if (result == SQLITE_DONE)
        result = SQLITE_CORRUPT;
    result = store_result(store, result);
    sqlite3_reset(entry->select);
    return result;
}

static int enter_provenance(struct store *store)
{
    struct store_entry entry = {0};
    int result =
        open_entry(store, "INSERT OR IGNORE INTO provenance (version, spec, seed) VALUES (?1, ?2, ?3)",
                   "SELECT id FROM provenance WHERE version = ?1 AND spec = ?2", &entry);

    if (!result) {
        sqlite3_stmt *both[] = {entry.insert, entry.select};

        for (size_t i = 0; i < 2; i++) {
            (void)sqlite3_bind_text(both[i], 1, BATON_VERSION, -1, SQLITE_STATIC);
            (void)sqlite3_bind_text(both[i], 2, store->spec->text, -1, SQLITE_STATIC);
        }
        (void)sqlite3_bind_int64(entry.insert, 3, (int64_t)store->spec->seed);
        result = enter_and_select(store, &entry, &store->provenance);
    }
    close_entry(&entry);
    return result;
}

static int enter_overhead(struct store *store, const struct study_overheads *set, size_t organisation)
{
    struct store_entry entry = {0};
    int64_t same = 0;
    struct draft draft;
    char *text = NULL;
    size_t size;
    int result = draft_begin(&draft);

    if (!result)
        overheads_print(&set->sets[organisation], "", draft.out);
    result = draft_take(&draft, result, &text, &size);
    if (result)
        return result;
    result = open_entry(store, "INSERT OR IGNORE INTO overheads VALUES (?1, ?2, ?3)",
                        "SELECT us = ?3 FROM overheads WHERE name = ?1 AND organisation = ?2", &entry);
    if (!result) {
        sqlite3_stmt *both[] = {entry.insert, entry.select};

        for (size_t i = 0; i < 2; i++) {
            (void)sqlite3_bind_text(both[i], 1, set->name, -1, SQLITE_STATIC);
            (void)sqlite3_bind_text(both[i], 2, study_organisation_names[organisation], -1, SQLITE_STATIC);
            (void)sqlite3_bind_text(both[i], 3, text, -1, SQLITE_STATIC);
        }
        result = enter_and_select(store, &entry, &same);
    }
    close_entry(&entry);
    free(text);
    if (!result && !same) {
        (void)snprintf(store->message, sizeof store->message, "its overhead set %s has other values",
                       set->name);
        return STORE_OTHER;
    }
    return result;
}

/* The id of a distribution; STORE_OTHER if the name has other values in the file. */
static int enter_distribution(struct store *store, size_t parameter, const struct study_distribution *value,
                              int64_t *ret_id)
{
    struct store_entry entry = {0};
    int64_t id = 0;
    int result =
        open_entry(store, "INSERT OR IGNORE INTO distrs (kind, name, low, high) VALUES (?1, ?2, ?3, ?4)",
                   "SELECT CASE WHEN low = ?3 AND high = ?4 THEN id ELSE -1 END FROM distrs"
                   " WHERE kind = ?1 AND name = ?2",
                   &entry);

    if (!result) {
        sqlite3_stmt *both[] = {entry.insert, entry.select};

        for (size_t i = 0; i < 2; i++) {
            (void)sqlite3_bind_text(both[i], 1, study_parameter_names[parameter], -1, SQLITE_STATIC);
            (void)sqlite3_bind_text(both[i], 2, value->name, -1, SQLITE_STATIC);
            (void)sqlite3_bind_double(both[i], 3, value->low);
            (void)sqlite3_bind_double(both[i], 4, value->high);
        }
        result = enter_and_select(store, &entry, &id);
    }
    close_entry(&entry);
    if (!result)
        *ret_id = id;
    if (!result && id < 0) {
        (void)snprintf(store->message, sizeof store->message, "its distribution %s (%s) has other values",
                       value->name, study_parameter_names[parameter]);
        return STORE_OTHER;
    }
    return result;
}

struct distribution_ids {
    int64_t of[STUDY_PARAMETERS][STUDY_MAX_CHOICES];
};

static void bind_experiment(sqlite3_stmt *statement, const struct study_spec *spec,
                            const struct study_combination *combination, const struct distribution_ids *ids,
                            size_t row)
{
    const struct study_overheads *overheads = &spec->overheads[combination->overheads];
    const struct study_configuration *configuration = &spec->configurations[row];
    const struct platform *platform = &configuration->platform;

    for (int p = 0; p < PARAMETER_SHARE; p++)
        (void)sqlite3_bind_int64(statement, p + 1, ids->of[p][combination->choice[p]]);
    (void)sqlite3_bind_double(statement, 6, combination->values[PARAMETER_SHARE]->low);
    (void)sqlite3_bind_text(statement, 7, overheads->name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, 8, configuration->name, -1, SQLITE_STATIC);
    if (sqlite3_bind_parameter_count(statement) == 8)
        return;
    (void)sqlite3_bind_int(statement, 9, overheads->worst_case);
    (void)sqlite3_bind_int(statement, 10, overheads->loaded);
    (void)sqlite3_bind_int(
        statement, 11, platform->migration == MIGRATION_P2P || platform->migration == MIGRATION_ON_DEMAND);
    (void)sqlite3_bind_int64(statement, 12, platform->cpu_cluster);
    (void)sqlite3_bind_int64(statement, 13, platform->gpu_cluster);
    (void)sqlite3_bind_int64(statement, 14,
                             platform->tokens_per_gpu); /* TOKENS_UNLIMITED is 0, as in App. D */
}

static int enter_experiments(struct store *store, const struct distribution_ids *ids)
{
    const struct study_spec *spec = store->spec;
    struct store_entry entry = {0};
    int result = open_entry(
        store,
        "INSERT OR IGNORE INTO dp_ptested (util_dist, period_dist, kernel_dist, data_dist, state_dist,"
        " gpu_population, overheads, configuration, is_worst_case, is_polluters, is_p2p, cpu_cluster_size,"
        " gpu_cluster_size, rho) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        "SELECT id FROM dp_ptested WHERE util_dist = ?1 AND period_dist = ?2 AND kernel_dist = ?3"
        " AND data_dist = ?4 AND state_dist = ?5 AND gpu_population = ?6 AND overheads = ?7 AND "
        "configuration = ?8",
        &entry);

    store->experiments = calloc(spec->n_units * spec->n_configurations, sizeof *store->experiments);
    if (!store->experiments)
        result = -ENOMEM;
    for (size_t unit = 0; unit < spec->n_units && !result; unit++) {
        struct study_combination combination;

        study_combination(spec, unit, &combination);
        for (size_t row = 0; row < spec->n_configurations && !result; row++) {
            bind_experiment(entry.insert, spec, &combination, ids, row);
            bind_experiment(entry.select, spec, &combination, ids, row);
            result =
                enter_and_select(store, &entry, &store->experiments[unit * spec->n_configurations + row]);
        }
    }
    close_entry(&entry);
    return result;
}

static int enter_gpusync(struct store *store)
{
    const struct study_spec *spec = store->spec;
    struct distribution_ids ids;
    int result = 0;

    for (size_t set = 0; set < spec->n_overheads; set++)
        for (size_t o = 0; o < STUDY_ORGANISATIONS && !result; o++)
            result = enter_overhead(store, &spec->overheads[set], o);
    for (size_t p = 0; p < PARAMETER_SHARE; p++)
        for (size_t i = 0; i < spec->choices[p].n && !result; i++)
            result = enter_distribution(store, p, &spec->choices[p].values[i], &ids.of[p][i]);
    return result ? result : enter_experiments(store, &ids);
}

int store_enter(struct store *store)
{
    int result = store_execute(store, "BEGIN IMMEDIATE");

    if (result)
        return result;
    result = enter_facts(store);
    if (!result)
        result = enter_provenance(store);
    if (!result && store->spec->kind == STUDY_GPUSYNC)
        result = enter_gpusync(store);
    if (!result)
        result = store_execute(store, "COMMIT");
    if (result)
        (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return result;
}
