#include "sim/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_internal.h"

static void merge_quantiles(struct quantiles *into, const struct quantiles *from)
{
    into->n += from->n;
    into->sum += from->sum;
    if (from->max > into->max)
        into->max = from->max;
    for (size_t i = 0; i < QUANTILES_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

static void merge_task(struct sim_task_result *into, const struct sim_task_result *from)
{
    into->jobs += from->jobs;
    into->unfinished += from->unfinished;
    into->misses += from->misses;
    into->compute += from->compute;
    into->copy += from->copy;
    if (from->max_response > into->max_response)
        into->max_response = from->max_response;
    if (from->max_ahead > into->max_ahead)
        into->max_ahead = from->max_ahead;
    merge_quantiles(&into->response, &from->response);
    merge_quantiles(&into->occupying, &from->occupying);
    merge_quantiles(&into->pending, &from->pending);
}

/* Draws new offsets, or takes those of the worst run so far and moves a few of them. */
static void draw(struct sim *sim, const struct sim_search *search, struct random_state *random, size_t run,
                 baton_nsec *offsets)
{
    bool fresh = run == 0 || random_below(random, 3) == 0;

    for (size_t i = 0; i < sim->n_tasks; i++) {
        baton_nsec period = sim->tasks[i].task->period;

        if (!fresh) {
            offsets[i] = search->worst_offsets[i];
            if (random_below(random, sim->n_tasks) >= 2)
                continue;
        }
        switch (random_below(random, 4)) {
        case 0:
            offsets[i] = 0;
            break;
        case 1: /* a little later than the others */
            offsets[i] = (baton_nsec)random_below(random, (uint64_t)period / 16 + 1);
            break;
        default:
            offsets[i] = (baton_nsec)random_below(random, (uint64_t)period);
            break;
        }
    }
}

static void score(struct sim *sim, const struct sim_result *result, double *ret_ratio, size_t *ret_task)
{
    *ret_ratio = -1;
    for (size_t i = 0; i < result->n_tasks; i++) {
        double ratio = (double)result->tasks[i].max_response / (double)sim->tasks[i].task->deadline;

        if (ratio > *ret_ratio) {
            *ret_ratio = ratio;
            *ret_task = i;
        }
    }
}

int sim_search(struct sim *sim, size_t runs, baton_nsec horizon, uint64_t seed, struct sim_search *ret_search)
{
    struct sim_search search = {.n_tasks = sim->n_tasks, .worst_ratio = -1};
    baton_nsec *offsets = calloc(sim->n_tasks, sizeof *offsets);
    struct random_state random;

    search.tasks = calloc(sim->n_tasks, sizeof *search.tasks);
    search.worst_offsets = calloc(sim->n_tasks, sizeof *search.worst_offsets);
    if (!offsets || !search.tasks || !search.worst_offsets) {
        free(offsets);
        sim_search_done(&search);
        return -ENOMEM;
    }
    random_init(&random, seed, UINT64_C(0x5ea4c4));
    for (size_t r = 0; r < runs; r++) {
        struct sim_run run = {.horizon = horizon, .seed = seed + r, .offsets = offsets};
        struct sim_result result;
        size_t task = 0;
        double ratio;

        draw(sim, &search, &random, r, offsets);
        run.random_execution = random_below(&random, 2);
        run.sporadic = random_below(&random, 3) == 0;
        run.random_ties = random_below(&random, 2);
        run.random_gpus = random_below(&random, 2);
        sim_run(sim, &run, NULL, &result);
        search.events += result.events;
        search.yields += result.yields;
        search.inheritances += result.inheritances;
        search.preemptions += result.preemptions;
        for (size_t i = 0; i < sim->n_tasks; i++)
            merge_task(&search.tasks[i], &result.tasks[i]);
        score(sim, &result, &ratio, &task);
        if (ratio > search.worst_ratio) {
            search.worst_ratio = ratio;
            search.worst_task = task;
            search.worst = run;
            memcpy(search.worst_offsets, offsets, sim->n_tasks * sizeof *offsets);
        }
    }
    search.worst.offsets = search.worst_offsets;
    free(offsets);
    *ret_search = search;
    return 0;
}

void sim_search_done(struct sim_search *search)
{
    free(search->tasks);
    free(search->worst_offsets);
    search->tasks = NULL;
    search->worst_offsets = NULL;
}
