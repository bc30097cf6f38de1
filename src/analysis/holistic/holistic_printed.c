#include "analysis/holistic/holistic_printed.h"

#include <stdlib.h>
#include <string.h>

/* A stage of a more urgent task: ceil((jitter + w) / period) times length. */
struct interferer {
    baton_nsec length, jitter, period;
    double frequency;
};

struct sorted_stage {
    baton_nsec length;
    size_t stage; /* within its task */
};

struct holistic_printed {
    struct arena arena; /* owns what follows */
    const struct pipeline *pipeline;
    size_t max_stages, max_options;
    unsigned units[PIPELINE_UNITS];
    struct interferer *interferers[PIPELINE_UNITS];
    size_t *first[PIPELINE_UNITS]; /* interferers of task k: first[k] .. first[k + 1] */
    /* option * max_stages + first[unit] + ..., ascending, by unit one after the other. */
    struct sorted_stage *sorted;
    baton_nsec *longest[PIPELINE_UNITS];       /* by task * max_options + option */
    baton_nsec *least_longest[PIPELINE_UNITS]; /* by task: the least over its options */
    baton_nsec *sums[PIPELINE_UNITS];          /* by task * max_options + option: of interference */
    baton_nsec *demand[PIPELINE_UNITS];        /* by task: the least of these over its options */
    baton_nsec *below[PIPELINE_UNITS];         /* B by task */

    /* Results, and what they were computed from. */
    baton_nsec *delays; /* by stage */
    baton_nsec *responses;
    baton_nsec *seen_bus, *seen_gpu;
    unsigned char *choice;
    bool *known, *is_demand;
    unsigned cap;
    baton_nsec *next; /* by interferer: largest w with the present count */
};

struct holistic_printed *holistic_printed_new(size_t max_tasks, size_t max_stages, size_t max_options)
{
    struct holistic_printed *h = calloc(1, sizeof *h);
    bool failed = false;

    if (!h)
        return NULL;
    arena_init(&h->arena, 0);
    h->max_stages = max_stages;
    h->max_options = max_options;
#define ROOM(member, n) failed |= !(h->member = arena_calloc(&h->arena, (n) + 1, sizeof *h->member))
    for (int unit = 0; unit < PIPELINE_UNITS; unit++) {
        ROOM(interferers[unit], max_stages);
        ROOM(first[unit], max_tasks + 1);
        ROOM(longest[unit], max_tasks * max_options);
        ROOM(least_longest[unit], max_tasks);
        ROOM(sums[unit], max_tasks * max_options);
        ROOM(demand[unit], max_tasks);
        ROOM(below[unit], max_tasks);
    }
    ROOM(sorted, max_stages * max_options);
    ROOM(delays, max_stages);
    ROOM(responses, max_tasks);
    ROOM(seen_bus, max_tasks);
    ROOM(seen_gpu, max_tasks);
    ROOM(choice, max_tasks);
    ROOM(known, max_tasks);
    ROOM(is_demand, max_tasks);
    ROOM(next, max_stages);
#undef ROOM
    if (failed) {
        holistic_printed_free(h);
        return NULL;
    }
    return h;
}

void holistic_printed_free(struct holistic_printed *h)
{
    if (!h)
        return;
    arena_done(&h->arena);
    free(h);
}

/* alpha: what the stage costs less urgent tasks. */
static baton_nsec alpha(const struct pipeline_task *task, size_t option, size_t p)
{
    const struct stage *stage = &task->options[option].stages[p];

    return stage->unit == UNIT_GPU ? task->options[0].stages[p].length : stage->length;
}

/* The stages of one unit in ascending length. Insertion sort is enough for so few. */
static void sort_stages(const struct pipeline_task *task, size_t option, enum pipeline_unit unit,
                        struct sorted_stage sorted[])
{
    const struct stage *stages = task->options[option].stages;
    size_t n = 0;

    for (size_t p = 0; p < task->n_stages; p++) {
        size_t at;

        if (stages[p].unit != unit)
            continue;
        for (at = n++; at > 0 && sorted[at - 1].length > stages[p].length; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = (struct sorted_stage){stages[p].length, p};
    }
}

static struct sorted_stage *sorted_of(const struct holistic_printed *h, size_t k, size_t option, int unit)
{
    size_t at = option * h->max_stages + h->pipeline->tasks[k].first;

    for (int before = 0; before < unit; before++)
        at += h->first[before][k + 1] - h->first[before][k];
    return h->sorted + at;
}

/* The least over the options that are not out; out may be NULL: no option is. */
static baton_nsec least_over(const struct pipeline_task *task, const baton_nsec by_option[], const bool out[])
{
    baton_nsec least = MODE_UNBOUNDED;

    for (size_t o = 0; o < task->n_options; o++) {
        if (!(out && out[o]) && by_option[o] < least)
            least = by_option[o];
    }
    return least;
}

static bool narrow(struct holistic_printed *h, size_t k, const bool out[])
{
    const struct pipeline_task *task = &h->pipeline->tasks[k];
    bool changed = false;

    for (int unit = 0; unit < PIPELINE_UNITS; unit++) {
        baton_nsec longest = least_over(task, h->longest[unit] + k * h->max_options, out);

        changed |= longest != h->least_longest[unit][k];
        h->least_longest[unit][k] = longest;
        h->demand[unit][k] = least_over(task, h->sums[unit] + k * h->max_options, out);
    }
    h->is_demand[k] = false;
    return changed;
}

static void attach_task(struct holistic_printed *h, size_t k)
{
    const struct pipeline_task *task = &h->pipeline->tasks[k];

    for (size_t o = 0; o < task->n_options; o++) {
        baton_nsec sums[PIPELINE_UNITS] = {0};

        for (size_t p = 0; p < task->n_stages; p++)
            sums[task->options[o].stages[p].unit] += alpha(task, o, p);
        for (int unit = 0; unit < PIPELINE_UNITS; unit++) {
            struct sorted_stage *sorted = sorted_of(h, k, o, unit);
            size_t n = h->first[unit][k + 1] - h->first[unit][k];
            baton_nsec longest = 0;

            sort_stages(task, o, (enum pipeline_unit)unit, sorted);
            if (n > 0 && unit != UNIT_CPU)
                longest = sorted[n - 1].length;
            h->longest[unit][k * h->max_options + o] = longest;
            h->sums[unit][k * h->max_options + o] = sums[unit];
        }
    }
    (void)narrow(h, k, NULL);
    h->known[k] = false;
}

void holistic_printed_attach(struct holistic_printed *h, const struct pipeline *pipeline)
{
    h->pipeline = pipeline;
    h->units[UNIT_CPU] = pipeline->cpus;
    h->units[UNIT_BUS] = 1;
    h->units[UNIT_GPU] = pipeline->gpus ? pipeline->gpus : 1;
    pipeline_number_stages(pipeline, h->first);
    for (size_t k = 0; k < pipeline->n_tasks; k++)
        attach_task(h, k);
}

static void look_below(struct holistic_printed *h, const struct mode_run *run)
{
    size_t n = h->pipeline->n_tasks;

    for (int unit = UNIT_BUS; unit < PIPELINE_UNITS; unit++) {
        baton_nsec *below = h->below[unit];

        below[n - 1] = 0;
        for (size_t k = n - 1; k > 0; k--) {
            baton_nsec longest = k < run->n_fixed ? h->longest[unit][k * h->max_options + run->choice[k]]
                                                  : h->least_longest[unit][k];

            below[k - 1] = longest > below[k] ? longest : below[k];
        }
    }
}

/* ceil(a / b): b units share the sum. */
static inline baton_nsec divided(baton_nsec a, unsigned b)
{
    return b == 1 ? a : (a + (baton_nsec)b - 1) / (baton_nsec)b;
}

/* ceil((jitter + w) / period) for w >= 0, exact. */
static inline baton_nsec instances(const struct interferer *interferer, baton_nsec w)
{
    baton_nsec x = interferer->jitter + w;
    baton_nsec n;

    if (x <= interferer->period)
        return x > 0;
    n = (baton_nsec)((double)x * interferer->frequency);
    while (n * interferer->period < x)
        n++;
    while ((n - 1) * interferer->period >= x)
        n--;
    return n;
}

/*
 * All stages of task i on one unit. Interference is a step function of w that rises where w passes
 * next[k]. The least fixed point of a longer stage is not below that of a shorter one, so the sweep
 * never goes back.
 */
static void sweep(struct holistic_printed *h, size_t i, size_t option, int unit, baton_nsec cap,
                  baton_nsec delays[])
{
    const struct sorted_stage *stage = sorted_of(h, i, option, unit);
    const struct sorted_stage *end = stage + (h->first[unit][i + 1] - h->first[unit][i]);
    const struct interferer *interferers = h->interferers[unit];
    size_t n = h->first[unit][i];
    baton_nsec blocking = unit == UNIT_CPU ? 0 : h->below[unit][i];
    baton_nsec nearest = MODE_UNBOUNDED;
    baton_nsec sum = 0;
    baton_nsec w;

    if (stage == end)
        return;
    w = stage->length + blocking;
    for (size_t k = 0; k < n; k++) {
        baton_nsec count = instances(&interferers[k], w);

        sum += count * interferers[k].length;
        h->next[k] = count * interferers[k].period - interferers[k].jitter;
        nearest = h->next[k] < nearest ? h->next[k] : nearest;
    }
    for (; stage < end; stage++) {
        w = stage->length + blocking + divided(sum, h->units[unit]);
        while (w > nearest && w <= cap) {
            nearest = MODE_UNBOUNDED;
            for (size_t k = 0; k < n; k++) {
                while (h->next[k] < w) {
                    h->next[k] += interferers[k].period;
                    sum += interferers[k].length;
                }
                nearest = h->next[k] < nearest ? h->next[k] : nearest;
            }
            w = stage->length + blocking + divided(sum, h->units[unit]);
        }
        delays[stage->stage] = w > cap ? cap : w;
    }
}

static baton_nsec respond(struct holistic_printed *h, size_t i, size_t option, baton_nsec cap)
{
    const struct pipeline_task *task = &h->pipeline->tasks[i];
    baton_nsec *delays = h->delays + task->first;
    baton_nsec response = 0;

    for (int unit = 0; unit < PIPELINE_UNITS; unit++)
        sweep(h, i, option, unit, cap, delays);
    for (size_t p = 0; p < task->n_stages; p++)
        response += delays[p];
    return response;
}

/* Computes the task's interference from its delays. Answers whether it changed. */
static bool publish(struct holistic_printed *h, size_t i, unsigned char o)
{
    const struct pipeline_task *task = &h->pipeline->tasks[i];
    const struct stage *stages = task->options[o].stages;
    bool changed = h->is_demand[i] || !h->known[i] || h->choice[i] != o;
    double frequency = 1.0 / (double)task->period;
    size_t at[PIPELINE_UNITS];
    baton_nsec jitter = 0;

    for (int unit = 0; unit < PIPELINE_UNITS; unit++)
        at[unit] = h->first[unit][i];
    for (size_t p = 0; p < task->n_stages; p++) {
        struct interferer *interferer = &h->interferers[stages[p].unit][at[stages[p].unit]++];

        changed |= interferer->jitter != jitter;
        *interferer = (struct interferer){alpha(task, o, p), jitter, task->period, frequency};
        jitter += h->delays[task->first + p] - stages[p].length;
        if (jitter < 0)
            jitter = 0; /* only where a capped w is below C */
    }
    return changed;
}

/* No w needs to be known beyond the value that stops the run. */
static baton_nsec cap_of(const struct mode_run *run, baton_nsec deadline)
{
    baton_nsec cap = deadline * run->cap;

    if (run->limit) {
        double limit =
            (double)run->limit->response / (double)run->limit->deadline * (double)deadline * 1.0001;

        if (limit + 2 < (double)cap)
            cap = (baton_nsec)limit + 2;
    }
    return run->cap == 1 ? cap + 1 : cap;
}

static void forget(struct holistic_printed *h, size_t from)
{
    for (size_t k = from; k < h->pipeline->n_tasks; k++)
        h->known[k] = false;
}

static size_t printed_run(void *state, const struct mode_run *run, baton_nsec ret_responses[])
{
    struct holistic_printed *h = state;
    bool changed = h->cap != run->cap;

    if (h->pipeline->n_tasks == 0)
        return 0;
    h->cap = run->cap;
    look_below(h, run);
    for (size_t i = 0; i < run->n_run; i++) {
        unsigned char o = run->choice[i];
        baton_nsec deadline = h->pipeline->tasks[i].deadline;

        if (changed || !h->known[i] || h->choice[i] != o || h->seen_bus[i] != h->below[UNIT_BUS][i] ||
            h->seen_gpu[i] != h->below[UNIT_GPU][i]) {
            h->responses[i] = respond(h, i, o, cap_of(run, deadline));
            if (mode_run_stops(run, h->responses[i], deadline)) {
                ret_responses[i] = h->responses[i];
                forget(h, i);
                return i + 1;
            }
            changed |= publish(h, i, o);
            h->choice[i] = o;
            h->seen_bus[i] = h->below[UNIT_BUS][i];
            h->seen_gpu[i] = h->below[UNIT_GPU][i];
            h->known[i] = true;
            h->is_demand[i] = false;
        }
        ret_responses[i] = h->responses[i];
        if (mode_run_stops(run, ret_responses[i], deadline)) {
            if (changed)
                forget(h, i + 1);
            return i + 1;
        }
    }
    if (changed)
        forget(h, run->n_run);
    return run->n_run;
}

/*
 * A task that is not chosen yet interferes at least like one stage per unit without jitter. The
 * stage has the least total length: sum_p ceil((J_p + w) / T) alpha_p >= ceil(w / T) sum_p alpha_p.
 */
static void publish_demand(struct holistic_printed *h, size_t k)
{
    baton_nsec period = h->pipeline->tasks[k].period;

    for (int unit = 0; unit < PIPELINE_UNITS; unit++) {
        for (size_t p = h->first[unit][k]; p < h->first[unit][k + 1]; p++)
            h->interferers[unit][p] = (struct interferer){
                .length = p == h->first[unit][k] ? h->demand[unit][k] : 0,
                .period = period,
                .frequency = 1.0 / (double)period,
            };
    }
    h->is_demand[k] = true;
    h->known[k] = false;
}

static bool printed_hopeful(void *state, const struct mode_run *run, size_t task, unsigned char option)
{
    struct holistic_printed *h = state;

    look_below(h, run);
    for (size_t k = run->n_fixed; k < task; k++) {
        if (!h->is_demand[k])
            publish_demand(h, k);
    }
    h->known[task] = false;
    return respond(h, task, option, cap_of(run, h->pipeline->tasks[task].deadline)) <=
           h->pipeline->tasks[task].deadline;
}

static bool printed_narrow(void *state, size_t task, const bool out[])
{
    return narrow(state, task, out);
}

static void attach(void *state, const struct pipeline *pipeline)
{
    holistic_printed_attach(state, pipeline);
}

const struct mode_test_class holistic_printed_class = {
    .name = "holistic-printed",
    .attach = attach,
    .run = printed_run,
    .hopeful = printed_hopeful,
    .narrow = printed_narrow,
};

const baton_nsec *holistic_printed_delays(const struct holistic_printed *h, size_t task)
{
    return h->delays + h->pipeline->tasks[task].first;
}
