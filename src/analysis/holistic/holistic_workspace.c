/*
 * The workspace of the sound analysis: its memory, and the values that a pipeline fixes under all
 * choices.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/holistic/holistic_internal.h"

struct blocking *holistic_summary(const struct holistic *h, size_t task, size_t option)
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
    arena_init(&h->arena, 0);
    h->max_options = max_options;
#define ROOM(member, n) failed |= !(h->member = arena_calloc(&h->arena, (n) + 1, sizeof *h->member))
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
    arena_done(&h->arena);
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

bool holistic_same_blocking(const struct holistic *h, const struct blocking *a, const struct blocking *b)
{
    return a->bus == b->bus && memcmp(a->gpu, b->gpu, h->gpus * sizeof a->gpu[0]) == 0 &&
           memcmp(a->lane, b->lane, 2 * h->gpus * sizeof a->lane[0]) == 0 &&
           (!h->weight_sum || memcmp(a->weighted, b->weighted, 2 * h->gpus * sizeof a->lane[0]) == 0);
}

/* Elementwise minima of what two options of a task demand and may block with. */
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

/* What the remaining options of a task have in common. out: NULL when no option is out. */
bool holistic_narrow(void *state, size_t k, const bool out[])
{
    struct holistic *h = state;
    const struct pipeline_task *task = &h->pipeline->tasks[k];
    struct blocking before = h->relaxed[k];
    bool first = true;

    for (size_t o = 0; o < task->n_options; o++) {
        if (out && out[o])
            continue;
        if (first) {
            h->relaxed[k] = *holistic_summary(h, k, o);
            h->demands[k] = *demand_of(h, k, o);
        } else {
            relax(h, holistic_summary(h, k, o), demand_of(h, k, o), &h->relaxed[k], &h->demands[k]);
        }
        first = false;
    }
    h->is_demand[k] = false;
    return !holistic_same_blocking(h, &before, &h->relaxed[k]);
}

/*
 * Are all GPUs alike for every task? If not, sets weights inverse to the kernels' lengths on each
 * GPU.
 */
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
    h->pipeline = pipeline;
    h->cpus = pipeline->cpus;
    h->gpus = pipeline->gpus;
    pipeline_number_stages(pipeline, h->first);
    compare_gpus(h);
    for (size_t k = 0; k < pipeline->n_tasks; k++) {
        const struct pipeline_task *task = &pipeline->tasks[k];

        for (size_t o = 0; o < task->n_options; o++) {
            memset(holistic_summary(h, k, o), 0, sizeof(struct blocking));
            memset(demand_of(h, k, o), 0, sizeof(struct demand));
            summarise(h, task, &task->options[o], holistic_summary(h, k, o));
            add_demand(h, task, &task->options[o], demand_of(h, k, o));
        }
        (void)holistic_narrow(h, k, NULL);
        h->known[k] = h->is_demand[k] = false;
    }
}
