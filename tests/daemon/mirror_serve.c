/*
 * The served half: the server, clients that say by frames what their jobs do, and a machine that
 * runs CPU steps by level. Timers, their ranks at equal instants and the order in which decisions
 * take effect are those of the simulator (sim/sim.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/server.h"
#include "harness.h"
#include "mirror_private.h"
#include "wire/page.h"

#define FIRST_PID 1000
#define MAX_TASKS 16

struct client {
    const struct sim_task *model;
    struct page *page;
    struct random_state random;
    baton_nsec next_release_at, release_at;
    size_t step;
    bool active, deferred, dead, lost;
    uint32_t epoch, placings;
    unsigned lease; /* of the engine that it asked for or holds */
    bool holds;
    const struct cut *cut;
    size_t piece, n_pieces;
    unsigned token_gpu, home;
    int placed; /* GPU that the server answered with; -1: none */
    /* On the CPUs. */
    bool ready;
    unsigned level, cpu, last_cpu;
    baton_nsec left, running_at;
};

struct machine_world {
    struct mirror *mirror;
    const struct sim *model;
    const struct sim_run *run;
    struct server *server;
    struct timers timers;
    struct client clients[MAX_TASKS];
    size_t n;
    baton_nsec now;
    struct sched_decision todo[4096];
    size_t first, n_todo;
    bool busy, tokens, moved;
};

static void begin_step(struct machine_world *world, size_t id);

/* ---- the host ---- */

static int page_new(void *user, unsigned peer, struct page **ret_page)
{
    struct machine_world *world = user;

    *ret_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    memset(*ret_page, 0, PAGE_SIZE_BYTES);
    world->clients[peer].page = *ret_page;
    return 0;
}

static void page_free(void *user, unsigned peer, struct page *page)
{
    ((struct machine_world *)user)->clients[peer].page = NULL;
    free(page);
}

static void wake(void *user, lease_word *word)
{
    (void)user, (void)word;
}

static void boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    (void)user, (void)pid, (void)threads, (void)n, (void)priority;
}

static void report(void *user, const struct server_report *what)
{
    (void)user, (void)what;
}

static int machine(void *user, struct machine *ret_machine)
{
    const struct machine_world *world = user;

    *ret_machine = (struct machine){{{0}}, {{0}}, {{0}}};
    for (unsigned i = 0; i < world->model->config.cpus; i++) {
        core_set_add(&ret_machine->online, i);
        core_set_add(&ret_machine->allowed, i);
    }
    return 0;
}

/* The lowest level is that of donors that stand still: here they never run, as in the simulator. */
static int order(void *user, pid_t pid, const struct core_set *cores, unsigned level)
{
    struct machine_world *world = user;
    struct client *client = &world->clients[pid - FIRST_PID];
    unsigned c = world->model->config.cpu_cluster;

    for (unsigned i = 0; level && i < world->model->config.cpus; i++)
        ck_assert_int_eq(core_set_has(cores, i), i / c == client->model->cpu_cluster);
    client->level = level;
    world->moved = true;
    return 0;
}

static void decided(void *user, const struct sched_decision *decision)
{
    struct machine_world *world = user;

    if (world->clients[decision->job].dead && !world->tokens)
        return; /* without tokens the core hears of a death when the last engine has drained */
    mirror_decided(&world->mirror->served, decision, world->now);
    if (decision->action == SCHED_GRANT || decision->action == SCHED_TOKEN ||
        decision->action == SCHED_ENDED) {
        ck_assert_uint_lt(world->n_todo, 4096);
        world->todo[(world->first + world->n_todo++) % 4096] = *decision;
    }
}

/*
 * ---- CPUs: in each cluster the c highest levels run; a job keeps its CPU as long as it runs ----
 */

static bool runnable(const struct machine_world *world, const struct client *client)
{
    return client->ready && (!world->tokens || client->level > 1);
}

static unsigned level_of(const struct machine_world *world, const struct client *client)
{
    return world->tokens ? client->level : client->model->priority;
}

static void stop(struct machine_world *world, size_t id)
{
    struct client *client = &world->clients[id];

    client->left -= world->now - client->running_at;
    timer_disarm(&world->timers, timer_cpu(world->model, id));
    client->cpu = NO_CPU;
}

static void settle(struct machine_world *world)
{
    unsigned c = world->model->config.cpu_cluster;
    bool runs[MAX_TASKS] = {false};

    for (unsigned cluster = 0; cluster < world->model->n_clusters; cluster++) {
        for (unsigned place = 0; place < c; place++) {
            size_t best = MAX_TASKS;

            for (size_t i = 0; i < world->n; i++) {
                if (runs[i] || world->clients[i].model->cpu_cluster != cluster ||
                    !runnable(world, &world->clients[i]))
                    continue;
                if (best == MAX_TASKS ||
                    level_of(world, &world->clients[i]) > level_of(world, &world->clients[best]))
                    best = i;
            }
            if (best < MAX_TASKS)
                runs[best] = true;
        }
    }
    for (size_t i = 0; i < world->n; i++) {
        if (world->clients[i].cpu != NO_CPU && !runs[i])
            stop(world, i);
    }
    for (size_t i = 0; i < world->n; i++) {
        struct client *client = &world->clients[i];

        if (client->cpu != NO_CPU || !runs[i])
            continue;
        client->cpu = 0;
        client->running_at = world->now;
        timer_arm(&world->timers, timer_cpu(world->model, i), world->now + client->left);
    }
}

static void cpu_leaves(struct machine_world *world, size_t id)
{
    if (!world->clients[id].ready)
        return;
    if (world->clients[id].cpu != NO_CPU)
        stop(world, id);
    world->clients[id].ready = false;
    settle(world);
}

/* ---- talking to the server ---- */

static void step_done(struct machine_world *world, size_t id)
{
    world->clients[id].step++;
    begin_step(world, id);
}

static void granted(struct machine_world *world, const struct sched_decision *decision)
{
    struct client *client = &world->clients[decision->job];
    uint64_t word = atomic_load(&client->page->leases[client->lease].word);

    if (lease_word_state(word) != LEASE_STATE_BUSY || lease_word_epoch(word) != client->epoch)
        (void)snprintf(world->mirror->failure, sizeof world->mirror->failure,
                       "seed %llu: a grant that the lease word of t%u does not say",
                       (unsigned long long)world->mirror->seed, decision->job);
    client->holds = true;
    timer_arm(&world->timers, timer_lane(world->model, decision->job, 0),
              world->now + cut_piece(client->cut, client->piece));
}

static void carry_out(struct machine_world *world, const struct sched_decision *decision)
{
    struct client *client = &world->clients[decision->job];

    if (client->dead)
        return;
    if (decision->action == SCHED_GRANT) {
        granted(world, decision);
    } else if (decision->action == SCHED_TOKEN) {
        client->token_gpu = decision->gpu;
        if (client->placed != (int)decision->gpu)
            (void)snprintf(world->mirror->failure, sizeof world->mirror->failure,
                           "seed %llu: t%u was told GPU %d and has a token of %u",
                           (unsigned long long)world->mirror->seed, decision->job, client->placed,
                           decision->gpu);
        step_done(world, decision->job);
    } else {
        client->deferred = client->active = false;
        if (client->next_release_at < world->run->horizon)
            timer_arm(&world->timers, timer_release(world->model, decision->job),
                      client->next_release_at > world->now ? client->next_release_at : world->now);
    }
}

static void hear(struct machine_world *world)
{
    unsigned peer;
    bool drop;

    while (server_next_dirty(world->server, &peer, &drop)) {
        const uint8_t *bytes;
        struct frame frame;
        size_t n = server_pending(world->server, peer, &bytes);
        size_t used;

        ck_assert(!drop);
        for (size_t at = 0; at < n; at += used) {
            ck_assert_int_eq(frame_decode(bytes + at, n - at, &frame, &used), 0);
            if (frame.type == FRAME_PLACED)
                world->clients[peer].placed =
                    frame.placed.leases ? __builtin_ctz(frame.placed.leases) / ENGINE_N : -1;
        }
        server_sent(world->server, peer, n);
    }
}

/* After the server was told something: levels, then decisions take effect. */
static void react(struct machine_world *world)
{
    hear(world);
    if (world->moved)
        settle(world);
    world->moved = false;
    if (world->busy)
        return;
    world->busy = true;
    while (world->n_todo) {
        struct sched_decision next = world->todo[world->first];

        world->first = (world->first + 1) % 4096;
        world->n_todo--;
        carry_out(world, &next);
    }
    world->busy = false;
    if (world->mirror->has_budgets && server_next_at(world->server) != NSEC_MAX)
        timer_arm(&world->timers, timer_budget(world->model), server_next_at(world->server));
}

static void say(struct machine_world *world, size_t id, struct frame frame)
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

static void place(struct machine_world *world, size_t id, unsigned home)
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

static void begin_step(struct machine_world *world, size_t id)
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
        ask(world, id, gpu_of(world, id), step->copy == COPY_IN ? ENGINE_COPY_IN : ENGINE_COPY_OUT,
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
