#include "cli/profile/task.h"

#include <errno.h>
#include <string.h>

#include "base/demangle.h"

static baton_nsec up(baton_nsec time)
{
    return (time + NSEC_PER_US - 1) / NSEC_PER_US * NSEC_PER_US;
}

static baton_nsec down(baton_nsec time)
{
    return time / NSEC_PER_US * NSEC_PER_US;
}

static baton_nsec mean(baton_nsec sum, size_t n)
{
    return down(sum / (baton_nsec)(n ? n : 1));
}

/* Lengths of step i on 2, 3, ... GPUs. */
static int make_multi(const struct profile_task measured[], unsigned gpus, size_t i, struct arena *arena,
                      struct segment *segment)
{
    if (gpus < 2)
        return 0;
    segment->multi = arena_calloc(arena, gpus - 1, sizeof *segment->multi);
    if (!segment->multi)
        return -ENOMEM;
    for (unsigned k = 1; k < gpus; k++)
        segment->multi[k - 1] = up(measured[k].steps[i].worst);
    segment->n_multi = gpus - 1;
    segment->multi_is_list = true;
    return 0;
}

static const char *copied(struct arena *arena, const char *text)
{
    return *text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

/* The length of the step in the worst job, but no less than what other tasks wait for. */
static baton_nsec in_worst_job(const struct profile_step *step)
{
    baton_nsec least = step->kind == SEGMENT_CPU ? 0 : step->cut ? step->piece : step->worst;

    return step->in_worst > least ? step->in_worst : least;
}

static int make_segment(const struct profile_task measured[], unsigned gpus, size_t i, bool of_worst_job,
                        struct arena *arena, struct segment *segment, struct segment_profile *about)
{
    const struct profile_step *step = &measured[0].steps[i];
    baton_nsec length = of_worst_job ? in_worst_job(step) : step->worst;

    about->worst = up(step->worst);
    about->in_worst_job = up(in_worst_job(step));
    *segment = (struct segment){.kind = step->kind,
                                .length = up(length),
                                .best = down(step->best < length ? step->best : length),
                                .bytes = -1,
                                .piece = step->piece ? up(step->piece) : 0,
                                .gpus = 1};
    if ((step->kind == SEGMENT_COPY_IN || step->kind == SEGMENT_COPY_OUT) && step->bytes > 0)
        segment->bytes = step->bytes;
    about->mean = mean(step->sum, measured[0].jobs);
    if (step->kind == SEGMENT_KERNEL) {
        char readable[DEMANGLE_SIZE];

        demangle_kernel(step->kernel, readable, sizeof readable);
        about->kernel = copied(arena, readable);
        about->unsliced = step->cut ? NULL : copied(arena, step->unsliced);
    }
    return make_multi(measured, gpus, i, arena, segment);
}

/* A pause that is always zero, on any number of GPUs, is no segment. */
static bool is_nothing(const struct profile_task measured[], unsigned gpus, size_t i)
{
    for (unsigned k = 0; k < gpus; k++) {
        if (measured[k].steps[i].kind != SEGMENT_CPU || measured[k].steps[i].worst > 0)
            return false;
    }
    return true;
}

static bool same_steps(const struct profile_task *a, const struct profile_task *b)
{
    if (a->n_steps != b->n_steps)
        return false;
    for (size_t i = 0; i < a->n_steps; i++) {
        if (a->steps[i].kind != b->steps[i].kind || strcmp(a->steps[i].kernel, b->steps[i].kernel) != 0)
            return false;
    }
    return true;
}

static struct task_profile *make_profile(const struct profile_task *measured, const struct profile_wish *wish,
                                         struct arena *arena)
{
    struct task_profile *profile = arena_calloc(arena, 1, sizeof *profile);
    baton_nsec average = mean(measured->sum, measured->jobs);

    if (!profile)
        return NULL;
    *profile = (struct task_profile){
        .jobs = (int64_t)measured->jobs,
        .warm = (int64_t)measured->warm,
        .other_shapes = (int64_t)measured->other_shapes,
        .incomplete = (int64_t)wish->incomplete,
        .waits = (int64_t)measured->waits,
        .explicit_boundaries = measured->explicit_jobs,
        .period_inferred = wish->period == 0,
        .of_worst_job = wish->of_worst_job,
        .other_longest = up(measured->other_longest),
        .shortest = down(measured->shortest),
        .best = down(measured->best),
        .mean = average,
        .worst = up(measured->worst),
        .spread = average > 0 ? (double)(measured->worst - measured->best) / (double)average : 0,
    };
    profile->segments = arena_calloc(arena, measured->n_steps, sizeof *profile->segments);
    return profile->segments ? profile : NULL;
}

int profile_task_make(const struct profile_task measured[], unsigned gpus, const struct profile_wish *wish,
                      struct arena *arena, struct task *ret_task)
{
    baton_nsec period = wish->period ? wish->period : down(measured[0].period);
    struct task task = {.working_set = 4096, .critical_cpu = -1, .period = period};
    int result = 0;

    if (period <= 0)
        return -ENODATA;
    for (unsigned k = 1; k < gpus; k++) {
        if (!same_steps(&measured[0], &measured[k]))
            return -EXDEV;
    }
    task.deadline = wish->deadline ? wish->deadline : period;
    task.no_deadline = wish->no_deadline;
    task.name = arena_strndup(arena, wish->name, strlen(wish->name));
    task.segments = arena_calloc(arena, measured[0].n_steps, sizeof *task.segments);
    task.profile = make_profile(&measured[0], wish, arena);
    if (!task.name || !task.segments || !task.profile)
        return -ENOMEM;
    for (size_t i = 0; i < measured[0].n_steps && !result; i++) {
        if (is_nothing(measured, gpus, i))
            continue;
        result = make_segment(measured, gpus, i, wish->of_worst_job, arena, &task.segments[task.n_segments],
                              &task.profile->segments[task.n_segments]);
        task.n_segments++;
    }
    task.profile->n_segments = task.n_segments;
    if (!result)
        *ret_task = task;
    return result;
}

static struct task *find_task(struct task *tasks, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(tasks[i].name, name) == 0)
            return &tasks[i];
    }
    return NULL;
}

/* A file gives priorities to all of its tasks or to none. */
static void settle_priorities(struct task_set *set)
{
    bool all = true;

    for (size_t i = 0; i < set->n_tasks; i++) {
        all = all && set->tasks[i].priority;
        for (size_t j = 0; j < i; j++)
            all = all && set->tasks[i].priority != set->tasks[j].priority;
    }
    for (size_t i = 0; i < set->n_tasks && !all; i++)
        set->tasks[i].priority = 0;
}

int profile_set_add(struct task_set *set, const struct task *tasks, size_t n, bool replace,
                    const char **ret_name)
{
    struct task *all = arena_calloc(&set->arena, set->n_tasks + n, sizeof *all);

    if (!all)
        return -ENOMEM;
    if (set->n_tasks)
        memcpy(all, set->tasks, set->n_tasks * sizeof *all);
    set->tasks = all;
    for (size_t i = 0; i < n; i++) {
        struct task *same = find_task(all, set->n_tasks, tasks[i].name);

        if (same && !replace) {
            *ret_name = tasks[i].name;
            return -EEXIST;
        }
        if (same)
            *same = tasks[i];
        else
            all[set->n_tasks++] = tasks[i];
    }
    settle_priorities(set);
    return 0;
}
