/*
 * Admission of tasks: decides by the analysis which tasks of the running set are admitted. Pure.
 * The host does the planning: it starts `baton plan`, since batond links no analysis.
 * server_planned() brings the answer back.
 *
 *          ADMIT or HELLO            answer: schedulable
 *   NONE ----------------> ASKED ------------------------> ADMITTED
 *     ^                      | not schedulable, no answer      |
 *     |                      v                                 |
 *     |              REFUSED or BEST_EFFORT                    |
 *     +-------- the task's last process has gone --------------+
 *               (the other tasks are planned again)
 *
 * One question is under way at a time; a task that asks meanwhile waits. Until there is an answer,
 * and whenever the planner fails, the plan in force stays in force.
 */
#ifndef DAEMON_ADMISSION_H
#define DAEMON_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/nsec.h"
#include "model/task_set.h"
#include "wire/frame.h"

#define ADMISSION_TASKS    256 /* names that plans and task sets may bring in all */
#define ADMISSION_SET_SIZE 99  /* tasks of a set: a plan has 99 priorities */

/* Why a task is in the state that it is in. */
struct decision {
    enum admission_verdict verdict;
    enum reason reason;
    char cause[65];
    baton_nsec response, limit; /* of the cause; response 0: unbounded */
    baton_nsec cost;            /* of planning */
};

struct task_entry {
    char name[65];
    int in_set; /* index in the task set; -1: only a plan named it */
    struct decision decision;
    unsigned members; /* processes that run the task, or reserve it (peer::task) */
    uid_t uid;        /* the user of those processes */
    uint64_t order;   /* smaller: asked earlier */
    /* Observed of clients that have left. */
    baton_nsec response_max;
    uint64_t jobs, misses;
    baton_nsec former_release_at; /* the last one; 0: none, or it was compared (daemon/releases.h) */
    /* of all clients: jobs beyond the bound; those of them that no claim covers */
    uint64_t exceeded, unclaimed;
    const struct plan_task *planned; /* its entry in the plan in force, or NULL */
    bool claimed;                    /* daemon/regain.h */
    baton_nsec claimed_from;         /* for jobs released then or later; NSEC_MAX: in this event */
};

struct admission {
    struct task_set set;
    bool has_set;
    char path[257];
    struct task_entry entries[ADMISSION_TASKS];
    unsigned n;
    uint64_t orders;
    bool planning;
    bool superseded; /* the task set has changed since the question: its answer does not count */
    uint64_t question[ADMISSION_TASKS / 64]; /* entries that the question under way covers */
    /* the task that the question decides about; -1: none, a task has left */
    int candidate;
    /* the running set is no longer the one that was planned */
    bool changed;
    bool stale; /* ... and planning it failed */
    uint64_t plans, failures, rejected;
    baton_nsec cost_last, cost_max;
};

struct server;
struct peer;

/* The entry of this name; make: a new one if there is room. NULL: none. */
struct task_entry *admission_find(struct server *server, const char *name, bool make);

/* Does what was loaded last have this task? Entries of former plans stay, for traces. */
bool admission_present(const struct server *server, const struct task_entry *entry);

/* Does the analysis cover this entry? */
bool admission_applies(const struct server *server, const struct task_entry *entry);

/* A client said its name; a process reserves a task; a client leaves. */
void admission_hello(struct server *server, struct peer *peer);
void admission_admit(struct server *server, struct peer *peer, const char *name);
void admission_leave(struct server *server, struct peer *peer);

/* Starts the next question if there is one. */
void admission_pump(struct server *server);

#endif
