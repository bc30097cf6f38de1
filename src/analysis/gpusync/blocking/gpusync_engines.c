/*
 * Waiting for engine locks (GPUSync App. E-B1 to B3): b^EE and b^CE of every GPU task, and K, its
 * longest token critical section.
 *
 * A bound is the sum of the v longest interfering requests, v = (requests ahead of one own request)
 * * (own requests). Task j offers tif(i,j) times the requests of one of its jobs. With FIFO caps
 * task j offers at most as many requests as task i makes. Each own request finds at most one of j's
 * ahead (docs/gpusync-analysis.md, "One request ahead"). The limits in total, per task and per
 * length are nested, so taking the longest requests first is optimal.
 */
#include "analysis/gpusync/gpusync_state.h"

#include <math.h>

static bool peer_to_peer(const struct gpusync_system *system)
{
    return system->migration == MIGRATION_P2P || system->migration == MIGRATION_ON_DEMAND;
}

static double at_most(double a, double b)
{
    return a < b ? a : b;
}

/*
 * Every task of the cluster has a GPU of its own, by the rule or because the run time pins it (D9).
 */
static bool few_tasks(const struct gpusync_workspace *workspace, const struct gpu_cluster *cluster)
{
    const struct gpusync_state *state = workspace->state;

    if (cluster->end == cluster->first || cluster->end - cluster->first > state->system->cluster_gpus)
        return false;
    if (state->options->few_rule)
        return true;
    for (size_t k = cluster->first; k < cluster->end; k++)
        if (!workspace->tasks[state->members[k]].pinned)
            return false;
    return true;
}

static void prepare_cluster(struct gpusync_workspace *workspace, unsigned q)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;
    struct gpu_cluster *cluster = &state->gpu_clusters[q];
    double n = (double)(cluster->end - cluster->first);
    double tokens = system->tokens == TOKENS_UNLIMITED ? n : system->tokens;
    double halves;

    cluster->few = few_tasks(workspace, cluster);
    cluster->tokens = cluster->few ? 1 : tokens;
    cluster->engines = at_most(cluster->tokens, 1.0 + system->copy_engines);
    if (state->options->tight)
        cluster->engines = at_most(cluster->engines, n);
    cluster->alone = cluster->tokens - 1;
    cluster->anywhere = cluster->tokens * system->cluster_gpus - 1;
    /*
     * CK-OMLP: at most M token requests are incomplete, so at most M - 1 other tasks hold a token
     */
    if (system->shared) {
        cluster->alone = at_most(cluster->alone, gpusync_sharing_cpus(system, q) - 1.0);
        cluster->anywhere = at_most(cluster->anywhere, gpusync_sharing_cpus(system, q) - 1.0);
    }
    halves = state->options->sound ? cluster->engines : cluster->engines - 1;
    cluster->operation = halves * system->bottom_half + 3 * state->sigma;
    cluster->inflation = cluster->operation + system->syscall_in + system->syscall_out;
    cluster->changed = true;
    for (size_t k = cluster->first; k < cluster->end; k++) {
        const struct gpusync_task *task = &workspace->tasks[state->members[k]];
        struct gpusync_terms *terms = &workspace->terms[state->members[k]];

        terms->few_rule = cluster->few;
        terms->tokens = cluster->tokens;
        terms->engines = cluster->engines;
        terms->operations = 0;
        for (int kind = 0; kind < OPERATION_KINDS; kind++)
            if (kind < OPERATION_STATE_IN || !cluster->few)
                terms->operations += task->count[kind];
        if (cluster->few) { /* no state migrates, so phase 2 sees the task without its state */
            double state_length = terms->xmit - task->length[OPERATION_IN] - task->length[OPERATION_OUT];

            terms->xmit -= state_length;
            terms->utilisation -= state_length / task->period;
            terms->gpu_utilisation -= state_length / task->period;
        }
    }
}

/* Distributes one loaded list over the clusters; each part stays sorted, longest first. */
static void distribute(struct gpusync_workspace *workspace, enum gpusync_list list)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_request *requests = state->requests[list];
    size_t n = state->n_requests[list];
    size_t at = 0;

    for (unsigned q = 0; q < state->system->gpu_clusters; q++)
        state->gpu_clusters[q].list_end[list] = 0;
    for (size_t k = 0; k < n; k++)
        state->gpu_clusters[workspace->terms[requests[k].task].gpu_cluster].list_end[list]++;
    for (unsigned q = 0; q < state->system->gpu_clusters; q++) {
        size_t count = state->gpu_clusters[q].list_end[list];

        state->gpu_clusters[q].list_first[list] = state->gpu_clusters[q].list_end[list] = at;
        at += count;
    }
    for (size_t k = 0; k < n; k++) {
        struct gpu_cluster *cluster = &state->gpu_clusters[workspace->terms[requests[k].task].gpu_cluster];

        state->entries[list][cluster->list_end[list]++] =
            (struct gpusync_entry){.length = requests[k].length + cluster->inflation,
                                   .count = requests[k].count,
                                   .task = requests[k].task,
                                   .kind = requests[k].kind};
    }
}

void gpusync_engines_prepare(struct gpusync_workspace *workspace)
{
    const struct gpusync_system *system = workspace->state->system;

    for (unsigned q = 0; q < system->gpu_clusters; q++)
        prepare_cluster(workspace, q);
    distribute(workspace, LIST_KERNELS);
    if (peer_to_peer(system) || system->copy_engines == 1) {
        distribute(workspace, LIST_COPIES);
    } else {
        distribute(workspace, LIST_IN);
        distribute(workspace, LIST_OUT);
    }
}

/* Which requests count: how many in total, and how many of each other task. */
struct places {
    double budget, cap;
};

static struct places places(const struct gpusync_state *state, double budget, double requests)
{
    return (struct places){.budget = budget, .cap = state->options->tight ? requests : INFINITY};
}

/*
 * The longest requests of other tasks within the limits. Adds each task's part to shares unless
 * shares is NULL.
 */
static double longest(struct gpusync_workspace *workspace, const struct gpu_cluster *cluster,
                      enum gpusync_list list, size_t i, struct places places, double shares[])
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_entry *entries = state->entries[list];
    size_t k = cluster->list_first[list];
    double budget = places.budget;
    double sum = 0;

    for (; budget > 0 && k < cluster->list_end[list]; k++) {
        size_t j = entries[k].task;
        double take;

        if (j == i)
            continue;
        take = at_most(gpusync_interfering_jobs(workspace, i, j) * entries[k].count,
                       places.cap - state->used[j]);
        take = at_most(take, budget);
        state->used[j] += take;
        budget -= take;
        sum += take * entries[k].length;
        if (shares)
            shares[j] += take * entries[k].length;
    }
    while (k > cluster->list_first[list])
        state->used[entries[--k].task] = 0;
    return sum;
}

/*
 * Peer copies that other tasks may make while a job of i is pending; each peer copy extends one
 * chain.
 */
static double foreign_migrations(const struct gpusync_workspace *workspace, const struct gpu_cluster *cluster,
                                 size_t i)
{
    const struct gpusync_state *state = workspace->state;
    double sum = 0;

    for (size_t k = cluster->first; k < cluster->end; k++) {
        size_t j = state->members[k];
        double count = workspace->tasks[j].count[OPERATION_STATE_PEER];

        if (j != i && count > 0)
            sum += gpusync_interfering_jobs(workspace, i, j) * count;
    }
    return sum;
}

/*
 * Def. 17: how many long chains must be removed, longest first, until no peer copy is left. Limited
 * to the number of own requests.
 */
static double long_chains_printed(const struct gpusync_workspace *workspace,
                                  const struct gpu_cluster *cluster, size_t i, double requests)
{
    const struct gpusync_entry *entries = workspace->state->entries[LIST_COPIES];
    double passed = 0;
    double last = 0;

    for (size_t k = cluster->list_first[LIST_COPIES]; k < cluster->list_end[LIST_COPIES]; k++) {
        if (entries[k].task == i)
            continue;
        passed += gpusync_interfering_jobs(workspace, i, entries[k].task) * entries[k].count;
        if (entries[k].kind == OPERATION_STATE_PEER)
            last = passed;
    }
    return cluster->anywhere > 0 ? at_most(ceil(last / cluster->anywhere), requests) : 0;
}

static struct places peer_places(const struct gpusync_workspace *workspace, const struct gpu_cluster *cluster,
                                 size_t i)
{
    const struct gpusync_state *state = workspace->state;
    const double *count = workspace->tasks[i].count;
    double own = count[OPERATION_STATE_PEER];
    double requests = count[OPERATION_IN] + count[OPERATION_OUT] + own;
    double chains = requests;

    switch (state->options->peer) {
    case PEER_EQUATION_6:
        break;
    case PEER_EQUATION_9:
        if (state->system->copy_engines == 2)
            chains = long_chains_printed(workspace, cluster, i, requests);
        break;
    case PEER_MIGRATIONS:
    case PEER_CHAINS:
    case PEER_CHAINS_PRINTED:
        chains = own + at_most(requests - own, foreign_migrations(workspace, cluster, i));
        break;
    }
    return places(state, cluster->anywhere * chains + cluster->alone * (requests - chains), requests);
}

double gpusync_copy_blocking(struct gpusync_workspace *workspace, const struct gpu_cluster *cluster, size_t i,
                             double shares[])
{
    const struct gpusync_state *state = workspace->state;
    const double *count = workspace->tasks[i].count;
    double in = count[OPERATION_IN] + count[OPERATION_STATE_IN];
    double out = count[OPERATION_OUT] + count[OPERATION_STATE_OUT];

    if (cluster->few)
        return 0;
    if (peer_to_peer(state->system)) {
        double bound =
            longest(workspace, cluster, LIST_COPIES, i, peer_places(workspace, cluster, i), shares);

        if (state->options->peer >= PEER_CHAINS && state->system->copy_engines == 2)
            bound = gpusync_chains_bound(workspace, cluster, i, bound);
        return bound;
    }
    if (state->system->copy_engines == 1)
        return longest(workspace, cluster, LIST_COPIES, i,
                       places(state, cluster->alone * (in + out), in + out), shares);
    return longest(workspace, cluster, LIST_IN, i, places(state, cluster->alone * in, in), shares) +
           longest(workspace, cluster, LIST_OUT, i, places(state, cluster->alone * out, out), shares);
}

double gpusync_execution_blocking(struct gpusync_workspace *workspace, const struct gpu_cluster *cluster,
                                  size_t i, double shares[])
{
    double kernels = workspace->tasks[i].count[OPERATION_KERNEL];

    if (cluster->few)
        return 0;
    return longest(workspace, cluster, LIST_KERNELS, i,
                   places(workspace->state, cluster->alone * kernels, kernels), shares);
}

void gpusync_engines_block(struct gpusync_workspace *workspace, struct gpu_cluster *cluster)
{
    const struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;

    for (size_t k = cluster->first; k < cluster->end; k++) {
        size_t i = state->members[k];
        const struct gpusync_task *task = &workspace->tasks[i];
        struct gpusync_terms *terms = &workspace->terms[i];

        terms->execution_blocking = gpusync_execution_blocking(workspace, cluster, i, NULL);
        terms->copy_blocking = gpusync_copy_blocking(workspace, cluster, i, NULL);
        terms->critical_section = task->critical + task->length[OPERATION_KERNEL] +
                                  terms->execution_blocking + terms->copy_blocking + terms->xmit;
        if (state->options->sound)
            terms->critical_section += terms->operations * cluster->operation;
        terms->token_request =
            terms->critical_section + state->sigma + system->syscall_in + system->syscall_out;
    }
}
