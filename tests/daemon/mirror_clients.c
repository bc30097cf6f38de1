/* The clients of the served half: jobs as frames, and the server that they connect to. */
#include "mirror_machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void say(struct machine_world *world, size_t id, struct frame frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_int_eq(
        server_receive(world->server, (unsigned)id, bytes, frame_encode(&frame, bytes), world->now), 0);
    react(world);
}

static void say_job(struct machine_world *world, size_t id, uint32_t what)
{
    const struct client *client = &world->clients[id];
    /* a rank of its own for no deadline; budgets need the instant of the release itself */
    baton_nsec shift = world->tokens && !world->mirror->has_budgets ? NSEC_PER_SEC : 0;
    baton_nsec deadline_at = client->release_at + shift + client->model->task->deadline;

    if (world->tokens || world->mirror->has_budgets)
        say(world, id,
            (struct frame){
                .type = FRAME_JOB,
                .job = {.what = what, .deadline_at = what == JOB_SAID ? (uint64_t)deadline_at : 0}});
}

/* ---- steps ---- */

static void ask(struct machine_world *world, size_t id, unsigned gpu, enum engine_kind engine,
                const struct cut *cut)
{
    struct client *client = &world->clients[id];

    client->lease = gpu * ENGINE_N + engine;
    client->cut = cut;
    client->piece = 0;
    client->n_pieces = cut_count(cut);
    say(world, id,
        (struct frame){.type = FRAME_REQUEST, .request = {.index = client->lease, .epoch = ++client->epoch}});
}

void place(struct machine_world *world, size_t id, unsigned home)
{
    struct client *client = &world->clients[id];
    struct frame frame = {.type = FRAME_PLACE,
                          .place = {.number = ++client->placings,
                                    .n = 1,
                                    .home = home == SCHED_NO_GPU ? FRAME_NO_LEASE : home * ENGINE_N,
                                    .work = (uint64_t)client->model->program.gpu_length}};

    for (unsigned q = 0; q < world->model->config.gpus; q++)
        frame.place.leases |= UINT32_C(1) << (q * ENGINE_N);
    client->placed = -1;
    say(world, id, frame);
}

/* The GPU of its kernels and copies: of the token, fixed, or chosen at the first of them. */
static unsigned gpu_of(struct machine_world *world, size_t id)
{
    struct client *client = &world->clients[id];
    const struct task *task = client->model->task;

    if (world->tokens)
        return client->token_gpu;
    if (task->placement.kind == PLACEMENT_FIXED)
        return (unsigned)__builtin_ctzll(task->placement.gpus);
    if (client->placed < 0)
        place(world, id, SCHED_NO_GPU);
    ck_assert_int_ge(client->placed, 0);
    return (unsigned)client->placed;
}

void begin_step(struct machine_world *world, size_t id)
{
    struct client *client = &world->clients[id];
    const struct step *step = &client->model->program.steps[client->step];

    if (client->step == client->model->program.n) {
        mirror_add(&world->mirror->served,
                   (struct mirror_record){.at = world->now, .what = MIRROR_END, .job = (unsigned)id});
        if (!world->tokens && client->placed >= 0)
            say(world, id, (struct frame){.type = FRAME_PLACE, .place = {.home = FRAME_NO_LEASE}});
        client->active = false;
        client->deferred = true; /* unless the end was not deferred: found below */
        say_job(world, id, JOB_ENDS);
        if (world->tokens && server_has_job(world->server, (unsigned)id))
            return;
        if (!client->deferred)
            return; /* it ended while we said so, and the next release is armed */
        client->deferred = false;
        if (client->next_release_at < world->run->horizon)
            timer_arm(&world->timers, timer_release(world->model, id),
                      client->next_release_at > world->now ? client->next_release_at : world->now);
        return;
    }
    switch (step->kind) {
    case STEP_CPU:
        client->left = step->cut.length;
        client->ready = true;
        settle(world);
        return;
    case STEP_COPY:
        ask(world, id, gpu_of(world, id), step->copy == DIRECTION_IN ? ENGINE_COPY_IN : ENGINE_COPY_OUT,
            &step->cut);
        return;
    case STEP_KERNEL:
        ask(world, id, gpu_of(world, id), ENGINE_EXECUTION, &step->cut);
        return;
    case STEP_TOKEN:
        place(world, id, client->home);
        return;
    case STEP_TOKEN_BACK:
        client->home = client->token_gpu;
        say_job(world, id, JOB_GPU_OVER);
        step_done(world, id);
        return;
    case STEP_PEER_COPY:
    default:
        if (client->home == SCHED_NO_GPU || client->home == client->token_gpu)
            step_done(world, id);
        else
            ask(world, id, client->home, ENGINE_COPY_OUT, &step->cut);
    }
}

static void piece_over(struct machine_world *world, size_t id)
{
    struct client *client = &world->clients[id];
    struct frame frame = {.type = FRAME_RELEASE, .release = {.index = client->lease, .epoch = client->epoch}};
    bool last = ++client->piece == client->n_pieces;

    client->holds = false;
    if (client->dead) {
        server_exited(world->server, (unsigned)id, world->now);
        react(world);
        return;
    }
    atomic_store(&client->page->leases[client->lease].word, 0);
    if (!last)
        frame.release.next = ++client->epoch;
    say(world, id, frame);
    if (last)
        step_done(world, id);
}

static void begin_job(struct machine_world *world, size_t id)
{
    struct client *client = &world->clients[id];
    baton_nsec period = client->model->task->period;

    client->active = true;
    client->release_at = client->next_release_at;
    client->next_release_at += period;
    if (random_below(&client->random, 2) != 0)
        client->next_release_at += (baton_nsec)random_below(&client->random, (uint64_t)period + 1);
    client->step = 0;
    client->placed = -1;
    say_job(world, id, JOB_SAID);
    begin_step(world, id);
}

static void die(struct machine_world *world, size_t id)
{
    struct client *client = &world->clients[id];

    client->dead = true;
    client->active = false;
    timer_disarm(&world->timers, timer_release(world->model, id));
    cpu_leaves(world, id);
    client->lost = true;
    (void)server_lost(world->server, (unsigned)id, world->now);
    react(world);
}

/* ---- start and end ---- */

static baton_nsec point_of(const struct sim *model, const struct sim_task *task)
{
    baton_nsec c = model->config.cpu_cluster;
    baton_nsec cost = task->program.cost;

    return task->task->deadline - (cost / c * (c - 1) + cost % c * (c - 1) / c);
}

static void give_plan(struct machine_world *world)
{
    struct plan_task tasks[MAX_TASKS];
    struct plan plan = {
        .analysis = "gpusync", .profile = sched_profiles[world->mirror->profile].name, .tasks = tasks};

    for (size_t i = 0; i < world->n; i++) {
        const struct sim_task *task = world->clients[i].model;

        tasks[plan.n_tasks++] = (struct plan_task){
            .name = task->task->name,
            .priority = task->priority ? task->priority : (unsigned)(99 - i),
            .gpus = 1,
            .placement = task->task->placement,
            .gpu_cluster = task->gpu_cluster,
            .cpu_cluster = task->cpu_cluster,
            .bound = -1,
            .period = task->task->period,
            .deadline = task->task->deadline,
            .has_point = true,
            .point = point_of(world->model, task),
            .budget = world->mirror->has_budgets ? world->mirror->budgets[i] : 0,
        };
    }
    ck_assert_int_eq(server_set_plan(world->server, &plan, "plan", world->now), 0);
}

static void connect_client(struct machine_world *world, size_t id)
{
    struct client *client = &world->clients[id];
    const struct task *task = client->model->task;
    const struct credentials who = {.pid = FIRST_PID + (pid_t)id};
    struct frame hello = {.type = FRAME_HELLO,
                          .hello = {.version = FRAME_VERSION,
                                    .flags = HELLO_TASK,
                                    .key = id,
                                    .period = (uint64_t)task->period,
                                    .deadline = (uint64_t)task->deadline}};
    unsigned slot;

    (void)snprintf(hello.hello.name, sizeof hello.hello.name, "%s", task->name);
    ck_assert_int_eq(server_accept(world->server, &who, world->now, &slot), 0);
    ck_assert_uint_eq(slot, id);
    say(world, id, hello);
    say(world, id, (struct frame){.type = FRAME_THREAD, .thread = {.tid = FIRST_PID + (uint32_t)id}});
    for (unsigned q = 0; client->model->program.uses_gpu && q < world->model->config.gpus; q++) {
        for (unsigned e = 0; e < ENGINE_N; e++) {
            struct frame frame = {.type = FRAME_ATTACH, .attach = {.index = q * ENGINE_N + e, .engine = e}};

            (void)snprintf(frame.attach.device, sizeof frame.attach.device, "gpu:%u", q);
            say(world, id, frame);
        }
    }
}

static void start_server(struct machine_world *world)
{
    const struct server_host host = {.user = world,
                                     .page_new = page_new,
                                     .page_free = page_free,
                                     .wake = wake,
                                     .boost = boost,
                                     .report = report,
                                     .machine = machine,
                                     .order = order,
                                     .decided = decided};
    const struct server_start begin = {
        .generation = 1, .pid = 1, .about = ABOUT_BOOSTS, .now_at = world->now};
    const struct sched_config *from = &world->model->config;
    struct config *config = calloc(1, sizeof *config);
    char name[32];

    config_init(config);
    config->profile = from->profile;
    config->policy = from->policy;
    config->lock = from->lock;
    config->tokens_per_gpu = from->tokens_per_gpu;
    config->gpu_cluster = from->gpu_cluster;
    config->cpu_cluster = from->cpu_cluster;
    config->devices = from->gpus;
    config->copy_engines = from->copy_engines;
    config->buses = from->buses;
    config->clients = MAX_TASKS;
    config->settle = 0;
    config->overrun = from->overrun == SCHED_OVERRUN_DEMOTE     ? OVERRUN_DEMOTE
                      : from->overrun == SCHED_OVERRUN_THROTTLE ? OVERRUN_THROTTLE
                                                                : OVERRUN_END; /* no host.end: told only */
    config->partitioned = true;
    for (unsigned i = 0; i < from->cpus; i++)
        core_set_add(&config->program_cores, i);
    core_set_add(&config->device_cores, from->cpus);
    ck_assert_int_eq(server_new(config, &host, &begin, &world->server), 0);
    free(config);
    for (unsigned q = 0; q < from->gpus; q++) {
        (void)snprintf(name, sizeof name, "gpu:%u", q);
        ck_assert_int_eq(server_add_device(world->server, name, "a GPU"), 0);
    }
}

static void fire(struct machine_world *world, uint32_t timer)
{
    uint32_t lanes = (uint32_t)(world->n * world->model->lanes);

    if (timer < lanes) {
        piece_over(world, timer / world->model->lanes);
    } else if (timer < lanes + world->n) {
        cpu_leaves(world, timer - lanes);
        step_done(world, timer - lanes);
    } else if (timer < timer_tick(world->model)) {
        begin_job(world, timer - lanes - world->n);
    } else if (timer == timer_budget(world->model)) {
        server_tick(world->server, world->now);
        react(world);
    } else if (timer > timer_tick(world->model)) {
        die(world, timer - timer_tick(world->model) - 1);
    }
}

/* The server's clock runs a second ahead: it must not start at 0. */
void mirror_serve(struct mirror *mirror, const struct sim *model, const struct sim_run *run)
{
    static struct machine_world world; /* large; one at a time */
    struct random_state random;
    uint32_t timer;

    memset(&world, 0, sizeof world);
    world.mirror = mirror;
    world.model = model;
    world.run = run;
    world.n = model->n_tasks;
    world.tokens = model->profile->tokens;
    ck_assert_uint_le(world.n, MAX_TASKS);
    ck_assert_int_eq(timers_new(timer_count(model), &world.timers), 0);
    random_init(&random, run->seed, 0);
    timers_reset(&world.timers, run->random_ties ? &random : NULL);
    start_server(&world);
    for (size_t i = 0; i < world.n; i++)
        world.clients[i].model = &model->tasks[i];
    give_plan(&world);
    for (size_t i = 0; i < world.n; i++) {
        struct client *client = &world.clients[i];

        client->cpu = NO_CPU;
        client->home = SCHED_NO_GPU;
        client->placed = -1;
        random_init(&client->random, run->seed, 1 + i);
        client->next_release_at = run->offsets[i];
        connect_client(&world, i);
        timer_arm(&world.timers, timer_release(model, i), client->next_release_at);
        timer_arm(&world.timers, timer_death(model, i), run->deaths[i]);
    }
    while ((timer = timers_next(&world.timers)) != TIMER_NONE && world.timers.due[timer] <= run->horizon) {
        world.now = world.timers.due[timer];
        fire(&world, timer);
    }
    server_free(world.server);
    timers_free(&world.timers);
}
