/*
 * The sound holistic analysis visits the tasks in priority order. For each task it computes the
 * stages' delays, the finish offsets, and the loads that less urgent tasks see. One pass is enough:
 * a bound depends on less urgent tasks only through the length of their pieces, not through their
 * responses.
 *
 * Each result is kept with its inputs. These are the options and finish offsets of all more urgent
 * tasks, the task's own option, and the blocking by less urgent tasks. A run recomputes a task only
 * if one of these changed.
 */
#include "analysis/holistic/holistic.h"

#include <string.h>

#include "analysis/holistic/holistic_internal.h"

/* Merges two descending lists and keeps the 2m largest. */
static void merge_lanes(const struct holistic *h, const baton_nsec *a, const baton_nsec *b, baton_nsec ret[])
{
    for (unsigned lane = 0; lane < 2 * h->gpus; lane++)
        ret[lane] = *a >= *b ? *a++ : *b++;
}

/* Adds a task to the blocking of all more urgent tasks. */
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
        add_below(h, &h->below[k], k < run->n_fixed ? holistic_summary(h, k, run->choice[k]) : &h->relaxed[k],
                  &h->below[k - 1]);
}

/*
 * One window of y ticks from the release: execution and delays of the prefix. Never decreases in y.
 */
static baton_nsec job_window(struct holistic *h, const struct victim *v, baton_nsec y)
{
    baton_nsec sum = v->executed;

    for (int unit = 0; unit < PIPELINE_UNITS; unit++) {
        if (v->delay[unit] > 0)
            sum += least(v->delay[unit], job_level(h, v, (enum pipeline_unit)unit, y));
    }
    return sum;
}

/*
 * F_j: the lesser of F_{j-1} + w_j and the job-level fixed point. The search for the fixed point
 * starts at *y.
 */
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
        .own = holistic_summary(h, i, o),
        .cap = cap,
        .all_any_whole = true,
        .all_pinned = true,
    };
    h->memo_bus.valid = h->memo_any.valid = h->memo_pinned.valid = h->memo_cpu.valid = false;
    memset(h->bus_part, 0, i * sizeof h->bus_part[0]);
    memset(h->gpu_part, 0, i * sizeof h->gpu_part[0]);
}

/* The response of task i in an option. Fills its delays and finishes. */
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
        /*
         * The job-level fixed point of a longer prefix is at least that of the shorter one plus the
         * stage.
         */
        y += stage->length;
        finishes[j] = finish_of(h, &v, finish, &y);
        h->by_job[task->first + j] = finishes[j] < finish;
        finish = finishes[j];
        if (finish >= MODE_UNBOUNDED)
            return MODE_UNBOUNDED;
    }
    return finish;
}

/* Computes the task's loads from its finishes. Answers whether they changed. */
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
        /*
         * Without a bound the caller may still ask to go on: the cap replaces the finish, as a
         * heuristic value.
         */
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

/* No response needs to be known beyond the value that stops the run. */
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
        bool fresh = !changed && h->known[i] && h->choice[i] == o &&
                     holistic_same_blocking(h, &h->seen[i], &h->below[i]);

        if (!fresh) {
            baton_nsec response;
            bool bounded;

            h->cut = false;
            response = respond(h, i, o, cap_of(run, task));
            bounded = response < MODE_UNBOUNDED;
            h->rounded[i] = h->cut;
            if (!bounded && run->limit) {
                /* Beyond the limit or beyond the cap: the run stops here in both cases. */
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
        if (mode_run_stops(run, ret_responses[i], task->deadline) || ret_responses[i] >= MODE_UNBOUNDED) {
            /* If these loads changed, the results of less urgent tasks are stale. */
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
 * Replaces the loads of a task that is not chosen yet by one load per unit, without jitter or
 * carry-in. Its length is the least demand over all options. The real loads are at least that for
 * every option and window (plan_search.c has the proof).
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
 * Is the response at most the deadline by one of the two simplest bounds? They are the sum of the
 * stages' delays, and the window of the whole job. The window is a bound as soon as no further work
 * fits in.
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
