/* The log's sentences. */
#ifndef DAEMON_EDGE_WORDS_H
#define DAEMON_EDGE_WORDS_H

#include "daemon/server.h"

/* One line about what the server reports, cut to fit; "": nothing that a person needs to know. */
void words_report(const struct server_report *report, char *ret_text, size_t size);

#endif
