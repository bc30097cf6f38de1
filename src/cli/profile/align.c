#include "cli/profile/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STANDS_OUT 4 /* a pause longer than the others by this factor ends a job of several waits */

/*
 * A job as the aligner sees it: one or several recorded jobs, with commands in order of start, on
 * one clock.
 */
struct span {
    baton_nsec begin_at, end_at;
    struct aligned_command {
        baton_nsec start_at, end_at;
        const struct job_record_command *record;
    } * commands; /* borrowed from the pool */
    size_t n;
    size_t shape;      /* index of the first span of the same shape */
    size_t next_shape; /* for a first span: index of the next shape's first span; 0: the last */
};

int64_t profile_clock_offset(const struct job_record_command commands[], size_t n)
{
    int64_t least = INT64_MIN;
    int64_t most = INT64_MAX;

    for (size_t i = 0; i < n; i++) {
        const struct job_record_command *c = &commands[i];

        if (c->queued < 0)
            continue;
        if (c->call_at - c->queued > least)
            least = c->call_at - c->queued;
        if (c->return_at - c->queued < most)
            most = c->return_at - c->queued;
        if (c->seen_at - c->end < most)
            most = c->seen_at - c->end;
    }
    if (least == INT64_MIN || (least <= 0 && most >= 0))
        return 0;
    return least <= most ? least : most;
}

static int by_start(const void *a, const void *b)
{
    const struct aligned_command *x = a;
    const struct aligned_command *y = b;

    if (x->start_at != y->start_at)
        return x->start_at < y->start_at ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

static int by_value(const void *a, const void *b)
{
    baton_nsec x = *(const baton_nsec *)a;
    baton_nsec y = *(const baton_nsec *)b;

    return (x > y) - (x < y);
}

static baton_nsec median(baton_nsec values[], size_t n)
{
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, by_value);
    return values[n / 2];
}

static void lay_out(const struct profile_job *job, struct span *span, struct aligned_command *pool)
{
    int64_t offset = profile_clock_offset(job->commands, job->n_commands);

    *span = (struct span){job->job.begin_at, job->job.end_at, pool, job->n_commands, 0, 0};
    for (size_t i = 0; i < job->n_commands; i++) {
        const struct job_record_command *record = &job->commands[i];
        int64_t add = record->queued < 0 ? 0 : offset;

        pool[i] = (struct aligned_command){record->start + add, record->end + add, record};
    }
    qsort(pool, span->n, sizeof *pool, by_start);
}

static bool same_shape(const struct span *a, const struct span *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct job_record_command *x = a->commands[i].record;
        const struct job_record_command *y = b->commands[i].record;

        if (x->engine != y->engine || strcmp(x->name, y->name) != 0)
            return false;
    }
    return true;
}

/*
 * Gives every span the index of the first span of the same shape. Few shapes are expected; many
 * cost time, not correctness.
 */
static void find_shapes(struct span spans[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;

        spans[i].next_shape = 0;
        while (!same_shape(&spans[i], &spans[j]) && spans[j].next_shape)
            j = spans[j].next_shape;
        if (same_shape(&spans[i], &spans[j])) { /* the first span refers to itself */
            spans[i].shape = j;
        } else {
            spans[i].shape = i;
            spans[j].next_shape = i;
        }
    }
}

/* Do at least nine of ten spans have the shape of the span k later? */
static bool repeats(const struct span spans[], size_t n, size_t k)
{
    size_t same = 0;

    if (n < 3 * k)
        return false;
    for (size_t i = 0; i + k < n; i++)
        same += spans[i].shape == spans[i + k].shape;
    return same * 10 >= (n - k) * 9;
}

/* The phase that follows a pause much longer than those of the other phases; k: there is none. */
static size_t find_phase(const struct span spans[], size_t n, size_t k, baton_nsec scratch[])
{
    baton_nsec pauses[PROFILE_MAX_WAITS] = {0};
    baton_nsec second = 0;
    size_t longest = 0;

    for (size_t phase = 0; phase < k; phase++) {
        size_t m = 0;

        for (size_t i = phase ? phase : k; i < n; i += k)
            scratch[m++] = spans[i].begin_at - spans[i - 1].end_at;
        pauses[phase] = median(scratch, m);
        if (pauses[phase] > pauses[longest])
            longest = phase;
    }
    for (size_t phase = 0; phase < k; phase++) {
        if (phase != longest && pauses[phase] > second)
            second = pauses[phase];
    }
    return pauses[longest] > STANDS_OUT * second ? longest : k;
}

/*
 * Joins the spans of several waits into one each. Answers the new number of spans. The commands of
 * neighbours are adjacent in the pool. Spans before the first complete group and after the last are
 * dropped.
 */
static size_t join_waits(struct span spans[], size_t n, baton_nsec scratch[], size_t *ret_waits)
{
    size_t made = 0;
    size_t k = 1;
    size_t phase;

    while (k <= PROFILE_MAX_WAITS && !repeats(spans, n, k))
        k++;
    *ret_waits = 1;
    if (k == 1 || k > PROFILE_MAX_WAITS)
        return n;
    phase = find_phase(spans, n, k, scratch);
    if (phase == k)
        return n;
    for (size_t i = phase; i + k <= n; i += k) {
        struct span joined = spans[i];

        for (size_t j = 1; j < k; j++) {
            joined.end_at = spans[i + j].end_at;
            joined.n += spans[i + j].n;
        }
        spans[made++] = joined;
    }
    *ret_waits = k;
    find_shapes(spans, made);
    return made;
}

static size_t most_frequent(const struct span spans[], size_t n)
{
    size_t best = 0;
    size_t best_n = 0;

    for (size_t i = 0; i < n; i++) {
        size_t count = 0;

        if (spans[i].shape != i)
            continue;
        for (size_t j = i; j < n; j++)
            count += spans[j].shape == i;
        if (count > best_n) {
            best = i;
            best_n = count;
        }
    }
    return best;
}

static void take_length(struct profile_step *step, baton_nsec length, bool first)
{
    length = length > 0 ? length : 0;
    step->latest = length;
    step->sum += length;
    if (length > step->worst)
        step->worst = length;
    if (first || length < step->best)
        step->best = length;
}

static void take_command(struct profile_step *step, const struct aligned_command *command, bool first)
{
    static const enum segment_kind kinds[ENGINE_N] = {[ENGINE_EXECUTION] = SEGMENT_KERNEL,
                                                      [ENGINE_COPY_IN] = SEGMENT_COPY_IN,
                                                      [ENGINE_COPY_OUT] = SEGMENT_COPY_OUT};
    const struct job_record_command *record = command->record;
    baton_nsec length = command->end_at - command->start_at;
    baton_nsec unbroken = record->pieces > 1 ? record->longest_piece : length;

    take_length(step, length, first);
    step->kind = kinds[record->engine];
    step->kernel = record->name;
    if (first || record->why[0])
        step->unsliced = record->why;
    step->cut += record->pieces > 1;
    if (record->bytes > step->bytes)
        step->bytes = record->bytes;
    if (unbroken > step->piece)
        step->piece = unbroken;
}

/* Adds one job to the steps: a pause, a command, a pause, ..., a pause. */
static void take_span(struct profile_task *task, const struct span *span, bool first)
{
    baton_nsec busy_until = span->begin_at;
    baton_nsec response = span->end_at - span->begin_at;

    for (size_t i = 0; i < span->n; i++) {
        const struct aligned_command *command = &span->commands[i];

        task->overlaps += i > 0 && command->start_at < busy_until;
        take_length(&task->steps[2 * i], command->start_at - busy_until, first);
        take_command(&task->steps[2 * i + 1], command, first);
        if (command->end_at > busy_until)
            busy_until = command->end_at;
    }
    take_length(&task->steps[2 * span->n], span->end_at - busy_until, first);
    task->sum += response;
    if (first || response > task->worst) {
        task->worst = response;
        for (size_t i = 0; i < task->n_steps; i++)
            task->steps[i].in_worst = task->steps[i].latest;
    }
    if (first || response < task->best)
        task->best = response;
    task->jobs++;
}

static void find_period(const struct span spans[], size_t n, baton_nsec scratch[], struct profile_task *task)
{
    for (size_t i = 1; i < n; i++) {
        scratch[i - 1] = spans[i].begin_at - spans[i - 1].begin_at;
        if (i == 1 || scratch[i - 1] < task->shortest)
            task->shortest = scratch[i - 1];
    }
    task->period = n > 1 ? median(scratch, n - 1) : 0;
}

static int measure(const struct span spans[], size_t n, struct profile_task *task)
{
    size_t shape = most_frequent(spans, n);

    task->n_steps = 2 * spans[shape].n + 1;
    task->steps = calloc(task->n_steps, sizeof *task->steps);
    if (!task->steps)
        return -ENOMEM;
    for (size_t i = 0; i < task->n_steps; i += 2)
        task->steps[i] = (struct profile_step){.kind = SEGMENT_CPU, .kernel = "", .unsliced = ""};
    for (size_t i = 0; i < n; i++) {
        baton_nsec response = spans[i].end_at - spans[i].begin_at;

        if (spans[i].shape == shape) {
            take_span(task, &spans[i], task->jobs == 0);
        } else {
            task->other_shapes++;
            if (response > task->other_longest)
                task->other_longest = response;
        }
    }
    for (size_t i = 0; i < task->n_steps; i++) {
        if (!task->steps[i].cut)
            task->steps[i].piece = 0; /* whole in every job */
    }
    return 0;
}

int profile_align(const struct profile_log *log, size_t warm, struct profile_task *ret_task)
{
    struct span *spans = calloc(log->n_jobs ? log->n_jobs : 1, sizeof *spans);
    struct aligned_command *pool = calloc(log->n_commands ? log->n_commands : 1, sizeof *pool);
    baton_nsec *scratch = calloc(log->n_jobs ? log->n_jobs : 1, sizeof *scratch);
    struct profile_task task = {.warm = warm, .waits = 1};
    size_t n = log->n_jobs;
    size_t used = 0;
    int result = spans && pool && scratch ? 0 : -ENOMEM;

    for (size_t i = 0; i < n && !result; i++) {
        lay_out(&log->jobs[i], &spans[i], pool + used);
        used += log->jobs[i].n_commands;
        task.explicit_jobs |= log->jobs[i].job.explicit_job;
    }
    if (!result) {
        find_shapes(spans, n);
        if (!task.explicit_jobs)
            n = join_waits(spans, n, scratch, &task.waits);
        task.first = n ? spans[0].end_at - spans[0].begin_at : 0;
    }
    if (!result && n <= warm)
        result = -ENODATA;
    if (!result) {
        /* indices count from the first span after the warm-up */
        find_shapes(spans + warm, n - warm);
        find_period(spans + warm, n - warm, scratch, &task);
        result = measure(spans + warm, n - warm, &task);
    }
    free(spans);
    free(pool);
    free(scratch);
    if (!result)
        *ret_task = task;
    return result;
}

void profile_task_done(struct profile_task *task)
{
    free(task->steps);
    *task = (struct profile_task){0};
}
