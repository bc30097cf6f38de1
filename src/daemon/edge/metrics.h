/*
 * Prometheus metrics over HTTP, on a socket or a loopback port, in the daemon's own loop. A reader
 * costs a fixed request buffer and one text. The number of readers is small, and each has a second
 * or two. A slow reader, or one with an invalid request, is dropped.
 */
#ifndef DAEMON_EDGE_METRICS_H
#define DAEMON_EDGE_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/nsec.h"
#include "daemon/edge/socket_file.h"
#include "daemon/server.h"

#define METRICS_READERS 4
#define METRICS_REQUEST 2048 /* bytes of a request's head */
#define METRICS_LIMIT   (2 * NSEC_PER_SEC)

struct metrics_reader {
    int fd; /* -1: none */
    char request[METRICS_REQUEST];
    size_t n;
    char *answer; /* owned; NULL: the request is incomplete */
    size_t size, sent;
    baton_nsec until_at;
};

struct metrics {
    int fd;                  /* listens; -1: off */
    struct socket_file file; /* not of a port */
    struct metrics_reader readers[METRICS_READERS];
};

void metrics_init(struct metrics *metrics);

/* where: as the configuration's reader takes it. 0, or -errno as socket_file_look(). */
int metrics_open(struct metrics *metrics, const char *where);

/*
 * Accepts a connection: its index, to be watched for input; -errno: none; -EBUSY: too many, closed
 * at once.
 */
int metrics_accept(struct metrics *metrics, baton_nsec now_at);

/*
 * Something can be read or written. 0: watch for input; 1: watch for output (the answer is under
 * way); -1: it is over and closed.
 */
int metrics_serve(struct metrics *metrics, unsigned reader, const struct server *server);

/* When the next reader must be dropped; NSEC_MAX: there is no reader. */
baton_nsec metrics_next_at(const struct metrics *metrics);
void metrics_tick(struct metrics *metrics, baton_nsec now_at);

void metrics_close(struct metrics *metrics);

#endif
