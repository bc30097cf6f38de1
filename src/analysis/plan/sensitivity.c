#include "analysis/plan/sensitivity.h"

#include <errno.h>
#include <string.h>

/* A copy of the pipeline that keeps only the chosen options, for modification. */
static int copy_chosen(struct arena *arena, const struct pipeline *from, const unsigned char choice[],
                       struct pipeline *ret_copy)
{
    *ret_copy = *from;
    ret_copy->tasks = arena_calloc(arena, from->n_tasks, sizeof from->tasks[0]);
    if (!ret_copy->tasks)
        return -ENOMEM;
    for (size_t i = 0; i < from->n_tasks; i++) {
        struct pipeline_task *task = &ret_copy->tasks[i];

        *task = from->tasks[i];
        /* The printed analysis also reads single mode, so option 0 stays first. */
        task->n_options = choice[i] ? 2 : 1;
        task->options = arena_calloc(arena, 2, sizeof task->options[0]);
        if (!task->options)
            return -ENOMEM;
        for (size_t o = 0; o < task->n_options; o++) {
            task->options[o] = from->tasks[i].options[o ? choice[i] : 0];
            task->options[o].stages = arena_calloc(arena, task->n_stages, sizeof(struct stage));
            if (!task->options[o].stages)
                return -ENOMEM;
            memcpy(task->options[o].stages, from->tasks[i].options[o ? choice[i] : 0].stages,
                   task->n_stages * sizeof(struct stage));
            for (size_t p = 0; p < task->n_stages; p++) {
                struct stage *stage = &task->options[o].stages[p];
                struct gpu_cost *costs;

                if (!stage->per_gpu)
                    continue;
                costs = arena_calloc(arena, from->gpus, sizeof *costs);
                if (!costs)
                    return -ENOMEM;
                memcpy(costs, stage->per_gpu, from->gpus * sizeof *costs);
                stage->per_gpu = costs;
            }
        }
    }
    return 0;
}

/*
 * Rounded up. A sum of scaled pieces is not below the scaled sum, so the last piece is the
 * remainder.
 */
static baton_nsec scaled(baton_nsec length, uint32_t factor)
{
    __extension__ typedef unsigned __int128 wide;

    return (baton_nsec)(((wide)length * factor + SENSITIVITY_ONE - 1) / SENSITIVITY_ONE);
}

static struct gpu_cost scaled_cost(struct gpu_cost cost, uint32_t factor)
{
    return (struct gpu_cost){scaled(cost.length, factor), scaled(cost.piece, factor),
                             scaled(cost.last, factor)};
}

static void scale(const struct pipeline *from, const unsigned char choice[], uint32_t factor,
                  struct pipeline *copy)
{
    for (size_t i = 0; i < from->n_tasks; i++) {
        for (size_t s = 0; s < copy->tasks[i].n_options * from->tasks[i].n_stages; s++) {
            size_t o = s / from->tasks[i].n_stages;
            const struct stage *old =
                &from->tasks[i].options[o ? choice[i] : 0].stages[s % from->tasks[i].n_stages];
            struct stage *stage = &copy->tasks[i].options[o].stages[s % from->tasks[i].n_stages];
            struct gpu_cost *costs = (struct gpu_cost *)stage->per_gpu;
            struct gpu_cost cost = scaled_cost((struct gpu_cost){old->length, old->piece, old->last}, factor);

            stage->length = cost.length;
            stage->piece = cost.piece;
            stage->last = cost.last;
            stage->best = (baton_nsec)((double)old->best * factor / SENSITIVITY_ONE);
            for (unsigned q = 0; costs && q < from->gpus; q++)
                costs[q] = scaled_cost(old->per_gpu[q], factor);
        }
    }
    pipeline_seal(copy);
}

static bool meets(const struct mode_test *test, const struct pipeline *pipeline, const unsigned char choice[],
                  baton_nsec responses[])
{
    size_t n = pipeline->n_tasks;
    struct mode_run run = {.choice = choice, .n_fixed = n, .n_run = n, .cap = 1, .until_miss = true};

    for (size_t i = 0; i < n; i++) {
        if (pipeline->tasks[i].options[choice[i]].total > pipeline->tasks[i].deadline)
            return false;
    }
    test->class->attach(test->state, pipeline);
    return n == 0 || (test->class->run(test->state, &run, responses) == n &&
                      responses[n - 1] <= pipeline->tasks[n - 1].deadline);
}

/* Shared by both searches: the copy, its choice (0 or 1 per task), and room for responses. */
struct bench {
    struct arena arena;
    struct pipeline copy;
    unsigned char *choice;
    baton_nsec *responses;
};

static int set_up(const struct mode_test *test, const unsigned char choice[], struct bench *ret_bench)
{
    size_t n = test->pipeline->n_tasks;
    int result;

    arena_init(&ret_bench->arena, 0);
    result = copy_chosen(&ret_bench->arena, test->pipeline, choice, &ret_bench->copy);
    ret_bench->choice = arena_calloc(&ret_bench->arena, n, 1);
    ret_bench->responses = arena_calloc(&ret_bench->arena, n, sizeof ret_bench->responses[0]);
    if (!result && (!ret_bench->choice || !ret_bench->responses))
        result = -ENOMEM;
    for (size_t i = 0; i < n && !result; i++)
        ret_bench->choice[i] = choice[i] != 0;
    return result;
}

static void tear_down(const struct mode_test *test, struct bench *bench)
{
    test->class->attach(test->state, test->pipeline);
    arena_done(&bench->arena);
}

int sensitivity_factor(const struct mode_test *test, const unsigned char choice[], uint32_t *ret_factor)
{
    uint32_t low = 0; /* schedulable, or no factor is */
    uint32_t high = SENSITIVITY_MAX + 1;
    struct bench bench;
    int result = set_up(test, choice, &bench);

    while (!result && high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        scale(test->pipeline, choice, middle, &bench.copy);
        if (meets(test, &bench.copy, bench.choice, bench.responses))
            low = middle;
        else
            high = middle;
    }
    tear_down(test, &bench);
    if (!result)
        *ret_factor = low;
    return result;
}

int sensitivity_period(const struct mode_test *test, const unsigned char choice[], size_t task,
                       baton_nsec *ret_period)
{
    const struct pipeline_task *from = &test->pipeline->tasks[task];
    baton_nsec low = 0; /* too short */
    baton_nsec high = from->period;
    struct bench bench;
    int result = set_up(test, choice, &bench);

    if (!result && !meets(test, &bench.copy, bench.choice, bench.responses))
        high = -1;
    while (!result && high - low > 1) {
        baton_nsec middle = low + (high - low) / 2;
        struct pipeline_task *changed = &bench.copy.tasks[task];

        changed->period = middle;
        changed->deadline =
            from->deadline == from->period || from->deadline > middle ? middle : from->deadline;
        if (meets(test, &bench.copy, bench.choice, bench.responses))
            high = middle;
        else
            low = middle;
    }
    tear_down(test, &bench);
    if (!result)
        *ret_period = high;
    return result;
}
