/*
 * The engine requests of a job against those that the analysis counted (model/plan_requests.h).
 *
 * A hold delays other jobs only while one of them waits for one of its engines, so its length
 * counts from that instant on. A program whose job makes more requests of a kind, or longer ones,
 * breaks the rule `requests`, and no bound of the plan is claimed. Leases of such a job are never
 * kept idle: every command asks, and is seen.
 *
 * Why the k-th longest is compared. A blocking term takes the longest requests of another task, at
 * most so many of a job and so many in all. Let the k-th longest request of each job be no longer
 * than the k-th longest that was counted, for each k. Then every such choice is at most the counted
 * one.
 */
#ifndef DAEMON_REQUESTS_H
#define DAEMON_REQUESTS_H

#include <stdbool.h>

#include "base/nsec.h"
#include "model/plan_requests.h"

struct engine_set;
struct peer;
struct plan_task;
struct server;

/* The requests of one job so far. */
struct request_tally {
    unsigned made[REQUEST_KINDS];
    /* requests that were longer than the length of this index in the plan */
    unsigned longer[REQUEST_KINDS][PLAN_REQUEST_LENGTHS];
};

/* One more request of this kind; false: more than were counted. */
bool request_tally_made(struct request_tally *tally, const struct plan_requests *counted,
                        enum plan_request_kind kind);
/* A request of this kind delayed others for so long; false: longer than was counted. */
bool request_tally_lasted(struct request_tally *tally, const struct plan_requests *counted,
                          enum plan_request_kind kind, baton_nsec length);

/* A job is released; task: its entry in the plan, or NULL. */
void requests_begin(struct peer *peer, const struct plan_task *task);
/* The job asks for the engines of this lease, or for its next piece. */
void requests_asked(struct server *server, struct peer *peer, unsigned lease);
/* It holds these engines. */
void requests_granted(struct server *server, struct peer *peer, unsigned lease,
                      const struct engine_set *engines);
/* A request of the peer waits for these engines. */
void requests_waits(struct server *server, const struct peer *peer, const struct engine_set *engines);
/* The hold of this lease is over. */
void requests_released(struct server *server, struct peer *peer, unsigned lease);
/*
 * Has a request of the peer that is not over kept others waiting for longer than was counted? Until
 * it is over, its job may run with a rank that it was lent.
 */
bool requests_outlast(const struct server *server, const struct peer *peer);

#endif
