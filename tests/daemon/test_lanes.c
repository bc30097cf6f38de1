/*
 * Under tokens (daemon/lanes.h): which GPU a job gets and when, programs on several GPUs, jobs past
 * their budget. The server on a clock that only the test moves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/peer.h"
#include "daemon/server.h"
#include "harness.h"

#define CLIENTS 4
#define NOW     (100 * NSEC_PER_SEC)

/* Leases of every client: three engines of each of four GPUs. */
#define EXECUTION(gpu)   ((gpu)*ENGINE_N + ENGINE_EXECUTION)
#define COPY_OUT_OF(gpu) ((gpu)*ENGINE_N + ENGINE_COPY_OUT)

static struct {
    struct server *server;
    struct page *pages[CLIENTS];
    uint32_t epochs[CLIENTS];
    uint32_t placed[CLIENTS]; /* leases of the last answer */
    bool answered[CLIENTS];
    unsigned tokens, overruns;
    int ended; /* peer; -1: none */
    baton_nsec now;
    unsigned token_gpu[CLIENTS];
} scene;

/* ---- the host ---- */

static int page_new(void *user, unsigned peer, struct page **ret_page)
{
    (void)user;
    *ret_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    memset(*ret_page, 0, PAGE_SIZE_BYTES);
    scene.pages[peer] = *ret_page;
    return 0;
}

static void page_free(void *user, unsigned peer, struct page *page)
{
    (void)user, (void)peer;
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
    (void)user;
    scene.overruns += what->kind == REPORT_OVERRUN;
}

static void end(void *user, unsigned peer)
{
    (void)user;
    scene.ended = (int)peer;
}

static void decided(void *user, const struct sched_decision *decision)
{
    (void)user;
    if (decision->action != SCHED_TOKEN)
        return;
    scene.tokens++;
    scene.token_gpu[decision->job] = decision->gpu;
}

/* ---- clients ---- */

static void hear(void)
{
    unsigned peer;
    bool drop;

    while (server_next_dirty(scene.server, &peer, &drop)) {
        const uint8_t *bytes;
        struct frame frame;
        size_t n = server_pending(scene.server, peer, &bytes);
        size_t used;

        for (size_t at = 0; at < n; at += used) {
            ck_assert_int_eq(frame_decode(bytes + at, n - at, &frame, &used), 0);
            if (frame.type != FRAME_PLACED)
                continue;
            scene.answered[peer] = true;
            scene.placed[peer] = frame.placed.leases;
        }
        server_sent(scene.server, peer, n);
    }
}

static void say(unsigned peer, struct frame frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_int_eq(server_receive(scene.server, peer, bytes, frame_encode(&frame, bytes), scene.now), 0);
    hear();
}

static void wait_until(baton_nsec at)
{
    while (server_next_at(scene.server) <= at) {
        scene.now = server_next_at(scene.server) > scene.now ? server_next_at(scene.server) : scene.now;
        server_tick(scene.server, scene.now);
    }
    scene.now = at;
    hear();
}

static void job(unsigned peer, uint32_t what, baton_nsec deadline_at)
{
    say(peer, (struct frame){.type = FRAME_JOB, .job = {.what = what, .deadline_at = (uint64_t)deadline_at}});
}

static void ask(unsigned peer, unsigned lease)
{
    say(peer,
        (struct frame){.type = FRAME_REQUEST, .request = {.index = lease, .epoch = ++scene.epochs[peer]}});
}

static bool has(unsigned peer, unsigned lease)
{
    return lease_word_state(atomic_load(&scene.pages[peer]->leases[lease].word)) == LEASE_STATE_BUSY;
}

static bool is_asked_to_yield(unsigned peer, unsigned lease)
{
    return atomic_load(&scene.pages[peer]->leases[lease].word) & LEASE_FLAG_YIELD;
}

static void give(unsigned peer, unsigned lease, bool again)
{
    uint32_t epoch = lease_word_epoch(atomic_load(&scene.pages[peer]->leases[lease].word));

    atomic_store(&scene.pages[peer]->leases[lease].word, 0);
    say(peer, (struct frame){
                  .type = FRAME_RELEASE,
                  .release = {.index = lease, .epoch = epoch, .next = again ? ++scene.epochs[peer] : 0}});
}

static void place(unsigned peer)
{
    uint32_t all = 0;

    for (unsigned gpu = 0; gpu < 4; gpu++)
        all |= UINT32_C(1) << EXECUTION(gpu);
    scene.answered[peer] = false;
    say(peer, (struct frame){.type = FRAME_PLACE,
                             .place = {.number = 1, .n = 1, .leases = all, .home = FRAME_NO_LEASE}});
}

/* The GPU that the answer names; -1: no answer yet. */
static int placed(unsigned peer)
{
    return scene.answered[peer] && scene.placed[peer] ? __builtin_ctz(scene.placed[peer]) / ENGINE_N : -1;
}

static void connect_client(unsigned peer, const char *name, unsigned period_ms)
{
    struct frame hello = {.type = FRAME_HELLO,
                          .hello = {.version = FRAME_VERSION,
                                    .key = peer,
                                    .priority = 10 + peer,
                                    .flags = HELLO_TASK,
                                    .period = (uint64_t)(period_ms * NSEC_PER_MS)}};
    const struct credentials who = {.pid = 1000 + (pid_t)peer};
    unsigned slot;

    (void)snprintf(hello.hello.name, sizeof hello.hello.name, "%s", name);
    ck_assert_int_eq(server_accept(scene.server, &who, scene.now, &slot), 0);
    ck_assert_uint_eq(slot, peer);
    say(peer, hello);
    for (unsigned i = 0; i < 4 * ENGINE_N; i++) {
        struct frame frame = {.type = FRAME_ATTACH, .attach = {.index = i, .engine = i % ENGINE_N}};

        (void)snprintf(frame.attach.device, sizeof frame.attach.device, "gpu:%u", i / ENGINE_N);
        say(peer, frame);
    }
}

/* Four GPUs; clusters of so many, one token each. */
static void start(unsigned gpu_cluster, enum overrun_mode overrun)
{
    const struct server_host host = {.page_new = page_new,
                                     .page_free = page_free,
                                     .wake = wake,
                                     .boost = boost,
                                     .report = report,
                                     .end = end,
                                     .decided = decided};
    const struct server_start begin = {.generation = 1, .pid = 1, .now_at = NOW};
    static struct config config;
    char name[16];

    memset(&scene, 0, sizeof scene);
    scene.now = NOW;
    scene.ended = -1;
    config_init(&config);
    config.profile = PROFILE_GPUSYNC;
    config.policy = POLICY_EDF;
    config.clients = CLIENTS;
    config.devices = 4;
    config.gpu_cluster = gpu_cluster;
    config.tokens_per_gpu = 1;
    config.overrun = overrun;
    ck_assert_int_eq(server_new(&config, &host, &begin, &scene.server), 0);
    for (unsigned gpu = 0; gpu < 4; gpu++) {
        (void)snprintf(name, sizeof name, "gpu:%u", gpu);
        ck_assert_int_eq(server_add_device(scene.server, name, "a GPU"), 0);
    }
}

/* ---- which GPU ---- */

START_TEST(a_job_is_told_its_gpu_with_its_token)
{
    start(4, OVERRUN_OFF);
    for (unsigned i = 0; i < 4; i++) {
        connect_client(i, "program", 0);
        job(i, JOB_SAID, 0);
        place(i);
        ck_assert_int_eq(placed(i), (int)scene.token_gpu[i]);
        for (unsigned j = 0; j < i; j++)
            ck_assert_int_ne(placed(i), placed(j));
    }
    server_free(scene.server);
}
END_TEST

START_TEST(a_job_without_a_token_waits_for_the_answer)
{
    start(1, OVERRUN_OFF);
    for (unsigned i = 0; i < 3; i++)
        connect_client(i, "program", 0);
    for (unsigned i = 0; i < 3; i++) { /* all opened GPU 0 first: its cluster is theirs */
        job(i, JOB_SAID, 0);
        place(i);
    }
    ck_assert_int_eq(placed(0), 0);
    ck_assert_int_eq(placed(1), -1);
    job(0, JOB_GPU_OVER, 0); /* it goes on without a GPU */
    ck_assert_int_eq(placed(1), 0);
    ck_assert_int_eq(placed(2), -1);
    ask(1, EXECUTION(0));
    ck_assert(has(1, EXECUTION(0)));
    job(1, JOB_ENDS, 0); /* but its kernel still runs */
    ck_assert_int_eq(placed(2), -1);
    give(1, EXECUTION(0), false);
    ck_assert_int_eq(placed(2), 0);
    server_free(scene.server);
}
END_TEST

START_TEST(a_waiting_client_that_dies_is_forgotten)
{
    start(1, OVERRUN_OFF);
    for (unsigned i = 0; i < 3; i++) {
        connect_client(i, "program", 0);
        job(i, JOB_SAID, 0);
        place(i);
    }
    (void)server_lost(scene.server, 1, scene.now);
    hear();
    job(0, JOB_ENDS, 0);
    ck_assert_int_eq(placed(2), 0);
    server_free(scene.server);
}
END_TEST

/* ---- several GPUs ---- */

/*
 * Another program holds the only token of GPU 1: the kernel there waits, whichever GPUs the first
 * program opened.
 */
START_TEST(every_gpu_of_a_program_is_under_a_token)
{
    start(1, OVERRUN_OFF);
    connect_client(0, "wide", 0);
    connect_client(1, "narrow", 0);
    job(1, JOB_SAID, 0);
    ask(1, EXECUTION(1));
    ck_assert(has(1, EXECUTION(1)));
    job(0, JOB_SAID, 0);
    ask(0, EXECUTION(0));
    ck_assert(has(0, EXECUTION(0)));
    ask(0, EXECUTION(1));
    ck_assert(!has(0, EXECUTION(1)));
    give(0, EXECUTION(0), false);
    ck_assert(!has(0, EXECUTION(1)));
    give(1, EXECUTION(1), false);
    ck_assert(!has(0, EXECUTION(1))); /* the token is the job's until it ends */
    job(1, JOB_ENDS, 0);
    ck_assert(has(0, EXECUTION(1)));
    ck_assert_uint_eq(scene.token_gpu[0], 1);
    server_free(scene.server);
}
END_TEST

/*
 * State that follows a job holds the copy engines of both GPUs (E3): a copy into the job's GPU
 * waits for it.
 */
START_TEST(a_copy_from_another_gpu_holds_both_copy_engines)
{
    unsigned own, other;

    start(2, OVERRUN_OFF);
    connect_client(0, "mover", 0);
    job(0, JOB_SAID, 0);
    place(0);
    own = (unsigned)placed(0);
    other = own ^ 1;
    ask(0, COPY_OUT_OF(other));
    ck_assert(has(0, COPY_OUT_OF(other)));
    ck_assert(!server_engine_free(scene.server, own ? "gpu:1" : "gpu:0", ENGINE_COPY_IN));
    ck_assert(!server_engine_free(scene.server, other ? "gpu:1" : "gpu:0", ENGINE_COPY_OUT));
    give(0, COPY_OUT_OF(other), false);
    ck_assert(server_engine_free(scene.server, own ? "gpu:1" : "gpu:0", ENGINE_COPY_IN));
    ck_assert_uint_eq(scene.tokens, 1);
    server_free(scene.server);
}
END_TEST

/*
 * The ways that data takes, and the migrations whose analysis counts them: copies from GPU to GPU
 * only `p2p` and `ondemand`, copies from the host all but `p2p`.
 */
START_TEST(data_on_a_way_that_no_analysis_counts_ends_the_claim)
{
    static const struct {
        enum migration migration;
        bool between, from_host; /* does this way end the claim? */
    } ways[] = {{MIGRATION_NONE, true, false},
                {MIGRATION_SYSTEM, true, false},
                {MIGRATION_P2P, false, true},
                {MIGRATION_ON_DEMAND, false, false}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        for (int host = 0; host < 2; host++) {
            start(2, OVERRUN_OFF);
            scene.server->config.migration = ways[i].migration;
            connect_client(0, "mover", 0);
            job(0, JOB_SAID, 0);
            say(0, (struct frame){.type = FRAME_MOVED,
                                  .moved = {.from = host ? FRAME_NO_LEASE : EXECUTION(0),
                                            .to = EXECUTION(1),
                                            .bytes = 1 << 20,
                                            .length = 1000}});
            ck_assert_int_eq(scene.server->peers[0]->strayed, host ? ways[i].from_host : ways[i].between);
            server_free(scene.server);
        }
    }
}
END_TEST

/* The same for the engines that are asked for, whatever the client reports. */
START_TEST(a_copy_engine_of_another_gpu_is_for_migrations_between_gpus)
{
    for (int m = MIGRATION_NONE; m <= MIGRATION_ON_DEMAND; m++) {
        start(2, OVERRUN_OFF);
        scene.server->config.migration = (enum migration)m;
        connect_client(0, "mover", 0);
        job(0, JOB_SAID, 0);
        place(0);
        ask(0, COPY_OUT_OF((unsigned)placed(0) ^ 1));
        ck_assert_int_eq(scene.server->peers[0]->strayed, m == MIGRATION_NONE || m == MIGRATION_SYSTEM);
        server_free(scene.server);
    }
}
END_TEST

/* ---- budgets: 5 ms of engine time in 20 ms ---- */

static void plan_budget(void)
{
    struct plan_task task = {.name = "greedy",
                             .priority = 50,
                             .gpus = 1,
                             .bound = -1,
                             .period = 20 * NSEC_PER_MS,
                             .deadline = 20 * NSEC_PER_MS,
                             .budget = 5 * NSEC_PER_MS};
    struct plan plan = {.analysis = "gpusync", .profile = "gpusync", .tasks = &task, .n_tasks = 1};

    ck_assert_int_eq(server_set_plan(scene.server, &plan, "plan", scene.now), 0);
}

static void run_past_budget(void)
{
    plan_budget();
    connect_client(0, "greedy", 20);
    job(0, JOB_SAID, NOW + 20 * NSEC_PER_MS);
    ask(0, EXECUTION(0));
    ck_assert(has(0, EXECUTION(0)));
    wait_until(NOW + 5 * NSEC_PER_MS);
    ck_assert_uint_eq(scene.overruns, 0);
    wait_until(NOW + 6 * NSEC_PER_MS);
    ck_assert_uint_eq(scene.overruns, 1);
}

/* As CUDA programs do: the lock cannot choose, so the bounds of the cluster do not hold. */
START_TEST(a_program_of_the_plan_that_keeps_its_gpu_is_claimed_only_alone_in_a_cluster)
{
    for (unsigned gpu_cluster = 1; gpu_cluster <= 2; gpu_cluster++) {
        start(gpu_cluster, OVERRUN_OFF);
        plan_budget();
        connect_client(0, "greedy", 20);
        job(0, JOB_SAID, NOW + 20 * NSEC_PER_MS);
        ask(0, EXECUTION(0));
        ck_assert(has(0, EXECUTION(0)));
        ck_assert_int_eq(scene.server->peers[0]->strayed, gpu_cluster > 1);
        server_free(scene.server);
    }
}
END_TEST

START_TEST(a_job_past_its_budget_is_demoted)
{
    start(1, OVERRUN_DEMOTE);
    run_past_budget();
    connect_client(1, "first", 0);
    connect_client(2, "second", 0);
    ck_assert_int_eq(scene.ended, -1);
    ck_assert(!is_asked_to_yield(0, EXECUTION(0)));
    ask(1, EXECUTION(0)); /* waits for the token that the demoted job has: it is never taken by force */
    ck_assert(!has(1, EXECUTION(0)));
    give(0, EXECUTION(0), false);
    job(0, JOB_ENDS, 0);
    ck_assert(has(1, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

START_TEST(a_throttled_job_goes_on_with_its_next_period)
{
    start(1, OVERRUN_THROTTLE);
    run_past_budget();
    connect_client(1, "other", 0);
    ck_assert(is_asked_to_yield(0, EXECUTION(0)));
    give(0, EXECUTION(0), true); /* at its border; more is to come */
    ck_assert(!has(0, EXECUTION(0)));
    job(1, JOB_SAID, 0);
    ask(1, EXECUTION(0)); /* meanwhile the token is free */
    ck_assert(has(1, EXECUTION(0)));
    give(1, EXECUTION(0), false);
    job(1, JOB_ENDS, 0);
    wait_until(NOW + 19 * NSEC_PER_MS);
    ck_assert(!has(0, EXECUTION(0)));
    wait_until(NOW + 20 * NSEC_PER_MS);
    ck_assert(has(0, EXECUTION(0)));
    wait_until(NOW + 24 * NSEC_PER_MS); /* 4 ms of the next 5 */
    ck_assert_uint_eq(scene.overruns, 1);
    wait_until(NOW + 26 * NSEC_PER_MS);
    ck_assert_uint_eq(scene.overruns, 2);
    server_free(scene.server);
}
END_TEST

/*
 * Its process is ended; the kernel of the other program waits until the GPU has drained, and
 * nothing of it is lost.
 */
START_TEST(an_ended_job_gives_its_gpu_back_when_it_has_drained)
{
    start(1, OVERRUN_END);
    run_past_budget();
    connect_client(1, "other", 0);
    ck_assert_int_eq(scene.ended, 0);
    job(1, JOB_SAID, 0);
    ask(1, EXECUTION(0));
    (void)server_lost(scene.server, 0, scene.now);
    hear();
    ck_assert(!has(1, EXECUTION(0)));
    server_exited(scene.server, 0, scene.now);
    hear();
    ck_assert(has(1, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

HARNESS_MAIN("lanes", 30, a_job_is_told_its_gpu_with_its_token, a_job_without_a_token_waits_for_the_answer,
             a_waiting_client_that_dies_is_forgotten, every_gpu_of_a_program_is_under_a_token,
             a_copy_from_another_gpu_holds_both_copy_engines,
             data_on_a_way_that_no_analysis_counts_ends_the_claim,
             a_copy_engine_of_another_gpu_is_for_migrations_between_gpus,
             a_program_of_the_plan_that_keeps_its_gpu_is_claimed_only_alone_in_a_cluster,
             a_job_past_its_budget_is_demoted, a_throttled_job_goes_on_with_its_next_period,
             an_ended_job_gives_its_gpu_back_when_it_has_drained)
