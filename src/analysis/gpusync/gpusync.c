/*
 * The fixed point (App. E-B): response bounds decide which tasks interfere, interference decides
 * blocking, and blocking decides response bounds.
 */
#include "analysis/gpusync/gpusync.h"

#include "analysis/gpusync/gpusync_state.h"

const struct gpusync_options gpusync_sound = {
    .sound = true, .tight = true, .dilate = true, .peer = PEER_MIGRATIONS};
const struct gpusync_options gpusync_printed = {.few_rule = true, .peer = PEER_EQUATION_6};

void gpusync_group_by_cpu(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;
    unsigned clusters = state->system->cpu_clusters;
    size_t *first = state->cpu_first;

    for (unsigned x = 0; x <= clusters + 1; x++)
        first[x] = 0;
    for (size_t i = 0; i < workspace->n; i++)
        if (workspace->terms[i].cpu_cluster != GPUSYNC_UNPLACED)
            first[workspace->terms[i].cpu_cluster + 2]++;
    for (unsigned x = 2; x <= clusters + 1; x++)
        first[x] += first[x - 1];
    /* moves first[x + 1] from the start to the end of cluster x */
    for (size_t i = 0; i < workspace->n; i++)
        if (workspace->terms[i].cpu_cluster != GPUSYNC_UNPLACED)
            state->by_cpu[first[workspace->terms[i].cpu_cluster + 1]++] = (uint32_t)i;
}

/* Computes b of every task from the current r. b never shrinks from round to round. */
void gpusync_block(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;

    for (unsigned q = 0; q < system->gpu_clusters; q++) {
        struct gpu_cluster *cluster = &state->gpu_clusters[q];

        if (!cluster->changed)
            continue;
        cluster->changed = false;
        gpusync_engines_block(workspace, cluster);
        if (system->shared)
            gpusync_ck_omlp_block(workspace, q);
        else
            gpusync_r2dglp_block(workspace, q);
    }
    if (system->shared)
        gpusync_ck_omlp_donate(workspace);
    for (size_t i = 0; i < workspace->n; i++) {
        struct gpusync_terms *terms = &workspace->terms[i];
        double blocking;

        terms->token_blocking = terms->direct + terms->donation;
        blocking = terms->token_blocking + terms->execution_blocking + terms->copy_blocking;
        terms->blocking = blocking > terms->blocking ? blocking : terms->blocking;
    }
}

/*
 * CPU time that interrupts take on the CPUs of the token holders for which a job of cluster x
 * waits.
 */
static double stolen_from_holders(const struct gpusync_workspace *workspace, unsigned x)
{
    const struct gpusync_system *system = workspace->state->system;
    double most = workspace->clusters[x].stolen;

    for (unsigned other = 0; system->shared && other < system->cpu_clusters; other++)
        if (workspace->clusters[other].stolen > most)
            most = workspace->clusters[other].stolen;
    return most;
}

/* Computes C of the tasks of one CPU cluster, then applies fair lateness to them. */
static int bound_cluster(struct gpusync_workspace *workspace, unsigned x)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;
    struct gpusync_cluster_terms *cluster = &workspace->clusters[x];
    size_t first = state->cpu_first[x];
    struct fair_lateness lateness = {.n = cluster->n,
                                     .cpus = system->cluster_cpus,
                                     .cost = state->cost + first,
                                     .period = state->period + first,
                                     .deadline = state->deadline + first,
                                     .point = state->point + first,
                                     .response = state->response + first,
                                     .utilisation = state->utilisation + first,
                                     .slope = state->slope,
                                     .key = state->sort_key,
                                     .chosen = state->chosen};
    double stretch = state->options->dilate ? 1 / (1 - stolen_from_holders(workspace, x)) : 1;

    for (size_t k = 0; k < cluster->n; k++) {
        size_t i = state->by_cpu[first + k];
        struct gpusync_terms *terms = &workspace->terms[i];

        terms->cost = terms->inflated + terms->blocking * stretch;
        state->cost[first + k] = terms->cost;
        state->period[first + k] = workspace->tasks[i].period - system->event_latency;
        state->deadline[first + k] = workspace->tasks[i].deadline - system->event_latency;
    }
    cluster->answer = fair_lateness_bound(&lateness);
    cluster->total = lateness.total;
    cluster->s = lateness.s;
    if (cluster->stolen >= 1 &&
        cluster->n > 0) /* interrupts take a whole CPU, so the divisions above are meaningless */
        cluster->answer = FAIR_LATENESS_OVERUTILISED;
    return cluster->answer;
}

/* Copies the results of one cluster into the terms; true if some r grew. */
static bool publish(struct gpusync_workspace *workspace, unsigned x)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_cluster_terms *cluster = &workspace->clusters[x];
    bool bounded = cluster->answer == FAIR_LATENESS_BOUNDED;
    bool grew = false;

    for (size_t k = state->cpu_first[x]; k < state->cpu_first[x + 1]; k++) {
        size_t i = state->by_cpu[k];
        struct gpusync_terms *terms = &workspace->terms[i];

        terms->point = state->point[k];
        terms->response = bounded ? state->response[k] + state->system->event_latency : -1;
        terms->tardiness = -1;
        if (!bounded)
            continue;
        terms->tardiness = terms->response - workspace->tasks[i].deadline;
        terms->tardiness = terms->tardiness > 0 ? terms->tardiness : 0;
        if (terms->response > terms->r) {
            state->next_r[i] = terms->response;
            grew = true;
        }
    }
    return grew;
}

/* One round. GPUSYNC_BOUNDED with *ret_grew set, or the reason for rejecting. */
static int turn(struct gpusync_workspace *workspace, bool *ret_grew)
{
    struct gpusync_state *state = workspace->state;
    int answer = GPUSYNC_BOUNDED;
    bool grew = false;

    for (size_t i = 0; i < workspace->n; i++)
        state->next_r[i] = workspace->terms[i].r;
    for (unsigned x = 0; x < state->system->cpu_clusters; x++) {
        int cluster = bound_cluster(workspace, x);

        if (cluster == FAIR_LATENESS_OVERUTILISED)
            answer = GPUSYNC_OVERUTILISED;
        else if (cluster == FAIR_LATENESS_TOO_LONG && answer == GPUSYNC_BOUNDED)
            answer = GPUSYNC_TOO_LONG;
        if (state->options->decide && answer != GPUSYNC_BOUNDED)
            return answer;
        grew = publish(workspace, x) || grew;
    }
    *ret_grew = grew;
    return answer;
}

/* Adopts the grown r; the blocking of their GPU clusters must be computed again. */
static void grow(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;

    for (size_t i = 0; i < workspace->n; i++) {
        struct gpusync_terms *terms = &workspace->terms[i];

        if (state->next_r[i] <= terms->r)
            continue;
        terms->r = state->next_r[i];
        if (terms->gpu_cluster != GPUSYNC_NOWHERE)
            state->gpu_clusters[terms->gpu_cluster].changed = true;
    }
}

/*
 * One task alone, or all tasks together, exceed the machine under every partition: e' >= e, p' <=
 * p.
 */
static int hopeless(const struct gpusync_workspace *workspace, const struct gpusync_system *system)
{
    double total = 0;
    int too_long = 0;

    for (size_t i = 0; i < workspace->n; i++) {
        const struct gpusync_task *task = &workspace->tasks[i];
        double least = task->cpu + task->length[OPERATION_KERNEL] + task->length[OPERATION_IN] +
                       task->length[OPERATION_OUT];

        total += least / task->period;
        too_long |= least > task->period;
    }
    if (total > (double)system->cpu_clusters * system->cluster_cpus + 1e-9)
        return GPUSYNC_OVERUTILISED;
    return too_long ? GPUSYNC_TOO_LONG : GPUSYNC_BOUNDED;
}

int gpusync_analyse(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                    const struct gpusync_options *options)
{
    struct gpusync_state *state = workspace->state;
    int answer;

    state->system = system;
    state->options = options;
    state->sigma = 2 * (system->scheduler + system->context_switch) + system->ipi;
    if (options->decide) {
        answer = hopeless(workspace, system);
        if (answer != GPUSYNC_BOUNDED)
            return answer;
    }
    workspace->rounds = 0;
    gpusync_partition(workspace);
    gpusync_overheads_prepare(workspace);
    gpusync_overheads_inflate(workspace);
    if (system->shared)
        gpusync_ck_omlp_first_points(workspace);
    while (workspace->rounds < GPUSYNC_MAX_ROUNDS) {
        bool grew;

        workspace->rounds++;
        gpusync_block(workspace);
        answer = turn(workspace, &grew);
        if (answer != GPUSYNC_BOUNDED)
            return answer;
        if (system->shared)
            gpusync_ck_omlp_next_points(workspace);
        if (!grew && (!system->shared || gpusync_ck_omlp_settled(workspace)))
            return GPUSYNC_BOUNDED;
        grow(workspace);
        if (grew)
            gpusync_overheads_inflate(workspace);
    }
    return GPUSYNC_NO_END;
}
