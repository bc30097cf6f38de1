/* The log's sentences. */
#ifndef DAEMON_EDGE_WORDS_H
#define DAEMON_EDGE_WORDS_H

#include "daemon/edge/log.h"
#include "daemon/server.h"

/* How urgent is what the server reports? */
enum log_level words_level(const struct server_report *report);

/* One line about it, cut to fit; "": nothing that a person needs to know. */
void words_report(const struct server_report *report, char *ret_text, size_t size);

#endif
