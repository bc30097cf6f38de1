#include "recorder.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static void on_span(void *context, size_t row, size_t task, uint64_t job, size_t step, baton_nsec from_at,
                    baton_nsec to_at)
{
    struct recorder *recorder = context;

    (void)job;
    (void)step;
    ck_assert_uint_lt(recorder->n, RECORDER_MAX);
    ck_assert_int_eq(from_at % NSEC_PER_MS, 0);
    ck_assert_int_eq(to_at % NSEC_PER_MS, 0);
    recorder->spans[recorder->n++] =
        (struct recorded_span){row, task, from_at / NSEC_PER_MS, to_at / NSEC_PER_MS};
}

static void on_mark(void *context, enum sim_mark mark, size_t row, size_t task, uint64_t job, size_t other,
                    baton_nsec at)
{
    struct recorder *recorder = context;

    (void)row;
    (void)task;
    (void)job;
    (void)other;
    (void)at;
    recorder->marks[mark]++;
}

void recorder_init(struct recorder *recorder)
{
    *recorder = (struct recorder){.observer = {.context = recorder, .span = on_span, .mark = on_mark}};
}

void scene_run(struct scene *scene, const char *text, const struct sim_options *options, long long horizon_ms,
               const long long *offsets_ms)
{
    struct input_error error;
    struct sim_options with_set = *options;
    struct sim_run run = {.horizon = horizon_ms * NSEC_PER_MS};
    baton_nsec offsets[16] = {0};
    const char *reason = "";
    size_t task;
    int result = task_set_read("scene", text, strlen(text), &scene->set, &error);

    ck_assert_msg(result == 0, "scene:%u:%u: expected %s, found %s", error.line, error.column, error.expected,
                  error.found);
    with_set.set = &scene->set;
    result = sim_new(&with_set, &scene->sim, &reason, &task);
    ck_assert_msg(result == 0, "sim_new: %d %s", result, reason);
    for (size_t i = 0; offsets_ms && i < scene->set.n_tasks; i++)
        offsets[i] = offsets_ms[i] * NSEC_PER_MS;
    run.offsets = offsets;
    recorder_init(&scene->recorder);
    sim_run(scene->sim, &run, &scene->recorder.observer, &scene->result);
}

void scene_done(struct scene *scene)
{
    sim_free(scene->sim);
    task_set_done(&scene->set);
}

void recorder_expect(const struct recorder *recorder, const struct recorded_span *spans, size_t n)
{
    for (size_t i = 0; i < recorder->n; i++)
        printf("  row %zu task %zu [%lld, %lld)\n", recorder->spans[i].row, recorder->spans[i].task,
               recorder->spans[i].from, recorder->spans[i].to);
    for (size_t i = 0; i < n; i++) {
        bool found = false;

        for (size_t k = 0; k < recorder->n; k++)
            found |= memcmp(&recorder->spans[k], &spans[i], sizeof spans[i]) == 0;
        ck_assert_msg(found, "row %zu task %zu [%lld, %lld) did not happen", spans[i].row, spans[i].task,
                      spans[i].from, spans[i].to);
    }
    ck_assert_uint_eq(recorder->n, n);
}
