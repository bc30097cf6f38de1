#include "blocking.h"

#include <assert.h>
#include <string.h>

#include "base/random.h"

#define MAX_TASKS 16

struct run {
    struct blocking_shape shape;
    struct sched_core *core;
    struct random_state random;
    unsigned longest;
    uint64_t now;
    bool pending[MAX_TASKS], holds[MAX_TASKS];
    unsigned left[MAX_TASKS], blocked[MAX_TASKS], idle[MAX_TASKS];
    struct blocking_report *report;
};

static void tell(struct run *run, struct sched_event event)
{
    const struct sched_decision *decisions;
    size_t n = 0;
    int result;

    event.at = (baton_nsec)run->now;
    result = sched_core_handle(run->core, &event, &decisions, &n);
    assert(result == 0);
    (void)result;
    for (size_t i = 0; i < n; i++) {
        if (decisions[i].action != SCHED_TOKEN)
            continue;
        run->holds[decisions[i].job] = true;
        if (decisions[i].ahead > run->report->max_ahead)
            run->report->max_ahead = decisions[i].ahead;
    }
}

static void release(struct run *run, unsigned t)
{
    tell(run, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                   .client = t,
                                   .job = t,
                                   .deadline_at = (baton_nsec)(run->now + random_below(&run->random, 200))});
    run->pending[t] = true;
    run->holds[t] = false;
    run->blocked[t] = 0;
    run->left[t] =
        random_below(&run->random, 2) ? run->longest : 1 + (unsigned)random_below(&run->random, run->longest);
    run->report->requests++;
    tell(run, (struct sched_event){.kind = SCHED_TOKEN_REQUEST, .job = t, .home = SCHED_NO_GPU});
}

static void complete(struct run *run, unsigned t)
{
    run->holds[t] = false;
    tell(run, (struct sched_event){.kind = SCHED_TOKEN_RELEASE, .job = t});
    tell(run, (struct sched_event){.kind = SCHED_JOB_DONE, .job = t});
    run->pending[t] = false;
    run->idle[t] = (unsigned)random_below(&run->random, 3 * run->longest);
}

/* Does the holder run in this step: are fewer than c holders above it by effective priority? */
static bool runs(const struct run *run, unsigned t)
{
    unsigned above = 0;

    for (unsigned o = 0; o < run->shape.tasks; o++) {
        job_id x = sched_core_effective(run->core, o);
        job_id y = sched_core_effective(run->core, t);

        if (o == t || !run->pending[o] || !run->holds[o])
            continue;
        above += x == y ? o < t : sched_core_above(run->core, x, y);
    }
    return above < run->shape.cpus;
}

static void step(struct run *run)
{
    bool done[MAX_TASKS] = {false};

    for (unsigned t = 0; t < run->shape.tasks; t++) {
        unsigned above = 0;

        if (!run->pending[t])
            continue;
        for (unsigned o = 0; o < run->shape.tasks; o++)
            above += o != t && run->pending[o] && sched_core_above(run->core, o, t);
        if (!run->holds[t] && above < run->shape.cpus && ++run->blocked[t] > run->report->worst)
            run->report->worst = run->blocked[t];
        done[t] = run->holds[t] && runs(run, t) && --run->left[t] == 0;
    }
    run->now++;
    for (unsigned t = 0; t < run->shape.tasks; t++) {
        if (done[t])
            complete(run, t);
    }
    for (unsigned t = 0; t < run->shape.tasks; t++) {
        if (!run->pending[t] && run->idle[t]-- == 0)
            release(run, t);
    }
}

void blocking_measure(const struct blocking_shape *shape, uint64_t seed, unsigned steps, unsigned longest,
                      struct blocking_report *ret_report)
{
    struct sched_config config = {.profile = PROFILE_GPUSYNC,
                                  .policy = POLICY_EDF,
                                  .lock = shape->lock,
                                  .gpus = shape->gpus,
                                  .copy_engines = 1,
                                  .buses = 1,
                                  .tokens_per_gpu = shape->rho,
                                  .cpus = shape->cpus,
                                  .clients = shape->tasks,
                                  .jobs = shape->tasks,
                                  .lanes = 1};
    struct run run = {.shape = *shape, .longest = longest, .report = ret_report};
    int result = sched_core_new(&config, &run.core);

    assert(result == 0 && shape->tasks <= MAX_TASKS);
    (void)result;
    *ret_report = (struct blocking_report){0};
    random_init(&run.random, seed, 0);
    for (unsigned t = 0; t < shape->tasks; t++) {
        tell(&run, (struct sched_event){.kind = SCHED_CLIENT_JOIN, .client = t, .uses_gpu = true});
        run.idle[t] = (unsigned)random_below(&run.random, 2 * longest);
    }
    ret_report->ahead_bound = sched_core_token_bound(run.core, 0);
    ret_report->bound = ret_report->ahead_bound * longest;
    for (unsigned s = 0; s < steps; s++)
        step(&run);
    sched_core_free(run.core);
}
