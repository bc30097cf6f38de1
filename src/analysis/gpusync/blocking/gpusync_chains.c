/*
 * b^CE of the tasks of a GPU cluster by integer program (copy_chains.h). This code allocates: it is
 * for single answers, not for studies.
 */
#include "analysis/gpusync/gpusync_state.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/gpusync/blocking/copy_chains.h"

struct chain_tables {
    struct copy_chain chains[COPY_REQUESTS][COPY_CHAINS_MAX];
};

static enum copy_request request_kind(enum gpusync_operation kind)
{
    if (kind == OPERATION_STATE_PEER)
        return COPY_REQUEST_PEER;
    return kind == OPERATION_IN ? COPY_REQUEST_IN : COPY_REQUEST_OUT;
}

/* The chains for each kind of own request; false when there are too many to list. */
static bool list_chains(const struct gpusync_state *state, const struct gpu_cluster *cluster,
                        struct chain_tables *tables, struct copy_chains_problem *problem)
{
    unsigned gpus = state->system->cluster_gpus;
    unsigned tokens = (unsigned)cluster->tokens;
    bool printed = state->options->peer == PEER_CHAINS_PRINTED && gpus == 2 && tokens == 3;

    for (int own = 0; own < COPY_REQUESTS; own++) {
        size_t n = printed && own != COPY_REQUEST_PEER
                       ? copy_chains_printed((enum copy_request)own, tables->chains[own])
                       : copy_chains_list((enum copy_request)own, tokens, gpus, (unsigned)cluster->anywhere,
                                          tables->chains[own]);

        if (n == 0 && problem->own[own] > 0 && cluster->anywhere > 0 &&
            (tokens > 1 || own == COPY_REQUEST_PEER))
            return false;
        problem->chains[own] = tables->chains[own];
        problem->n_chains[own] = n;
    }
    return true;
}

static size_t list_supplies(const struct gpusync_workspace *workspace, const struct gpu_cluster *cluster,
                            size_t i, struct copy_supply supplies[])
{
    const struct gpusync_entry *entries = workspace->state->entries[LIST_COPIES];
    size_t n = 0;

    for (size_t k = cluster->list_first[LIST_COPIES]; k < cluster->list_end[LIST_COPIES]; k++)
        if (entries[k].task != i)
            supplies[n++] = (struct copy_supply){
                .kind = request_kind(entries[k].kind),
                .length = entries[k].length,
                .available = gpusync_interfering_jobs(workspace, i, entries[k].task) * entries[k].count,
                .task = entries[k].task};
    return n;
}

double gpusync_chains_bound(struct gpusync_workspace *workspace, const struct gpu_cluster *cluster, size_t i,
                            double fallback)
{
    const struct gpusync_state *state = workspace->state;
    const double *count = workspace->tasks[i].count;
    size_t most = cluster->list_end[LIST_COPIES] - cluster->list_first[LIST_COPIES];
    struct copy_supply *supplies;
    struct chain_tables *tables;
    struct copy_chains_problem problem = {
        .own = {count[OPERATION_IN], count[OPERATION_OUT], count[OPERATION_STATE_PEER]},
        .per_task = state->options->tight
                        ? count[OPERATION_IN] + count[OPERATION_OUT] + count[OPERATION_STATE_PEER]
                        : INFINITY};
    double bound = fallback;

    if (state->system->migration != MIGRATION_P2P || state->system->cluster_gpus < 2)
        return fallback;
    supplies = calloc(most + 1, sizeof supplies[0]);
    tables = malloc(sizeof *tables);
    if (supplies && tables && list_chains(state, cluster, tables, &problem)) {
        problem.n_supplies = list_supplies(workspace, cluster, i, supplies);
        problem.supplies = supplies;
        if (copy_chains_solve(&problem, &bound) != 0)
            bound = fallback;
    }
    free(tables);
    free(supplies);
    return bound < fallback ? bound : fallback;
}
