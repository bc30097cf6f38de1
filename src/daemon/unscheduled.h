/*
 * Processes that batond knows and does not schedule. Their connection was refused (quota, slots,
 * another version of the protocol). Or batond dropped it (invalid messages, or messages that the
 * process does not read). Or they have lost it (a program that closes all descriptors). Such a
 * process goes on without batond, and nothing orders its GPU work and threads among the others. So
 * no bound is claimed until the process has ended, or is connected again (rule `outsider`).
 *
 * The host watches each process. A process that cannot be watched, or that comes when the list is
 * full, ends the claims until batond starts anew.
 */
#ifndef DAEMON_UNSCHEDULED_H
#define DAEMON_UNSCHEDULED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/nsec.h"

#define UNSCHEDULED_MAX 64

struct unscheduled {
    struct {
        pid_t pid;       /* 0: unused */
        uint32_t client; /* its number in reports */
        baton_nsec since_at;
    } processes[UNSCHEDULED_MAX];
    uint32_t unwatched; /* the number of a process whose end will not be known; 0: none */
};

struct server;

/* The process runs without batond from now on. */
void unscheduled_add(struct server *server, pid_t pid, uint32_t client);

/* Does one run? Then *ret_client is its number. */
bool unscheduled_runs(const struct server *server, uint32_t *ret_client);

#endif
