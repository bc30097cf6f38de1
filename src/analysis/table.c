/* All analyses by name. One line each: the command line, its help and plans follow. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/cpu/fair_lateness.h"
#include "analysis/gpusync/gpusync.h"
#include "analysis/cpu/np_edf.h"
#include "analysis/pipeline/pipeline_analysis.h"

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

void analysis_result_done(struct analysis_result *result)
{
    arena_done(&result->arena);
    *result = (struct analysis_result){0};
}
