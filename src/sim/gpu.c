/* Engines and tokens: asks the core, runs pieces once it grants, and goes on at their borders. */
#include "sim/sim_internal.h"

static void began(struct sim *sim, struct sim_task *task)
{
    if (task->engaged++ == 0)
        task->engaged_at = sim->now;
}

/* A job is at one step at a time, so all engines that its lanes hold are of one kind. */
static void ended(struct sim *sim, struct sim_task *task)
{
    if (--task->engaged > 0)
        return;
    task->occupied += sim->now - task->engaged_at;
    if (task->program.steps[task->step].kind == STEP_KERNEL)
        task->computed += sim->now - task->engaged_at;
}

/* The GPUs of a copy: those of the job, or all that its kernels may use. */
static uint64_t copy_gpus(const struct sim *sim, const struct sim_task *task)
{
    uint64_t gpus = task->gpus;
    uint64_t all = sim->config.gpus == 64 ? UINT64_MAX : (UINT64_C(1) << sim->config.gpus) - 1;

    if (sim->profile->tokens)
        return UINT64_C(1) << task->token_gpu;
    for (size_t i = 0; i < task->program.n; i++) {
        const struct step *step = &task->program.steps[i];

        if (step->kind == STEP_KERNEL && step->placement.kind == PLACEMENT_FIXED)
            gpus |= step->placement.gpus;
        else if (step->kind == STEP_KERNEL && step->placement.kind == PLACEMENT_ANY)
            gpus = all;
    }
    return gpus ? gpus : 1;
}

static void ask(struct sim *sim, size_t id, unsigned lane, const struct engine_set *engines, bool one_of)
{
    struct sched_event event = {.kind = SCHED_ENGINE_REQUEST,
                                .at = sim->now,
                                .job = (job_id)id,
                                .lane = lane,
                                .engines = *engines,
                                .one_of = one_of,
                                .home = SCHED_NO_GPU};

    sim_tell_core(sim, &event);
}

/*
 * One lane per bus, each with the copy engines of the GPUs behind it: copies over different buses
 * run in parallel.
 */
static void begin_copy(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    const struct step *step = &task->program.steps[task->step];
    uint64_t gpus = copy_gpus(sim, task);
    unsigned buses = sim->profile->buses && sim->config.buses ? sim->config.buses : 1;
    struct engine_set sets[SCHED_MAX_BUSES];
    bool used[SCHED_MAX_BUSES];
    unsigned lane = 0;

    for (unsigned bus = 0; bus < buses; bus++) {
        sets[bus] = (struct engine_set){0};
        used[bus] = false;
    }
    for (unsigned q = 0; q < sim->config.gpus; q++) {
        unsigned bus = buses > 1 ? sched_bus_of_gpu(sim->core, q) : 0;
        struct engine_set set;

        if (!(gpus >> q & 1))
            continue;
        set = sched_copy_engines(sim->core, q, step->copy);
        for (unsigned w = 0; w < SCHED_MAX_ENGINES / 64; w++)
            sets[bus].bits[w] |= set.bits[w];
        used[bus] = true;
    }
    task->lanes_left = 0;
    for (unsigned bus = 0; bus < buses; bus++)
        task->lanes_left += used[bus];
    for (unsigned l = 0; l < task->lanes_left; l++)
        task->lanes[l] = (struct sim_lane){.cut = &step->cut, .n_pieces = cut_count(&step->cut)};
    for (unsigned bus = 0; bus < buses; bus++) {
        if (used[bus])
            ask(sim, id, lane++, &sets[bus], false);
    }
}

/* The index-th GPU of the set. */
static unsigned nth_gpu(uint64_t gpus, unsigned index)
{
    while (index-- > 0)
        gpus &= gpus - 1;
    return (unsigned)__builtin_ctzll(gpus);
}

static void begin_kernel(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    const struct step *step = &task->program.steps[task->step];
    uint64_t gpus = step->placement.kind == PLACEMENT_FIXED ? step->placement.gpus : task->gpus;
    unsigned lanes = step->lanes;

    if (sim->profile->tokens)
        gpus = UINT64_C(1) << task->token_gpu;
    task->lanes_left = lanes;
    for (unsigned l = 0; l < lanes; l++)
        task->lanes[l] = (struct sim_lane){0};
    for (unsigned l = 0; l < lanes; l++) {
        struct engine_set set = {0};
        bool any = step->placement.kind == PLACEMENT_ANY && !sim->profile->tokens;

        for (unsigned q = 0; any && q < sim->config.gpus; q++)
            engine_set_add(&set, sched_execution_engine(sim->core, q));
        if (!any)
            engine_set_add(&set, sched_execution_engine(sim->core, nth_gpu(gpus, l)));
        ask(sim, id, l, &set, any);
    }
}

static void begin_peer_copy(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    const struct step *step = &task->program.steps[task->step];
    struct engine_set set = {0};

    if (task->home == SCHED_NO_GPU || task->home == task->token_gpu) {
        sim_step_done(sim, id);
        return;
    }
    engine_set_add(&set, sched_copy_engine(sim->core, task->token_gpu, DIRECTION_IN));
    engine_set_add(&set, sched_copy_engine(sim->core, task->home, DIRECTION_OUT));
    task->lanes_left = 1;
    task->lanes[0] = (struct sim_lane){.cut = &step->cut, .n_pieces = cut_count(&step->cut)};
    ask(sim, id, 0, &set, false);
}

void gpu_begin_step(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    const struct step *step = &task->program.steps[task->step];
    struct sched_event event = {.at = sim->now, .job = (job_id)id};

    switch (step->kind) {
    case STEP_COPY:
        begin_copy(sim, id);
        return;
    case STEP_KERNEL:
        begin_kernel(sim, id);
        return;
    case STEP_PEER_COPY:
        begin_peer_copy(sim, id);
        return;
    case STEP_TOKEN:
        event.kind = SCHED_TOKEN_REQUEST;
        event.home = task->home;
        event.cost = task->program.gpu_length;
        sim_tell_core(sim, &event);
        return;
    case STEP_TOKEN_BACK:
    default:
        event.kind = SCHED_TOKEN_RELEASE;
        task->home = task->token_gpu;
        sim_tell_core(sim, &event);
        sim_step_done(sim, id);
        return;
    }
}

void gpu_granted(struct sim *sim, const struct sched_decision *decision)
{
    struct sim_task *task = &sim->tasks[decision->job];
    const struct step *step = &task->program.steps[task->step];
    struct sim_lane *lane = &task->lanes[decision->lane];
    baton_nsec length;

    if (!lane->cut) {
        lane->cut = step->per_gpu ? &step->per_gpu[decision->gpu] : &step->cut;
        lane->n_pieces = cut_count(lane->cut);
    }
    lane->engines = decision->engines;
    lane->engine = decision->engine;
    lane->piece_at = sim->now;
    began(sim, task);
    length = sim_actual(task, cut_piece(lane->cut, lane->piece));
    if (sim->bandwidth && step->kind == STEP_COPY && step->segment != SIZE_MAX &&
        decision->gpu != SCHED_NO_GPU && task->task->segments[step->segment].bytes > 0 &&
        lane->cut->length > 0)
        bandwidth_begin(sim, decision->job, decision->lane, decision->gpu,
                        (double)task->task->segments[step->segment].bytes * (double)length /
                            (double)lane->cut->length);
    else
        timer_arm(&sim->timers, timer_lane(sim, decision->job, decision->lane), sim->now + length);
}

static void report_span(struct sim *sim, size_t id, const struct sim_lane *lane)
{
    const struct sim_task *task = &sim->tasks[id];

    if (!sim->observer || sim->now == lane->piece_at)
        return;
    for (engine_id e = 0; e < sched_engines(sim->core); e++) {
        if (engine_set_has(&lane->engines, e))
            sim->observer->span(sim->observer->context, sim->config.cpus + e, id, task->number,
                                task->program.steps[task->step].segment, lane->piece_at, sim->now);
    }
}

void gpu_piece_over(struct sim *sim, size_t id, unsigned index)
{
    struct sim_task *task = &sim->tasks[id];
    struct sim_lane *lane = &task->lanes[index];
    struct sched_event event = {.at = sim->now, .job = (job_id)id, .lane = index};
    bool last = ++lane->piece == lane->n_pieces;

    ended(sim, task);
    if (sim->bandwidth)
        bandwidth_end(sim, id, index);
    report_span(sim, id, lane);
    if (task->dead) {
        if (task->engaged == 0)
            sim_drained(sim, id);
        return;
    }
    event.kind = last ? SCHED_ENGINE_RELEASE : SCHED_PIECE_DONE;
    lane->done = last;
    sim_tell_core(sim, &event);
    if (last && --task->lanes_left == 0)
        sim_step_done(sim, id);
}

void gpu_token_granted(struct sim *sim, const struct sched_decision *decision)
{
    struct sim_task_result *result = &sim->results[decision->job];

    sim->tasks[decision->job].token_gpu = decision->gpu;
    if (decision->ahead > result->max_ahead)
        result->max_ahead = decision->ahead;
    sim_step_done(sim, decision->job);
}

void gpu_close_spans(struct sim *sim)
{
    for (size_t i = 0; i < sim->n_tasks; i++) {
        const struct sim_task *task = &sim->tasks[i];

        for (unsigned l = 0; task->active && l < sim->lanes; l++) {
            if (sim->timers.place[timer_lane(sim, i, l)] != TIMER_NONE)
                report_span(sim, i, &task->lanes[l]);
        }
    }
}

/* Placement `chosen`: GPUs for this job, before its first copy. */
void gpu_place(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    uint64_t all = sim->config.gpus == 64 ? UINT64_MAX : (UINT64_C(1) << sim->config.gpus) - 1;
    struct sched_event event = {.kind = SCHED_PLACE,
                                .at = sim->now,
                                .job = (job_id)id,
                                .n = task->program.choose,
                                .gpus = all,
                                .home = SCHED_NO_GPU,
                                .cost = task->program.gpu_length};

    const struct sched_decision *decisions;
    size_t n;

    if (sim->run->random_gpus) {
        while ((unsigned)__builtin_popcountll(task->gpus) < task->program.choose)
            task->gpus |= UINT64_C(1) << random_below(&sim->random, sim->config.gpus);
        return;
    }
    /* The next step needs the answer, which can only be PLACED. */
    if (sched_core_handle(sim->core, &event, &decisions, &n) == 0 && n == 1)
        task->gpus = decisions[0].gpus;
}
