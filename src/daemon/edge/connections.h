/*
 * The sockets of clients: carries bytes and descriptors to the server and back, and watches the
 * processes.
 */
#ifndef DAEMON_EDGE_CONNECTIONS_H
#define DAEMON_EDGE_CONNECTIONS_H

#include "daemon/edge/loop.h"

/* A client connects; a socket can be read or written; a process has ended. */
void connections_accept(struct loop *loop);
void connections_on_peer(struct loop *loop, unsigned slot, uint32_t events);
void connections_on_exit(struct loop *loop, unsigned slot);

/* Sends the server's output to all clients, and ends the connections that the server drops. */
void connections_flush(struct loop *loop);

/* Watches a process that is not scheduled; 0 or -errno. */
int connections_watch_unscheduled(struct loop *loop, pid_t pid, unsigned process);
/* That process has ended. */
void connections_on_unscheduled(struct loop *loop, unsigned process);

void connections_close(struct loop *loop);

#endif
