/*
 * The tables of what can be chosen: profiles (which rules run together and which analysis covers
 * them), job policies, token locks. Command-line names, configuration values and help derive from
 * them; a new entry is one line here and one file.
 */
#ifndef SCHED_PROFILE_H
#define SCHED_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

enum sched_profile_id {
    PROFILE_PRIORITY,
    PROFILE_GPUSYNC,
    PROFILE_FIFO,
    PROFILE_PRIORITY_WHOLE,
    SCHED_PROFILES
};

struct sched_profile {
    const char *name;    /* "priority": in plans, --profile, configuration */
    const char *summary; /* one line for help */
    /* its bounds assume these rules; NULL: none. daemon/claims.c checks that the rules hold */
    const char *analysis;
    bool by_priority; /* engine queues by priority; else by arrival */
    bool pieces;      /* holders are asked to yield at piece borders */
    bool tokens;      /* engines only under a token */
    /* the head of an engine's queue keeps it even while it waits for another engine (E2) */
    bool reserve;
    bool buses;   /* a copy holds its bus too (Q4) */
    bool inherit; /* a waiting job lends its priority to the holder (EFF) */
};

enum sched_policy_id {
    POLICY_FIXED,
    POLICY_EDF,
    POLICY_FAIR_LATENESS,
    POLICY_FIFO,
    POLICY_ADAPTIVE,
    SCHED_POLICIES,
};

struct sched_policy {
    const char *name, *summary;
};

enum sched_lock_id { LOCK_R2DGLP, LOCK_CK_OMLP, LOCK_FIFO, SCHED_LOCKS };

struct sched_lock {
    const char *name, *summary;
};

extern const struct sched_profile sched_profiles[SCHED_PROFILES];
extern const struct sched_policy sched_policies[SCHED_POLICIES];
extern const struct sched_lock sched_locks[SCHED_LOCKS];

/*
 * The same names as one literal, for the help of a command line; a test compares them with the
 * tables.
 */
#define SCHED_PROFILE_NAMES "priority|gpusync|fifo|priority-whole"
#define SCHED_POLICY_NAMES  "fixed|edf|fair-lateness|fifo|adaptive"
#define SCHED_LOCK_NAMES    "r2dglp|ck-omlp|fifo"

/* Index of the entry of this name, or -1. */
int sched_profile_find(const char *name);
int sched_policy_find(const char *name);
int sched_lock_find(const char *name);

#endif
