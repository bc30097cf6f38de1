/*
 * CK-OMLP for a GPU cluster that several CPU clusters share (rules C1..C7). In each CPU cluster at
 * most c requests are incomplete at any time. Each belongs to one of the cluster's c highest
 * pending jobs, or a donor keeps it among them:
 *
 *           among the c highest of its
 *           CPU cluster, no donor (C3)           head of KQ, a token is free
 *   PARKED ----------------------------> QUEUED ----------------------------> HELD --> released
 *
 *   A job d released among the c highest displaces x (C1):
 *     x has an incomplete request -> d becomes x's donor
 *     x is a donor                -> d takes over x's donee, and x is free again
 *   A donor lends its priority. It must not run while its donee is ready (C2), and its end waits
 *   for the end of the donation (C5).
 *
 * A donation ends with the donee's request, or when the donee is among the c highest again.
 */
#include <string.h>

#include "sched/internal.h"

static struct cpu_cluster *cpus_of(struct sched_core *core, job_id job)
{
    return &core->cpu_clusters[core->clients[core->jobs[job].client].cpu_cluster];
}

static void pending_insert(struct sched_core *core, job_id job)
{
    struct cpu_cluster *cluster = cpus_of(core, job);
    unsigned i = cluster->n;

    while (i > 0 && job_above(&core->jobs[job], &core->jobs[cluster->jobs[i - 1]])) {
        cluster->jobs[i] = cluster->jobs[i - 1];
        i--;
    }
    cluster->jobs[i] = job;
    cluster->n++;
}

static void pending_remove(struct sched_core *core, job_id job)
{
    struct cpu_cluster *cluster = cpus_of(core, job);

    for (unsigned i = 0; i < cluster->n; i++) {
        if (cluster->jobs[i] == job) {
            memmove(&cluster->jobs[i], &cluster->jobs[i + 1], (cluster->n - i - 1) * sizeof *cluster->jobs);
            cluster->n--;
            return;
        }
    }
}

/* Is the job among the c highest pending jobs of its CPU cluster? */
static bool in_top(struct sched_core *core, job_id job)
{
    const struct cpu_cluster *cluster = cpus_of(core, job);

    for (unsigned i = 0; i < core->config.cpu_cluster && i < cluster->n; i++) {
        if (cluster->jobs[i] == job)
            return true;
    }
    return false;
}

static bool has_request(const struct sched_core *core, const struct job *job)
{
    return job->ck_lane != NO_LANE &&
           (core->lanes[job->ck_lane].token == TOKEN_QUEUED || core->lanes[job->ck_lane].token == TOKEN_HELD);
}

static void donation_begin(struct sched_core *core, job_id donor, job_id donee)
{
    core->jobs[donor].ck_donee = donee;
    core->jobs[donee].ck_donor = donor;
}

static void donation_end(struct sched_core *core, job_id donor)
{
    struct job *job = &core->jobs[donor];

    if (job->ck_donee == SCHED_NO_JOB)
        return;
    core->jobs[job->ck_donee].ck_donor = SCHED_NO_JOB;
    job->ck_donee = SCHED_NO_JOB;
}

/* C1. */
void ck_job_released(struct sched_core *core, job_id id)
{
    const struct cpu_cluster *cluster = cpus_of(core, id);
    job_id displaced;
    job_id donee;

    pending_insert(core, id);
    if (!in_top(core, id) || cluster->n <= core->config.cpu_cluster)
        return;
    displaced = cluster->jobs[core->config.cpu_cluster];
    donee = core->jobs[displaced].ck_donee;
    if (donee != SCHED_NO_JOB) {
        donation_end(core, displaced);
        donation_begin(core, id, donee);
    } else if (has_request(core, &core->jobs[displaced])) {
        donation_begin(core, id, displaced);
    }
}

bool ck_job_done(struct sched_core *core, job_id id)
{
    if (core->jobs[id].ck_donee == SCHED_NO_JOB)
        return true;
    core->jobs[id].ck_ended = true; /* C5 */
    return false;
}

void ck_forget(struct sched_core *core, job_id id)
{
    donation_end(core, id);
    if (core->jobs[id].ck_donor != SCHED_NO_JOB)
        donation_end(core, core->jobs[id].ck_donor);
    pending_remove(core, id);
}

/* C3: a request is parked first; ck_recheck() admits it when the rules allow. */
void ck_request(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    (void)cluster;
    core->lanes[id].token = TOKEN_PARKED;
    core->jobs[job_of(core, id)].ck_lane = id;
}

void ck_leave(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];
    struct job *job = &core->jobs[job_of(core, id)];
    lane_id *queue = cluster->queues[0];

    if (lane->token == TOKEN_HELD)
        cluster->free_tokens[lane->gpu - cluster->first_gpu]++;
    for (unsigned i = 0; lane->token == TOKEN_QUEUED && i < cluster->lengths[0]; i++) {
        if (queue[i] == id) {
            memmove(&queue[i], &queue[i + 1], (cluster->lengths[0] - i - 1) * sizeof *queue);
            cluster->lengths[0]--;
            break;
        }
    }
    job->ck_lane = NO_LANE;
    if (job->ck_donor != SCHED_NO_JOB)
        donation_end(core, job->ck_donor); /* C4 */
}

/* C7: a holder stays as a ghost, with its rank and its donor, until it is drained. */
void ck_job_died(struct sched_core *core, job_id id)
{
    const struct job *job = &core->jobs[id];

    if (job->engaged == 0 && job->tokens == 0)
        core_end_job(core, id);
}

void ck_rerank(struct sched_core *core, job_id id)
{
    pending_remove(core, id);
    pending_insert(core, id);
    core->died = true; /* the new order may not fit the donations: repair them as after a death */
}

/* C6(i). */
static void end_needless_donations(struct sched_core *core)
{
    for (job_id j = 0; j < core->config.jobs; j++) {
        if (core->jobs[j].used && core->jobs[j].ck_donee != SCHED_NO_JOB &&
            in_top(core, core->jobs[j].ck_donee))
            donation_end(core, j);
    }
}

/* C6(ii): every incomplete request below the c highest gets a donor again. */
static void replace_lost_donors(struct sched_core *core)
{
    for (unsigned x = 0; x < core->n_cpu_clusters; x++) {
        struct cpu_cluster *cluster = &core->cpu_clusters[x];

        for (unsigned i = core->config.cpu_cluster; i < cluster->n; i++) {
            job_id donee = cluster->jobs[i];

            if (!has_request(core, &core->jobs[donee]) || core->jobs[donee].ck_donor != SCHED_NO_JOB)
                continue;
            for (unsigned t = 0; t < core->config.cpu_cluster; t++) {
                const struct job *top = &core->jobs[cluster->jobs[t]];

                if (!has_request(core, top) && top->ck_donee == SCHED_NO_JOB &&
                    top->ck_donor == SCHED_NO_JOB) {
                    donation_begin(core, cluster->jobs[t], donee);
                    break;
                }
            }
        }
    }
}

/* C6(iii): a job leaves when it is done and has ended its donation. */
static bool end_deferred(struct sched_core *core)
{
    bool any = false;

    for (job_id j = 0; j < core->config.jobs; j++) {
        if (core->jobs[j].used && core->jobs[j].ck_ended && core->jobs[j].ck_donee == SCHED_NO_JOB) {
            core_end_job(core, j);
            core_decide(core, SCHED_ENDED, j);
            any = true;
        }
    }
    return any;
}

/*
 * How many critical sections must end before the next request of KQ holds a token; k end in
 * parallel.
 */
static unsigned sections_ahead(const struct token_cluster *cluster)
{
    for (unsigned i = 0; i < cluster->g; i++) {
        if (cluster->free_tokens[i])
            return cluster->lengths[0] / cluster->k;
    }
    return cluster->lengths[0] / cluster->k + 1;
}

/* C6(iv): the highest request first. */
static void admit(struct sched_core *core)
{
    for (unsigned x = 0; x < core->n_cpu_clusters; x++) {
        const struct cpu_cluster *cluster = &core->cpu_clusters[x];

        for (unsigned i = 0; i < core->config.cpu_cluster && i < cluster->n; i++) {
            const struct job *job = &core->jobs[cluster->jobs[i]];
            struct token_cluster *tokens;
            struct sched_lane *lane;

            if (job->ck_lane == NO_LANE || core->lanes[job->ck_lane].token != TOKEN_PARKED ||
                job->ck_donee != SCHED_NO_JOB || job->dead)
                continue;
            tokens = token_cluster_of(core, job->ck_lane);
            lane = &core->lanes[job->ck_lane];
            lane->token = TOKEN_QUEUED;
            lane->ahead = sections_ahead(tokens);
            tokens->queues[0][tokens->lengths[0]++] = job->ck_lane;
        }
    }
}

/*
 * Chooses a free token for this lane: of the client's own GPU, else at home, else of the GPU with
 * the most free tokens (A2).
 */
static unsigned choose_gpu(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    unsigned own = token_own_gpu(core, cluster, id);
    unsigned best = SCHED_NO_GPU;

    for (unsigned i = 0; i < cluster->g; i++) {
        unsigned gpu = cluster->first_gpu + i;

        if (cluster->free_tokens[i] == 0 || !token_allowed(core, id, gpu))
            continue;
        if (gpu == own || (own == SCHED_NO_GPU && gpu == core->lanes[id].token_home))
            return gpu;
        if (best == SCHED_NO_GPU || cluster->free_tokens[i] > cluster->free_tokens[best - cluster->first_gpu])
            best = gpu;
    }
    return best;
}

static void grant_heads(struct sched_core *core)
{
    for (unsigned i = 0; i < core->n_gpu_clusters; i++) {
        struct token_cluster *cluster = &core->clusters[i];
        lane_id *queue = cluster->queues[0];

        while (cluster->lengths[0]) {
            lane_id head = queue[0];
            unsigned gpu = choose_gpu(core, cluster, head);

            if (gpu == SCHED_NO_GPU)
                break;
            memmove(&queue[0], &queue[1], (cluster->lengths[0] - 1) * sizeof *queue);
            cluster->lengths[0]--;
            cluster->free_tokens[gpu - cluster->first_gpu]--;
            token_give(core, head, gpu);
        }
    }
}

void ck_recheck(struct sched_core *core)
{
    do {
        end_needless_donations(core);
        if (core->died)
            replace_lost_donors(core);
    } while (end_deferred(core));
    admit(core);
    grant_heads(core);
}

/* C2: a donor is suspended while its donee is ready, that is, holds a token and no engine. */
void ck_emit_suspensions(struct sched_core *core)
{
    for (job_id j = 0; j < core->config.jobs; j++) {
        struct job *job = &core->jobs[j];
        const struct job *donee;
        bool suspended = false;

        if (!job->used || job->dead || job->ck_ended)
            continue;
        if (job->ck_donee != SCHED_NO_JOB) {
            donee = &core->jobs[job->ck_donee];
            suspended =
                !donee->dead && donee->engaged == 0 && core->lanes[donee->ck_lane].token == TOKEN_HELD;
        }
        if (suspended != job->ck_suspended)
            core_decide(core, suspended ? SCHED_SUSPEND : SCHED_RESUME, j);
        job->ck_suspended = suspended;
    }
}
