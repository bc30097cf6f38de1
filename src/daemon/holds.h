/*
 * The daemon's books of leases, against the scheduling core. Requests become core events; decisions become lease words. Events that follow from
 * decisions wait in a queue, so that the core is never entered twice.
 *
 * The rule that keeps idle leases harmless (docs/protocols.md M3): before a request reaches the core, every lease that is held
 * on one of its engines is called in. An idle one is taken back on the spot; a busy one now carries WANTED and must say
 * when it is done. So whenever somebody waits in the core, the holder is flagged.
 *
 * A group (M2) is one request of the core for the engines of several leases, on a lane of its own. In our books every member is a
 * hold like any other, always flagged, that may go at any time (given up, taken over by a new connection, drained);
 * the core is told when the last one has gone.
 */
#ifndef DAEMON_HOLDS_H
#define DAEMON_HOLDS_H

#include "daemon/peer.h"

/* Does the profile run with tokens? Then a client has one lane, and its engine requests go one after the other. */
bool holds_tokens(const struct server *server);

/* Queues an event for the core; holds_run() feeds it. */
void holds_push(struct server *server, struct sched_event event);
void holds_push_lane(struct server *server, const struct peer *peer, unsigned index,
                     enum sched_event_kind kind);

/* Feeds what is queued to the core and carries out what it decides, until nothing is left. */
void holds_run(struct server *server);

/* For the trace: something happened to this hold. */
void holds_note(struct server *server, enum record_kind kind, const struct peer *peer,
                const struct hold *hold);

/* The hold is over: in our own books only, or for the core too (with the last of its group). */
void holds_forget(struct server *server, struct peer *peer, unsigned index, enum hold_state next);
void holds_let_go(struct server *server, struct peer *peer, unsigned index);

/* Its threads are what they were before, unless it is still expected to give way. */
void holds_restore(struct server *server, struct peer *peer);

/* Calls a held lease in; true: it is free now. */
bool holds_call_in(struct server *server, struct peer *peer, unsigned index, uint64_t flags);
void holds_call_in_engines(struct server *server, const struct engine_set *engines);

/* The engines that the request of this lease, or of its group, names; and that request. */
struct engine_set holds_wanted(const struct server *server, const struct peer *peer, unsigned index);
void holds_ask(struct server *server, struct peer *peer, unsigned index);

#endif
