#include "analysis/gpusync/gpusync_explain.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/gpusync/gpusync_state.h"
#include "analysis/cpu/plain_cost.h"

struct explainer {
    struct gpusync_workspace *workspace;
    size_t i;
    struct analysis_explanation *explanation;
    double *shares; /* by task; all 0 between groups */
    baton_nsec given;
};

static void add(struct explainer *e, const char *where, const char *why, size_t cause, baton_nsec amount)
{
    e->explanation->terms[e->explanation->n_terms++] = (struct analysis_term){
        .where = where, .why = why, .segment = ANALYSIS_JOB, .cause = cause, .amount = amount};
    e->given += amount;
}

/*
 * Adds one term for each share of another task, scaled so that the shares sum up to total; clears
 * the shares.
 */
static void add_shares(struct explainer *e, const char *where, const char *why, double total)
{
    double sum = 0;

    for (size_t j = 0; j < e->workspace->n; j++)
        sum += e->shares[j];
    for (size_t j = 0; j < e->workspace->n; j++) {
        baton_nsec amount = sum > 0 ? (baton_nsec)(e->shares[j] / sum * total * (double)NSEC_PER_US) : 0;

        if (j != e->i && amount > 0)
            add(e, where, why, j, amount);
        e->shares[j] = 0;
    }
}

static void explain_locks(struct explainer *e)
{
    struct gpusync_workspace *workspace = e->workspace;
    struct gpusync_state *state = workspace->state;
    const struct gpusync_terms *terms = &workspace->terms[e->i];
    const struct gpu_cluster *cluster;

    if (terms->gpu_cluster == GPUSYNC_NOWHERE)
        return;
    cluster = &state->gpu_clusters[terms->gpu_cluster];
    if (state->system->shared)
        (void)gpusync_ck_omlp_direct(workspace, terms->gpu_cluster, e->i, e->shares);
    else
        (void)gpusync_r2dglp_direct(workspace, terms->gpu_cluster, e->i, e->shares);
    add_shares(e, "GPU token", "blocking by", terms->direct);
    (void)gpusync_execution_blocking(workspace, cluster, e->i, e->shares);
    add_shares(e, "execution engine", "blocking by", terms->execution_blocking);
    (void)gpusync_copy_blocking(workspace, cluster, e->i, e->shares);
    add_shares(e, "copy engines", "blocking by", terms->copy_blocking);
}

/*
 * The donee with the longest span. b never shrinks from round to round, so the term may exceed the
 * donee's current span.
 */
static void explain_donation(struct explainer *e)
{
    struct gpusync_workspace *workspace = e->workspace;
    const struct gpusync_state *state = workspace->state;
    const struct gpusync_terms *terms = &workspace->terms[e->i];
    double donation = terms->blocking - terms->direct - terms->execution_blocking - terms->copy_blocking;
    size_t donee = e->i;

    for (size_t j = 0; j < workspace->n; j++)
        if (j != e->i && workspace->terms[j].cpu_cluster == terms->cpu_cluster && state->span[j] > 0 &&
            state->donor_point[j] >= state->donor_point[e->i] &&
            (donee == e->i || state->span[j] > state->span[donee]))
            donee = j;
    if (donee == e->i || donation <= 0)
        return;
    e->shares[donee] = 1;
    add_shares(e, "request it donates its priority to", "blocking by", donation);
}

static void explain_interrupts(struct explainer *e)
{
    struct gpusync_workspace *workspace = e->workspace;
    const struct gpusync_state *state = workspace->state;
    unsigned x = workspace->terms[e->i].cpu_cluster;
    const struct gpusync_ranges *attached = &state->system->attached[x];
    double total = 0;

    for (size_t a = 0; a < attached->n; a++)
        for (size_t k = state->gpu_clusters[attached->ranges[a].first].first;
             k < state->gpu_clusters[attached->ranges[a].end - 1].end; k++) {
            size_t j = state->members[k];

            if (j == e->i)
                continue;
            e->shares[j] += workspace->terms[j].operations * gpusync_interfering_jobs(workspace, e->i, j) *
                            state->system->top_half / (1 - workspace->clusters[x].stolen);
            total += e->shares[j];
        }
    add_shares(e, "GPU interrupts", "from", total);
}

/* The terms of R - C by fair lateness. */
static void explain_cpu(struct explainer *e, double parts[])
{
    struct gpusync_workspace *workspace = e->workspace;
    struct gpusync_state *state = workspace->state;
    unsigned x = workspace->terms[e->i].cpu_cluster;
    size_t first = state->cpu_first[x];
    struct fair_lateness lateness = {.n = workspace->clusters[x].n,
                                     .cpus = state->system->cluster_cpus,
                                     .cost = state->cost + first,
                                     .period = state->period + first,
                                     .deadline = state->deadline + first,
                                     .point = state->point + first,
                                     .utilisation = state->utilisation + first,
                                     .slope = state->slope,
                                     .key = state->sort_key,
                                     .chosen = state->chosen};
    size_t self = 0;
    size_t earliest;
    double ahead;
    double wait = 0;

    while (state->by_cpu[first + self] != e->i)
        self++;
    (void)fair_lateness_decide(&lateness);
    fair_lateness_parts(&lateness, self, &earliest, &ahead, parts);
    e->shares[state->by_cpu[first + earliest]] = ahead;
    add_shares(e, "CPU, behind earlier priority points", "from", ahead);
    for (size_t k = 0; k < lateness.n; k++) {
        e->shares[state->by_cpu[first + k]] = parts[k];
        wait += parts[k];
    }
    add_shares(e, "CPU", "from", wait);
}

int gpusync_explain(struct gpusync_workspace *workspace, size_t i, struct analysis_explanation *explanation)
{
    struct explainer e = {.workspace = workspace, .i = i, .explanation = explanation};
    double *parts = arena_calloc(&explanation->arena, workspace->n + 1, sizeof parts[0]);

    /* At most seven groups name each task once; one term is the task's own. */
    explanation->terms =
        arena_calloc(&explanation->arena, 7 * workspace->n + 1, sizeof explanation->terms[0]);
    e.shares = arena_calloc(&explanation->arena, workspace->n + 1, sizeof e.shares[0]);
    if (!explanation->terms || !e.shares || !parts)
        return -ENOMEM;
    explain_locks(&e);
    explain_donation(&e);
    explain_interrupts(&e);
    explain_cpu(&e, parts);
    add(&e, "own work and overheads", "own", i, plain_nsec(workspace->terms[i].response) - e.given);
    explanation->bounded = true;
    return 0;
}
