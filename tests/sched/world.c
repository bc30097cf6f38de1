#include "world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explorer.h"

struct sched_core *world_core(const struct world *world)
{
    struct sched_core *core = NULL;
    int result = sched_core_new(&world->config, &core);

    assert(result == 0);
    (void)result;
    return core;
}

/*
 * Writing and reading a whole state. Numbers of events become ranks, so that equal situations have
 * equal bytes.
 */

struct cursor {
    unsigned char *at;
    bool reading;
};

static void field(struct cursor *cursor, void *data, size_t size)
{
    if (cursor->reading)
        memcpy(data, cursor->at, size);
    else
        memcpy(cursor->at, data, size);
    cursor->at += size;
}

static void cluster_fields(struct cursor *cursor, struct sched_core *core, struct token_cluster *cluster)
{
    field(cursor, &cluster->n_clients, sizeof cluster->n_clients);
    field(cursor, &cluster->in_queues, sizeof cluster->in_queues);
    field(cursor, &cluster->n_incomplete, sizeof cluster->n_incomplete);
    field(cursor, &cluster->n_parked, sizeof cluster->n_parked);
    field(cursor, &cluster->n_donors, sizeof cluster->n_donors);
    field(cursor, cluster->lengths, cluster->k * sizeof *cluster->lengths);
    field(cursor, cluster->free_tokens, cluster->g * sizeof *cluster->free_tokens);
    for (unsigned q = 0; q < cluster->k; q++) {
        memset(cluster->queues[q] + cluster->lengths[q], 0,
               (core->n_lanes - cluster->lengths[q]) * sizeof(lane_id));
        field(cursor, cluster->queues[q], core->n_lanes * sizeof(lane_id));
    }
    memset(cluster->incomplete + cluster->n_incomplete, 0,
           (core->n_lanes - cluster->n_incomplete) * sizeof(lane_id));
    memset(cluster->parked + cluster->n_parked, 0, (core->n_lanes - cluster->n_parked) * sizeof(lane_id));
    field(cursor, cluster->incomplete, core->n_lanes * sizeof(lane_id));
    field(cursor, cluster->parked, core->n_lanes * sizeof(lane_id));
}

static void state_fields(struct cursor *cursor, struct explorer *explorer)
{
    struct sched_core *core = explorer->core;

    field(cursor, &explorer->mirror, sizeof explorer->mirror);
    field(cursor, &core->seq, sizeof core->seq);
    field(cursor, &core->n_reserving, sizeof core->n_reserving);
    field(cursor, &core->n_reached, sizeof core->n_reached);
    memset(core->reached + core->n_reached, 0, (core->config.jobs - core->n_reached) * sizeof *core->reached);
    field(cursor, core->reached, core->config.jobs * sizeof *core->reached);
    memset(core->reached_in, 0, core->config.jobs * sizeof *core->reached_in);
    field(cursor, core->clients, core->config.clients * sizeof *core->clients);
    field(cursor, core->jobs, core->config.jobs * sizeof *core->jobs);
    field(cursor, core->lanes, core->n_lanes * sizeof *core->lanes);
    for (engine_id e = 0; e < core->n_engines; e++) {
        struct engine *engine = &core->engines[e];

        field(cursor, &engine->holder, sizeof engine->holder);
        field(cursor, &engine->blocked, sizeof engine->blocked);
        field(cursor, &engine->paused, sizeof engine->paused);
        field(cursor, &engine->n, sizeof engine->n);
        memset(engine->queue + engine->n, 0, (core->n_lanes - engine->n) * sizeof *engine->queue);
        field(cursor, engine->queue, core->n_lanes * sizeof *engine->queue);
    }
    for (unsigned i = 0; core->clusters && i < core->n_gpu_clusters; i++)
        cluster_fields(cursor, core, &core->clusters[i]);
    for (unsigned i = 0; core->cpu_clusters && i < core->n_cpu_clusters; i++) {
        struct cpu_cluster *cluster = &core->cpu_clusters[i];

        field(cursor, &cluster->n, sizeof cluster->n);
        memset(cluster->jobs + cluster->n, 0, (core->config.jobs - cluster->n) * sizeof *cluster->jobs);
        field(cursor, cluster->jobs, core->config.jobs * sizeof *cluster->jobs);
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = *(uint64_t *const *)a;
    const uint64_t *y = *(uint64_t *const *)b;

    return (*x > *y) - (*x < *y);
}

static void rank_numbers(uint64_t *numbers[], size_t n, uint64_t *ret_next)
{
    uint64_t rank = 0;
    uint64_t last = 0;

    qsort(numbers, n, sizeof *numbers, by_value);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || *numbers[i] != last)
            rank++;
        last = *numbers[i];
        *numbers[i] = rank;
    }
    *ret_next = rank + 1;
}

static int by_time(const void *a, const void *b)
{
    baton_nsec x = **(baton_nsec *const *)a;
    baton_nsec y = **(baton_nsec *const *)b;

    return (x > y) - (x < y);
}

/*
 * Equals: holders are charged up to now, which becomes 0. Of what each client was served only
 * differences matter, and those beyond two turns are all the same: the rule compares them with one
 * turn and with the last hold, which is one turn here.
 */
static void forget_time(struct explorer *explorer)
{
    const baton_nsec far = 2 * SCHED_TURN_NS;
    struct sched_core *core = explorer->core;
    baton_nsec *values[WORLD_MAX_CLIENTS * 3] = {NULL};
    baton_nsec was = 0;
    baton_nsec now = 0;
    size_t n = 0;

    for (lane_id l = 0; l < core->n_lanes; l++) {
        struct sched_lane *lane = &core->lanes[l];

        if (lane->state == ENGINE_HOLDS)
            share_charge(core, l);
        if (lane->state == ENGINE_NONE) {
            lane->share = (struct share){0};
        } else {
            values[n++] = &lane->share.tag;
            values[n++] = &lane->share.level;
        }
        lane->charged_at = lane->share.charged_at = 0;
        if (lane->share.served > far)
            lane->share.served = far;
    }
    for (client_id c = 0; c < core->config.clients; c++) {
        values[n++] = &core->clients[c].served;
        if (core->clients[c].last > far)
            core->clients[c].last = far;
        core->clients[c].average = 0;
    }
    for (job_id j = 0; j < core->config.jobs; j++)
        core->jobs[j].spent = core->jobs[j].contended = 0;
    qsort(values, n, sizeof *values, by_time);
    for (size_t i = 0; i < n; i++) {
        baton_nsec step = i ? *values[i] - was : 0;

        was = *values[i];
        now += step < far ? step : far;
        *values[i] = now;
    }
    core->at = 0;
}

/* What no longer matters is zeroed; what matters only by order is ranked. */
/* A lane of the core, without what decides nothing; its numbers join the list. */
static size_t canonical_lane(const struct explorer *explorer, struct sched_lane *lane, uint64_t *numbers[])
{
    const struct sched_core *core = explorer->core;
    size_t n = 0;

    if (lane->state == ENGINE_NONE) {
        lane->one_of = lane->batch = lane->started = lane->yielding = false;
        lane->home = 0;
        lane->engines = (struct engine_set){0};
        lane->seq = 0;
    } else if (core->profile->by_priority && !explorer->world->equals) {
        lane->seq = 0;
    } else {
        numbers[n++] = &lane->seq;
    }
    if (lane->token == TOKEN_NONE)
        lane->donor = lane->donee = NO_LANE;
    if (lane->token != TOKEN_HELD)
        lane->gpu = 0;
    /* Told with the token; the bound on it is not for requests that have seen a death (R9). */
    if (lane->token == TOKEN_NONE || lane->token == TOKEN_HELD || explorer->mirror.any_death)
        lane->ahead = 0;
    if (lane->token != TOKEN_HELD && lane->token != TOKEN_QUEUED)
        lane->queue = 0;
    if (lane->token != TOKEN_NONE && core->config.lock == LOCK_FIFO)
        numbers[n++] = &lane->token_seq;
    else
        lane->token_seq = 0;
    lane->token_home = 0;
    return n;
}

/* The same of the explorer's own record of it. */
static size_t canonical_mirror(struct explorer *explorer, unsigned c, uint64_t *numbers[])
{
    struct mirror_lane *lane = &explorer->mirror.lanes[c];
    size_t n = 0;

    lane->granted_now = lane->token_now = false;
    if (!lane->has_token)
        lane->gpu = 0;
    if (!explorer->mirror.released[c])
        explorer->mirror.as[c] = c;
    if (lane->state == ENGINE_NONE) {
        lane->order = 0;
        memset(&lane->request, 0, sizeof lane->request);
    } else {
        numbers[n++] = &lane->order;
    }
    if (lane->state != ENGINE_HOLDS)
        lane->asked_to_yield = lane->turned = lane->ran = false;
    if (lane->state != ENGINE_WAITS || !explorer->world->bounded)
        lane->waited = 0;
    return n;
}

void make_canonical(struct explorer *explorer)
{
    struct sched_core *core = explorer->core;
    uint64_t *numbers[WORLD_MAX_CLIENTS * 4] = {NULL};
    size_t n = 0;

    if (explorer->world->equals)
        forget_time(explorer);
    for (job_id j = 0; j < core->config.jobs; j++) {
        core->jobs[j].seq = 0; /* priorities are unique here: nothing is decided by it */
        if (!core->jobs[j].used)
            memset(&core->jobs[j], 0, sizeof core->jobs[j]);
    }
    for (lane_id l = 0; l < core->n_lanes; l++)
        n += canonical_lane(explorer, &core->lanes[l], numbers + n);
    for (client_id c = 0; c < core->config.clients; c++)
        core->clients[c].has_average = false;
    rank_numbers(numbers, n, &core->seq);
    n = 0;
    for (unsigned c = 0; c < explorer->world->clients; c++)
        n += canonical_mirror(explorer, c, numbers + n);
    rank_numbers(numbers, n, &explorer->mirror.next_order);
}

size_t save(struct explorer *explorer, unsigned char *bytes)
{
    struct cursor cursor = {bytes, false};

    state_fields(&cursor, explorer);
    return (size_t)(cursor.at - bytes);
}

void load(struct explorer *explorer, const unsigned char *bytes)
{
    struct cursor cursor = {(unsigned char *)(uintptr_t)bytes, true};

    state_fields(&cursor, explorer);
    explorer->core->at = 0; /* instants are relative to it (forget_time) */
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

uint64_t hash_bytes(const unsigned char *bytes, size_t size)
{
    /* Four words at a time, because each multiplication waits for the one before it. */
    uint64_t lanes[4] = {UINT64_C(0x9e3779b97f4a7c15) ^ size, 1, 2, 3};
    uint64_t hash;
    size_t i = 0;

    for (; i + sizeof lanes <= size; i += sizeof lanes) {
        uint64_t words[4];

        memcpy(words, bytes + i, sizeof words);
        for (int k = 0; k < 4; k++)
            lanes[k] = mix(lanes[k], words[k]);
    }
    hash = mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3]);
    for (; i < size; i += 8) {
        uint64_t word = 0;

        memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
        hash = mix(hash, word);
    }
    return hash ? hash : 1;
}

bool seen_add(struct seen *seen, uint64_t hash)
{
    size_t i;

    if (seen->n * 2 >= seen->room) {
        struct seen larger = {.room = seen->room ? seen->room * 2 : 1 << 16};

        larger.slots = calloc(larger.room, sizeof *larger.slots);
        assert(larger.slots);
        for (size_t s = 0; s < seen->room; s++) {
            if (seen->slots[s])
                (void)seen_add(&larger, seen->slots[s]);
        }
        free(seen->slots);
        *seen = larger;
    }
    for (i = hash & (seen->room - 1); seen->slots[i]; i = (i + 1) & (seen->room - 1)) {
        if (seen->slots[i] == hash)
            return false;
    }
    seen->slots[i] = hash;
    seen->n++;
    return true;
}

void list_add(struct snapshot_list *list, const unsigned char *bytes, size_t size)
{
    if (list->used + size > list->room) {
        list->room = list->room ? list->room * 2 : 1 << 20;
        list->bytes = realloc(list->bytes, list->room);
    }
    assert(list->bytes);
    memcpy(list->bytes + list->used, bytes, size);
    list->used += size;
    list->n++;
}
