#include "attack_costs.h"

#include <stdlib.h>

#include "base/random.h"
#include "harness.h"

#define RUNS  8
#define TASKS 16
#define JOBS  4096

struct pending_job {
    size_t task;
    baton_nsec from_at, to_at, point_at;
};

struct watch {
    const struct sim_options *options;
    const struct attack_limits *limits;
    const baton_nsec *offsets;
    struct pending_job jobs[JOBS]; /* in the order of their releases */
    size_t n, last[TASKS];         /* last: the newest job of each task */
};

static void on_span(void *context, size_t row, size_t task, uint64_t job, size_t step, baton_nsec from_at,
                    baton_nsec to_at)
{
    (void)context, (void)row, (void)task, (void)job, (void)step, (void)from_at, (void)to_at;
}

/* A job is released to the core when the task's last one has ended. */
static void on_mark(void *context, enum sim_mark mark, size_t row, size_t task, uint64_t job, size_t other,
                    baton_nsec at)
{
    struct watch *watch = context;
    baton_nsec release_at =
        watch->offsets[task] + (baton_nsec)(job - 1) * watch->options->set->tasks[task].period;

    (void)row, (void)other;
    if (mark == SIM_RELEASE && watch->n < JOBS) {
        watch->last[task] = watch->n;
        watch->jobs[watch->n++] = (struct pending_job){.task = task,
                                                       .from_at = at,
                                                       .to_at = NSEC_MAX,
                                                       .point_at = release_at + watch->limits->points[task]};
    } else if (mark == SIM_COMPLETE) {
        watch->jobs[watch->last[task]].to_at = at;
    }
}

/* A donor is pending until its donation ends (C5). */
static void on_decided(void *context, const struct sched_decision *decision, baton_nsec at)
{
    struct watch *watch = context;

    if (decision->action == SCHED_ENDED)
        watch->jobs[watch->last[decision->job]].to_at = at;
}

static bool is_before(const struct watch *watch, size_t a, size_t b)
{
    const struct pending_job *x = &watch->jobs[a];
    const struct pending_job *y = &watch->jobs[b];

    return x->point_at != y->point_at ? x->point_at < y->point_at : a < b;
}

static int by_time(const void *a, const void *b)
{
    baton_nsec x = *(const baton_nsec *)a;
    baton_nsec y = *(const baton_nsec *)b;

    return (x > y) - (x < y);
}

/* Between any two instants at which some job comes or goes, the same jobs are pending. */
static baton_nsec cost_of(const struct watch *watch, size_t job, baton_nsec end_at)
{
    static baton_nsec instants[2 * JOBS + 2];
    const struct pending_job *its = &watch->jobs[job];
    unsigned cluster = watch->limits->clusters[its->task];
    baton_nsec until = its->to_at < end_at ? its->to_at : end_at;
    baton_nsec cost = 0;
    size_t n = 0;

    instants[n++] = its->from_at;
    instants[n++] = until;
    for (size_t i = 0; i < watch->n; i++) {
        if (watch->jobs[i].from_at > its->from_at && watch->jobs[i].from_at < until)
            instants[n++] = watch->jobs[i].from_at;
        if (watch->jobs[i].to_at > its->from_at && watch->jobs[i].to_at < until)
            instants[n++] = watch->jobs[i].to_at;
    }
    qsort(instants, n, sizeof *instants, by_time);
    for (size_t i = 0; i + 1 < n; i++) {
        unsigned above = 0;

        for (size_t j = 0; j < watch->n; j++)
            above += watch->limits->clusters[watch->jobs[j].task] == cluster && is_before(watch, j, job) &&
                     watch->jobs[j].from_at <= instants[i] && watch->jobs[j].to_at > instants[i];
        cost += above < watch->options->set->platform.cpu_cluster ? instants[i + 1] - instants[i] : 0;
    }
    return cost;
}

static void compare(const struct watch *watch, baton_nsec end_at, const char *text, uint64_t seed,
                    struct attack_tally *tally)
{
    for (size_t i = 0; i < watch->n; i++) {
        const struct pending_job *job = &watch->jobs[i];
        baton_nsec limit = watch->limits->costs[job->task];
        baton_nsec cost = cost_of(watch, i, end_at);
        double ratio = (double)cost / (double)limit;

        ck_assert_msg(cost <= limit, "seed %llu: a job of task %zu costs %.6f ms, and C is %.6f ms\n%s",
                      (unsigned long long)seed, job->task, nsec_to_ms(cost), nsec_to_ms(limit), text);
        tally->jobs++;
        tally->behind += cost < (job->to_at < end_at ? job->to_at : end_at) - job->from_at;
        tally->tight += ratio > 0.99;
        tally->most = ratio > tally->most ? ratio : tally->most;
    }
}

void attack_costs(const struct sim_options *options, const struct attack_limits *limits, const char *text,
                  uint64_t seed, struct attack_tally *tally)
{
    static struct watch watch; /* large */
    const struct sim_observer observer = {
        .context = &watch, .span = on_span, .mark = on_mark, .decided = on_decided};
    struct sim_run run = {.horizon = 400 * NSEC_PER_MS};
    baton_nsec offsets[TASKS];
    struct random_state random;
    struct sim_result result;
    struct sim *sim = NULL;
    const char *reason = "";
    size_t task;

    ck_assert_uint_le(options->set->n_tasks, TASKS);
    ck_assert_msg(sim_new(options, &sim, &reason, &task) == 0, "%s\n%s", reason, text);
    random_init(&random, seed, 99);
    for (int i = 0; i < RUNS; i++) {
        for (size_t t = 0; t < options->set->n_tasks; t++)
            offsets[t] = i ? (baton_nsec)random_below(&random, (uint64_t)options->set->tasks[t].period) : 0;
        run.offsets = offsets;
        run.seed = seed + (uint64_t)i;
        run.random_execution = i % 2;
        run.random_ties = i % 3 == 0;
        run.random_gpus = i % 4 == 3;
        watch = (struct watch){.options = options, .limits = limits, .offsets = offsets};
        sim_run(sim, &run, &observer, &result);
        compare(&watch, result.end, text, seed, tally);
    }
    sim_free(sim);
}
