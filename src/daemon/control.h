/*
 * What a person asks of a running daemon (CONTROL): `baton stop`, `load`, `reset`, `priority`. Every answer is one DONE.
 *
 * Stopping, loading and resetting change what holds for everybody: only the daemon's own user and root may. A program's priority may
 * be changed by the user that it belongs to as well; that user's ceiling holds as if the program had asked itself. The priority of a
 * task of the plan is the plan's.
 */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include "daemon/peer.h"

void control_receive(struct server *server, struct peer *peer, const struct frame_control *control);

/* RELOAD, which has a frame of its own. */
void control_reload(struct server *server, struct peer *peer);

#endif
