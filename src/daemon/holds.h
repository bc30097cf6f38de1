/*
 * The daemon's records of leases, kept in step with the scheduling core. Requests become core
 * events; decisions become lease words. Events that follow from decisions wait in a queue, so that
 * the core is never entered twice.
 *
 * Idle leases do no harm because of one rule (docs/protocols.md M3). Before a request reaches the
 * core, every held lease on one of its engines is called in. An idle lease ends at once. A busy one
 * now carries WANTED, and its client must report when it is done. So whenever a client waits in the
 * core, the holder is flagged.
 *
 * A group (M2) is one request of the core for the engines of several leases, on a lane of its own.
 * In the daemon's records every member is a hold like any other, and always flagged. A member may
 * go at any time: given up, taken over by a new connection, or drained. The core is told when the
 * last member has gone.
 */
#ifndef DAEMON_HOLDS_H
#define DAEMON_HOLDS_H

#include "daemon/peer.h"

/*
 * Does the profile use tokens? Then a client has one lane, and its engine requests go one after the
 * other.
 */
bool holds_tokens(const struct server *server);
/*
 * Is the client in this hold, or does it wait for it? A lease that it merely keeps is neither
 * (M3).
 */
bool holds_in_use(const struct peer *peer, unsigned index);

/* Queues an event for the core; holds_run() feeds it. */
void holds_push(struct server *server, struct sched_event event);
void holds_push_lane(struct server *server, const struct peer *peer, unsigned index,
                     enum sched_event_kind kind);

/* Feeds queued events to the core and carries out its decisions, until the queue is empty. */
void holds_run(struct server *server);

/* Records for the trace what happened to this hold. */
void holds_note(struct server *server, enum record_kind kind, const struct peer *peer,
                const struct hold *hold);

/*
 * The hold is over: in the daemon's records only, or for the core too (with the last lease of its
 * group).
 */
void holds_forget(struct server *server, struct peer *peer, unsigned index, enum hold_state next);
void holds_let_go(struct server *server, struct peer *peer, unsigned index);

/*
 * Without tokens: has the client kept this hold for longer than any piece of its task, since it was
 * asked to yield it? A piece of a kernel is no longer than `piece_ms`. What the plan does not cut
 * by time is no longer than the engine time of a job. Every bound counts one piece of a less urgent
 * task.
 */
bool holds_outlasts(const struct server *server, const struct peer *peer, unsigned index);

/* Restores the client's threads, unless the client is still expected to yield. */
void holds_restore(struct server *server, struct peer *peer);

/* Calls a held lease in; true: it is free now. */
bool holds_call_in(struct server *server, struct peer *peer, unsigned index, uint64_t flags);
void holds_call_in_engines(struct server *server, const struct engine_set *engines);

/* The engines that the request of this lease, or of its group, names; and that request. */
struct engine_set holds_wanted(const struct server *server, const struct peer *peer, unsigned index);
void holds_ask(struct server *server, struct peer *peer, unsigned index);

#endif
