/*
 * Which client goes before which, as the server tells its clients, on a virtual clock: tasks of the
 * plan, programs beneath it, equals.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/server.h"
#include "harness.h"

#define DEVICE    "test:0"
#define PEERS     4
#define FIRST_PID 100

enum { EXECUTION, COPY }; /* leases */

struct scene {
    struct server *server;
    struct page *pages[PEERS];
    uint32_t epochs, n;
    baton_nsec now_at;
    unsigned boosts[PEERS]; /* by pid, in the order of joining */
};

static int page_new(void *user, unsigned peer, struct page **ret_page)
{
    struct scene *scene = user;

    *ret_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    memset(*ret_page, 0, PAGE_SIZE_BYTES);
    scene->pages[peer] = *ret_page;
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

static void boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    struct scene *scene = user;

    (void)threads;
    (void)n;
    scene->boosts[pid - FIRST_PID] = priority;
}

static void report(void *user, const struct server_report *what)
{
    (void)user;
    (void)what;
}

static void begin(struct scene *scene, enum sched_policy_id policy)
{
    static struct config config;
    const struct server_host host = {.user = scene,
                                     .page_new = page_new,
                                     .page_free = page_free,
                                     .wake = wake,
                                     .boost = boost,
                                     .report = report};
    const struct server_start start = {.generation = 1, .pid = 1, .now_at = NSEC_PER_SEC};

    *scene = (struct scene){.now_at = NSEC_PER_SEC};
    config_init(&config);
    config.policy = policy;
    ck_assert_int_eq(server_new(&config, &host, &start, &scene->server), 0);
}

static void say(struct scene *scene, unsigned peer, const struct frame *frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_int_eq(server_receive(scene->server, peer, bytes, frame_encode(frame, bytes), scene->now_at),
                     0);
}

/*
 * A program of an ordinary user, whose ceiling is 50, with a thread that may be boosted and leases
 * of both kinds.
 */
static unsigned join(struct scene *scene, const char *name, uint32_t priority, uint32_t flags)
{
    struct credentials who = {.pid = FIRST_PID, .uid = 1000, .gid = 1000};
    struct frame frame = {.type = FRAME_HELLO,
                          .hello = {.version = FRAME_VERSION, .priority = priority, .flags = flags}};
    unsigned peer = 0;

    memcpy(frame.hello.name, name, strlen(name) + 1);
    who.pid += (pid_t)scene->n;
    frame.hello.key = ++scene->n;
    ck_assert_int_eq(server_accept(scene->server, &who, scene->now_at, &peer), 0);
    ck_assert_uint_lt(peer, PEERS);
    say(scene, peer, &frame);
    say(scene, peer, &(struct frame){.type = FRAME_THREAD, .thread = {.tid = 1000 + peer}});
    say(scene, peer, &(struct frame){.type = FRAME_ATTACH, .attach = {.index = EXECUTION, .device = DEVICE}});
    say(scene, peer,
        &(struct frame){.type = FRAME_ATTACH,
                        .attach = {.index = COPY, .engine = ENGINE_COPY_IN, .device = DEVICE}});
    return peer;
}

static void ask(struct scene *scene, unsigned peer, uint32_t lease)
{
    say(scene, peer,
        &(struct frame){.type = FRAME_REQUEST, .request = {.index = lease, .epoch = ++scene->epochs}});
}

static uint64_t word(const struct scene *scene, unsigned peer, uint32_t lease)
{
    return atomic_load(&scene->pages[peer]->leases[lease].word);
}

static bool holds(const struct scene *scene, unsigned peer, uint32_t lease)
{
    return lease_word_state(word(scene, peer, lease)) == LEASE_STATE_BUSY;
}

static uint64_t flags(const struct scene *scene, unsigned peer)
{
    return word(scene, peer, EXECUTION) & LEASE_FLAGS;
}

/* As a client that gives it back. */
static void end(struct scene *scene, unsigned peer, uint32_t lease)
{
    uint64_t seen = word(scene, peer, lease);

    atomic_store(&scene->pages[peer]->leases[lease].word, lease_word_make(LEASE_STATE_NONE, 0, 1, 0));
    say(scene, peer,
        &(struct frame){.type = FRAME_RELEASE, .release = {.index = lease, .epoch = lease_word_epoch(seen)}});
}

static void plan_eye(struct scene *scene)
{
    static const char text[] =
        "analysis: holistic\nprofile: priority\ntasks:\n  - {name: eye, priority: 10}\n";
    struct input_error error;
    struct plan plan;

    ck_assert_int_eq(plan_read("plan", text, sizeof text - 1, &plan, &error), 0);
    ck_assert_int_eq(server_set_plan(scene->server, &plan, "plan", scene->now_at), 0);
    plan_done(&plan);
}

START_TEST(no_priority_lifts_a_program_above_a_task_of_the_plan)
{
    struct scene scene;
    unsigned eye, stranger;

    begin(&scene, POLICY_ADAPTIVE);
    plan_eye(&scene);
    stranger = join(&scene, "stranger", 99, 0); /* clipped to 50, which is above 10 as a number */
    eye = join(&scene, "eye", 20, 0);
    ask(&scene, stranger, EXECUTION);
    ask(&scene, eye, EXECUTION);
    ck_assert(flags(&scene, stranger) & LEASE_FLAG_YIELD);
    end(&scene, stranger, EXECUTION);
    ck_assert(holds(&scene, eye, EXECUTION));
    ask(&scene, stranger, EXECUTION);
    ck_assert_uint_eq(flags(&scene, eye), LEASE_FLAG_WANTED); /* it goes on for as long as it has work */
    server_free(scene.server);
}
END_TEST

START_TEST(ceilings_do_not_take_from_the_plan)
{
    struct scene scene;
    unsigned eye, stranger;

    begin(&scene, POLICY_FIXED);
    plan_eye(&scene);
    eye = join(&scene, "eye", 20, 0);
    stranger = join(&scene, "stranger", 5, 0);
    {
        static struct config config;

        config_init(&config);
        config.others.ceiling = 3;
        server_set_limits(scene.server, &config, scene.now_at);
    }
    ask(&scene, stranger, EXECUTION);
    ask(&scene, eye, EXECUTION);
    ck_assert(flags(&scene, stranger) & LEASE_FLAG_YIELD);
    server_free(scene.server);
}
END_TEST

START_TEST(a_boost_for_a_stranger_stays_below_every_task)
{
    struct scene scene;
    unsigned eye, low, high;

    begin(&scene, POLICY_FIXED);
    plan_eye(&scene);
    low = join(&scene, "low", 10, 0);
    high = join(&scene, "high", 50, 0);
    eye = join(&scene, "eye", 20, 0);
    ask(&scene, low, EXECUTION);
    ask(&scene, high, EXECUTION);
    ck_assert(flags(&scene, low) & LEASE_FLAG_YIELD);
    ck_assert_uint_eq(scene.boosts[0], 8); /* 50 / 6; tasks of the plan are at 17 and above */
    ask(&scene, eye, EXECUTION);           /* was asked to yield already, but not for a task */
    ck_assert_uint_eq(scene.boosts[0], 99);
    end(&scene, low, EXECUTION);
    ck_assert_uint_eq(scene.boosts[0], 0);
    ck_assert(holds(&scene, eye, EXECUTION));
    server_free(scene.server);
}
END_TEST

START_TEST(a_program_that_chose_no_priority_is_adaptive_where_that_is_the_policy)
{
    for (int i = 0; i < 3; i++) {
        struct scene scene;
        unsigned plain, humble;

        begin(&scene, i == 1 ? POLICY_FIXED : POLICY_ADAPTIVE);
        plain = join(&scene, "plain", 20, i == 2 ? HELLO_REALTIME : HELLO_NICE);
        humble = join(&scene, "humble", 1, 0);
        ask(&scene, plain, EXECUTION);
        ask(&scene, humble, EXECUTION);
        /*
         * A priority, be it 1, is above none; nice 0 is 20, where it counts: under `fixed`, and
         * with deadlines.
         */
        ck_assert_int_eq((flags(&scene, plain) & LEASE_FLAG_YIELD) != 0, i == 0);
        server_free(scene.server);
    }
}
END_TEST

START_TEST(a_kept_copy_engine_lifts_no_program_above_its_equals)
{
    struct scene scene;
    unsigned first;

    /* All have copied at the beginning. The last one to copy keeps that engine for good. */
    begin(&scene, POLICY_ADAPTIVE);
    first = join(&scene, "first", 20, 0);
    (void)join(&scene, "second", 20, 0);
    (void)join(&scene, "third", 20, 0);
    ask(&scene, first, COPY);
    ck_assert(lease_word_keep(&scene.pages[first]->leases[COPY].word));
    for (unsigned p = 0; p < 3; p++)
        ask(&scene, p, EXECUTION);
    for (unsigned round = 0; round < 9; round++) {
        unsigned holder = round % 3;

        ck_assert_msg(holds(&scene, holder, EXECUTION), "round %u", round);
        scene.now_at += 10 * NSEC_PER_MS;
        end(&scene, holder, EXECUTION);
        ask(&scene, holder, EXECUTION);
        ck_assert_msg(!(flags(&scene, (holder + 1) % 3) & LEASE_FLAG_YIELD), "round %u", round);
    }
    server_free(scene.server);
}
END_TEST

HARNESS_MAIN("ranks", 10, no_priority_lifts_a_program_above_a_task_of_the_plan,
             ceilings_do_not_take_from_the_plan, a_boost_for_a_stranger_stays_below_every_task,
             a_program_that_chose_no_priority_is_adaptive_where_that_is_the_policy,
             a_kept_copy_engine_lifts_no_program_above_its_equals)
