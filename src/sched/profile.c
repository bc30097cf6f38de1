#include "sched/profile.h"

#include <string.h>

const struct sched_profile sched_profiles[SCHED_PROFILES] = {
    [PROFILE_PRIORITY] = {.name = "priority",
                          .summary = "engines by priority, preemptive at piece borders, no token limit",
                          .analysis = "holistic",
                          .by_priority = true,
                          .pieces = true,
                          .buses = true,
                          .inherit = true},
    [PROFILE_GPUSYNC] = {.name = "gpusync",
                         .summary = "a token lock per GPU cluster, FIFO engines with inheritance (GPUSync)",
                         .analysis = "gpusync",
                         .tokens = true,
                         .reserve = true,
                         .inherit = true},
    [PROFILE_FIFO] = {.name = "fifo",
                      .summary = "in order of arrival, never preempted: what a GPU driver does",
                      .buses = true},
    [PROFILE_PRIORITY_WHOLE] = {.name = "priority-whole",
                                .summary = "by priority, never preempted: priority without slicing",
                                .by_priority = true,
                                .buses = true,
                                .inherit = true},
};

const struct sched_policy sched_policies[SCHED_POLICIES] = {
    [POLICY_FIXED] = {"fixed", "fixed priorities 1..99; without one, behind all that have one"},
    [POLICY_EDF] = {"edf", "the earliest absolute deadline first"},
    [POLICY_FAIR_LATENESS] = {"fair-lateness", "EDF with deadlines moved forward by (c-1)/c of the cost"},
    [POLICY_FIFO] = {"fifo", "in order of release"},
    [POLICY_ADAPTIVE] = {"adaptive", "fixed, and those without a priority by behaviour: short jobs first"},
};

const struct sched_lock sched_locks[SCHED_LOCKS] = {
    [LOCK_R2DGLP] = {"r2dglp", "FIFO queues of bounded length, donors and a priority queue behind them"},
    [LOCK_CK_OMLP] = {"ck-omlp", "one FIFO for several CPU clusters, priority donation at release"},
    [LOCK_FIFO] = {"fifo", "one FIFO queue per token, of any length"},
};

int sched_profile_find(const char *name)
{
    for (int i = 0; i < SCHED_PROFILES; i++) {
        if (strcmp(sched_profiles[i].name, name) == 0)
            return i;
    }
    return -1;
}

int sched_policy_find(const char *name)
{
    for (int i = 0; i < SCHED_POLICIES; i++) {
        if (strcmp(sched_policies[i].name, name) == 0)
            return i;
    }
    return -1;
}

int sched_lock_find(const char *name)
{
    for (int i = 0; i < SCHED_LOCKS; i++) {
        if (strcmp(sched_locks[i].name, name) == 0)
            return i;
    }
    return -1;
}
