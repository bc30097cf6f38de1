#include "study/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "study/gema_experiment.h"
#include "study/store/store_internal.h"

#define BUSY_TIMEOUT_MS 60000

static const char schema[] =
    "CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE provenance (id INTEGER PRIMARY KEY, version TEXT NOT NULL, seed INTEGER NOT NULL,"
    " spec TEXT NOT NULL, UNIQUE (version, spec));"
    "CREATE TABLE overheads (name TEXT NOT NULL, organisation TEXT NOT NULL, us TEXT NOT NULL,"
    " PRIMARY KEY (name, organisation)) WITHOUT ROWID;"
    "CREATE TABLE distrs (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, low REAL NOT NULL,"
    " high REAL NOT NULL, UNIQUE (kind, name));"
    "CREATE TABLE dp_ptested (id INTEGER PRIMARY KEY, is_worst_case INTEGER NOT NULL, is_polluters INTEGER "
    "NOT NULL,"
    " util_dist INTEGER NOT NULL, period_dist INTEGER NOT NULL, kernel_dist INTEGER NOT NULL,"
    " data_dist INTEGER NOT NULL, state_dist INTEGER NOT NULL, gpu_population REAL NOT NULL,"
    " is_p2p INTEGER NOT NULL, cpu_cluster_size INTEGER NOT NULL, gpu_cluster_size INTEGER NOT NULL,"
    " rho INTEGER NOT NULL, overheads TEXT NOT NULL, configuration TEXT NOT NULL,"
    " finished INTEGER NOT NULL DEFAULT 0,"
    " UNIQUE (util_dist, period_dist, kernel_dist, data_dist, state_dist, gpu_population, overheads,"
    " configuration));"
    "CREATE TABLE sched_results (dp INTEGER NOT NULL REFERENCES dp_ptested (id), ts_util REAL NOT NULL,"
    " sched REAL NOT NULL, avg_tard REAL, avg_bandwidth REAL, tested INTEGER NOT NULL,"
    " schedulable INTEGER NOT NULL, provenance INTEGER NOT NULL REFERENCES provenance (id),"
    " PRIMARY KEY (dp, ts_util)) WITHOUT ROWID;"
    "CREATE TABLE gema_results (ts_util REAL NOT NULL, dependent REAL NOT NULL, analysis TEXT NOT NULL,"
    " policy TEXT NOT NULL, sched REAL NOT NULL, tested INTEGER NOT NULL, schedulable INTEGER NOT NULL,"
    " provenance INTEGER NOT NULL REFERENCES provenance (id),"
    " PRIMARY KEY (ts_util, dependent, analysis, policy)) WITHOUT ROWID;"
    "INSERT INTO study VALUES ('format', '" STORE_FORMAT "');";

int store_result(struct store *store, int sqlite_result)
{
    int primary = sqlite_result & 0xff;

    if (primary == SQLITE_OK || primary == SQLITE_DONE || primary == SQLITE_ROW)
        return 0;
    (void)snprintf(store->message, sizeof store->message, "%s",
                   store->database ? sqlite3_errmsg(store->database) : sqlite3_errstr(sqlite_result));
    switch (primary) {
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_CANTOPEN:
        return -ENOENT;
    case SQLITE_NOTADB:
        return STORE_OTHER;
    default:
        return -EIO;
    }
}

int store_execute(struct store *store, const char *sql)
{
    return store_result(store, sqlite3_exec(store->database, sql, NULL, NULL, NULL));
}

int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement)
{
    return store_result(store, sqlite3_prepare_v2(store->database, sql, -1, ret_statement, NULL));
}

int store_step(struct store *store, sqlite3_stmt *statement)
{
    int result = store_result(store, sqlite3_step(statement));

    sqlite3_reset(statement);
    return result;
}

/* 1: a study of this format, 0: an empty file, STORE_OTHER + 1: another file; or -errno. */
static int recognise(struct store *store)
{
    sqlite3_stmt *statement;
    int tables = 0;
    char format[16];
    int result = store_prepare(store, "SELECT count(*) FROM sqlite_master", &statement);

    if (result)
        return result == STORE_OTHER ? STORE_OTHER + 1 : result;
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        tables = sqlite3_column_int(statement, 0);
    result = store_result(store, result);
    sqlite3_finalize(statement);
    if (result || tables == 0)
        return result == STORE_OTHER ? STORE_OTHER + 1 : result;
    if (store_fact(store, "format", format, sizeof format) || strcmp(format, STORE_FORMAT) != 0)
        return STORE_OTHER + 1;
    return 1;
}

/*
 * Two runs may create the file at the same time: the second finds the tables once it has the lock.
 */
static int create_tables(struct store *store)
{
    int result = store_execute(store, "BEGIN IMMEDIATE");

    if (result)
        return result;
    result = recognise(store);
    if (result == 0)
        result = store_execute(store, schema);
    else if (result == 1)
        result = 0;
    if (!result)
        result = store_execute(store, "COMMIT");
    else
        (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return result > STORE_OTHER ? STORE_OTHER : result;
}

/* SQLite calls a missing file and a folder the same: "unable to open database file". */
static int check_place(struct store *store, const char *path, bool create)
{
    struct stat place;
    int result = 0;

    if (stat(path, &place) == 0)
        result = S_ISDIR(place.st_mode) ? -EISDIR : 0;
    else if (!create || errno != ENOENT)
        result = -errno;
    if (result)
        (void)snprintf(store->message, sizeof store->message, "%s", strerror(-result));
    return result;
}

int store_open(const char *path, bool create, struct store **ret_store)
{
    struct store *store = calloc(1, sizeof *store);
    /*
     * Readers need write access too: a killed run may have left a journal, and the next process
     * that opens the file rolls it back.
     */
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    int result;

    if (!store)
        return -ENOMEM;
    *ret_store = store;
    result = check_place(store, path, create);
    if (result)
        return result;
    result = store_result(store, sqlite3_open_v2(path, &store->database, flags, NULL));
    if (result)
        return result;
    (void)sqlite3_busy_timeout(store->database, BUSY_TIMEOUT_MS);
    (void)sqlite3_exec(store->database, "PRAGMA cache_size = -8000", NULL, NULL, NULL);
    result = recognise(store);
    if (result == 0)
        result = create ? create_tables(store) : STORE_OTHER;
    else if (result == 1)
        result = 0;
    if (result >= STORE_OTHER) {
        (void)snprintf(store->message, sizeof store->message,
                       "expected a database of `baton study run` (format %s)", STORE_FORMAT);
        return STORE_OTHER;
    }
    return result;
}

int store_open_read(const char *path, struct store **ret_store)
{
    return store_open(path, false, ret_store);
}

static int prepare_run(struct store *store)
{
    int result =
        store_prepare(store,
                      "INSERT OR IGNORE INTO sched_results (dp, ts_util, sched, avg_tard, avg_bandwidth,"
                      " tested, schedulable, provenance) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                      &store->put);

    if (!result)
        result = store_prepare(store, "UPDATE dp_ptested SET finished = 1 WHERE id = ?", &store->finish);
    if (!result)
        result =
            store_prepare(store,
                          "INSERT OR IGNORE INTO gema_results (ts_util, dependent, analysis, policy, sched,"
                          " tested, schedulable, provenance) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                          &store->put_gema);
    return result;
}

int store_open_run(const char *path, const struct study_spec *spec, struct store **ret_store)
{
    int result = store_open(path, true, ret_store);

    if (result)
        return result;
    (*ret_store)->spec = spec;
    result = store_enter(*ret_store);
    return result ? result : prepare_run(*ret_store);
}

void store_close(struct store *store)
{
    if (!store)
        return;
    sqlite3_finalize(store->put);
    sqlite3_finalize(store->finish);
    sqlite3_finalize(store->put_gema);
    (void)sqlite3_close(store->database);
    free(store->experiments);
    free(store);
}

const char *store_message(const struct store *store)
{
    return store ? store->message : "";
}

struct sqlite3 *store_database(struct store *store)
{
    return store->database;
}

int store_fact(struct store *store, const char *key, char ret_value[], size_t size)
{
    sqlite3_stmt *statement;
    int result = store_prepare(store, "SELECT value FROM study WHERE key = ?", &statement);

    if (result)
        return result;
    ret_value[0] = 0;
    (void)sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        (void)snprintf(ret_value, size, "%s", (const char *)sqlite3_column_text(statement, 0));
    result = store_result(store, result);
    sqlite3_finalize(statement);
    return result;
}

static void bind_mean(sqlite3_stmt *statement, int column, double value)
{
    if (value < 0)
        (void)sqlite3_bind_null(statement, column);
    else
        (void)sqlite3_bind_double(statement, column, value);
}

static void bind_counts(sqlite3_stmt *statement, int first, const struct study_cell *cell, int64_t provenance)
{
    (void)sqlite3_bind_int64(statement, first, cell->tested);
    (void)sqlite3_bind_int64(statement, first + 1, cell->schedulable);
    (void)sqlite3_bind_int64(statement, first + 2, provenance);
}

static int put_gpusync(struct store *store, const struct study_point *point, const struct study_cell *cell)
{
    const struct study_spec *spec = store->spec;
    int64_t id = store->experiments[point->unit * spec->n_configurations + cell->row];
    int result;

    (void)sqlite3_bind_int64(store->put, 1, id);
    (void)sqlite3_bind_double(store->put, 2, spec->step * (double)(point->point + 1));
    (void)sqlite3_bind_double(store->put, 3, (double)cell->schedulable / (double)cell->tested);
    bind_mean(store->put, 4, cell->tardiness);
    bind_mean(store->put, 5, cell->bandwidth);
    bind_counts(store->put, 6, cell, store->provenance);
    result = store_step(store, store->put);
    if (result || !cell->finished)
        return result;
    (void)sqlite3_bind_int64(store->finish, 1, id);
    return store_step(store, store->finish);
}

static int put_gema(struct store *store, const struct study_point *point, const struct study_cell *cell)
{
    static const char *const curves[GEMA_CURVES] = {"printed", "sound", "sound-placed"};
    const struct study_gema *gema = &store->spec->gema;
    sqlite3_stmt *put = store->put_gema;

    (void)sqlite3_bind_double(put, 1, gema->utilisation[point->unit % gema->n_utilisation]);
    (void)sqlite3_bind_double(put, 2, gema->dependent[point->unit / gema->n_utilisation]);
    (void)sqlite3_bind_text(put, 3, curves[cell->row / GEMA_POLICIES], -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(put, 4, plan_policy_names[cell->row % GEMA_POLICIES], -1, SQLITE_STATIC);
    (void)sqlite3_bind_double(put, 5, (double)cell->schedulable / (double)cell->tested);
    bind_counts(put, 6, cell, store->provenance);
    return store_step(store, put);
}

int store_put(struct store *store, const struct study_point points[], size_t n, size_t *ret_new)
{
    int before = sqlite3_total_changes(store->database);
    int finished = 0;
    int result = store_execute(store, "BEGIN IMMEDIATE");

    for (size_t i = 0; i < n && !result; i++)
        for (size_t k = 0; k < points[i].n && !result; k++) {
            const struct study_cell *cell = &points[i].cells[k];

            result = store->spec->kind == STUDY_GEMA ? put_gema(store, &points[i], cell)
                                                     : put_gpusync(store, &points[i], cell);
            finished += store->spec->kind == STUDY_GPUSYNC && cell->finished;
        }
    if (!result)
        result = store_execute(store, "COMMIT");
    if (result) {
        (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
        return result;
    }
    *ret_new = (size_t)(sqlite3_total_changes(store->database) - before - finished);
    return 0;
}
