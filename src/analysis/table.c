/*
 * All analyses by name, one line each. The command line, its help and plans derive from this table.
 */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/cpu/fair_lateness.h"
#include "analysis/gpusync/gpusync.h"
#include "analysis/cpu/np_edf.h"
#include "analysis/holistic/pipeline_analysis.h"

const struct analysis *const analyses[] = {
    &analysis_holistic,       &analysis_holistic_printed, &analysis_fair_lateness, &analysis_gpusync,
    &analysis_gpusync_chains, &analysis_gpusync_printed,  &analysis_np_edf,        NULL,
};

const struct analysis *analysis_find(const char *name)
{
    for (size_t i = 0; analyses[i]; i++) {
        if (strcmp(analyses[i]->name, name) == 0)
            return analyses[i];
    }
    return NULL;
}

const char *const analysis_outcome_names[] = {"deadlines-met", "bounded-tardiness", "not-schedulable"};

enum analysis_outcome analysis_outcome(const struct task_set *set, const struct analysis_result *result,
                                       size_t *ret_latest)
{
    baton_nsec latest = 0;

    if (!result->schedulable)
        return ANALYSIS_REJECTED;
    for (size_t i = 0; i < set->n_tasks; i++) {
        baton_nsec late = result->tasks[i].response - set->tasks[i].deadline;

        if (late <= latest)
            continue;
        latest = late;
        if (ret_latest)
            *ret_latest = i;
    }
    return latest > 0 ? ANALYSIS_TARDY : ANALYSIS_MET;
}

void analysis_result_done(struct analysis_result *result)
{
    arena_done(&result->arena);
    *result = (struct analysis_result){0};
}
