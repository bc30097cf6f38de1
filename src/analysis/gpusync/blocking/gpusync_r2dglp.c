/*
 * Token blocking under the R2DGLP, where one CPU cluster owns the GPU cluster (GPUSync App. E-B4,
 * eq. (14)). A request waits for at most N^TCX token critical sections of other tasks.
 */
#include "analysis/gpusync/gpusync_state.h"

#include <math.h>

/* |T^G| <= k: none; <= c: floor((|T^G|-1)/k); else 2 ceil(c/k) - 1, k = rho g. */
static double token_sections(const struct gpusync_system *system, const struct gpu_cluster *cluster)
{
    double n = (double)(cluster->end - cluster->first);
    double tokens = cluster->tokens * system->cluster_gpus;

    if (system->tokens == TOKENS_UNLIMITED || cluster->few || n <= tokens)
        return 0;
    if (n <= system->cluster_cpus)
        return floor((n - 1) / tokens);
    return 2 * ceil(system->cluster_cpus / tokens) - 1;
}

double gpusync_r2dglp_direct(const struct gpusync_workspace *workspace, unsigned q, size_t i, double shares[])
{
    const struct gpusync_state *state = workspace->state;
    const struct gpu_cluster *cluster = &state->gpu_clusters[q];
    double left = token_sections(state->system, cluster);
    /*
     * No job donates while there are no more tasks than CPUs. One queue then decides, and each
     * other task is in it at most once.
     */
    bool once = state->options->tight && cluster->end - cluster->first <= state->system->cluster_cpus;
    double sum = 0;

    for (size_t s = cluster->first; left > 0 && s < cluster->end; s++) {
        size_t j = state->by_section[s];
        double jobs;

        if (j == i)
            continue;
        jobs = once ? 1 : gpusync_interfering_jobs(workspace, i, j);
        jobs = jobs < left ? jobs : left;
        left -= jobs;
        sum += jobs * workspace->terms[j].token_request;
        if (shares)
            shares[j] += jobs * workspace->terms[j].token_request;
    }
    return sum;
}

void gpusync_r2dglp_block(struct gpusync_workspace *workspace, unsigned q)
{
    struct gpusync_state *state = workspace->state;
    const struct gpu_cluster *cluster = &state->gpu_clusters[q];
    double sections = token_sections(state->system, cluster);

    if (sections > 0) {
        for (size_t k = cluster->first; k < cluster->end; k++)
            state->key[state->members[k]] = workspace->terms[state->members[k]].token_request;
        gpusync_sort(state->by_section + cluster->first, cluster->end - cluster->first, state->key);
    }
    for (size_t k = cluster->first; k < cluster->end; k++) {
        size_t i = state->members[k];
        struct gpusync_terms *terms = &workspace->terms[i];

        terms->token_sections = sections;
        terms->direct = sections > 0 ? gpusync_r2dglp_direct(workspace, q, i, NULL) : 0;
        terms->span = terms->donation = 0;
    }
}
