/*
 * What `baton report` collects before it builds the page: from a running daemon, from the database
 * of a study.
 */
#ifndef CLI_REPORT_SOURCES_H
#define CLI_REPORT_SOURCES_H

#include <stdbool.h>

#include "cli/subcommand.h"
#include "report/story.h"

/* Is this the database of a study (SQLite), rather than JSON? */
bool report_is_database(const char *path);

/*
 * The first adds the ranking and the curves of a study. The second adds the trace and the state of
 * the daemon at socket (NULL: the usual one). Both call other sub-commands of this program, so the
 * page agrees with `baton study`, `trace` and `status`. 0, or an exit status after a message to the
 * user.
 */
int report_add_study(const struct cli_args *args, const char *path, struct story *story);
int report_add_daemon(const struct cli_args *args, const char *socket, struct story *story);

#endif
