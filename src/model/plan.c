#include "model/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/segment.h"

#define PLAN_FILE_LIMIT ((size_t)16 << 20)
#define PLAN_MAX_TASKS  99 /* priorities are 1..99 and unique */

static int read_name(const struct document *document, const struct node *mapping, const char *key,
                     struct arena *arena, const char **ret_name, struct input_error *ret_error)
{
    const struct node *node = node_get(mapping, key);
    const char *text = NULL;
    int result;

    if (!node)
        return document_reject(document, mapping, ret_error, "a mapping with %s", key);
    result = node_text(document, node, key, &text, ret_error);
    if (!result && !(*ret_name = arena_strndup(arena, text, strlen(text))))
        result = -ENOMEM;
    return result;
}

static int read_until(const struct document *document, const struct node *node, struct plan_task *task,
                      struct input_error *ret_error)
{
    static const char *const names[] = {"job", "gpu", NULL};
    unsigned until = 0;
    int result = node_choice(document, node, "job or gpu", names, &until, ret_error);

    task->until_gpu = until == 1;
    return result;
}

static int read_task(const struct document *document, const struct node *mapping, struct plan *plan,
                     struct plan_task *task, struct input_error *ret_error)
{
    static const char *const keys[] = {"name",        "priority",    "gpus",     "placement", "gpu_cluster",
                                       "cpu_cluster", "piece_ms",    "chunk_in", "chunk_out", "bound_ms",
                                       "period_ms",   "deadline_ms", "point_ms", "cost_ms",   "budget_ms",
                                       "token_until", "requests",    "seal",     NULL};
    /*
     * A plan does not contain the platform, so a list of GPUs is checked only against the largest
     * platform.
     */
    static const struct platform any = {.gpus = PLATFORM_MAX_GPUS};
    const struct node *node;
    int result = node_expect_mapping(document, mapping, keys, ret_error);

    *task = (struct plan_task){.gpus = 1, .bound = -1};
    if (!result)
        result = read_name(document, mapping, "name", &plan->arena, &task->name, ret_error);
    if (!result && !node_get(mapping, "priority"))
        result = document_reject(document, mapping, ret_error, "a task with a priority");
    if (!result)
        result = node_get_count(document, mapping, "priority", 1, 99, &task->priority, ret_error);
    if (!result)
        result = node_get_count(document, mapping, "gpus", 1, PLATFORM_MAX_GPUS, &task->gpus, ret_error);
    if (!result && (node = node_get(mapping, "placement")))
        result = placement_read(document, node, &any, &task->placement, ret_error);
    if (!result)
        result = node_get_count(document, mapping, "gpu_cluster", 0, PLATFORM_MAX_GPUS, &task->gpu_cluster,
                                ret_error);
    if (!result)
        result = node_get_count(document, mapping, "cpu_cluster", 0, PLATFORM_MAX_CPUS, &task->cpu_cluster,
                                ret_error);
    if (!result && (node = node_get(mapping, "piece_ms")))
        result = node_duration(document, node, "a time in ms", NSEC_PER_MS, 0, &task->piece, ret_error);
    if (!result && (node = node_get(mapping, "chunk_in")))
        result = node_bytes(document, node, "chunk_in", &task->chunk_in, ret_error);
    if (!result && (node = node_get(mapping, "chunk_out")))
        result = node_bytes(document, node, "chunk_out", &task->chunk_out, ret_error);
    if (!result && (node = node_get(mapping, "bound_ms")) &&
        (node->quoted || strcmp(node->text, "null") != 0))
        result = node_duration(document, node, "a bound in ms", NSEC_PER_MS, 0, &task->bound, ret_error);
    if (!result && (node = node_get(mapping, "period_ms")))
        result = node_duration(document, node, "a period in ms", NSEC_PER_MS, 0, &task->period, ret_error);
    node = node_get(mapping, "deadline_ms");
    task->no_deadline = node && node->kind == NODE_SCALAR && !node->quoted && strcmp(node->text, "none") == 0;
    if (!result && node && !task->no_deadline)
        result =
            node_duration(document, node, "a deadline in ms", NSEC_PER_MS, 0, &task->deadline, ret_error);
    if (!result && (node = node_get(mapping, "cost_ms")))
        result = node_duration(document, node, "a time in ms", NSEC_PER_MS, 0, &task->cost, ret_error);
    if (!result && (node = node_get(mapping, "budget_ms")))
        result = node_duration(document, node, "a time in ms", NSEC_PER_MS, 0, &task->budget, ret_error);
    if (!result && (node = node_get(mapping, "requests")))
        result = plan_requests_read(document, node, &task->requests, ret_error);
    if (!result && (node = node_get(mapping, "token_until")))
        result = read_until(document, node, task, ret_error);
    if (!result && (node = node_get(mapping, "point_ms")) &&
        (node->quoted || strcmp(node->text, "null") != 0)) {
        task->has_point = true;
        result =
            node_duration(document, node, "a time in ms", NSEC_PER_MS, INT64_MIN, &task->point, ret_error);
    }
    return result;
}

/* Names and priorities are unique. */
static int check_task(const struct document *document, const struct node *mapping, const struct plan *plan,
                      const struct plan_task *task, struct input_error *ret_error)
{
    int result = 0;

    for (const struct plan_task *other = plan->tasks; other < task && !result; other++) {
        if (strcmp(other->name, task->name) == 0)
            result = document_reject(document, node_get(mapping, "name"), ret_error, "each task name once");
        else if (other->priority == task->priority)
            result = document_reject(document, node_get(mapping, "priority"), ret_error,
                                     "a priority that no other task has");
    }
    return result;
}

static int read_tasks(const struct document *document, struct plan *plan, struct input_error *ret_error)
{
    const struct node *list = node_get(document->root, "tasks");
    int result;

    if (!list)
        return document_reject(document, document->root, ret_error, "a list of tasks under `tasks:`");
    result = node_expect_sequence(document, list, "a list of at least one task", ret_error);
    if (!result && list->n > PLAN_MAX_TASKS)
        result = document_reject(document, list, ret_error, "at most %d tasks", PLAN_MAX_TASKS);
    if (result)
        return result;
    plan->tasks = arena_calloc(&plan->arena, list->n, sizeof *plan->tasks);
    if (!plan->tasks)
        return -ENOMEM;
    for (const struct node *node = list->first; node && !result; node = node->next) {
        struct plan_task *task = &plan->tasks[plan->n_tasks++];

        result = read_task(document, node, plan, task, ret_error);
        if (!result)
            result = check_task(document, node, plan, task, ret_error);
    }
    return result;
}

static int read_conditions(const struct document *document, struct plan *plan, struct input_error *ret_error)
{
    const struct node *list = node_get(document->root, "conditions");
    int result = list ? node_expect_sequence(document, list, "a list of sentences", ret_error) : 0;

    if (!list || result)
        return result;
    plan->conditions = arena_calloc(&plan->arena, list->n, sizeof *plan->conditions);
    if (!plan->conditions)
        return -ENOMEM;
    for (const struct node *item = list->first; item && !result; item = item->next) {
        const char *text = NULL;

        result = node_text(document, item, "a sentence", &text, ret_error);
        if (!result &&
            !(plan->conditions[plan->n_conditions++] = arena_strndup(&plan->arena, text, strlen(text))))
            result = -ENOMEM;
    }
    return result;
}

int plan_read(const char *name, const char *text, size_t size, struct plan *ret_plan,
              struct input_error *ret_error)
{
    const char *keys[PLAN_FIELDS + 2] = {0}; /* and "seal" */
    struct plan plan = {0};
    struct document document;
    int result = document_parse(name, text, size, &document, ret_error);

    if (result)
        return result;
    arena_init(&plan.arena, 0);
    for (size_t i = 0; i < PLAN_FIELDS; i++)
        keys[i] = plan_field_key(i);
    keys[PLAN_FIELDS] = "seal";
    result = node_expect_mapping(&document, document.root, keys, ret_error);
    if (!result)
        result = read_name(&document, document.root, "analysis", &plan.arena, &plan.analysis, ret_error);
    if (!result)
        result = read_name(&document, document.root, "profile", &plan.arena, &plan.profile, ret_error);
    if (!result)
        result = read_conditions(&document, &plan, ret_error);
    if (!result)
        result = read_tasks(&document, &plan, ret_error);
    if (!result)
        result = plan_basis_read(&document, document.root, &plan.basis, ret_error);
    if (!result)
        result = plan_check_seals(&document, &plan, ret_error);
    document_done(&document);
    if (result)
        arena_done(&plan.arena);
    else
        *ret_plan = plan;
    return result;
}

int plan_read_file(const char *path, struct plan *ret_plan, struct input_error *ret_error)
{
    char *text;
    size_t size;
    int result = file_read(path, PLAN_FILE_LIMIT, &text, &size);

    if (result == -EFBIG)
        return input_reject(ret_error, path, 0, 0, "a larger one", "a file of at most 16 MiB");
    if (result)
        return result;
    result = plan_read(path, text, size, ret_plan, ret_error);
    free(text);
    return result;
}

void plan_done(struct plan *plan)
{
    arena_done(&plan->arena);
    *plan = (struct plan){0};
}

const struct plan_task *plan_find(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n_tasks; i++) {
        if (strcmp(plan->tasks[i].name, name) == 0)
            return &plan->tasks[i];
    }
    return NULL;
}
