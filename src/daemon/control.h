/*
 * Commands for a running daemon (CONTROL): `baton stop`, `load`, `reset`, `priority`. Every answer
 * is one DONE.
 *
 * Stopping, loading and resetting affect all clients: only the daemon's own user and root may do
 * so. The user that a program belongs to may also change the program's priority. That user's
 * ceiling applies, as if the program had asked itself. The plan decides the priority of its tasks.
 */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include "daemon/peer.h"

void control_receive(struct server *server, struct peer *peer, const struct frame_control *control);

/* RELOAD, which has a frame of its own. */
void control_reload(struct server *server, struct peer *peer);

#endif
