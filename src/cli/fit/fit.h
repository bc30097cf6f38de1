/*
 * Why a task set does not fit, and what would make it fit (`--explain` of a set that is not schedulable). Pure code around a test
 * that the caller brings: `baton analyze` brings its analysis, `baton plan` its planner.
 *
 * The diagnosis is about the most urgent task that fails. If it has no bound at all within its period, its period and deadline are
 * stretched (with every priority kept) until it has one: the bound of a job does not depend on its own period. The stage that does
 * not fit is the first one such that the task, cut off after it, has a bound beyond the deadline.
 *
 * A change is reported only after the test has accepted the changed set. It is a change of the file that the user wrote: priorities
 * that the file leaves to the deadlines follow them.
 */
#ifndef CLI_FIT_H
#define CLI_FIT_H

#include "analysis/analysis.h"
#include "model/task_set.h"

#define FIT_MAX_CHANGES 16
#define FIT_MAX_TESTS   3000 /* of one diagnosis; what is not tried by then is not suggested */

struct fit_test {
    void *user;
    /* As analysis.run; the caller of fit_find() owns what user points to. */
    int (*run)(void *user, const struct task_set *set, struct analysis_result *ret_result,
               struct input_error *ret_error);
    /* As analysis.explain; NULL: the terms stay unknown. */
    int (*explain)(void *user, const struct task_set *set, size_t task,
                   struct analysis_explanation *ret_explanation, struct input_error *ret_error);
    bool splits; /* it may run a task on several GPUs, so multi_ms counts */
};

enum fit_change_kind {
    FIT_PIECE,    /* task: piece_ms of every kernel and copy that is longer */
    FIT_PERIOD,   /* task: period_ms; a deadline that was equal follows */
    FIT_DEADLINE, /* task: deadline_ms, up to the period */
    FIT_GPUS,     /* platform: gpus */
    FIT_LESS,     /* task: left out */
};

struct fit_change {
    enum fit_change_kind kind;
    size_t task; /* index in the set; unused by FIT_GPUS */
    baton_nsec from, to;
    unsigned gpus; /* FIT_GPUS: so many */
};

struct fit {
    size_t task;                             /* the most urgent one that fails */
    baton_nsec response;                     /* its bound, or ANALYSIS_UNBOUNDED: none, whatever its period */
    size_t segment;                          /* the first that does not fit; meaningless without a bound */
    baton_nsec finish;                       /* bound on that segment's end, from the release */
    struct analysis_explanation explanation; /* terms of the response; none where the test does not explain */
    struct fit_change changes[FIT_MAX_CHANGES];
    size_t n_changes;
    size_t tests; /* how often the test ran */
};

/*
 * For a set that `result` rejects. 0 (the caller calls fit_done), -ENOMEM, or what the test answered for the set itself.
 */
int fit_find(const struct fit_test *test, const struct task_set *set, const struct analysis_result *result,
             struct fit *ret_fit);
void fit_done(struct fit *fit);

/* --- shared by fit.c and fit_changes.c --- */

/* A set that may be changed: tasks and segments are copies, what they point to is borrowed from the original. */
struct fit_draft {
    struct task_set set;
    struct task *tasks;
    struct segment *segments;
};

int fit_draft_open(const struct task_set *set, struct fit_draft *ret_draft); /* 0 or -ENOMEM */
void fit_draft_done(struct fit_draft *draft);

/* Does the test accept the set? Counts; past FIT_MAX_TESTS no. A set that the test rejects as input is not accepted either. */
bool fit_accepts(const struct fit_test *test, const struct task_set *set, struct fit *fit);

/* Fills fit->changes. 0 or -ENOMEM. */
int fit_find_changes(const struct fit_test *test, const struct task_set *set, struct fit *fit);

#endif
