/* Observed against bound: what was seen of a task, and whether its bound is claimed here and now (docs/analysis.md, "Model not met"; docs/daemon.md). */
#ifndef DAEMON_OBSERVE_H
#define DAEMON_OBSERVE_H

#include "daemon/peer.h"

struct observation {
    baton_nsec response_max;
    uint64_t jobs, misses;
};

/* Of the task's clients, those that have left included. */
struct observation observe_task(const struct server *server, const struct task_entry *entry);

/* Whether this task's bound is claimed: RULE_MET, or the first rule that is broken and by whom (client or device). */
enum model_rule observe_rule(const struct server *server, const struct task_entry *entry, uint32_t *ret_who);

/*
 * A client says that a job was late, with the job's instants as its own statistics have them. 0; SERVER_DROP for what cannot be: a job that
 * ends before its release, or that was within the limit.
 */
int observe_late(struct server *server, struct peer *peer, const struct frame_late *frame);

#endif
