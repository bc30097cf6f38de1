#include "pipeline_json.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

json_t *pipeline_json_load(const char *name)
{
    char path[256];
    json_error_t error;
    json_t *root;

    (void)snprintf(path, sizeof path, "analysis/data/%s", name);
    root = json_load_file(harness_data(path), 0, &error);
    ck_assert_msg(root != NULL, "%s: %s", path, error.text);
    return root;
}

baton_nsec pipeline_json_at(const json_t *entry, const char *key, size_t index)
{
    const json_t *value = json_array_get(json_object_get(entry, key), index);

    ck_assert_msg(json_is_integer(value), "%s[%zu] is not an integer", key, index);
    return json_integer_value(value);
}

static baton_nsec number(const json_t *entry, const char *key)
{
    const json_t *value = json_object_get(entry, key);

    ck_assert_msg(json_is_integer(value), "%s is not an integer", key);
    return json_integer_value(value);
}

static struct gpu_cost pieces_cost(const json_t *pieces)
{
    struct gpu_cost cost = {0};
    size_t n = json_array_size(pieces);

    for (size_t i = 0; i < n; i++) {
        baton_nsec piece = json_integer_value(json_array_get(pieces, i));

        cost.length += piece;
        cost.piece = piece > cost.piece ? piece : cost.piece;
        cost.last = piece;
    }
    return cost;
}

static void read_kernel(const json_t *entry, struct arena *arena, unsigned gpus, struct stage *stage)
{
    const char *kind = json_string_value(json_object_get(entry, "kind"));
    const json_t *list = json_object_get(entry, "pieces_per_gpu");

    stage->lanes = (unsigned)number(entry, "K");
    stage->any = strcmp(kind, "any") == 0;
    stage->eligible = ((uint64_t)1 << gpus) - 1;
    if (strcmp(kind, "pin") == 0) {
        const json_t *set = json_object_get(entry, "gpus");

        stage->eligible = 0;
        for (size_t i = 0; i < json_array_size(set); i++)
            stage->eligible |= (uint64_t)1 << json_integer_value(json_array_get(set, i));
    }
    if (list) {
        struct gpu_cost *costs = arena_calloc(arena, gpus, sizeof *costs);

        ck_assert(costs != NULL);
        for (unsigned q = 0; q < gpus; q++) {
            costs[q] = pieces_cost(json_array_get(list, q));
            if (!(stage->eligible >> q & 1))
                continue;
            stage->length = costs[q].length > stage->length ? costs[q].length : stage->length;
            stage->piece = costs[q].piece > stage->piece ? costs[q].piece : stage->piece;
            stage->last = stage->length;
        }
        stage->per_gpu = costs;
    }
}

void pipeline_json_sound(const json_t *entry, struct arena *arena, struct pipeline *ret_pipeline)
{
    const json_t *tasks = json_object_get(entry, "tasks");
    const json_t *resources = json_object_get(entry, "resources");
    size_t n_stages[64];
    size_t n_options[64];
    size_t n = json_array_size(tasks);

    ck_assert(n > 0 && n <= 64);
    for (size_t i = 0; i < n; i++) {
        n_stages[i] = json_array_size(json_object_get(json_array_get(tasks, i), "stages"));
        n_options[i] = 1;
    }
    ck_assert_int_eq(pipeline_allocate(arena, n, n_stages, n_options, ret_pipeline), 0);
    ret_pipeline->cpus = (unsigned)number(resources, "CPU");
    ret_pipeline->gpus = (unsigned)number(resources, "GPU");
    for (size_t i = 0; i < n; i++) {
        const json_t *from = json_array_get(tasks, i);
        struct pipeline_task *task = &ret_pipeline->tasks[i];

        task->period = number(from, "T");
        task->deadline = number(from, "D");
        for (size_t p = 0; p < task->n_stages; p++) {
            const json_t *stage_from = json_array_get(json_object_get(from, "stages"), p);
            struct stage *stage = &task->options[0].stages[p];
            struct gpu_cost cost = pieces_cost(json_object_get(stage_from, "pieces"));

            *stage = (struct stage){
                .unit = (enum pipeline_unit)number(stage_from, "H"),
                .length = cost.length,
                .piece = cost.piece,
                .last = cost.last,
                .best = number(stage_from, "bcet"),
                .lanes = 1,
            };
            if (stage->unit == UNIT_GPU)
                read_kernel(stage_from, arena, ret_pipeline->gpus, stage);
        }
    }
    pipeline_seal(ret_pipeline);
}

void pipeline_json_gema(const json_t *entry, struct arena *arena, struct pipeline *ret_pipeline)
{
    const json_t *tasks = json_object_get(entry, "tasks");
    size_t n_stages[64];
    size_t n_options[64];
    size_t n = json_array_size(tasks);

    ck_assert(n > 0 && n <= 64);
    for (size_t i = 0; i < n; i++) {
        n_stages[i] = json_array_size(json_object_get(json_array_get(tasks, i), "H"));
        n_options[i] = 2;
    }
    ck_assert_int_eq(pipeline_allocate(arena, n, n_stages, n_options, ret_pipeline), 0);
    ret_pipeline->cpus = ret_pipeline->gpus = 4;
    for (size_t i = 0; i < n; i++) {
        const json_t *from = json_array_get(tasks, i);
        struct pipeline_task *task = &ret_pipeline->tasks[i];

        task->period = number(from, "T");
        task->deadline = number(from, "D");
        for (size_t s = 0; s < 2 * task->n_stages; s++) {
            size_t p = s / 2;
            bool multi = s % 2;
            baton_nsec length = pipeline_json_at(from, multi ? "C_multi" : "C_single", p);
            struct stage *stage = &task->options[multi].stages[p];

            *stage = (struct stage){
                .unit = (enum pipeline_unit)pipeline_json_at(from, "H", p),
                .length = length,
                .piece = length,
                .last = length,
                .lanes = 1,
            };
            if (stage->unit == UNIT_GPU) {
                stage->eligible = 15;
                stage->any = !multi;
                stage->lanes = multi ? 4 : 1;
            }
        }
        task->options[1].gpus = 4;
    }
    pipeline_seal(ret_pipeline);
}
