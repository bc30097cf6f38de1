#include "sim/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_internal.h"
#include "sim/times.h"

/* Feeding the core. */

void sim_mark(struct sim *sim, enum sim_mark mark, size_t row, size_t task, size_t other)
{
    if (sim->observer)
        sim->observer->mark(sim->observer->context, mark, row, task, sim->tasks[task].number, other,
                            sim->now);
}

static void keep(struct sim *sim, const struct sched_decision *decision)
{
    if (sim->todo_n == sim->todo_room) {
        size_t room = sim->todo_room * 2 + 1;
        struct sched_decision *larger = calloc(room, sizeof *larger);

        assert(larger);
        for (size_t i = 0; i < sim->todo_n; i++)
            larger[i] = sim->todo[(sim->todo_first + i) % sim->todo_room];
        free(sim->todo);
        sim->todo = larger;
        sim->todo_room = room;
        sim->todo_first = 0;
    }
    sim->todo[(sim->todo_first + sim->todo_n++) % sim->todo_room] = *decision;
}

/*
 * With overheads, the event latency delays the notice of a release; the response counts from the
 * release itself.
 */
static void begin_next_job(struct sim *sim, size_t id)
{
    baton_nsec release_at = sim->tasks[id].next_release_at;

    if (release_at >= sim->run->horizon || sim->tasks[id].dead)
        return;
    if (sim->options.overheads)
        release_at += sim->options.set->platform.overheads.event_latency;
    timer_arm(&sim->timers, timer_release(sim, id), release_at > sim->now ? release_at : sim->now);
}

static void carry_out(struct sim *sim, const struct sched_decision *decision)
{
    if (sim->tasks[decision->job].dead)
        return; /* the core decided this before the task died in the same step */
    switch (decision->action) {
    case SCHED_GRANT:
        gpu_granted(sim, decision);
        break;
    case SCHED_TOKEN:
        gpu_token_granted(sim, decision);
        break;
    case SCHED_YIELD:
        sim->result->yields++;
        sim_mark(sim, SIM_YIELD, sim->config.cpus + decision->engine, decision->job, SIZE_MAX);
        break;
    case SCHED_SUSPEND:
    case SCHED_RESUME:
        cpu_suspend(sim, decision->job, decision->action == SCHED_SUSPEND);
        if (decision->action == SCHED_SUSPEND)
            sim_mark(sim, SIM_SUSPEND, SIZE_MAX, decision->job, SIZE_MAX);
        break;
    case SCHED_ENDED:
        sim->tasks[decision->job].deferred = sim->tasks[decision->job].active = false;
        cpu_suspend(sim, decision->job, false);
        begin_next_job(sim, decision->job);
        break;
    default:
        break;
    }
}

/* When a job exceeds its budget, or gets its next one. */
static void arm_budget(struct sim *sim)
{
    baton_nsec next = sim->options.budgets ? sched_core_next_tick(sim->core, sim->now) : NSEC_MAX;

    if (next != NSEC_MAX)
        timer_arm(&sim->timers, timer_budget(sim), sim->now + next);
    else if (sim->options.budgets)
        timer_disarm(&sim->timers, timer_budget(sim));
}

void sim_tell_core(struct sim *sim, struct sched_event *event)
{
    const struct sched_decision *decisions;
    size_t n = 0;
    bool ranks = false;
    int result = sched_core_handle(sim->core, event, &decisions, &n);

    assert(result == 0);
    (void)result;
    for (size_t i = 0; i < n; i++) {
        if (sim->observer && sim->observer->decided)
            sim->observer->decided(sim->observer->context, &decisions[i], sim->now);
        ranks |= decisions[i].action == SCHED_OVERRUN;
        if (decisions[i].action != SCHED_EFF) {
            keep(sim, &decisions[i]);
            continue;
        }
        ranks = true;
        if (decisions[i].as != decisions[i].job) {
            sim->result->inheritances++;
            sim_mark(sim, SIM_INHERIT, SIZE_MAX, decisions[i].job, decisions[i].as);
        }
    }
    if (ranks && sim->profile->tokens)
        cpu_sort(sim); /* in other profiles a holder of engines is never ready */
    if (sim->busy)
        return;
    sim->busy = true;
    while (sim->todo_n) {
        struct sched_decision next = sim->todo[sim->todo_first];

        sim->todo_first = (sim->todo_first + 1) % sim->todo_room;
        sim->todo_n--;
        carry_out(sim, &next);
    }
    sim->busy = false;
    arm_budget(sim);
}

/* Jobs. */

baton_nsec sim_actual(const struct sim_task *task, baton_nsec worst)
{
    if (task->factor >= 1)
        return worst;
    return (baton_nsec)((double)worst * task->factor);
}

/* How long the present step takes, as a fraction of its worst case. */
static double draw_factor(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    const struct step *step = &task->program.steps[task->step];
    const struct sim_times *times = sim->options.times;
    double lowest;

    if (step->cut.length <= 0)
        return 1;
    if (times && times->tasks[id].n_jobs && step->segment != SIZE_MAX) {
        size_t row = (size_t)((task->number - 1) % times->tasks[id].n_jobs);
        baton_nsec length = times->tasks[id].lengths[row * task->task->n_segments + step->segment];

        return task->task->segments[step->segment].length
                   ? (double)length / (double)task->task->segments[step->segment].length
                   : 1;
    }
    if (!sim->run->random_execution || random_below(&sim->random, 2) == 0)
        return 1;
    lowest = (double)step->best / (double)step->cut.length;
    return lowest + (1 - lowest) * random_unit(&sim->random);
}

static void finish_job(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    struct sim_task_result *result = &sim->results[id];
    struct sched_event event = {.kind = SCHED_JOB_DONE, .at = sim->now, .job = (job_id)id};
    baton_nsec response = sim->now - task->release_at;

    result->jobs++;
    quantiles_add(&result->response, response);
    quantiles_add(&result->occupying, task->occupied);
    quantiles_add(&result->pending, response > task->occupied ? response - task->occupied : 0);
    result->compute += task->computed;
    result->copy += task->occupied - task->computed;
    if (response > result->max_response)
        result->max_response = response;
    sim_mark(sim, SIM_COMPLETE, SIZE_MAX, id, SIZE_MAX);
    if (response > task->task->deadline && !task->task->no_deadline) {
        result->misses++;
        sim_mark(sim, SIM_MISS, SIZE_MAX, id, SIZE_MAX);
    }
    sim_tell_core(sim, &event);
    task->deferred = sched_core_has_job(sim->core, (job_id)id);
    if (task->deferred)
        return;
    task->active = false;
    begin_next_job(sim, id);
}

static void begin_step(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    const struct step *step;

    if (task->step == task->program.n) {
        finish_job(sim, id);
        return;
    }
    step = &task->program.steps[task->step];
    task->factor = draw_factor(sim, id);
    if (step->kind == STEP_CPU) {
        task->left = sim_actual(task, step->cut.length);
        cpu_enter(sim, id);
        return;
    }
    if (task->program.choose && !task->gpus && !sim->profile->tokens)
        gpu_place(sim, id);
    gpu_begin_step(sim, id);
}

void sim_step_done(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    const struct step *step = &task->program.steps[task->step];
    const struct overheads *o = &sim->options.set->platform.overheads;

    if (sim->options.overheads && !task->delayed && (step->kind == STEP_COPY || step->kind == STEP_KERNEL)) {
        task->delayed = true;
        timer_arm(&sim->timers, timer_cpu(sim, id),
                  sim->now + o->gpu_top_half + o->gpu_bottom_half + o->syscall_in + o->syscall_out);
        return;
    }
    task->delayed = false;
    task->step++;
    begin_step(sim, id);
}

static baton_nsec gap(struct sim *sim, struct sim_task *task)
{
    baton_nsec period = task->task->period;

    if (!sim->run->sporadic || random_below(&task->random, 2) == 0)
        return period;
    return period + (baton_nsec)random_below(&task->random, (uint64_t)period + 1);
}

static void begin_job(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    struct sched_event event = {.kind = SCHED_JOB_RELEASE,
                                .at = sim->now,
                                .client = (client_id)id,
                                .job = (job_id)id,
                                .admitted = true,
                                .no_deadline = task->task->no_deadline,
                                .priority = task->priority,
                                .cost = task->program.cost};

    task->active = true;
    task->number++;
    task->release_at = task->next_release_at;
    task->next_release_at += gap(sim, task);
    task->step = 0;
    task->occupied = task->computed = 0;
    task->gpus = 0;
    event.deadline_at = task->release_at + task->task->deadline;
    event.budget = sim->options.budgets ? sim->options.budgets[id] : 0;
    event.period = task->task->period;
    event.release_at = task->release_at;
    if (sim->config.policy == POLICY_FAIR_LATENESS && sim->options.points) {
        event.deadline_at = task->release_at + sim->options.points[id];
        event.cost = 0;
    }
    sim_mark(sim, SIM_RELEASE, SIZE_MAX, id, SIZE_MAX);
    sim_tell_core(sim, &event);
    begin_step(sim, id);
}

/* Deaths. */

void sim_drained(struct sim *sim, size_t id)
{
    struct sched_event event = {.kind = SCHED_CLIENT_DRAINED, .at = sim->now, .client = (client_id)id};

    sim_tell_core(sim, &event);
}

static void die(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    struct sched_event event = {.kind = SCHED_CLIENT_GONE, .at = sim->now, .client = (client_id)id};

    task->dead = true;
    task->active = task->deferred = false;
    timer_disarm(&sim->timers, timer_release(sim, id));
    if (task->delayed)
        timer_disarm(&sim->timers, timer_cpu(sim, id));
    cpu_suspend(sim, id, false);
    cpu_leave(sim, id);
    sim_tell_core(sim, &event);
    if (task->engaged == 0)
        sim_drained(sim, id);
}

/* Running. */

static void arm_tick(struct sim *sim)
{
    const struct overheads *o = &sim->options.set->platform.overheads;

    if (sim->options.overheads && o->tick > 0 && o->tick_period > 0)
        timer_arm(&sim->timers, timer_tick(sim), sim->now + o->tick_period);
}

static void reset(struct sim *sim)
{
    const struct sim_run *run = sim->run;

    sim->now = 0;
    sim->todo_first = sim->todo_n = 0;
    random_init(&sim->random, run->seed, 0);
    timers_reset(&sim->timers, run->random_ties ? &sim->random : NULL);
    cpu_reset(sim);
    bandwidth_reset(sim);
    memset(sim->results, 0, sim->n_tasks * sizeof *sim->results);
    sched_core_reset(sim->core);
    for (size_t i = 0; i < sim->n_tasks; i++) {
        struct sim_task *task = &sim->tasks[i];
        struct sched_event join = {.kind = SCHED_CLIENT_JOIN,
                                   .client = (client_id)i,
                                   .uses_gpu = task->program.uses_gpu,
                                   .gpu_cluster = task->gpu_cluster,
                                   .cpu_cluster = task->cpu_cluster};

        task->active = task->deferred = task->ready = task->suspended = task->delayed = task->dead = false;
        task->number = 0;
        task->engaged = 0;
        task->cpu = task->last_cpu = NO_CPU;
        task->home = SCHED_NO_GPU;
        random_init(&task->random, run->seed, 1 + i);
        task->next_release_at = run->offsets ? run->offsets[i] : 0;
        sim_tell_core(sim, &join);
        begin_next_job(sim, i);
        if (run->deaths)
            timer_arm(&sim->timers, timer_death(sim, i), run->deaths[i]);
    }
    arm_tick(sim);
}

static void fire(struct sim *sim, uint32_t timer)
{
    uint32_t lanes = (uint32_t)(sim->n_tasks * sim->lanes);

    sim->result->events++;
    if (timer < lanes) {
        gpu_piece_over(sim, timer / sim->lanes, timer % sim->lanes);
    } else if (timer < lanes + sim->n_tasks) {
        size_t id = timer - lanes;

        if (sim->tasks[id].delayed)
            sim_step_done(sim, id);
        else
            cpu_step_over(sim, id);
    } else if (timer < timer_tick(sim)) {
        if (sim->options.overheads)
            cpu_release_interrupt(sim, timer - lanes - sim->n_tasks);
        begin_job(sim, timer - lanes - sim->n_tasks);
    } else if (timer == timer_budget(sim)) {
        sim_tell_core(sim, &(struct sched_event){.kind = SCHED_TICK, .at = sim->now});
    } else if (timer > timer_tick(sim)) {
        die(sim, timer - timer_tick(sim) - 1);
    } else {
        cpu_tick(sim);
        arm_tick(sim);
    }
}

/*
 * Jobs that did not end count with the time that they have waited; those past their deadline missed
 * it.
 */
static void count_unfinished(struct sim *sim)
{
    for (size_t i = 0; i < sim->n_tasks; i++) {
        struct sim_task *task = &sim->tasks[i];
        struct sim_task_result *result = &sim->results[i];
        baton_nsec release_at = task->release_at;
        bool there = task->active && !task->deferred;

        for (; there || (task->next_release_at < sim->now && !task->dead); there = false) {
            if (!there) {
                release_at = task->next_release_at;
                task->next_release_at += gap(sim, task);
            }
            result->unfinished++;
            if (sim->now - release_at > result->max_response)
                result->max_response = sim->now - release_at;
            result->misses += !task->task->no_deadline && sim->now - release_at > task->task->deadline;
        }
        if (task->cpu != NO_CPU)
            cpu_leave(sim, i);
    }
}

void sim_run(struct sim *sim, const struct sim_run *run, const struct sim_observer *observer,
             struct sim_result *ret_result)
{
    uint32_t timer;

    *ret_result = (struct sim_result){.tasks = sim->results, .n_tasks = sim->n_tasks};
    sim->run = run;
    sim->observer = observer;
    sim->result = ret_result;
    reset(sim);
    while ((timer = timers_next(&sim->timers)) != TIMER_NONE) {
        if (sim->timers.due[timer] > run->horizon) {
            timer_arm(&sim->timers, timer, sim->timers.due[timer]);
            break;
        }
        sim->now = sim->timers.due[timer];
        fire(sim, timer);
    }
    sim->now = run->horizon;
    gpu_close_spans(sim);
    count_unfinished(sim);
    ret_result->end = sim->now;
}
