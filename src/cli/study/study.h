/* Shared by the study commands. */
#ifndef CLI_STUDY_H
#define CLI_STUDY_H

#include "cli/subcommand.h"
#include "study/store/store.h"

#define STUDY_DB_OPTION                                                                                      \
    {                                                                                                        \
        "db", 0, "FILE", "the database of results (SQLite; required)"                                        \
    }

/* Opens --db for reading; 0, or the exit status after a message to the user. */
int study_open(const struct cli_args *args, struct store **ret_store);

/* Prints why a call on the store failed; the exit status. path names the file. */
int study_fail(const struct cli_args *args, int result, const char *path, const struct store *store);

#endif
