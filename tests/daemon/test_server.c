/* The server alone, for what real processes cannot be made to do at will. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/history.h"
#include "daemon/peer.h"
#include "daemon/server.h"
#include "harness.h"
#include "model/plan.h"

#define DEVICE "test:0"

static struct page *shared;             /* of the latest client */
static unsigned reported[REPORT_KINDS]; /* how often each was reported */
static uint64_t sessions;

static int page_new(void *user, unsigned peer, struct page **ret_page)
{
    (void)user;
    (void)peer;
    shared = *ret_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    memset(*ret_page, 0, PAGE_SIZE_BYTES);
    return 0;
}

static void page_free(void *user, unsigned peer, struct page *page)
{
    (void)user;
    (void)peer;
    free(page);
}

static void wake(void *user, lease_word *word)
{
    (void)user;
    (void)word;
}

static void report(void *user, const struct server_report *what)
{
    (void)user;
    reported[what->kind]++;
}

static struct server *start_with(const struct config *config)
{
    const struct server_host host = {
        .page_new = page_new, .page_free = page_free, .wake = wake, .report = report};
    const struct server_start begin = {
        .generation = 1, .pid = 1, .about = ABOUT_BOOSTS, .now_at = NSEC_PER_SEC};
    struct server *server = NULL;

    ck_assert_int_eq(server_new(config, &host, &begin, &server), 0);
    return server;
}

static struct server *start(void)
{
    static struct config config;

    config_init(&config);
    return start_with(&config);
}

static void say(struct server *server, unsigned peer, const struct frame *frame, baton_nsec now_at)
{
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_int_eq(server_receive(server, peer, bytes, frame_encode(frame, bytes), now_at), 0);
}

static unsigned join_as(struct server *server, const char *name, bool unwatched)
{
    const struct credentials who = {.pid = 4711, .uid = 1000, .gid = 1000, .unwatched = unwatched};
    struct frame hello = {.type = FRAME_HELLO, .hello = {.version = FRAME_VERSION, .key = ++sessions}};
    unsigned peer = 0;

    (void)snprintf(hello.hello.name, sizeof hello.hello.name, "%s", name);
    ck_assert_int_eq(server_accept(server, &who, NSEC_PER_SEC, &peer), 0);
    say(server, peer, &hello, NSEC_PER_SEC);
    return peer;
}

static unsigned join(struct server *server, bool unwatched)
{
    return join_as(server, "test", unwatched);
}

/*
 * Its connection ends while it holds an engine, and no report will ever say that its process has
 * ended.
 */
START_TEST(an_engine_comes_back_from_a_process_that_cannot_be_watched)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.device = DEVICE}};
    struct frame request = {.type = FRAME_REQUEST, .request = {.epoch = 1}};
    struct server *server = start();
    unsigned peer = join(server, true);
    baton_nsec now_at = 2 * NSEC_PER_SEC;

    say(server, peer, &attach, now_at);
    say(server, peer, &request, now_at);
    ck_assert_int_eq(lease_word_state(atomic_load(&shared->leases[0].word)), LEASE_STATE_BUSY);
    ck_assert(server_lost(server, peer, now_at));
    ck_assert(!server_engine_free(server, DEVICE, ENGINE_EXECUTION));
    while (server_has(server, peer) && now_at < 4 * NSEC_PER_SEC) {
        now_at = server_next_at(server);
        server_tick(server, now_at);
    }
    ck_assert(!server_has(server, peer));
    ck_assert(server_engine_free(server, DEVICE, ENGINE_EXECUTION));
    server_free(server);
}
END_TEST

/*
 * The limit is read again while a holder keeps its engine. A shorter one may be over already; a
 * longer one counts from the same instant.
 */
START_TEST(another_limit_for_yields_holds_for_holders_that_were_asked_before)
{
    static const baton_nsec limits[] = {NSEC_PER_SEC / 20, NSEC_PER_SEC / 2, 5 * NSEC_PER_SEC};
    const baton_nsec asked_at = 2 * NSEC_PER_SEC;
    const baton_nsec reload_at = asked_at + NSEC_PER_SEC / 4;
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.device = DEVICE}};
    struct frame request = {.type = FRAME_REQUEST, .request = {.epoch = 1}};
    struct frame priority = {.type = FRAME_PRIORITY};

    priority.priority.priority = 40;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct server *server = start();
        baton_nsec due_at = limits[i] < reload_at - asked_at ? reload_at : asked_at + limits[i];
        baton_nsec now_at = reload_at;
        struct config config;
        unsigned holder = join_as(server, "holder", false);
        unsigned urgent = join_as(server, "urgent", false);

        say(server, holder, &attach, asked_at);
        say(server, holder, &request, asked_at);
        say(server, urgent, &attach, asked_at);
        say(server, urgent, &priority, asked_at);
        say(server, urgent, &request, asked_at);
        config_init(&config);
        config.late_yield = limits[i];
        reported[REPORT_LATE_YIELD] = 0;
        server_set_limits(server, &config, now_at);
        while (!reported[REPORT_LATE_YIELD]) {
            server_tick(server, now_at);
            if (!reported[REPORT_LATE_YIELD])
                now_at = server_next_at(server);
            ck_assert_int_le(now_at, due_at);
        }
        ck_assert_int_eq(now_at, due_at);
        server_free(server);
    }
}
END_TEST

/* Each has used its engine time of 5 ms and wants more. */
START_TEST(any_number_of_throttled_jobs_may_go_on_at_one_instant)
{
    static struct config config;
    struct plan_task task = {.name = "eye",
                             .priority = 50,
                             .gpus = 1,
                             .bound = -1,
                             .period = 3600 * NSEC_PER_SEC,
                             .deadline = 3600 * NSEC_PER_SEC,
                             .budget = 5 * NSEC_PER_MS};
    struct plan plan = {.analysis = "gpusync", .profile = "gpusync", .tasks = &task, .n_tasks = 1};
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.device = DEVICE}};
    struct frame job = {.type = FRAME_JOB,
                        .job = {.what = JOB_SAID, .deadline_at = (uint64_t)(3601 * NSEC_PER_SEC)}};
    struct frame request = {.type = FRAME_REQUEST, .request = {.epoch = 1}};
    struct frame release = {.type = FRAME_RELEASE, .release = {.epoch = 1, .next = 2}};
    baton_nsec now_at = NSEC_PER_SEC;
    struct server *server;

    config_init(&config);
    config.profile = PROFILE_GPUSYNC;
    config.policy = POLICY_EDF;
    config.overrun = OVERRUN_THROTTLE;
    config.clients = config.others.clients = 600;
    server = start_with(&config);
    ck_assert_int_eq(server_set_plan(server, &plan, "plan", now_at), 0);
    reported[REPORT_OVERRUN] = 0;
    for (unsigned i = 0; i < config.clients; i++) {
        unsigned peer = join_as(server, "eye", false);

        server->peers[peer]->hello.deadline = (uint64_t)task.deadline;
        say(server, peer, &attach, now_at);
        say(server, peer, &job, now_at);
        say(server, peer, &request, now_at);
        now_at += 6 * NSEC_PER_MS;
        server_tick(server, now_at);
        say(server, peer, &release, now_at);
    }
    ck_assert_uint_eq(reported[REPORT_OVERRUN], config.clients);
    now_at = 3601 * NSEC_PER_SEC;
    server_tick(server, now_at);
    for (unsigned i = 0; i < config.clients; i++)
        ck_assert(server_has_job(server, i));
    server_free(server);
}
END_TEST

START_TEST(questions_about_what_does_not_exist_have_an_answer)
{
    static const uint32_t indexes[] = {8, 64, 65, INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX};
    struct server *server = start();
    unsigned peer = join(server, false);

    for (uint32_t what = 0; what < 12; what++) {
        for (size_t i = 0; i < sizeof indexes / sizeof indexes[0]; i++) {
            struct frame query = {
                .type = FRAME_QUERY,
                .query = {.what = what, .index = indexes[i], .cursor = UINT64_MAX - indexes[i]}};
            const uint8_t *bytes;

            server_sent(server, peer, server_pending(server, peer, &bytes));
            say(server, peer, &query, NSEC_PER_SEC);
            ck_assert_uint_gt(server_pending(server, peer, &bytes), 0);
        }
    }
    server_free(server);
}
END_TEST

/* The only record of that kind in the daemon's ring. */
static struct trace_record exceeded(struct server *server, unsigned peer, baton_nsec now_at)
{
    const struct frame query = {.type = FRAME_QUERY, .query = {.what = QUERY_TRACE}};
    struct trace_record found = {0};
    const uint8_t *bytes;
    struct frame frame;
    size_t used;
    size_t size;

    server_sent(server, peer, server_pending(server, peer, &bytes));
    say(server, peer, &query, now_at);
    size = server_pending(server, peer, &bytes);
    ck_assert_int_eq(frame_decode(bytes, size, &frame, &used), 0);
    ck_assert_int_eq(frame.type, FRAME_TRACE);
    for (uint32_t i = 0; i < frame.trace.n; i++) {
        if (frame.trace.records[i].kind == RECORD_EXCEED) {
            ck_assert_uint_eq(found.length, 0);
            found = frame.trace.records[i];
        }
    }
    return found;
}

START_TEST(a_late_job_has_the_instants_that_its_program_measured)
{
    struct frame late = {.type = FRAME_LATE,
                         .late = {.number = 7,
                                  .flags = LATE_EXCEEDED,
                                  .release_at = 2 * NSEC_PER_SEC,
                                  .end_at = 2 * NSEC_PER_SEC + 30 * NSEC_PER_MS,
                                  .limit = 20 * NSEC_PER_MS}};
    struct server *server = start();
    unsigned peer = join(server, false);
    struct trace_record record;

    say(server, peer, &late, 5 * NSEC_PER_SEC); /* the daemon was busy: that is not the job's time */
    late.late.end_at = 7 * NSEC_PER_SEC;        /* a job of the future is on no clock of ours */
    say(server, peer, &late, 5 * NSEC_PER_SEC);
    record = exceeded(server, peer, 5 * NSEC_PER_SEC);
    ck_assert_uint_eq(record.at, 2 * NSEC_PER_SEC);
    ck_assert_uint_eq(record.length, 30 * NSEC_PER_MS);
    ck_assert_uint_eq(record.job, 7);
    server_free(server);
}
END_TEST

START_TEST(a_late_job_that_cannot_be_ends_the_conversation)
{
    static const struct frame_late lies[] = {
        {.flags = LATE_EXCEEDED, .release_at = 2, .end_at = 1},                /* ends before its release */
        {.flags = LATE_EXCEEDED, .release_at = 10, .end_at = 20, .limit = 10}, /* within its limit */
        {.flags = LATE_MISSED, .release_at = 0, .end_at = UINT64_MAX},         /* 584 years */
        {.flags = 0, .release_at = 10, .end_at = 20, .limit = 5},              /* late for nothing */
        {.flags = 4, .release_at = 10, .end_at = 20, .limit = 5},
    };

    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct frame late = {.type = FRAME_LATE, .late = lies[i]};
        struct server *server = start();
        unsigned peer = join(server, false);
        uint8_t bytes[FRAME_MAX_SIZE];

        ck_assert_int_eq(server_receive(server, peer, bytes, frame_encode(&late, bytes), 3 * NSEC_PER_SEC),
                         SERVER_DROP);
        server_free(server);
    }
}
END_TEST

/* Nor is there a job that ends after all clocks. */
START_TEST(a_period_that_cannot_be_ends_the_conversation)
{
    static const uint64_t periods[] = {INT64_MAX / 2, INT64_MAX, UINT64_MAX};

    for (size_t i = 0; i < 2 * sizeof periods / sizeof periods[0]; i++) {
        struct frame hello = {.type = FRAME_HELLO, .hello = {.version = FRAME_VERSION}};
        const struct credentials who = {.pid = 4711};
        struct server *server = start();
        uint8_t bytes[FRAME_MAX_SIZE];
        unsigned peer;

        hello.hello.period = i % 2 ? periods[i / 2] : 0;
        hello.hello.deadline = i % 2 ? 0 : periods[i / 2];
        ck_assert_int_eq(server_accept(server, &who, NSEC_PER_SEC, &peer), 0);
        ck_assert_int_eq(server_receive(server, peer, bytes, frame_encode(&hello, bytes), NSEC_PER_SEC),
                         SERVER_DROP);
        server_free(server);
    }
}
END_TEST

/* ---- which GPU ---- */

/* What comes back to this frame, and is of this type. */
static struct frame answer(struct server *server, unsigned peer, const struct frame *question, uint16_t type)
{
    struct frame found = {0};
    const uint8_t *bytes;
    size_t n;

    server_sent(server, peer, server_pending(server, peer, &bytes));
    say(server, peer, question, 2 * NSEC_PER_SEC);
    n = server_pending(server, peer, &bytes);
    for (size_t at = 0; at < n;) {
        struct frame frame;
        size_t size = 0;

        ck_assert_int_eq(frame_decode(bytes + at, n - at, &frame, &size), 0);
        if (frame.type == type)
            found = frame;
        at += size;
    }
    ck_assert_uint_eq(found.type, type);
    return found;
}

static uint32_t placed(struct server *server, unsigned peer, uint32_t n)
{
    struct frame place = {.type = FRAME_PLACE, .place = {.number = 1, .n = n, .leases = 7, .home = 0}};

    return answer(server, peer, &place, FRAME_PLACED).placed.leases;
}

static void use_plan(struct server *server, const char *placement, unsigned gpus)
{
    struct input_error error;
    struct plan plan;
    char text[200];
    int size = snprintf(text, sizeof text,
                        "analysis: holistic\nprofile: priority\ntasks:\n"
                        "  - {name: eye, priority: 50, gpus: %u, placement: %s, bound_ms: 5}\n",
                        gpus, placement);

    ck_assert_int_eq(plan_read("plan", text, (size_t)size, &plan, &error), 0);
    ck_assert_int_eq(server_set_plan(server, &plan, "plan", NSEC_PER_SEC), 0);
    plan_done(&plan);
}

/*
 * Three GPUs and a client, the task `eye`, with a lease for the execution engine of each; its first
 * terms are in force at once.
 */
static unsigned place_eye(struct server *server)
{
    struct frame attach = {.type = FRAME_ATTACH};
    unsigned peer;

    ck_assert_int_eq(server_add_device(server, "test:0", "configured"), 0);
    ck_assert_int_eq(server_add_device(server, "test:1", "configured"), 0);
    ck_assert_int_eq(server_add_device(server, "test:2", "configured"), 0);
    peer = join_as(server, "eye", false);
    for (unsigned i = 0; i < 3; i++) {
        attach.attach.index = i;
        (void)snprintf(attach.attach.device, sizeof attach.attach.device, "test:%u", i);
        say(server, peer, &attach, NSEC_PER_SEC);
    }
    return peer;
}

/* Its data is on GPU 0, and it would prefer that. */
START_TEST(a_job_is_placed_on_the_gpus_of_the_plan)
{
    static const struct {
        const char *placement;
        unsigned gpus;
        uint32_t leases;
    } cases[] = {{"[1]", 1, 2}, {"[2]", 1, 4}, {"[0]", 1, 1}, {"[1, 2]", 2, 6}, {"chosen", 1, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server *server = start();
        unsigned peer;

        use_plan(server, cases[i].placement, cases[i].gpus);
        peer = place_eye(server);
        ck_assert_uint_eq(placed(server, peer, cases[i].gpus), cases[i].leases);
        if (cases[i].gpus == 1 && cases[i].leases != 1) /* more GPUs than the plan gives it: no choice */
            ck_assert_uint_eq(placed(server, peer, 2), 0);
        server_free(server);
    }
}
END_TEST

START_TEST(a_departed_client_leaves_runs_kernels_and_what_it_had_overwritten)
{
    struct history *history = calloc(1, sizeof *history);
    struct page *page = aligned_alloc(64, PAGE_SIZE_BYTES);
    struct history_engines engines = {0}; /* every lease is for engine 0 */
    struct trace_record records[32];
    uint64_t cursor = 0;
    uint64_t lost = 0;
    size_t total = 0;
    size_t n;

    memset(page, 0, PAGE_SIZE_BYTES);
    page_init(page, 1, 7);
    for (int64_t i = 0; i < PAGE_RUNS + 10; i++) /* the first ten are overwritten */
        page_ran(page, &(struct page_entry){.lease = 0,
                                            .begin_at = i * 10,
                                            .end_at = i * 10 + 5,
                                            .size = 64,
                                            .pieces = 2,
                                            .kernel = page_kernel(page, "turn")});
    history_keep(history, &(struct history_client){.client = 7, .uid = 1000}, page, &engines);
    do {
        uint32_t before;

        n = history_read_runs(history, 1000, &cursor, records, 32, &before);
        lost += before;
        total += n;
        for (size_t i = 0; i < n; i++) {
            ck_assert_uint_eq(records[i].pieces, 2);
            ck_assert_uint_eq(records[i].size, 64);
            ck_assert_str_eq(history_kernel(history, 1000, records[i].kernel)->name, "turn");
        }
    } while (n > 0);
    ck_assert_uint_eq(total, PAGE_RUNS);
    ck_assert_uint_eq(lost, 10);
    ck_assert_ptr_null(history_kernel(history, 1001, 1)); /* another user's */
    ck_assert_ptr_nonnull(history_kernel(history, (uid_t)-1, 1));
    ck_assert_ptr_null(history_kernel(history, 1000, 2));
    free(page);
    free(history);
}
END_TEST

HARNESS_MAIN("server", 10, a_departed_client_leaves_runs_kernels_and_what_it_had_overwritten,
             an_engine_comes_back_from_a_process_that_cannot_be_watched,
             any_number_of_throttled_jobs_may_go_on_at_one_instant,
             another_limit_for_yields_holds_for_holders_that_were_asked_before,
             questions_about_what_does_not_exist_have_an_answer,
             a_late_job_has_the_instants_that_its_program_measured,
             a_late_job_that_cannot_be_ends_the_conversation, a_period_that_cannot_be_ends_the_conversation,
             a_job_is_placed_on_the_gpus_of_the_plan)
