#include "attack.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LANES 8
#define NEVER     ((baton_nsec)1 << 60)

enum lane_state { LANE_NONE, LANE_WAITING, LANE_RUNNING };

struct lane {
    enum lane_state state;
    int gpu;        /* bound to it; -1: any */
    unsigned piece; /* of `pieces` */
    unsigned pieces;
    baton_nsec left; /* of the running piece */
    baton_nsec each; /* worst case of the pieces before the last */
    baton_nsec last; /* and of the last */
    double speed;    /* part of the worst case that this execution takes */
};

struct actor {
    baton_nsec release_at; /* of the present job, or the next */
    baton_nsec next_at;    /* release of the next job */
    unsigned job;
    size_t stage;
    bool active;
    baton_nsec cpu_left;
    unsigned lanes_left;
    struct lane lanes[MAX_LANES]; /* lane 0 serves copies too */
};

struct machine {
    const struct pipeline *pipeline;
    const struct attack_plan *plan;
    struct actor actors[ATTACK_MAX_TASKS];
    struct random_state order; /* of simultaneous events and choices */
    int bus;                   /* task that holds it, -1 */
    int gpu_task[MAX_LANES], gpu_lane[MAX_LANES];
    baton_nsec now;
    baton_nsec *worst;
};

/*
 * A number in [0, 100) that depends on nothing but its arguments: changing an offset does not
 * change executions.
 */
static uint64_t draw(const struct attack_plan *plan, size_t task, unsigned job, size_t stage, unsigned what)
{
    struct random_state state;

    random_init(&state, plan->seed, (uint64_t)task << 40 ^ (uint64_t)job << 16 ^ stage << 8 ^ what);
    return random_u64(&state);
}

static const struct stage *stage_of(const struct machine *m, size_t i)
{
    return &m->pipeline->tasks[i].options[0].stages[m->actors[i].stage];
}

static double speed_of(const struct machine *m, size_t i, unsigned lane)
{
    const struct stage *stage = stage_of(m, i);
    uint64_t random = draw(m->plan, i, m->actors[i].job, m->actors[i].stage, lane);
    double least = stage->length ? (double)stage->best / (double)stage->length : 0;

    if (random % 100 < m->plan->full)
        return 1;
    return least + (1 - least) * (double)(random / 100 % 5) / 4;
}

static baton_nsec piece_time(const struct lane *lane)
{
    baton_nsec worst = lane->piece + 1 == lane->pieces ? lane->last : lane->each;
    baton_nsec time = (baton_nsec)((double)worst * lane->speed + 0.999999);

    return time > worst ? worst : time;
}

/* The pieces of a stage on a GPU: as many of the longest as fit, then the last. */
static void cut_lane(const struct stage *stage, unsigned gpu, struct lane *lane)
{
    baton_nsec length = stage->per_gpu ? stage->per_gpu[gpu].length : stage->length;
    baton_nsec piece = stage->per_gpu ? stage->per_gpu[gpu].piece : stage->piece;
    baton_nsec last = stage->per_gpu ? stage->per_gpu[gpu].last : stage->last;

    lane->last = last;
    lane->each = piece;
    lane->pieces = 1;
    if (length > last && piece > 0)
        lane->pieces += (unsigned)((length - last) / piece);
}

static void arrive(struct machine *m, size_t i)
{
    struct actor *actor = &m->actors[i];
    const struct stage *stage = stage_of(m, i);
    uint64_t taken = 0;

    if (stage->unit == UNIT_CPU) {
        actor->cpu_left = (baton_nsec)((double)stage->length * speed_of(m, i, 0) + 0.999999);
        return;
    }
    actor->lanes_left = stage->lanes;
    for (unsigned k = 0; k < stage->lanes; k++) {
        struct lane *lane = &actor->lanes[k];

        *lane = (struct lane){.state = LANE_WAITING, .gpu = -1, .speed = speed_of(m, i, k)};
        if (stage->unit == UNIT_GPU && !stage->any) {
            /* One lane per GPU, any eligible ones. */
            do
                lane->gpu = (int)random_below(&m->order, m->pipeline->gpus);
            while (!(stage->eligible >> lane->gpu & 1) || (taken >> lane->gpu & 1));
            taken |= (uint64_t)1 << lane->gpu;
        }
        cut_lane(stage, lane->gpu < 0 ? 0 : (unsigned)lane->gpu, lane);
    }
}

static void next_stage(struct machine *m, size_t i);

static void begin_job(struct machine *m, size_t i)
{
    struct actor *actor = &m->actors[i];
    baton_nsec period = m->pipeline->tasks[i].period;
    uint64_t random;

    actor->release_at = actor->next_at;
    actor->job++;
    random = draw(m->plan, i, actor->job, 1000, 0);
    actor->next_at = actor->release_at + period;
    if (random % 100 < m->plan->late[i])
        actor->next_at += (baton_nsec)(random / 100 % (uint64_t)(period / 2 + 1));
    actor->active = true;
    actor->stage = 0;
    arrive(m, i);
}

static void next_stage(struct machine *m, size_t i)
{
    struct actor *actor = &m->actors[i];

    if (++actor->stage < m->pipeline->tasks[i].n_stages) {
        arrive(m, i);
        return;
    }
    actor->active = false;
    if (m->now - actor->release_at > m->worst[i])
        m->worst[i] = m->now - actor->release_at;
}

static bool on_unit(const struct machine *m, size_t i, enum pipeline_unit unit)
{
    return m->actors[i].active && stage_of(m, i)->unit == unit;
}

static void dispatch_bus(struct machine *m)
{
    for (size_t i = 0; i < m->pipeline->n_tasks && m->bus < 0; i++) {
        struct lane *lane = &m->actors[i].lanes[0];

        if (on_unit(m, i, UNIT_BUS) && lane->state == LANE_WAITING) {
            lane->state = LANE_RUNNING;
            lane->left = piece_time(lane);
            m->bus = (int)i;
        }
    }
}

static void dispatch_gpu(struct machine *m, unsigned q)
{
    for (size_t i = 0; i < m->pipeline->n_tasks; i++) {
        for (unsigned k = 0; on_unit(m, i, UNIT_GPU) && k < stage_of(m, i)->lanes; k++) {
            struct lane *lane = &m->actors[i].lanes[k];

            if (lane->state != LANE_WAITING || (lane->gpu >= 0 && lane->gpu != (int)q))
                continue;
            if (lane->gpu < 0) {
                lane->gpu = (int)q;
                cut_lane(stage_of(m, i), q, lane);
            }
            lane->state = LANE_RUNNING;
            lane->left = piece_time(lane);
            m->gpu_task[q] = (int)i;
            m->gpu_lane[q] = (int)k;
            return;
        }
    }
}

static void dispatch(struct machine *m)
{
    unsigned gpus = m->pipeline->gpus;
    unsigned turn = gpus ? (unsigned)random_below(&m->order, gpus) : 0;

    dispatch_bus(m);
    for (unsigned q = 0; q < gpus; q++) {
        if (m->gpu_task[(q + turn) % gpus] < 0)
            dispatch_gpu(m, (q + turn) % gpus);
    }
}

/* The tasks that run on CPUs now: the most urgent ones. */
static size_t cpu_running(const struct machine *m, size_t ret_tasks[])
{
    size_t n = 0;

    for (size_t i = 0; i < m->pipeline->n_tasks && n < m->pipeline->cpus; i++) {
        if (on_unit(m, i, UNIT_CPU))
            ret_tasks[n++] = i;
    }
    return n;
}

/* A piece ended: the next one is queued at once, or the lane is done. */
static void piece_done(struct machine *m, size_t i, struct lane *lane)
{
    struct actor *actor = &m->actors[i];

    lane->state = LANE_WAITING;
    if (++lane->piece < lane->pieces)
        return;
    lane->state = LANE_NONE;
    if (--actor->lanes_left == 0)
        next_stage(m, i);
}

/*
 * Everything that could happen at this instant, in no particular order: n candidates, each a code.
 */
static size_t happening(const struct machine *m, unsigned ret_codes[])
{
    size_t n = 0;

    for (size_t i = 0; i < m->pipeline->n_tasks; i++) {
        if (!m->actors[i].active && m->actors[i].next_at <= m->now)
            ret_codes[n++] = (unsigned)i;
        /* Work that is done is done, even if another job takes the CPU at this instant. */
        if (on_unit(m, i, UNIT_CPU) && m->actors[i].cpu_left == 0)
            ret_codes[n++] = 100 + (unsigned)i;
    }
    if (m->bus >= 0 && m->actors[m->bus].lanes[0].left == 0)
        ret_codes[n++] = 200;
    for (unsigned q = 0; q < m->pipeline->gpus; q++) {
        if (m->gpu_task[q] >= 0 && m->actors[m->gpu_task[q]].lanes[m->gpu_lane[q]].left == 0)
            ret_codes[n++] = 300 + q;
    }
    return n;
}

static void happen(struct machine *m, unsigned code)
{
    if (code < 100) {
        begin_job(m, code);
    } else if (code < 200) {
        next_stage(m, code - 100);
    } else if (code < 300) {
        size_t i = (size_t)m->bus;

        m->bus = -1;
        piece_done(m, i, &m->actors[i].lanes[0]);
    } else {
        unsigned q = code - 300;
        size_t i = (size_t)m->gpu_task[q];

        m->gpu_task[q] = -1;
        piece_done(m, i, &m->actors[i].lanes[m->gpu_lane[q]]);
    }
    dispatch(m);
}

/* The time until something ends or is released. */
static baton_nsec until_next(const struct machine *m)
{
    size_t running[ATTACK_MAX_TASKS];
    size_t n = cpu_running(m, running);
    baton_nsec least = NEVER;

    for (size_t i = 0; i < m->pipeline->n_tasks; i++) {
        if (!m->actors[i].active && m->actors[i].next_at - m->now < least)
            least = m->actors[i].next_at - m->now;
    }
    for (size_t r = 0; r < n; r++) {
        if (m->actors[running[r]].cpu_left < least)
            least = m->actors[running[r]].cpu_left;
    }
    if (m->bus >= 0 && m->actors[m->bus].lanes[0].left < least)
        least = m->actors[m->bus].lanes[0].left;
    for (unsigned q = 0; q < m->pipeline->gpus; q++) {
        if (m->gpu_task[q] >= 0 && m->actors[m->gpu_task[q]].lanes[m->gpu_lane[q]].left < least)
            least = m->actors[m->gpu_task[q]].lanes[m->gpu_lane[q]].left;
    }
    return least;
}

static void pass(struct machine *m, baton_nsec time)
{
    size_t running[ATTACK_MAX_TASKS];
    size_t n = cpu_running(m, running);

    for (size_t r = 0; r < n; r++)
        m->actors[running[r]].cpu_left -= time;
    if (m->bus >= 0)
        m->actors[m->bus].lanes[0].left -= time;
    for (unsigned q = 0; q < m->pipeline->gpus; q++) {
        if (m->gpu_task[q] >= 0)
            m->actors[m->gpu_task[q]].lanes[m->gpu_lane[q]].left -= time;
    }
    m->now += time;
}

void attack_simulate(const struct pipeline *pipeline, const struct attack_plan *plan, baton_nsec horizon,
                     baton_nsec ret_worst[])
{
    struct machine m = {.pipeline = pipeline, .plan = plan, .bus = -1, .worst = ret_worst};
    unsigned codes[3 * ATTACK_MAX_TASKS + MAX_LANES];

    random_init(&m.order, plan->seed, 7);
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        m.actors[i].next_at = plan->offset[i];
        ret_worst[i] = 0;
    }
    for (unsigned q = 0; q < pipeline->gpus; q++)
        m.gpu_task[q] = -1;
    while (m.now <= horizon) {
        size_t n = happening(&m, codes);

        if (n > 0)
            happen(&m, codes[random_below(&m.order, n)]);
        else
            pass(&m, until_next(&m));
    }
}

static double closeness(const struct pipeline *pipeline, const baton_nsec bounds[], const baton_nsec worst[],
                        size_t target)
{
    return target < pipeline->n_tasks && bounds[target] ? (double)worst[target] / (double)bounds[target] : 0;
}

static void random_plan(const struct pipeline *pipeline, struct random_state *random,
                        struct attack_plan *plan)
{
    static const unsigned fulls[] = {100, 100, 90, 60};

    plan->seed = random_u64(random);
    plan->full = fulls[random_below(random, 4)];
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        plan->offset[i] = (baton_nsec)random_below(random, (uint64_t)pipeline->tasks[i].period);
        plan->late[i] = random_below(random, 2) ? 0 : (unsigned)random_below(random, 50);
    }
}

static void change(const struct pipeline *pipeline, struct random_state *random, struct attack_plan *plan)
{
    size_t i = random_below(random, pipeline->n_tasks);
    baton_nsec period = pipeline->tasks[i].period;

    switch (random_below(random, 4)) {
    case 0:
        plan->seed = random_u64(random);
        break;
    case 1:
        plan->offset[i] = (baton_nsec)random_below(random, (uint64_t)period);
        break;
    default:
        plan->offset[i] += random_between(random, -3, 3);
        plan->offset[i] = (plan->offset[i] + period) % period;
        break;
    }
}

void attack_search(const struct pipeline *pipeline, const baton_nsec bounds[], unsigned runs,
                   struct random_state *random, baton_nsec ret_worst[])
{
    struct attack_plan plan = {0};
    baton_nsec horizon = 0;
    size_t target = 0;
    double best = -1;

    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        horizon = pipeline->tasks[i].period > horizon ? pipeline->tasks[i].period : horizon;
        ret_worst[i] = 0;
    }
    for (unsigned run = 0; run < runs; run++) {
        baton_nsec worst[ATTACK_MAX_TASKS];
        struct attack_plan trial = plan;
        double reached;

        /* Every twelve runs a fresh start, with another task to be delayed. */
        if (run % 12 == 0) {
            random_plan(pipeline, random, &trial);
            target = random_below(random, pipeline->n_tasks);
            best = -1;
        } else {
            change(pipeline, random, &trial);
        }
        attack_simulate(pipeline, &trial, 4 * horizon, worst);
        for (size_t i = 0; i < pipeline->n_tasks; i++)
            ret_worst[i] = worst[i] > ret_worst[i] ? worst[i] : ret_worst[i];
        reached = closeness(pipeline, bounds, worst, target);
        if (reached >= best) {
            best = reached;
            plan = trial;
        }
    }
}

static void random_kernel(struct arena *arena, struct random_state *random, unsigned gpus,
                          struct stage *stage)
{
    uint64_t all = ((uint64_t)1 << gpus) - 1;

    stage->eligible = all;
    switch (random_below(random, 4)) {
    case 0: /* any, one lane (perhaps sliced) or several whole */
    case 1:
        stage->any = true;
        stage->lanes = stage->last == stage->length ? 1 + (unsigned)random_below(random, 2) : 1;
        if (stage->lanes > gpus)
            stage->lanes = gpus;
        break;
    case 2: /* fixed */
        stage->eligible = 1 + random_below(random, all);
        stage->lanes = (unsigned)__builtin_popcountll(stage->eligible);
        break;
    default: /* chosen */
        stage->lanes = 1 + (unsigned)random_below(random, gpus);
        break;
    }
    if (random_below(random, 4) == 0 && stage->last == stage->length) {
        struct gpu_cost *costs = arena_calloc(arena, gpus, sizeof *costs);

        ck_assert(costs != NULL);
        stage->per_gpu = costs;
        stage->best = 0;
        for (unsigned q = 0; q < gpus; q++) {
            baton_nsec length = stage->length + (baton_nsec)(q % 2) * stage->length;

            costs[q] = (struct gpu_cost){length, length, length};
        }
        for (unsigned q = 0; q < gpus; q++) {
            if (stage->eligible >> q & 1 && costs[q].length > stage->length)
                stage->length = stage->piece = stage->last = costs[q].length;
        }
        /* The longest over the eligible GPUs may be shorter than the first guess. */
        if (!(stage->eligible & 0xaaaaaaaaaaaaaaaa))
            stage->length = stage->piece = stage->last = costs[0].length;
    }
}

static void random_stage(struct arena *arena, struct random_state *random, unsigned gpus, bool mixed,
                         enum pipeline_unit unit, struct stage *stage)
{
    baton_nsec pieces = 1 + (baton_nsec)random_below(random, 3);
    baton_nsec piece = 1 + (baton_nsec)random_below(random, mixed ? 3 : 5);

    *stage = (struct stage){.unit = unit, .lanes = 1};
    if (stage->unit == UNIT_CPU || random_below(random, 2))
        pieces = 1;
    stage->piece = piece;
    stage->last = pieces > 1 ? 1 + (baton_nsec)random_below(random, (uint64_t)piece) : piece;
    stage->length = (pieces - 1) * piece + stage->last;
    stage->best = random_below(random, 2) ? (baton_nsec)random_below(random, (uint64_t)stage->length) : 0;
    if (stage->unit == UNIT_GPU)
        random_kernel(arena, random, gpus, stage);
}

void attack_random_set(struct arena *arena, struct random_state *random, size_t options,
                       struct pipeline *ret_pipeline)
{
    size_t n_stages[ATTACK_MAX_TASKS];
    size_t n_options[ATTACK_MAX_TASKS];
    size_t n = 2 + random_below(random, 4);
    unsigned gpus = 1 + (unsigned)random_below(random, 3);
    baton_nsec period = 10;
    unsigned kind = (unsigned)random_below(random, 4); /* 0..2: only that unit; 3: mixed */

    for (size_t i = 0; i < n; i++) {
        n_stages[i] = 1 + random_below(random, kind == 3 ? 5 : 2);
        n_options[i] = options;
    }
    ck_assert_int_eq(pipeline_allocate(arena, n, n_stages, n_options, ret_pipeline), 0);
    ret_pipeline->cpus = 1 + (unsigned)random_below(random, 3);
    ret_pipeline->gpus = gpus;
    for (size_t i = 0; i < n; i++) {
        struct pipeline_task *task = &ret_pipeline->tasks[i];

        period += (baton_nsec)random_below(random, 20);
        task->period = task->deadline = period;
        for (size_t p = 0; p < task->n_stages; p++) {
            enum pipeline_unit unit = (enum pipeline_unit)(kind == 3 ? random_below(random, 3) : kind);

            for (size_t o = 0; o < options; o++)
                random_stage(arena, random, gpus, kind == 3, unit, &task->options[o].stages[p]);
        }
    }
    pipeline_seal(ret_pipeline);
}
