/* The sentences of the log. */
#ifndef DAEMON_EDGE_WORDS_H
#define DAEMON_EDGE_WORDS_H

#include "daemon/edge/log.h"
#include "daemon/server.h"

/* The log level of a report. */
enum log_level words_level(const struct server_report *report);

/* One line for the report, cut to fit; "": nothing to log. */
void words_report(const struct server_report *report, char *ret_text, size_t size);

#endif
