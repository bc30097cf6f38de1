/*
 * R2DGLP, the replica-request donation lock (GPUSync Sec. III; rules R1..R10), and FIFO
 * k-exclusion, which is the same lock with queues of any length (F1). One request:
 *
 *               a slot is free (R1)                       head of its queue, or stolen (R6)
 *   request ------------------------> QUEUED (FQ[q]) ------------------------> HELD --> released
 *      |                                   ^   ^
 *      | all F slots taken,                |   | a slot became free (R5)
 *      | among the c highest (R2)          |   |
 *      +-----------------------> DONOR ----+   |
 *      |                           | ^         |
 *      | otherwise                 v | R3, R8  |
 *      +------------------------> PARKED (PQ) -+
 *
 * A donor lends its priority to one FQ entry, its donee. The donor takes the donee's slot when the
 * donee leaves (R5a). R5(b): the head of PQ moves into a free slot if it is above the highest
 * donee, else that donee's donor does. To move the highest donor, as published, breaks the bound.
 */
#include <limits.h>
#include <string.h>

#include "sched/internal.h"

/* Sorted arrays of lanes, the highest base first. */

static void sorted_insert(const struct sched_core *core, lane_id *array, unsigned *n, lane_id lane)
{
    unsigned i = *n;

    while (i > 0 && token_above(core, lane, array[i - 1])) {
        array[i] = array[i - 1];
        i--;
    }
    array[i] = lane;
    ++*n;
}

static bool array_remove(lane_id *array, unsigned *n, lane_id lane)
{
    for (unsigned i = 0; i < *n; i++) {
        if (array[i] == lane) {
            memmove(&array[i], &array[i + 1], (*n - i - 1) * sizeof *array);
            --*n;
            return true;
        }
    }
    return false;
}

/* Is the request among the c highest incomplete ones? */
static bool in_top(const struct sched_core *core, const struct token_cluster *cluster, lane_id lane)
{
    unsigned c = core->config.cpu_cluster;

    for (unsigned i = 0; i < c && i < cluster->n_incomplete; i++) {
        if (cluster->incomplete[i] == lane)
            return true;
    }
    return false;
}

static unsigned position(const struct sched_core *core, const struct token_cluster *cluster, lane_id lane)
{
    unsigned i = 0;

    while (cluster->queues[core->lanes[lane].queue][i] != lane)
        i++;
    return i;
}

/* The waiting time and migration cost of the lane in queue q, as far as announced. */
static baton_nsec estimate(const struct sched_core *core, const struct token_cluster *cluster, lane_id lane,
                           unsigned q)
{
    baton_nsec cost = 0;
    unsigned gpu = cluster->first_gpu + q % cluster->g;

    for (unsigned i = 0; i < cluster->lengths[q]; i++)
        cost += core->lanes[cluster->queues[q][i]].length;
    if (core->lanes[lane].token_home != SCHED_NO_GPU && core->lanes[lane].token_home != gpu)
        cost += core->lanes[lane].migration;
    return cost;
}

/*
 * A1: a queue no longer than L is legal, and among the legal ones the choice is free. Idle queues
 * come first, then the cheapest, then the shortest. A client that keeps a GPU for itself prefers
 * the queues of that GPU.
 */
static unsigned legal_queue(struct sched_core *core, struct token_cluster *cluster, lane_id lane)
{
    unsigned n = cluster->n_clients ? cluster->n_clients : 1;
    unsigned longest = (n - 1) / cluster->k;
    unsigned own = token_own_gpu(core, cluster, lane);
    unsigned best = UINT_MAX;
    unsigned shortest = UINT_MAX;

    if (longest > cluster->cap - 1)
        longest = cluster->cap - 1;
    for (unsigned q = 0; q < cluster->k; q++) {
        unsigned length = cluster->lengths[q];
        baton_nsec a;
        baton_nsec b;

        if (!token_allowed(core, lane, cluster->first_gpu + q % cluster->g))
            continue;
        if (shortest == UINT_MAX || length < cluster->lengths[shortest])
            shortest = q;
        if (length > longest)
            continue;
        if (own != SCHED_NO_GPU && length == 0 && cluster->first_gpu + q % cluster->g == own)
            return q;
        if (best == UINT_MAX) {
            best = q;
            continue;
        }
        if ((length == 0) != (cluster->lengths[best] == 0)) {
            best = length == 0 ? q : best;
            continue;
        }
        a = estimate(core, cluster, lane, q);
        b = estimate(core, cluster, lane, best);
        if (a < b || (a == b && length < cluster->lengths[best]))
            best = q;
    }
    /*
     * No queue is legal only if a client has more requests than it registered, or excludes GPUs of
     * its cluster.
     */
    return best == UINT_MAX ? shortest : best;
}

static void unlink_donor(struct sched_core *core, struct token_cluster *cluster, lane_id donor)
{
    core->lanes[core->lanes[donor].donee].donor = NO_LANE;
    core->lanes[donor].donee = NO_LANE;
    cluster->n_donors--;
}

static void append(struct sched_core *core, struct token_cluster *cluster, lane_id id, unsigned q)
{
    struct sched_lane *lane = &core->lanes[id];

    lane->token = TOKEN_QUEUED;
    lane->queue = q;
    lane->ahead += cluster->lengths[q];
    cluster->queues[q][cluster->lengths[q]++] = id;
    cluster->in_queues++;
    if (cluster->lengths[q] == 1)
        token_give(core, id, cluster->first_gpu + q % cluster->g);
}

/* Moves a waiting request into a legal queue. */
static void put(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];

    if (lane->token == TOKEN_DONOR)
        unlink_donor(core, cluster, id);
    else if (lane->token == TOKEN_PARKED)
        (void)array_remove(cluster->parked, &cluster->n_parked, id);
    append(core, cluster, id, legal_queue(core, cluster, id));
}

static void park(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    core->lanes[id].token = TOKEN_PARKED;
    sorted_insert(core, cluster->parked, &cluster->n_parked, id);
}

/* R3: a donor that is no longer among the c highest, or NO_LANE. */
static lane_id fallen_donor(const struct sched_core *core, const struct token_cluster *cluster)
{
    for (unsigned i = cluster->n_incomplete; i-- > 0;) {
        lane_id id = cluster->incomplete[i];

        if (core->lanes[id].token == TOKEN_DONOR && !in_top(core, cluster, id))
            return id;
    }
    return NO_LANE;
}

/* R3: the lowest queue entry outside the c highest that has no donor, or NO_LANE. */
static lane_id free_donee(const struct sched_core *core, const struct token_cluster *cluster)
{
    for (unsigned i = cluster->n_incomplete; i-- > 0;) {
        lane_id id = cluster->incomplete[i];
        const struct sched_lane *lane = &core->lanes[id];

        if ((lane->token == TOKEN_QUEUED || lane->token == TOKEN_HELD) && lane->donor == NO_LANE &&
            !in_top(core, cluster, id))
            return id;
    }
    return NO_LANE;
}

/* R3. False: no queue entry can take a donation. */
static bool donate(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    lane_id fallen = fallen_donor(core, cluster);
    lane_id donee;

    if (fallen != NO_LANE) {
        donee = core->lanes[fallen].donee;
        unlink_donor(core, cluster, fallen);
        park(core, cluster, fallen);
    } else {
        donee = free_donee(core, cluster);
    }
    if (donee == NO_LANE)
        return false;
    core->lanes[id].token = TOKEN_DONOR;
    core->lanes[id].donee = donee;
    core->lanes[id].ahead += position(core, cluster, donee) + 1;
    core->lanes[donee].donor = id;
    cluster->n_donors++;
    return true;
}

void r2dglp_request(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    sorted_insert(core, cluster->incomplete, &cluster->n_incomplete, id);
    if (cluster->in_queues < cluster->slots)
        put(core, cluster, id); /* R1 */
    else if (!in_top(core, cluster, id) || !donate(core, cluster, id))
        park(core, cluster, id); /* R2 */
}

/* R5(b): the lane that takes a free slot which no donor has a claim to, or NO_LANE. */
static lane_id mover(const struct sched_core *core, const struct token_cluster *cluster)
{
    lane_id first_parked = cluster->n_parked ? cluster->parked[0] : NO_LANE;

    if (cluster->n_donors == 0)
        return first_parked;
    for (unsigned i = 0; i < cluster->n_incomplete; i++) {
        lane_id donee = cluster->incomplete[i];

        if (core->lanes[donee].donor == NO_LANE)
            continue;
        if (first_parked != NO_LANE && token_above(core, first_parked, donee))
            return first_parked;
        return core->lanes[donee].donor;
    }
    return first_parked;
}

/*
 * R6: an idle replica takes one waiting request of another queue: the one of the highest effective
 * priority, under FIFO k-exclusion the oldest (F2).
 */
static void steal(struct sched_core *core, struct token_cluster *cluster, unsigned q)
{
    lane_id best = NO_LANE;
    unsigned from = 0;

    for (unsigned other = 0; other < cluster->k; other++) {
        for (unsigned i = 1; i < cluster->lengths[other]; i++) {
            lane_id id = cluster->queues[other][i];
            bool better;

            if (!token_allowed(core, id, cluster->first_gpu + q % cluster->g))
                continue;
            if (best == NO_LANE)
                better = true;
            else if (core->config.lock == LOCK_FIFO)
                better = core->lanes[id].token_seq < core->lanes[best].token_seq;
            else
                better = job_above(&core->jobs[core->jobs[job_of(core, id)].as],
                                   &core->jobs[core->jobs[job_of(core, best)].as]);
            if (better) {
                best = id;
                from = other;
            }
        }
    }
    if (best == NO_LANE)
        return;
    (void)array_remove(cluster->queues[from], &cluster->lengths[from], best);
    cluster->in_queues--;
    append(core, cluster, best, q);
}

/* R8. */
void r2dglp_repair(struct sched_core *core, struct token_cluster *cluster)
{
    while (cluster->in_queues < cluster->slots && (cluster->n_donors || cluster->n_parked))
        put(core, cluster, mover(core, cluster));
    while (cluster->n_parked && in_top(core, cluster, cluster->parked[0])) {
        lane_id id = cluster->parked[0];

        (void)array_remove(cluster->parked, &cluster->n_parked, id);
        if (!donate(core, cluster, id)) {
            park(core, cluster, id);
            return;
        }
    }
}

/* R4, R5, R6: an FQ entry leaves. */
static void depart(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];
    unsigned q = lane->queue;
    bool was_head = cluster->queues[q][0] == id;
    lane_id next = lane->donor;

    (void)array_remove(cluster->queues[q], &cluster->lengths[q], id);
    cluster->in_queues--;
    if (was_head && cluster->lengths[q])
        token_give(core, cluster->queues[q][0], cluster->first_gpu + q % cluster->g);
    if (next == NO_LANE)
        next = mover(core, cluster);
    if (next != NO_LANE)
        put(core, cluster, next);
    if (cluster->lengths[q] == 0)
        steal(core, cluster, q);
}

void r2dglp_leave(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];

    (void)array_remove(cluster->incomplete, &cluster->n_incomplete, id);
    if (lane->token == TOKEN_DONOR)
        unlink_donor(core, cluster, id);
    else if (lane->token == TOKEN_PARKED)
        (void)array_remove(cluster->parked, &cluster->n_parked, id);
    else
        depart(core, cluster, id);
    lane->token = TOKEN_NONE;
    r2dglp_repair(core, cluster);
}

void r2dglp_rerank(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    (void)array_remove(cluster->incomplete, &cluster->n_incomplete, id);
    sorted_insert(core, cluster->incomplete, &cluster->n_incomplete, id);
    if (core->lanes[id].token == TOKEN_PARKED) {
        (void)array_remove(cluster->parked, &cluster->n_parked, id);
        sorted_insert(core, cluster->parked, &cluster->n_parked, id);
    }
    r2dglp_repair(core, cluster);
}
