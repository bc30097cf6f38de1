/* Token blocking where CPU clusters share a GPU cluster: the CK-OMLP with one request per job. */
#include "analysis/gpusync/gpusync_state.h"

#include <math.h>

#include "analysis/gpusync/blocking/blocking_ck_omlp.h"

static struct ck_omlp token_lock(const struct gpusync_workspace *workspace, unsigned q)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;
    const struct gpu_cluster *cluster = &state->gpu_clusters[q];
    size_t n = cluster->end - cluster->first;
    double tokens = cluster->tokens * system->cluster_gpus;
    double ahead = 0;

    if (n > 0 && system->tokens != TOKENS_UNLIMITED && !cluster->few)
        ahead = ceil(gpusync_sharing_cpus(system, q) / tokens) - 1;
    for (size_t k = cluster->first; k < cluster->end; k++) {
        size_t i = state->members[k];
        const struct gpusync_terms *terms = &workspace->terms[i];

        state->key[i] = terms->token_request;
        state->lock_period[i] = workspace->tasks[i].period;
        state->lock_r[i] = terms->r;
        state->lock_horizon[i] = gpusync_horizon(workspace, i);
        state->lock_cluster[i] = terms->cpu_cluster;
    }
    if (ahead > 0)
        gpusync_sort(state->by_section + cluster->first, n, state->key);
    return (struct ck_omlp){.by_length = state->by_section + cluster->first,
                            .n = n,
                            .cpus = system->cluster_cpus,
                            .ahead = ahead,
                            .cluster = state->lock_cluster,
                            .horizon = state->lock_horizon,
                            .period = state->lock_period,
                            .r = state->lock_r,
                            .length = state->key,
                            .taken = state->taken};
}

double gpusync_ck_omlp_direct(const struct gpusync_workspace *workspace, unsigned q, size_t i,
                              double shares[])
{
    const struct ck_omlp lock = token_lock(workspace, q);

    return ck_omlp_direct(&lock, i, 1, shares);
}

void gpusync_ck_omlp_block(struct gpusync_workspace *workspace, unsigned q)
{
    struct gpusync_state *state = workspace->state;
    const struct gpu_cluster *cluster = &state->gpu_clusters[q];
    const struct ck_omlp lock = token_lock(workspace, q);

    for (size_t k = cluster->first; k < cluster->end; k++) {
        size_t i = state->members[k];
        struct gpusync_terms *terms = &workspace->terms[i];

        terms->token_sections = lock.ahead;
        terms->direct = ck_omlp_direct(&lock, i, 1, NULL);
        terms->span = state->span[i] = terms->direct + terms->token_request;
    }
}

static double share_of_cost(const struct gpusync_system *system)
{
    return (double)(system->cluster_cpus - 1) / system->cluster_cpus;
}

void gpusync_ck_omlp_plain_points(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;
    double share = share_of_cost(state->system);

    for (size_t i = 0; i < workspace->n; i++)
        state->donor_point[i] = workspace->tasks[i].deadline -
                                share * workspace->terms[i].utilisation * workspace->tasks[i].period;
}

void gpusync_ck_omlp_first_points(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;
    double share = share_of_cost(state->system);

    for (size_t i = 0; i < workspace->n; i++)
        state->donor_point[i] = workspace->tasks[i].deadline - state->system->event_latency -
                                share * workspace->terms[i].inflated;
}

void gpusync_ck_omlp_next_points(struct gpusync_workspace *workspace)
{
    for (size_t i = 0; i < workspace->n; i++)
        workspace->state->donor_point[i] = workspace->terms[i].point;
}

/* The donation of the task at position k of cluster x. */
static double donation_at(const struct gpusync_state *state, unsigned x, size_t k)
{
    size_t first = state->cpu_first[x];

    return ck_omlp_donation(state->by_cpu + first, state->cpu_first[x + 1] - first, state->by_cpu[k],
                            state->donor_point, state->span);
}

void gpusync_ck_omlp_donate(struct gpusync_workspace *workspace)
{
    const struct gpusync_state *state = workspace->state;

    for (unsigned x = 0; x < state->system->cpu_clusters; x++)
        for (size_t k = state->cpu_first[x]; k < state->cpu_first[x + 1]; k++)
            workspace->terms[state->by_cpu[k]].donation = donation_at(state, x, k);
}

bool gpusync_ck_omlp_settled(const struct gpusync_workspace *workspace)
{
    const struct gpusync_state *state = workspace->state;

    for (unsigned x = 0; x < state->system->cpu_clusters; x++)
        for (size_t k = state->cpu_first[x]; k < state->cpu_first[x + 1]; k++) {
            const struct gpusync_terms *terms = &workspace->terms[state->by_cpu[k]];

            if (terms->direct + donation_at(state, x, k) + terms->execution_blocking + terms->copy_blocking >
                terms->blocking)
                return false;
        }
    return true;
}
