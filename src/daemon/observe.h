/*
 * Observations against bounds: what was observed of a task, and whether its bound is claimed now
 * (docs/analysis.md, "Model not met"; docs/daemon.md).
 */
#ifndef DAEMON_OBSERVE_H
#define DAEMON_OBSERVE_H

#include "daemon/peer.h"

struct observation {
    baton_nsec response_max;
    uint64_t jobs, misses;
};

/* Observed of the task's clients, including those that have left. */
struct observation observe_task(const struct server *server, const struct task_entry *entry);

/*
 * Does the machine meet the model now? RULE_MET, or the first broken rule and the client or device
 * that breaks it. all: also the rules whose check asks the operating system.
 */
enum model_rule observe_model(const struct server *server, bool all, uint32_t *ret_who);

/*
 * Is this task's bound claimed? RULE_MET, the rule that the machine breaks, or RULE_IDLE if the
 * claim has not returned since one was broken (daemon/regain.h).
 */
enum model_rule observe_rule(const struct server *server, const struct task_entry *entry, uint32_t *ret_who);

/*
 * A client reports a late job, with the job's instants from its own statistics. 0, or SERVER_DROP
 * for an impossible report. That is a job that ends before its release, or one that was within the
 * limit.
 */
int observe_late(struct server *server, struct peer *peer, const struct frame_late *frame);

#endif
