#include "sim/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/document.h"

static int read_job(const struct document *document, const struct node *node, const struct task *task,
                    baton_nsec *ret_lengths, struct input_error *ret_error)
{
    int result = node_expect_sequence(document, node, "the lengths of a job's segments in ms", ret_error);
    size_t i = 0;

    if (!result && node->n != task->n_segments)
        result = document_reject(document, node, ret_error, "%zu lengths, one for each segment of '%s'",
                                 task->n_segments, task->name);
    for (const struct node *item = node->first; !result && item; item = item->next, i++) {
        result = node_duration(document, item, "a time in ms", NSEC_PER_MS, 0, &ret_lengths[i], ret_error);
        if (!result && ret_lengths[i] > task->segments[i].length)
            result = document_reject(document, item, ret_error, "at most %g ms, the segment's worst case",
                                     nsec_to_ms(task->segments[i].length));
    }
    return result;
}

static int read_task(const struct document *document, const struct node *node, const struct task_set *set,
                     struct sim_times *times, struct input_error *ret_error)
{
    size_t index = 0;
    size_t row = 0;
    struct sim_task_times *task;
    int result;

    while (index < set->n_tasks && strcmp(set->tasks[index].name, node->key) != 0)
        index++;
    if (index == set->n_tasks)
        return input_reject(ret_error, document->name, node->key_line, node->key_column, node->key,
                            "the name of a task of the set");
    result = node_expect_sequence(document, node, "a list of jobs", ret_error);
    if (result)
        return result;
    task = &times->tasks[index];
    task->lengths =
        arena_calloc(&times->arena, node->n * set->tasks[index].n_segments + 1, sizeof *task->lengths);
    if (!task->lengths)
        return -ENOMEM;
    for (const struct node *job = node->first; !result && job; job = job->next, row++)
        result = read_job(document, job, &set->tasks[index],
                          task->lengths + row * set->tasks[index].n_segments, ret_error);
    task->n_jobs = node->n;
    return result;
}

int sim_times_read_file(const char *path, const struct task_set *set, struct sim_times *ret_times,
                        struct input_error *ret_error)
{
    struct sim_times times = {0};
    struct document document;
    char *text = NULL;
    size_t size = 0;
    int result = file_read(path, TASK_SET_FILE_LIMIT, &text, &size);

    if (result)
        return result;
    result = document_parse(path, text, size, &document, ret_error);
    free(text);
    if (result)
        return result;
    arena_init(&times.arena, 0);
    times.tasks = arena_calloc(&times.arena, set->n_tasks, sizeof *times.tasks);
    if (!times.tasks)
        result = -ENOMEM;
    if (!result && document.root->kind != NODE_MAPPING)
        result = document_reject(&document, document.root, ret_error, "a mapping from task names to jobs");
    for (const struct node *node = document.root->first; !result && node; node = node->next)
        result = read_task(&document, node, set, &times, ret_error);
    document_done(&document);
    if (result) {
        sim_times_done(&times);
        return result;
    }
    *ret_times = times;
    return 0;
}

void sim_times_done(struct sim_times *times)
{
    arena_done(&times->arena);
    times->tasks = NULL;
}
