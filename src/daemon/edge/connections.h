/* The sockets of clients: bytes and descriptors to the server and back, and whether their processes live. */
#ifndef DAEMON_EDGE_CONNECTIONS_H
#define DAEMON_EDGE_CONNECTIONS_H

#include "daemon/edge/loop.h"

/* Somebody connects; something can be read or written; the process has ended. */
void connections_accept(struct loop *loop);
void connections_on_peer(struct loop *loop, unsigned slot, uint32_t events);
void connections_on_exit(struct loop *loop, unsigned slot);

/* Sends what the server has for anybody, and ends the connections that it wants ended. */
void connections_flush(struct loop *loop);

void connections_close(struct loop *loop);

#endif
