/* Shared by the parts of the store; for store*.c only. */
#ifndef STUDY_STORE_INTERNAL_H
#define STUDY_STORE_INTERNAL_H

#include <sqlite3.h>

#include "study/store/store.h"

struct store {
    sqlite3 *database;
    char message[512];
    /* Of a run: */
    const struct study_spec *spec;
    int64_t *experiments; /* ids, [unit][row]; gpusync only */
    int64_t provenance;
    sqlite3_stmt *put, *finish, *put_gema;
};

/* The -errno of an SQLite result, keeping its message; 0 for SQLITE_OK, SQLITE_DONE, SQLITE_ROW. */
int store_result(struct store *store, int sqlite_result);
int store_execute(struct store *store, const char *sql);
int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement);
/* Runs a statement without result rows, and resets it. */
int store_step(struct store *store, sqlite3_stmt *statement);
/* Opens the file, creating it if `create` is set, and checks that it is a study of this format. */
int store_open(const char *path, bool create, struct store **ret_store);
/*
 * Enters the contents of a spec: identity, overheads, distributions, experiments. STORE_OTHER if
 * the file holds another study.
 */
int store_enter(struct store *store);

#define STORE_FORMAT "1"

#endif
