/* GLOBAL's branch and bound; only planner.c needs it. */
#ifndef ANALYSIS_PLAN_SEARCH_H
#define ANALYSIS_PLAN_SEARCH_H

#include "analysis/plan/plan_symmetry.h"
#include "analysis/plan/planner.h"

#define PLANNER_CAP 20 /* periods (deadlines): how far hopeless responses are compared */

struct planner {
    baton_nsec *responses;
    unsigned char *trial;
    bool *tried;     /* GEMA, by task * PIPELINE_MAX_OPTIONS + option: already taken */
    bool *barred;    /* likewise: not considered */
    bool *out;       /* GLOBAL, likewise: no schedulable choice below this node has it */
    size_t *refuted; /* a stack of the indices that were set in out */
    size_t n_refuted;
    size_t *left;           /* by task: its options that are not refuted */
    size_t doubtful;        /* the task that refuted a node last */
    uint64_t max_nodes;     /* where the search stops; 0: unlimited */
    bool assigns;           /* some task has options that assign GPUs */
    struct gpu_cells cells; /* before anything is decided */
    struct plan_outcome *outcome;
};

static inline bool *planner_barred(const struct planner *planner, size_t task)
{
    return planner->barred + task * PIPELINE_MAX_OPTIONS;
}

/*
 * The cells after tasks [0, n) have these options, ignoring task `but` (SIZE_MAX: ignoring none).
 */
void plan_search_cells(const struct planner *planner, const struct pipeline *pipeline,
                       const unsigned char choice[], size_t n, size_t but, struct gpu_cells *ret_cells);

/* Is every deadline met under the choice? */
bool plan_search_verdict(struct planner *planner, const struct mode_test *test, const unsigned char choice[],
                         unsigned cap);

/*
 * Begins a search on the test's pipeline among the options that are not barred. True: the root is
 * refuted, so no schedulable choice exists. Otherwise only options that may be part of one are
 * left. The caller then calls plan_search(), and in every case plan_search_end().
 */
bool plan_search_hopeless(struct planner *planner, const struct mode_test *test);
void plan_search_end(struct planner *planner, const struct mode_test *test);

/*
 * Looks for a schedulable choice. True with ret_choice filled; otherwise ret_choice is untouched.
 */
bool plan_search(struct planner *planner, const struct mode_test *test, uint64_t max_nodes,
                 unsigned char ret_choice[]);

/*
 * planner_place.c: picks an option for each task among those that are not barred, in order of
 * priority. Among options that meet the task's deadline it takes the one with the longest response
 * (`tight`) or the shortest. If no option meets the deadline, it takes the shortest. True: the
 * choice is schedulable.
 */
bool planner_fit(struct planner *planner, const struct mode_test *test, bool tight,
                 unsigned char ret_choice[]);

/*
 * The same in both orders, then by search. If none is found, ret_choice is that of the first order.
 */
bool planner_place(struct planner *planner, const struct mode_test *test, uint64_t max_nodes,
                   unsigned char ret_choice[]);

/*
 * Gives each task that is `chosen` but could be assigned the set with the least max R/D. The choice
 * stays schedulable.
 */
void planner_settle(struct planner *planner, const struct mode_test *test, unsigned char choice[]);

/*
 * planner.c: Z = max R/D under the choice. True, with *best updated, if Z is below *best or is the
 * first.
 */
bool planner_improves(struct planner *planner, const struct mode_test *test, const unsigned char choice[],
                      bool first, struct mode_ratio *best);

#endif
