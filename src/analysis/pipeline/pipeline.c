/*
 * Pipelines that code fills in: one allocation for everything, and the values that follow from the
 * stages.
 */
#include "analysis/pipeline/pipeline.h"

#include <errno.h>

int pipeline_allocate(struct arena *arena, size_t n_tasks, const size_t n_stages[], const size_t n_options[],
                      struct pipeline *ret_pipeline)
{
    struct pipeline pipeline = {.cpus = 1, .gpus = 1, .n_tasks = n_tasks};

    pipeline.tasks = arena_calloc(arena, n_tasks, sizeof pipeline.tasks[0]);
    if (!pipeline.tasks)
        return -ENOMEM;
    for (size_t i = 0; i < n_tasks; i++) {
        struct pipeline_task *task = &pipeline.tasks[i];

        task->index = i;
        task->n_stages = n_stages[i];
        task->n_options = n_options[i];
        task->options = arena_calloc(arena, n_options[i], sizeof task->options[0]);
        if (!task->options)
            return -ENOMEM;
        for (size_t o = 0; o < n_options[i]; o++) {
            task->options[o].gpus = 1;
            task->options[o].stages = arena_calloc(arena, n_stages[i], sizeof task->options[o].stages[0]);
            if (!task->options[o].stages)
                return -ENOMEM;
        }
    }
    *ret_pipeline = pipeline;
    return 0;
}

void pipeline_seal(struct pipeline *pipeline)
{
    pipeline->n_stages = 0;
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        struct pipeline_task *task = &pipeline->tasks[i];

        task->first = pipeline->n_stages;
        pipeline->n_stages += task->n_stages;
        for (size_t o = 0; o < task->n_options; o++) {
            struct pipeline_option *option = &task->options[o];

            option->total = 0;
            for (size_t p = 0; p < task->n_stages; p++) {
                struct stage *stage = &option->stages[p];

                stage->sliced = stage->last < stage->length;
                for (unsigned q = 0; stage->per_gpu && q < pipeline->gpus; q++)
                    stage->sliced |= stage->per_gpu[q].last < stage->per_gpu[q].length;
                option->total += stage->length;
            }
        }
    }
}

void pipeline_number_stages(const struct pipeline *pipeline, size_t *const first[PIPELINE_UNITS])
{
    size_t n[PIPELINE_UNITS] = {0};

    for (size_t k = 0; k <= pipeline->n_tasks; k++) {
        for (int unit = 0; unit < PIPELINE_UNITS; unit++)
            first[unit][k] = n[unit];
        for (size_t p = 0; k < pipeline->n_tasks && p < pipeline->tasks[k].n_stages; p++)
            n[pipeline->tasks[k].options[0].stages[p].unit]++;
    }
}
