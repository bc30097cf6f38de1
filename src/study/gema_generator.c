#include "study/gema_generator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gema_generator {
    struct gema_parameters parameters;
    struct arena arena;
    struct pipeline pipeline;
    double utilisation; /* of all GPUs together, by the tasks of the current set */
    double target;      /* target of the current set */
};

void gema_parameters_default(struct gema_parameters *ret_parameters)
{
    *ret_parameters = (struct gema_parameters){
        .cpus = 4,
        .gpus = 4,
        .period_low = 100 * NSEC_PER_MS,
        .period_high = 1000 * NSEC_PER_MS,
        .wcet_low = 5 * NSEC_PER_MS,
        .share_low = 0.885,
        .share_high = 0.998,
        .upload = 4,
        .download = 4,
        .dependent_upload = 4.7,
        .dependent_download = 11.7,
        .merge = 1,
        .window = 0.05,
    };
}

static size_t options_of(enum gema_placement placement)
{
    return placement == GEMA_PAID ? 3 : 2;
}

struct gema_generator *gema_generator_new(const struct gema_parameters *parameters)
{
    struct gema_generator *generator = calloc(1, sizeof *generator);
    size_t n_stages[GEMA_MAX_TASKS];
    size_t n_options[GEMA_MAX_TASKS];

    if (!generator)
        return NULL;
    generator->parameters = *parameters;
    arena_init(&generator->arena, 0);
    for (size_t i = 0; i < GEMA_MAX_TASKS; i++) {
        n_stages[i] = GEMA_MAX_STAGES;
        n_options[i] = options_of(parameters->placement);
    }
    if (pipeline_allocate(&generator->arena, GEMA_MAX_TASKS, n_stages, n_options, &generator->pipeline)) {
        gema_generator_free(generator);
        return NULL;
    }
    generator->pipeline.cpus = parameters->cpus;
    generator->pipeline.gpus = parameters->gpus;
    return generator;
}

void gema_generator_free(struct gema_generator *generator)
{
    if (!generator)
        return;
    arena_done(&generator->arena);
    free(generator);
}

/* n parts of 1, uniform over all ways to split it. */
static void spread(struct random_state *random, size_t n, double ret_parts[])
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        ret_parts[i] = -log(1 - random_unit(random));
        sum += ret_parts[i];
    }
    for (size_t i = 0; i < n; i++)
        ret_parts[i] /= sum;
}

static void set_stage(struct stage *stage, enum pipeline_unit unit, double length)
{
    baton_nsec ticks = (baton_nsec)ceil(length);

    *stage = (struct stage){.unit = unit, .length = ticks, .piece = ticks, .last = ticks, .lanes = 1};
}

/* Single-mode stages in option 0: CPU, then k times upload, kernel, download, CPU. */
static void fill_single(const struct gema_parameters *p, struct random_state *random,
                        struct pipeline_task *task)
{
    size_t kernels = 1 + random_below(random, GEMA_MAX_KERNELS);
    double wcet = (double)random_between(random, p->wcet_low, task->period);
    double share = p->share_low + random_unit(random) * (p->share_high - p->share_low);
    double parts[GEMA_MAX_STAGES] = {0};
    double kernel_parts[GEMA_MAX_KERNELS] = {0};
    size_t part = 0;
    size_t kernel = 0;

    task->n_stages = 1 + 4 * kernels;
    spread(random, task->n_stages - kernels, parts);
    spread(random, kernels, kernel_parts);
    for (size_t s = 0; s < task->n_stages; s++) {
        struct stage *stage = &task->options[0].stages[s];

        if (s % 4 == 2)
            set_stage(stage, UNIT_GPU, wcet * share * kernel_parts[kernel++]);
        else
            set_stage(stage, s % 4 == 0 ? UNIT_CPU : UNIT_BUS, wcet * (1 - share) * parts[part++]);
    }
}

static void scale_single(struct pipeline_task *task, double factor)
{
    for (size_t s = 0; s < task->n_stages; s++) {
        struct stage *stage = &task->options[0].stages[s];

        set_stage(stage, stage->unit, (double)stage->length * factor);
    }
}

/* The other options, from option 0. */
static void fill_options(const struct gema_parameters *p, struct random_state *random,
                         struct pipeline_task *task)
{
    uint64_t all = ((uint64_t)1 << p->gpus) - 1;
    size_t multi = task->n_options - 1;
    bool dependent = p->dependent > 0 && random_unit(random) < p->dependent;
    double upload = dependent ? p->dependent_upload : p->upload;
    double download = dependent ? p->dependent_download : p->download;

    for (size_t s = 0; s < task->n_stages; s++) {
        struct stage *single = &task->options[0].stages[s];
        struct stage *spread_out = &task->options[multi].stages[s];
        double length = (double)single->length;

        if (single->unit == UNIT_GPU) {
            single->eligible = all;
            single->any = p->placement == GEMA_ANY;
            set_stage(spread_out, UNIT_GPU, length / p->gpus);
            spread_out->eligible = all;
            spread_out->lanes = p->gpus;
        } else if (single->unit == UNIT_BUS) {
            set_stage(spread_out, UNIT_BUS, length * (s % 4 == 1 ? upload : download));
        } else {
            double merged = s > 0 ? (double)task->options[0].stages[s - 1].length * p->merge : 0;

            set_stage(spread_out, UNIT_CPU, length + merged);
        }
        if (p->placement == GEMA_PAID) {
            struct stage *any = &task->options[1].stages[s];

            *any = *single;
            any->any = single->unit == UNIT_GPU;
            if (s % 4 == 1)
                set_stage(any, UNIT_BUS, length * p->gpus);
        }
    }
    task->options[multi].gpus = p->gpus;
    if (p->placement == GEMA_PAID)
        task->options[1].placement.kind = PLACEMENT_ANY;
    task->options[0].placement.kind = p->placement == GEMA_ANY ? PLACEMENT_ANY : PLACEMENT_CHOSEN;
}

static double gpu_utilisation(const struct pipeline_task *task)
{
    double sum = 0;

    for (size_t s = 2; s < task->n_stages; s += 4)
        sum += (double)task->options[0].stages[s].length;
    return sum / (double)task->period;
}

/*
 * Stages keep their place in memory; only descriptors move. Insertion sort suits few, mostly sorted
 * tasks.
 */
static void sort_by_deadline(struct pipeline *pipeline)
{
    for (size_t i = 1; i < pipeline->n_tasks; i++) {
        struct pipeline_task task = pipeline->tasks[i];
        size_t at = i;

        for (; at > 0 && pipeline->tasks[at - 1].deadline > task.deadline; at--)
            pipeline->tasks[at] = pipeline->tasks[at - 1];
        pipeline->tasks[at] = task;
    }
}

static void add_task(struct gema_generator *generator, struct random_state *random)
{
    const struct gema_parameters *p = &generator->parameters;
    struct pipeline_task *task = &generator->pipeline.tasks[generator->pipeline.n_tasks];

    task->index = generator->pipeline.n_tasks++;
    task->period = task->deadline = random_between(random, p->period_low, p->period_high);
    fill_single(p, random, task);
    generator->utilisation += gpu_utilisation(task);
}

/*
 * Adds tasks to the current set until it is close to the target. Begins a new set when the target
 * is exceeded.
 */
static void grow(struct gema_generator *generator, struct random_state *random, double target)
{
    const struct gema_parameters *p = &generator->parameters;

    if (target < generator->target || target > generator->target)
        generator->pipeline.n_tasks = 0;
    generator->target = target;
    for (;;) {
        size_t before = generator->pipeline.n_tasks;

        if (before == 0 || before == GEMA_MAX_TASKS || generator->utilisation > target + p->window) {
            generator->pipeline.n_tasks = 0;
            generator->utilisation = 0;
            add_task(generator, random);
            fill_options(p, random, &generator->pipeline.tasks[0]);
        }
        add_task(generator, random);
        fill_options(p, random, &generator->pipeline.tasks[generator->pipeline.n_tasks - 1]);
        if (fabs(generator->utilisation - target) <= p->window)
            return;
    }
}

const struct pipeline *gema_generate(struct gema_generator *generator, struct random_state *random,
                                     double target)
{
    const struct gema_parameters *p = &generator->parameters;
    struct pipeline *pipeline = &generator->pipeline;

    if (p->n_tasks == 0) {
        grow(generator, random, target);
    } else {
        pipeline->n_tasks = 0;
        generator->utilisation = 0;
        while (pipeline->n_tasks < p->n_tasks)
            add_task(generator, random);
        for (size_t i = 0; i < pipeline->n_tasks; i++) {
            scale_single(&pipeline->tasks[i], target / generator->utilisation);
            fill_options(p, random, &pipeline->tasks[i]);
        }
    }
    sort_by_deadline(pipeline);
    pipeline_seal(pipeline);
    return pipeline;
}
