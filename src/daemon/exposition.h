/* The server's numbers in Prometheus' text format 0.0.4; the names are listed in docs/daemon.md. */
#ifndef DAEMON_EXPOSITION_H
#define DAEMON_EXPOSITION_H

#include <stdio.h>

#include "daemon/server.h"

/* Writes all metrics. Names that clients gave are escaped. */
void exposition_write(const struct server *server, FILE *out);

#endif
