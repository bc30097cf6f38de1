/*
 * Why a task set does not fit, and which changes make it fit (`--explain` of a set that is not
 * schedulable). Pure code around a test of the caller: `baton analyze` passes its analysis, `baton
 * plan` its planner.
 *
 * The diagnosis is about the most urgent task that fails. If the task has no bound within its
 * period, its period and deadline grow, with every priority kept, until it has one. This is valid
 * because the bound of a job does not depend on its own period. The segment that does not fit is
 * the first one such that the task, truncated after it, has a bound beyond the deadline.
 *
 * A change is reported only after the test has accepted the changed set. It is a change of the
 * user's file: priorities that the file derives from deadlines follow them.
 */
#ifndef CLI_FIT_H
#define CLI_FIT_H

#include "analysis/analysis.h"
#include "model/task_set.h"

#define FIT_MAX_CHANGES 16
#define FIT_MAX_TESTS   3000 /* of one diagnosis; later changes are not suggested */

struct fit_test {
    void *user;
    /* As analysis.run; the caller of fit_find() owns what user points to. */
    int (*run)(void *user, const struct task_set *set, struct analysis_result *ret_result,
               struct input_error *ret_error);
    /* As analysis.explain; NULL: no terms are reported. */
    int (*explain)(void *user, const struct task_set *set, size_t task,
                   struct analysis_explanation *ret_explanation, struct input_error *ret_error);
    bool splits; /* the test may run a task on several GPUs, so multi_ms counts */
};

enum fit_change_kind {
    FIT_PIECE,    /* task: piece_ms of every kernel and copy that is longer */
    FIT_PERIOD,   /* task: period_ms; an equal deadline follows */
    FIT_DEADLINE, /* task: deadline_ms, up to the period */
    FIT_GPUS,     /* platform: gpus */
    FIT_LESS,     /* task: removed */
};

struct fit_change {
    enum fit_change_kind kind;
    size_t task; /* index in the set; unused by FIT_GPUS */
    baton_nsec from, to;
    unsigned gpus; /* FIT_GPUS: the new number */
};

struct fit {
    size_t task;         /* the most urgent task that fails */
    baton_nsec response; /* its bound; ANALYSIS_UNBOUNDED: none at any period */
    /* the first segment that does not fit; meaningless without a bound */
    size_t segment;
    baton_nsec finish; /* bound on that segment's end, from the release */
    /* terms of the response; empty if the test does not explain */
    struct analysis_explanation explanation;
    struct fit_change changes[FIT_MAX_CHANGES];
    size_t n_changes;
    size_t tests; /* how often the test ran */
};

/*
 * For a set that `result` rejects. 0 (the caller calls fit_done), -ENOMEM, or the test's answer for
 * the set itself.
 */
int fit_find(const struct fit_test *test, const struct task_set *set, const struct analysis_result *result,
             struct fit *ret_fit);
void fit_done(struct fit *fit);

/* --- shared by fit.c and fit_changes.c --- */

/*
 * A set that may be changed: tasks and segments are copies; what they point to is borrowed from the
 * original.
 */
struct fit_draft {
    struct task_set set;
    struct task *tasks;
    struct segment *segments;
};

int fit_draft_open(const struct task_set *set, struct fit_draft *ret_draft); /* 0 or -ENOMEM */
void fit_draft_done(struct fit_draft *draft);

/*
 * Does the test accept the set? Counts the tests; false past FIT_MAX_TESTS, and for a set that the
 * test rejects as input.
 */
bool fit_accepts(const struct fit_test *test, const struct task_set *set, struct fit *fit);

/* Fills fit->changes. 0 or -ENOMEM. */
int fit_find_changes(const struct fit_test *test, const struct task_set *set, struct fit *fit);

#endif
