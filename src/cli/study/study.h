/* What the study commands share. */
#ifndef CLI_STUDY_H
#define CLI_STUDY_H

#include "cli/command.h"
#include "study/store/store.h"

#define STUDY_DB_OPTION                                                                                      \
    {                                                                                                        \
        "db", 0, "FILE", "the database of results (SQLite; required)"                                        \
    }

/* Opens --db for reading; 0, or the exit status after telling the user. */
int study_open(const struct cli_args *args, struct store **ret_store);

/* Tells why a call on the store failed; the exit status. path: of the file. */
int study_fail(const struct cli_args *args, int result, const char *path, const struct store *store);

#endif
