/*
 * The sound holistic analysis, the walk: in priority order, each task's stages, its finish offsets, and its loads for those
 * below. One pass is enough because bounds never depend on the responses of less urgent tasks, only on the length of their pieces.
 *
 * Results are kept with what they were computed from: the options and finish offsets of all more urgent tasks, the own option, and
 * the blocking from below. A run recomputes a task only if one of these changed.
 */
#include "analysis/holistic/holistic.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/holistic/holistic_internal.h"

static struct blocking *summary_of(const struct holistic *h, size_t task, size_t option)
{
    return &h->summary[task * h->max_options + option];
}

static struct demand *demand_of(const struct holistic *h, size_t task, size_t option)
{
    return &h->option_demands[task * h->max_options + option];
}

struct holistic *holistic_new(size_t max_tasks, size_t max_stages, size_t max_options)
{
    struct holistic *h = calloc(1, sizeof *h);
    size_t items = max_tasks * PIPELINE_MAX_GPUS + 2 * HOLISTIC_LANES + 2;
    bool failed = false;

    if (!h)
        return NULL;
    h->max_tasks = max_tasks;
    h->max_stages = max_stages;
    h->max_options = max_options;
#define ROOM(member, n) failed |= !(h->member = calloc((n) + 1, sizeof *h->member))
    for (int unit = 0; unit < PIPELINE_UNITS; unit++) {
        ROOM(loads[unit], max_stages);
        ROOM(first[unit], max_tasks + 1);
    }
    ROOM(summary, max_tasks * max_options);
    ROOM(relaxed, max_tasks);
    ROOM(option_demands, max_tasks * max_options);
    ROOM(demands, max_tasks);
    ROOM(below, max_tasks);
    ROOM(seen, max_tasks);
    ROOM(delays, max_stages);
    ROOM(finishes, max_stages);
    ROOM(by_job, max_stages);
    ROOM(responses, max_tasks);
    ROOM(choice, max_tasks);
    ROOM(known, max_tasks);
    ROOM(rounded, max_tasks);
    ROOM(is_demand, max_tasks);
    ROOM(bus_part, max_tasks);
    ROOM(bus_once, max_tasks);
    ROOM(gpu_part, max_tasks);
    ROOM(gpu_once, max_tasks);
    ROOM(items.base, items);
    ROOM(items.extra, items);
    ROOM(items.owner, items);
    ROOM(raw, max_tasks);
    ROOM(left_out, items);
#undef ROOM
    if (failed) {
        holistic_free(h);
        return NULL;
    }
    return h;
}

void holistic_free(struct holistic *h)
{
    if (!h)
        return;
    for (int unit = 0; unit < PIPELINE_UNITS; unit++) {
        free(h->loads[unit]);
        free(h->first[unit]);
    }
    free(h->summary);
    free(h->relaxed);
    free(h->option_demands);
    free(h->demands);
    free(h->below);
    free(h->seen);
    free(h->delays);
    free(h->finishes);
    free(h->by_job);
    free(h->responses);
    free(h->choice);
    free(h->known);
    free(h->rounded);
    free(h->is_demand);
    free(h->bus_part);
    free(h->bus_once);
    free(h->gpu_part);
    free(h->gpu_once);
    free(h->items.base);
    free(h->items.extra);
    free(h->items.owner);
    free(h->raw);
    free(h->left_out);
    free(h);
}

/* The longest piece of each lane: a task has one stage active at a time. */
static void summarise(const struct holistic *h, const struct pipeline_task *task,
                      const struct pipeline_option *option, struct blocking *ret_summary)
{
    for (size_t p = 0; p < task->n_stages; p++) {
        const struct stage *stage = &option->stages[p];
        baton_nsec heaviest = 0;

        if (stage->unit == UNIT_BUS)
            ret_summary->bus = most(ret_summary->bus, stage->piece);
        if (stage->unit != UNIT_GPU)
            continue;
        for (unsigned q = 0; q < h->gpus; q++) {
            baton_nsec piece = stage->per_gpu ? stage->per_gpu[q].piece : stage->piece;

            if (!(stage->eligible >> q & 1))
                continue;
            ret_summary->gpu[q] = most(ret_summary->gpu[q], piece);
            heaviest = most(heaviest, h->weights[q] * piece);
        }
        for (unsigned lane = 0; lane < stage->lanes; lane++) {
            ret_summary->lane[lane] = most(ret_summary->lane[lane], stage->piece);
            ret_summary->weighted[lane] = most(ret_summary->weighted[lane], heaviest);
        }
    }
}

static void add_demand(const struct holistic *h, const struct pipeline_task *task,
                       const struct pipeline_option *option, struct demand *ret_demand)
{
    for (size_t p = 0; p < task->n_stages; p++) {
        const struct stage *stage = &option->stages[p];

        ret_demand->length[stage->unit] += stage->length * stage->lanes;
        for (unsigned q = 0; q < h->gpus && stage->unit == UNIT_GPU; q++) {
            if (stage->eligible >> q & 1)
                ret_demand->on_gpu[q].length += (stage->any ? stage->lanes : 1) *
                                                (stage->per_gpu ? stage->per_gpu[q].length : stage->length);
        }
    }
    for (unsigned q = 0; q < h->gpus; q++)
        ret_demand->on_gpu[q].length = least(ret_demand->on_gpu[q].length, task->period);
    for (int unit = 0; unit < PIPELINE_UNITS; unit++)
        ret_demand->length[unit] = least(ret_demand->length[unit], task->period);
}

static bool same_blocking(const struct holistic *h, const struct blocking *a, const struct blocking *b)
{
    return a->bus == b->bus && memcmp(a->gpu, b->gpu, h->gpus * sizeof a->gpu[0]) == 0 &&
           memcmp(a->lane, b->lane, 2 * h->gpus * sizeof a->lane[0]) == 0 &&
           (!h->weight_sum || memcmp(a->weighted, b->weighted, 2 * h->gpus * sizeof a->lane[0]) == 0);
}

/* Elementwise minima of what two options of a task may block with and demand. */
static void relax(const struct holistic *h, const struct blocking *blocking, const struct demand *demand,
                  struct blocking *relaxed, struct demand *least_demand)
{
    relaxed->bus = least(relaxed->bus, blocking->bus);
    for (unsigned q = 0; q < h->gpus; q++) {
        relaxed->gpu[q] = least(relaxed->gpu[q], blocking->gpu[q]);
        least_demand->on_gpu[q].length = least(least_demand->on_gpu[q].length, demand->on_gpu[q].length);
    }
    for (unsigned lane = 0; lane < 2 * h->gpus; lane++) {
        relaxed->lane[lane] = least(relaxed->lane[lane], blocking->lane[lane]);
        relaxed->weighted[lane] = least(relaxed->weighted[lane], blocking->weighted[lane]);
    }
    for (int unit = 0; unit < PIPELINE_UNITS; unit++)
        least_demand->length[unit] = least(least_demand->length[unit], demand->length[unit]);
}

/* What the options of a task that are not out have in common. out: NULL, none is. */
static bool narrow(struct holistic *h, size_t k, const bool out[])
{
    const struct pipeline_task *task = &h->pipeline->tasks[k];
    struct blocking before = h->relaxed[k];
    bool first = true;

    for (size_t o = 0; o < task->n_options; o++) {
        if (out && out[o])
            continue;
        if (first) {
            h->relaxed[k] = *summary_of(h, k, o);
            h->demands[k] = *demand_of(h, k, o);
        } else {
            relax(h, summary_of(h, k, o), demand_of(h, k, o), &h->relaxed[k], &h->demands[k]);
        }
        first = false;
    }
    h->is_demand[k] = false;
    return !same_blocking(h, &before, &h->relaxed[k]);
}

/* Are all GPUs alike for everybody? If not, weights inverse to how long the kernels take on each. */
static void compare_gpus(struct holistic *h)
{
    uint64_t all = h->gpus >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << h->gpus) - 1;
    double sums[PIPELINE_MAX_GPUS] = {0};
    double fastest = 0;
    bool unequal = false;

    h->uniform = true;
    for (size_t k = 0; k < h->pipeline->n_tasks; k++) {
        const struct pipeline_task *task = &h->pipeline->tasks[k];

        for (size_t s = 0; s < task->n_options * task->n_stages; s++) {
            const struct stage *stage = &task->options[s / task->n_stages].stages[s % task->n_stages];

            if (stage->unit != UNIT_GPU)
                continue;
            if (stage->eligible != all || stage->per_gpu)
                h->uniform = false;
            unequal |= stage->per_gpu != NULL;
            for (unsigned q = 0; q < h->gpus && s < task->n_stages; q++)
                sums[q] += (double)(stage->per_gpu ? stage->per_gpu[q].length : stage->length);
        }
    }
    h->weight_sum = 0;
    for (unsigned q = 0; q < h->gpus && unequal; q++)
        fastest = sums[q] > 0 && 1 / sums[q] > fastest ? 1 / sums[q] : fastest;
    for (unsigned q = 0; q < h->gpus && unequal; q++) {
        double weight = sums[q] > 0 ? 100 / sums[q] / fastest : 100;

        h->weights[q] = weight < 1 ? 1 : (unsigned)weight;
        h->weight_sum += h->weights[q];
    }
}

void holistic_attach(struct holistic *h, const struct pipeline *pipeline)
{
    size_t n[PIPELINE_UNITS] = {0};

    h->pipeline = pipeline;
    h->cpus = pipeline->cpus;
    h->gpus = pipeline->gpus;
    compare_gpus(h);
    for (size_t k = 0; k < pipeline->n_tasks; k++) {
        const struct pipeline_task *task = &pipeline->tasks[k];

        for (size_t o = 0; o < task->n_options; o++) {
            memset(summary_of(h, k, o), 0, sizeof(struct blocking));
            memset(demand_of(h, k, o), 0, sizeof(struct demand));
            summarise(h, task, &task->options[o], summary_of(h, k, o));
            add_demand(h, task, &task->options[o], demand_of(h, k, o));
        }
        (void)narrow(h, k, NULL);
        for (int unit = 0; unit < PIPELINE_UNITS; unit++)
            h->first[unit][k] = n[unit];
        for (size_t p = 0; p < task->n_stages; p++)
            n[task->options[0].stages[p].unit]++;
        h->known[k] = h->is_demand[k] = false;
    }
    for (int unit = 0; unit < PIPELINE_UNITS; unit++)
        h->first[unit][pipeline->n_tasks] = n[unit];
}

/* Merges two descending lists, the 2m largest kept. */
static void merge_lanes(const struct holistic *h, const baton_nsec *a, const baton_nsec *b, baton_nsec ret[])
{
    for (unsigned lane = 0; lane < 2 * h->gpus; lane++)
        ret[lane] = *a >= *b ? *a++ : *b++;
}

/* Takes a task into the blocking of all above it. */
static void add_below(const struct holistic *h, const struct blocking *from, const struct blocking *task,
                      struct blocking *ret)
{
    ret->bus = most(from->bus, task->bus);
    for (unsigned q = 0; q < h->gpus; q++)
        ret->gpu[q] = most(from->gpu[q], task->gpu[q]);
    merge_lanes(h, from->lane, task->lane, ret->lane);
    if (h->weight_sum)
        merge_lanes(h, from->weighted, task->weighted, ret->weighted);
}

static void look_below(struct holistic *h, const struct mode_run *run)
{
    size_t n = h->pipeline->n_tasks;

    memset(&h->below[n - 1], 0, sizeof h->below[n - 1]);
    for (size_t k = n - 1; k > 0; k--)
        add_below(h, &h->below[k], k < run->n_fixed ? summary_of(h, k, run->choice[k]) : &h->relaxed[k],
                  &h->below[k - 1]);
}

/* One window of y ticks from the release: execution and delays of the prefix. Never decreases in y. */
static baton_nsec job_window(struct holistic *h, const struct victim *v, baton_nsec y)
{
    baton_nsec sum = v->executed;

    for (int unit = 0; unit < PIPELINE_UNITS; unit++) {
        if (v->delay[unit] > 0)
            sum += least(v->delay[unit], job_level(h, v, (enum pipeline_unit)unit, y));
    }
    return sum;
}

/* F_j: the lesser of F_{j-1} + w_j and the job-level fixed point, which is looked for from *y upwards. */
static baton_nsec finish_of(struct holistic *h, const struct victim *v, baton_nsec by_stage, baton_nsec *y)
{
    baton_nsec limit = least(by_stage, v->cap + 1);
    struct iteration iteration = iteration_begin(h, v);

    while (*y < limit) {
        baton_nsec next = job_window(h, v, *y);

        if (next <= *y || iteration_step(h, &iteration, next, y))
            return *y;
    }
    return by_stage > v->cap ? MODE_UNBOUNDED : by_stage;
}

void holistic_begin(struct holistic *h, size_t i, unsigned char o, baton_nsec cap, struct victim *ret_victim)
{
    *ret_victim = (struct victim){
        .task = i,
        .option = &h->pipeline->tasks[i].options[o],
        .below = &h->below[i],
        .own = summary_of(h, i, o),
        .cap = cap,
        .all_any_whole = true,
        .all_pinned = true,
    };
    h->memo_bus.valid = h->memo_any.valid = h->memo_pinned.valid = h->memo_cpu.valid = false;
    memset(h->bus_part, 0, i * sizeof h->bus_part[0]);
    memset(h->gpu_part, 0, i * sizeof h->gpu_part[0]);
}

/* The response of task i in an option; fills its delays and finishes. */
static baton_nsec respond(struct holistic *h, size_t i, unsigned char o, baton_nsec cap)
{
    const struct pipeline_task *task = &h->pipeline->tasks[i];
    const struct pipeline_option *option = &task->options[o];
    baton_nsec *delays = h->delays + task->first;
    baton_nsec *finishes = h->finishes + task->first;
    baton_nsec finish = 0;
    baton_nsec y = 0;
    struct victim v;

    if (option->total > cap)
        return MODE_UNBOUNDED;
    holistic_begin(h, i, o, cap, &v);
    for (size_t j = 0; j < task->n_stages; j++) {
        const struct stage *stage = &option->stages[j];

        delays[j] = stage_delay(h, &v, stage);
        job_add_stage(h, &v, stage, delays[j]);
        finish = least(finish + delays[j], MODE_UNBOUNDED);
        /* The job-level fixed point of a longer prefix is at least the shorter one's plus the stage. */
        y += stage->length;
        finishes[j] = finish_of(h, &v, finish, &y);
        h->by_job[task->first + j] = finishes[j] < finish;
        finish = finishes[j];
        if (finish >= MODE_UNBOUNDED)
            return MODE_UNBOUNDED;
    }
    return finish;
}

/* Makes the task's loads from its finishes; answers whether they are not what they were. */
static bool publish(struct holistic *h, size_t i, unsigned char o, bool bounded, unsigned cap)
{
    const struct pipeline_task *task = &h->pipeline->tasks[i];
    const struct stage *stages = task->options[o].stages;
    size_t at[PIPELINE_UNITS];
    baton_nsec best = 0;
    baton_nsec arrival = 0;
    bool changed = h->is_demand[i] || !h->known[i] || h->choice[i] != o;

    for (int unit = 0; unit < PIPELINE_UNITS; unit++)
        at[unit] = h->first[unit][i];
    for (size_t j = 0; j < task->n_stages; j++) {
        const struct stage *stage = &stages[j];
        struct load *load = &h->loads[stage->unit][at[stage->unit]++];
        /* Unbounded but asked to go on: the cap stands for it, a heuristic value. */
        baton_nsec finish = bounded ? h->finishes[task->first + j] : task->period * cap;
        baton_nsec jitter = most(0, arrival - best);
        baton_nsec span = most(stage->length, finish - best);

        changed |= load->jitter != jitter || load->span != span;
        *load = (struct load){
            .length = stage->length,
            .spread = stage->length,
            .jitter = jitter,
            .span = span,
            .period = task->period,
            .frequency = 1.0 / (double)task->period,
            .eligible = stage->eligible,
            .per_gpu = stage->per_gpu,
            .lanes = stage->lanes,
            .any = stage->any,
            .whole = !stage->sliced,
        };
        arrival = finish;
        best += stage->best;
    }
    return changed;
}

static bool stops(const struct mode_run *run, baton_nsec response, baton_nsec deadline)
{
    struct mode_ratio ratio = {response, deadline};

    return (run->until_miss && response > deadline) ||
           (run->limit && mode_ratio_compare(ratio, *run->limit) >= 0);
}

/* No response needs to be known beyond what stops the run. */
static baton_nsec cap_of(const struct mode_run *run, const struct pipeline_task *task)
{
    baton_nsec cap = task->period * run->cap;
    double limit;

    if (!run->limit)
        return cap;
    limit = (double)run->limit->response / (double)run->limit->deadline * (double)task->deadline * 1.0001 + 2;
    return limit < (double)cap ? (baton_nsec)limit : cap;
}

static size_t holistic_run(void *state, const struct mode_run *run, baton_nsec ret_responses[])
{
    struct holistic *h = state;
    bool changed = h->cap != run->cap;

    if (h->pipeline->n_tasks == 0)
        return 0;
    h->cap = run->cap;
    if (h->lower != (run->n_fixed < h->pipeline->n_tasks)) {
        h->lower = !h->lower;
        for (size_t k = 0; k < h->pipeline->n_tasks; k++)
            h->known[k] = h->known[k] && !h->rounded[k];
    }
    look_below(h, run);
    for (size_t i = 0; i < run->n_run; i++) {
        const struct pipeline_task *task = &h->pipeline->tasks[i];
        unsigned char o = run->choice[i];
        bool fresh =
            !changed && h->known[i] && h->choice[i] == o && same_blocking(h, &h->seen[i], &h->below[i]);

        if (!fresh) {
            baton_nsec response;
            bool bounded;

            h->cut = false;
            response = respond(h, i, o, cap_of(run, task));
            bounded = response < MODE_UNBOUNDED;
            h->rounded[i] = h->cut;
            if (!bounded && run->limit) {
                /* Beyond the limit, or beyond the cap: either way it stops here. */
                ret_responses[i] = task->period * run->cap;
                for (size_t k = i; k < h->pipeline->n_tasks; k++)
                    h->known[k] = false;
                return i + 1;
            }

            changed |= publish(h, i, o, bounded, run->cap);
            h->responses[i] = bounded || run->cap == 1 ? response : task->period * run->cap;
            h->choice[i] = o;
            h->seen[i] = h->below[i];
            h->known[i] = true;
            h->is_demand[i] = false;
        }
        ret_responses[i] = h->responses[i];
        if (stops(run, ret_responses[i], task->deadline) || ret_responses[i] >= MODE_UNBOUNDED) {
            /* What is known about the tasks below was computed from other loads, if these changed. */
            for (size_t k = i + 1; k < h->pipeline->n_tasks && changed; k++)
                h->known[k] = false;
            return i + 1;
        }
    }
    for (size_t k = run->n_run; k < h->pipeline->n_tasks && changed; k++)
        h->known[k] = false;
    return run->n_run;
}

/*
 * The loads of a task that is not chosen yet become one load per unit, of the length that all its options demand at least, without
 * jitter or carry-in: for every option and every window the real loads are at least that (plan_search.c has the proof).
 */
static void publish_demand(struct holistic *h, size_t k)
{
    const struct pipeline_task *task = &h->pipeline->tasks[k];
    const struct demand *demand = &h->demands[k];
    uint64_t eligible = 0;

    for (unsigned q = 0; q < h->gpus; q++)
        eligible |= (uint64_t)(demand->on_gpu[q].length > 0) << q;
    for (int unit = 0; unit < PIPELINE_UNITS; unit++) {
        for (size_t p = h->first[unit][k]; p < h->first[unit][k + 1]; p++) {
            bool counts = p == h->first[unit][k];
            baton_nsec spread = counts ? demand->length[unit] : 0;
            baton_nsec length = counts && unit == UNIT_GPU ? demand->on_gpu[0].length : spread;

            h->loads[unit][p] = (struct load){
                .length = length,
                .spread = spread,
                .span = most(length, spread),
                .period = task->period,
                .frequency = 1.0 / (double)task->period,
                .eligible = unit == UNIT_GPU ? eligible : 0,
                .per_gpu = unit == UNIT_GPU && !h->uniform && counts ? demand->on_gpu : NULL,
                .lanes = 1,
                .whole = true,
            };
        }
    }
    h->is_demand[k] = true;
    h->known[k] = false;
}

/*
 * Is the response at most the deadline, by one of its two simplest bounds: the sum of the stages' delays, or the window of the whole job,
 * which is a bound as soon as nothing more fits in?
 */
static bool clearly_in_time(struct holistic *h, size_t i, unsigned char o, baton_nsec deadline)
{
    const struct pipeline_task *task = &h->pipeline->tasks[i];
    const struct pipeline_option *option = &task->options[o];
    baton_nsec sum = 0;
    struct victim v;

    holistic_begin(h, i, o, deadline, &v);
    for (size_t j = 0; j < task->n_stages; j++) {
        baton_nsec delay = stage_delay(h, &v, &option->stages[j]);

        job_add_stage(h, &v, &option->stages[j], delay);
        sum = least(sum + delay, MODE_UNBOUNDED);
    }
    return sum <= deadline || job_window(h, &v, deadline) <= deadline;
}

static bool holistic_hopeful(void *state, const struct mode_run *run, size_t i, unsigned char option)
{
    struct holistic *h = state;
    baton_nsec deadline = h->pipeline->tasks[i].deadline;

    if (h->pipeline->tasks[i].options[option].total > deadline)
        return false;
    look_below(h, run);
    for (size_t k = run->n_fixed; k < i; k++) {
        if (!h->is_demand[k])
            publish_demand(h, k);
    }
    h->known[i] = false;
    h->lower = true;
    h->cap = run->cap;
    return clearly_in_time(h, i, option, deadline) || respond(h, i, option, deadline) <= deadline;
}

static bool holistic_narrow(void *state, size_t task, const bool out[])
{
    return narrow(state, task, out);
}

static void attach(void *state, const struct pipeline *pipeline)
{
    holistic_attach(state, pipeline);
}

const struct mode_test_class holistic_class = {
    .name = "holistic",
    .attach = attach,
    .run = holistic_run,
    .hopeful = holistic_hopeful,
    .narrow = holistic_narrow,
};

const baton_nsec *holistic_finishes(const struct holistic *h, size_t task)
{
    return h->finishes + h->pipeline->tasks[task].first;
}

const baton_nsec *holistic_delays(const struct holistic *h, size_t task)
{
    return h->delays + h->pipeline->tasks[task].first;
}
