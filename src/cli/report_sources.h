/* What `baton report` collects before it tells the story: from a daemon that runs, from the database of a study. */
#ifndef CLI_REPORT_SOURCES_H
#define CLI_REPORT_SOURCES_H

#include <stdbool.h>

#include "cli/command.h"
#include "report/story.h"

/* Is this the database of a study (SQLite), rather than JSON? */
bool report_is_database(const char *path);

/*
 * Adds the ranking and the curves of a study; or the trace and the state of the daemon at socket (NULL: the usual one). Both ask
 * other sub-commands of this very program, so a page tells what `baton study`, `trace` and `status` tell. 0, or an exit status after
 * telling the user.
 */
int report_add_study(const struct cli_args *args, const char *path, struct story *story);
int report_add_daemon(const struct cli_args *args, const char *socket, struct story *story);

#endif
