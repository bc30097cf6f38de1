#include "model/task_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/print.h"
#include "model/segment.h"

static int read_segments(const struct document *document, const struct node *list, struct task_set *set,
                         struct task *task, struct input_error *ret_error)
{
    int result = node_expect_sequence(document, list, "a list of segments", ret_error);

    if (result)
        return result;
    if (list->n > TASK_MAX_SEGMENTS)
        return document_reject(document, list, ret_error, "at most %d segments", TASK_MAX_SEGMENTS);
    task->segments = arena_calloc(&set->arena, list->n, sizeof *task->segments);
    if (!task->segments)
        return -ENOMEM;
    for (const struct node *node = list->first; node; node = node->next) {
        result = segment_read(document, node, &set->platform, &task->placement, &set->arena,
                              &task->segments[task->n_segments], ret_error);
        if (result)
            return result;
        set->n_open += task->segments[task->n_segments].source != NULL;
        task->n_segments++;
    }
    return 0;
}

/* Period, deadline, priority: what the scheduler knows about a task. */
static int read_timing(const struct document *document, const struct node *mapping, struct task *task,
                       struct input_error *ret_error)
{
    const struct node *node = node_get(mapping, "period_ms");
    int64_t priority = 0;
    int result;

    if (!node)
        return document_reject(document, mapping, ret_error, "a task with period_ms");
    result = node_duration(document, node, "a period in ms", NSEC_PER_MS, 1, &task->period, ret_error);
    if (result)
        return result;
    task->deadline = task->period;
    node = node_get(mapping, "deadline_ms");
    task->no_deadline = node && node->kind == NODE_SCALAR && !node->quoted && strcmp(node->text, "none") == 0;
    if (node && !task->no_deadline)
        result = node_duration(document, node, "a deadline in ms, or none", NSEC_PER_MS, 1, &task->deadline,
                               ret_error);
    if (!result && (node = node_get(mapping, "priority")))
        result = node_int(document, node, "priority", 1, 99, &priority, ret_error);
    task->priority = (unsigned)priority;
    return result;
}

static int read_task(const struct document *document, const struct node *mapping, struct task_set *set,
                     struct task *task, struct input_error *ret_error)
{
    static const char *const keys[] = {"name",     "period_ms", "deadline_ms", "priority",        "placement",
                                       "segments", "state",     "working_set", "critical_cpu_ms", "profile",
                                       NULL};
    const struct node *node;
    const char *name = NULL;
    int result = node_expect_mapping(document, mapping, keys, ret_error);

    if (result)
        return result;
    *task = (struct task){
        .working_set = 4096, .critical_cpu = -1, .line = mapping->line, .column = mapping->column};
    if (!(node = node_get(mapping, "name")))
        return document_reject(document, mapping, ret_error, "a task with a name");
    result = node_text(document, node, "a name", &name, ret_error);
    if (!result && !(task->name = arena_strndup(&set->arena, name, strlen(name))))
        result = -ENOMEM;
    if (!result)
        result = read_timing(document, mapping, task, ret_error);
    if (!result && (node = node_get(mapping, "placement")))
        result = placement_read(document, node, &set->platform, &task->placement, ret_error);
    if (!result && (node = node_get(mapping, "state")))
        result = node_bytes(document, node, "state", &task->state, ret_error);
    if (!result && (node = node_get(mapping, "working_set")))
        result = node_bytes(document, node, "working_set", &task->working_set, ret_error);
    if (!result && (node = node_get(mapping, "critical_cpu_ms")))
        result =
            node_duration(document, node, "a time in ms", NSEC_PER_MS, 0, &task->critical_cpu, ret_error);
    if (!result && !(node = node_get(mapping, "segments")))
        result = document_reject(document, mapping, ret_error, "a task with segments");
    if (!result)
        result = read_segments(document, node, set, task, ret_error);
    if (!result && (node = node_get(mapping, "profile")))
        result = task_profile_read(document, node, task->n_segments, &set->arena, &task->profile, ret_error);
    return result;
}

static int by_name(const void *a, const void *b)
{
    const struct task *const *x = a;
    const struct task *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);

    return order ? order : (*x > *y) - (*x < *y);
}

static int reject_task(const struct document *document, const struct task *task, const char *found,
                       struct input_error *ret_error, const char *expected)
{
    return input_reject(ret_error, document->name, task->line, task->column, found, "%s", expected);
}

/*
 * Rules across tasks: names are unique; all tasks or none have priorities; priorities are unique.
 */
static int check_tasks(const struct document *document, const struct task_set *set,
                       struct input_error *ret_error)
{
    const struct task **sorted = malloc(set->n_tasks * sizeof *sorted);
    const struct task *owner[100] = {0};
    int result = 0;

    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < set->n_tasks; i++)
        sorted[i] = &set->tasks[i];
    qsort(sorted, set->n_tasks, sizeof *sorted, by_name);
    for (size_t i = 1; i < set->n_tasks && !result; i++) {
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
            result = reject_task(document, sorted[i], sorted[i]->name, ret_error, "each task name once");
    }
    free(sorted);
    for (size_t i = 0; i < set->n_tasks && !result; i++) {
        const struct task *task = &set->tasks[i];

        if (!task->priority != !set->tasks[0].priority)
            result = reject_task(document, task, task->priority ? "a priority here" : "none here", ret_error,
                                 "a priority for every task or for none");
        else if (task->priority && owner[task->priority])
            result = reject_task(document, task, owner[task->priority]->name, ret_error,
                                 "a priority that no other task has");
        owner[task->priority] = task;
    }
    for (unsigned priority = 1, urgent = 0; priority < 100 && !result; priority++) {
        urgent = urgent || (owner[priority] && !owner[priority]->no_deadline);
        if (urgent && owner[priority] && owner[priority]->no_deadline)
            result = reject_task(document, owner[priority], "a higher one", ret_error,
                                 "a priority below those of all tasks with a deadline, as this one has none");
    }
    return result;
}

static int read_tasks(const struct document *document, struct task_set *set, struct input_error *ret_error)
{
    const struct node *list = node_get(document->root, "tasks");
    int result;

    if (!list)
        return document_reject(document, document->root, ret_error, "a list of tasks under `tasks:`");
    result = node_expect_sequence(document, list, "a list of at least one task", ret_error);
    if (result)
        return result;
    if (list->n > TASK_SET_MAX_TASKS)
        return document_reject(document, list, ret_error, "at most %d tasks", TASK_SET_MAX_TASKS);
    set->tasks = arena_calloc(&set->arena, list->n, sizeof *set->tasks);
    if (!set->tasks)
        return -ENOMEM;
    for (const struct node *node = list->first; node; node = node->next) {
        result = read_task(document, node, set, &set->tasks[set->n_tasks], ret_error);
        if (result)
            return result;
        set->n_tasks++;
    }
    return check_tasks(document, set, ret_error);
}

int task_set_read(const char *name, const char *text, size_t size, struct task_set *ret_set,
                  struct input_error *ret_error)
{
    static const char *const keys[] = {"platform", "tasks", NULL};
    struct task_set set = {0};
    struct document document;
    const struct node *platform;
    int result = document_parse(name, text, size, &document, ret_error);

    if (result)
        return result;
    arena_init(&set.arena, 0);
    result = node_expect_mapping(&document, document.root, keys, ret_error);
    if (!result && !(platform = node_get(document.root, "platform")))
        result = document_reject(&document, document.root, ret_error, "a mapping under `platform:`");
    if (!result)
        result = platform_read(&document, platform, &set.arena, &set.platform, ret_error);
    if (!result)
        result = read_tasks(&document, &set, ret_error);
    if (!result && !(set.name = arena_strndup(&set.arena, name, strlen(name))))
        result = -ENOMEM;
    document_done(&document);
    if (result)
        arena_done(&set.arena);
    else
        *ret_set = set;
    return result;
}

int task_set_read_file(const char *path, struct task_set *ret_set, struct input_error *ret_error)
{
    char *text;
    size_t size;
    int result = file_read(path, TASK_SET_FILE_LIMIT, &text, &size);

    if (result == -EFBIG)
        return input_reject(ret_error, path, 0, 0, "a larger one", "a file of at most 64 MiB");
    if (result)
        return result;
    result = task_set_read(path, text, size, ret_set, ret_error);
    free(text);
    return result;
}

int task_set_require_lengths(const struct task_set *set, struct input_error *ret_error)
{
    for (size_t i = 0; i < set->n_tasks && set->n_open > 0; i++) {
        for (size_t s = 0; s < set->tasks[i].n_segments; s++) {
            const struct segment *segment = &set->tasks[i].segments[s];

            if (segment->source && segment->length == 0)
                return input_reject(ret_error, set->name, segment->line, segment->column, "how to compute it",
                                    "the length of the segment");
        }
    }
    return 0;
}

void task_set_done(struct task_set *set)
{
    arena_done(&set->arena);
    *set = (struct task_set){0};
}

void task_set_print(const struct task_set *set, FILE *out)
{
    platform_print(&set->platform, out);
    (void)fputs("tasks:\n", out);
    for (size_t i = 0; i < set->n_tasks; i++) {
        const struct task *task = &set->tasks[i];

        (void)fputs("  - name: ", out);
        print_quoted(task->name, out);
        (void)fputs("\n    period_ms: ", out);
        print_duration(task->period, NSEC_PER_MS, out);
        (void)fputs("\n    deadline_ms: ", out);
        if (task->no_deadline)
            (void)fputs("none", out);
        else
            print_duration(task->deadline, NSEC_PER_MS, out);
        if (task->priority)
            (void)fprintf(out, "\n    priority: %u", task->priority);
        (void)fputs("\n    placement: ", out);
        placement_print(&task->placement, out);
        (void)fprintf(out, "\n    state: %lld\n    working_set: %lld\n", (long long)task->state,
                      (long long)task->working_set);
        if (task->critical_cpu >= 0) {
            (void)fputs("    critical_cpu_ms: ", out);
            print_duration(task->critical_cpu, NSEC_PER_MS, out);
            (void)fputc('\n', out);
        }
        (void)fputs("    segments:\n", out);
        for (size_t s = 0; s < task->n_segments; s++) {
            (void)fputs("      - ", out);
            segment_print(&task->segments[s], out);
            (void)fputc('\n', out);
        }
        if (task->profile)
            task_profile_print(task->profile, out);
    }
}

struct ranked {
    unsigned priority;
    baton_nsec deadline;
    size_t index;
};

static int by_urgency(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->deadline != y->deadline)
        return x->deadline < y->deadline ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

int task_set_order(const struct task_set *set, size_t ret_order[])
{
    struct ranked *ranked = malloc((set->n_tasks ? set->n_tasks : 1) * sizeof *ranked);

    if (!ranked)
        return -ENOMEM;
    for (size_t i = 0; i < set->n_tasks; i++)
        ranked[i] = (struct ranked){set->tasks[i].priority,
                                    set->tasks[i].no_deadline ? NSEC_MAX : set->tasks[i].deadline, i};
    qsort(ranked, set->n_tasks, sizeof *ranked, by_urgency);
    for (size_t i = 0; i < set->n_tasks; i++)
        ret_order[i] = ranked[i].index;
    free(ranked);
    return 0;
}

struct placement segment_placement(const struct task *task, const struct segment *segment)
{
    return segment->has_placement ? segment->placement : task->placement;
}

baton_nsec segment_length_on(const struct segment *segment, unsigned gpus, unsigned all_gpus)
{
    if (gpus <= 1)
        return segment->length;
    if (segment->multi_is_list)
        return gpus - 2 < segment->n_multi ? segment->multi[gpus - 2] : -1;
    if (segment->n_multi)
        return gpus == all_gpus ? segment->multi[0] : -1;
    return segment->kind == SEGMENT_KERNEL ? -1 : segment->length;
}

baton_nsec segment_length_placed(const struct platform *platform, const struct task *task,
                                 const struct segment *segment, unsigned gpus, enum placement_kind placed)
{
    baton_nsec length = segment_length_on(segment, gpus, platform->gpus);
    unsigned copies = gpus > 1 ? gpus : 1;

    if (segment->kind != SEGMENT_COPY_IN || placed != PLACEMENT_ANY ||
        task->placement.kind != PLACEMENT_CHOSEN || platform->shared_memory || length < 0)
        return length;
    return length * ((platform->gpus + copies - 1) / copies);
}

baton_nsec segment_piece(const struct platform *platform, const struct segment *segment)
{
    __extension__ typedef unsigned __int128 wide;
    int64_t chunk = segment->kind == SEGMENT_COPY_IN ? platform->chunk_in : platform->chunk_out;
    baton_nsec longest = segment->piece;

    for (size_t i = 0; i < segment->pieces.n; i++)
        longest = segment->pieces.pieces[i] > longest ? segment->pieces.pieces[i] : longest;
    if (longest > 0 || (segment->kind != SEGMENT_COPY_IN && segment->kind != SEGMENT_COPY_OUT) ||
        segment->bytes <= chunk)
        return longest;
    return (baton_nsec)(((wide)segment->length * (wide)chunk + (wide)segment->bytes - 1) /
                        (wide)segment->bytes);
}

baton_nsec task_total(const struct task *task)
{
    baton_nsec total = 0;

    for (size_t i = 0; i < task->n_segments; i++)
        total += task->segments[i].length;
    return total;
}

bool segment_is_gpu(const struct segment *segment)
{
    return segment->kind != SEGMENT_CPU;
}

bool task_uses_gpu(const struct task *task)
{
    for (size_t i = 0; i < task->n_segments; i++) {
        if (segment_is_gpu(&task->segments[i]))
            return true;
    }
    return false;
}
