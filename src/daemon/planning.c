#include "daemon/planning.h"

#include <string.h>

#include "model/document.h"

#define SCHEDULABLE     0 /* exit codes of `baton plan` */
#define NOT_SCHEDULABLE 1
#define TARDY           4

static bool is_null(const struct node *node)
{
    return !node || (!node->quoted && node->text && strcmp(node->text, "null") == 0);
}

/* One task of the object: does it miss its deadline? Then *decision names it. */
static int read_late(const struct document *document, const struct node *task, bool bounded_is_enough,
                     struct decision *decision, bool *ret_misses)
{
    const struct node *response = node_get(task, "response_ms");
    const struct node *deadline = node_get(task, "deadline_ms");
    struct input_error error;
    struct decision late = *decision;
    const char *name;

    *ret_misses = false;
    if (task->kind == NODE_MAPPING && deadline && is_null(deadline))
        return 0; /* it has no deadline to miss */
    if (task->kind != NODE_MAPPING || !node_get(task, "name") ||
        node_text(document, node_get(task, "name"), "a name", &name, &error) || strlen(name) > 64 ||
        is_null(deadline) || node_duration(document, deadline, "ms", NSEC_PER_MS, 0, &late.limit, &error))
        return PLANNING_FAILED;
    late.response = 0;
    if (!is_null(response) && node_duration(document, response, "ms", NSEC_PER_MS, 0, &late.response, &error))
        return PLANNING_FAILED;
    if (!is_null(response) && (bounded_is_enough || late.response <= late.limit))
        return 0;
    *ret_misses = true;
    memcpy(late.cause, name, strlen(name) + 1);
    *decision = late;
    return 0;
}

/*
 * Finds the task that misses its deadline; bounded_is_enough: that has no bound. PLANNING_REJECTED
 * with it, or PLANNING_FAILED.
 */
static int find_late(const struct document *document, bool bounded_is_enough, const char *about,
                     struct decision *decision)
{
    bool mapping = document->root->kind == NODE_MAPPING;
    const struct node *tasks = mapping ? node_get(document->root, "tasks") : NULL;
    struct input_error error;
    bool found = false;

    if (!tasks || node_expect_sequence(document, tasks, "tasks", &error))
        return PLANNING_FAILED;
    for (const struct node *task = tasks->first; task; task = task->next) {
        struct decision late = *decision;
        bool misses;

        if (read_late(document, task, bounded_is_enough, &late, &misses))
            return PLANNING_FAILED;
        if (misses && (!found || strcmp(late.cause, about) == 0)) {
            *decision = late;
            found = true;
        }
    }
    return found ? PLANNING_REJECTED : PLANNING_FAILED;
}

/*
 * Soft analyses reject a task without a bound; the others reject a task that misses its deadline.
 */
static int read_object(const struct planning *planning, const char *about, struct decision *decision)
{
    struct input_error error;
    struct document document;
    const struct node *analysis;
    bool soft;
    int result;

    if (document_parse("the planner's answer", planning->object, planning->object_size, &document, &error))
        return PLANNING_FAILED;
    analysis = document.root->kind == NODE_MAPPING ? node_get(document.root, "analysis") : NULL;
    soft = planning->status == NOT_SCHEDULABLE && analysis && analysis->text &&
           strncmp(analysis->text, "holistic", 8) != 0;
    result = find_late(&document, soft, about, decision);
    decision->reason = planning->status == TARDY ? REASON_TARDY : REASON_DEADLINE;
    document_done(&document);
    return result;
}

int planning_read(const struct planning *planning, const char *about, struct plan *ret_plan,
                  struct decision *decision)
{
    struct input_error error;

    if (planning->late ||
        (planning->status != SCHEDULABLE && planning->status != NOT_SCHEDULABLE && planning->status != TARDY))
        return PLANNING_FAILED;
    if (planning->status == NOT_SCHEDULABLE)
        return read_object(planning, about, decision);
    if (planning->status == TARDY && read_object(planning, about, decision) != PLANNING_REJECTED)
        return PLANNING_FAILED;
    return plan_read("the planner's answer", planning->plan, planning->plan_size, ret_plan, &error)
               ? PLANNING_FAILED
               : 0;
}
