/*
 * One script, two runs in virtual time. The simulator runs a random task set around the core. Then
 * batond's server runs it: clients say by frames what the simulated jobs do, and a machine with CPU
 * clusters runs their CPU steps in the order of the levels that the server gives them. Both write
 * down every decision of their core, and every end of a job, with its instant.
 *
 * Left out, because batond is not as the simulator there:
 * - Donors that must not run stand still here. Under batond they have the lowest level, and compute
 *   on a core that would idle. Then they also ask for their token early, and what follows comes at
 *   other instants (tests/daemon/test_donors.c; tests/gpusync/test_accepted with the CK-OMLP).
 * - Throttling under tokens. A throttled job is two jobs of batond's core.
 * - Programs without tokens that choose a GPU, beside deaths. batond prefers a GPU on which no dead
 *   program drains; the simulator has no such guess.
 * - Work between a release and the begin of its job. JOB comes at the release; see test_accepted.
 */
#ifndef TESTS_DAEMON_MIRROR_H
#define TESTS_DAEMON_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/core.h"

#define MIRROR_END 1000 /* beside enum sched_action: a job has ended */

struct mirror_record {
    baton_nsec at;
    int what; /* enum sched_action, MIRROR_END */
    unsigned job, as, gpu;
    struct engine_set engines;
};

struct mirror_stream {
    struct mirror_record *records;
    size_t n, room;
};

struct mirror {
    char text[8192]; /* the task set */
    enum sched_profile_id profile;
    enum sched_policy_id policy;
    enum sched_lock_id lock;
    bool deaths, ties;
    bool has_budgets;
    baton_nsec budgets[16]; /* by task */
    enum sched_overrun overrun;
    uint64_t seed;
    struct mirror_stream simulated, served;
    /* What the script reached. */
    size_t tokens, grants, inherited, suspended, yields, ended, died, peer_copies, completed, overruns;
    char failure[512]; /* "": both runs are the same */
};

/* Makes the script of this seed, runs it twice and compares. False: see failure. */
bool mirror_run(struct mirror *mirror, uint64_t seed);
void mirror_done(struct mirror *mirror);

#endif
