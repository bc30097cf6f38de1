/*
 * Two fronts in one process, as in a program that uses two GPU APIs. One GPU has one engine, each
 * mark is asked through its own front, and both have one job and one end.
 */
#include <stdlib.h>

#include "client/session_private.h"
#include "engine/command_queue.h"
#include "engine/direct.h"
#include "engine/engine_device.h"
#include "engine/flight.h"
#include "engine/inferred_job.h"
#include "engine/meter.h"
#include "engine/runtime.h"
#include "harness.h"

struct mark {
    const void *front; /* the counters of the front that made it */
    int status;
    uint64_t started, ended;
    unsigned refs;
};

struct counts {
    unsigned jobs_over, stopped_issuers, stopped_threads;
} first, second;

static int status_of(const void *front, const struct mark *mark)
{
    ck_assert_ptr_eq(mark->front, front);
    return mark->status;
}

static void times_of(const void *front, const struct mark *mark, struct mark_times *ret_times)
{
    ck_assert_ptr_eq(mark->front, front);
    *ret_times = (struct mark_times){.started = mark->started, .ended = mark->ended};
}

static void count_ref(const void *front, struct mark *mark, int n)
{
    ck_assert_ptr_eq(mark->front, front);
    mark->refs += (unsigned)n;
}

/* The functions of one front; each aborts the test for a mark of the other. */
#define FRONT(name)                                                                                          \
    static int name##_status(struct mark *mark)                                                              \
    {                                                                                                        \
        return status_of(&name, mark);                                                                       \
    }                                                                                                        \
    static void name##_times(struct mark *mark, struct mark_times *ret_times)                                \
    {                                                                                                        \
        times_of(&name, mark, ret_times);                                                                    \
    }                                                                                                        \
    static void name##_keep(struct mark *mark)                                                               \
    {                                                                                                        \
        count_ref(&name, mark, 1);                                                                           \
    }                                                                                                        \
    static void name##_drop(struct mark *mark)                                                               \
    {                                                                                                        \
        count_ref(&name, mark, -1);                                                                          \
    }                                                                                                        \
    static void name##_job_over(void)                                                                        \
    {                                                                                                        \
        name.jobs_over++;                                                                                    \
    }                                                                                                        \
    static void name##_stop_issuers(void)                                                                    \
    {                                                                                                        \
        ck_assert(!atomic_load(&runtime.stopping));                                                          \
        name.stopped_issuers++;                                                                              \
    }                                                                                                        \
    static void name##_stop_threads(void)                                                                    \
    {                                                                                                        \
        ck_assert(atomic_load(&runtime.stopping));                                                           \
        name.stopped_threads++;                                                                              \
    }                                                                                                        \
    static const struct driver_ops name##_ops = {.mark_status = name##_status,                               \
                                                 .mark_wait = name##_status,                                 \
                                                 .mark_times = name##_times,                                 \
                                                 .mark_keep = name##_keep,                                   \
                                                 .mark_drop = name##_drop,                                   \
                                                 .job_over = name##_job_over,                                \
                                                 .stop_issuers = name##_stop_issuers,                        \
                                                 .stop_threads = name##_stop_threads}
FRONT(first);
FRONT(second);

static struct engine_device one, same, other;
static struct command_queue queue_one, queue_same;

static void begin(void)
{
    ck_assert_int_eq(setenv("BATON_SOCKET", "/nonexistent/baton.sock", 1), 0);
    runtime_init(&first_ops);
    engine_device_init(&one, &first_ops, "pci:0000:01:00.0", NULL);
    runtime_init(&second_ops);
    engine_device_init(&same, &second_ops, "pci:0000:01:00.0", NULL);
    engine_device_init(&other, &second_ops, "pci:0000:02:00.0", NULL);
    command_queue_init(&queue_one, &one, true);
    command_queue_init(&queue_same, &same, true);
}

static struct mark *start(struct command_queue *queue, struct mark *mark)
{
    struct command draft = {.queue = queue, .engine = ENGINE_EXECUTION, .leased = true, .predicted = 1000};

    inferred_job_begins();
    command_resolve(&draft);
    ck_assert(direct_enter(&draft, false));
    direct_in_flight(&draft, mark);
    return mark;
}

START_TEST(records_of_one_gpu_share_its_engines)
{
    begin();
    ck_assert_ptr_eq(same.engines, one.engines);
    ck_assert_ptr_eq(one.engines, one.own);
    ck_assert_ptr_eq(other.engines, other.own);
    ck_assert_ptr_ne(other.engines[ENGINE_EXECUTION].lease, one.engines[ENGINE_EXECUTION].lease);
}
END_TEST

START_TEST(commands_of_both_are_in_one_hold_and_each_front_has_its_marks)
{
    struct mark a = {&first, COMMAND_RUNNING, 1000, 2000, 1};
    struct mark b = {&second, COMMAND_RUNNING, 9000000, 9001000, 1};
    struct device_engine *engine;

    begin();
    engine = &one.engines[ENGINE_EXECUTION];
    start(&queue_one, &a);
    start(&queue_same, &b);
    ck_assert(engine->held);
    ck_assert_uint_eq(engine->users, 2);
    a.status = COMMAND_COMPLETE;
    flight_reap(engine, false);
    ck_assert(engine->held);
    ck_assert_uint_eq(engine->users, 1);
    inferred_job_waited();
    ck_assert_uint_eq(first.jobs_over, 0);
    b.status = COMMAND_COMPLETE;
    inferred_job_waited();
    ck_assert(!engine->held);
    ck_assert_uint_eq(engine->users, 0);
    ck_assert_uint_eq(a.refs + b.refs, 0);
    ck_assert_uint_eq(inferred_job_number(), 1);
    ck_assert_uint_eq(first.jobs_over, 1);
    ck_assert_uint_eq(second.jobs_over, 1);
}
END_TEST

START_TEST(a_queue_at_the_address_of_an_earlier_one_is_another)
{
    struct mark a = {&first, COMMAND_RUNNING, 1000, 2000, 1};
    struct mark b = {&first, COMMAND_RUNNING, 1000, 2000, 1};
    struct device_engine *engine;

    begin();
    engine = &one.engines[ENGINE_EXECUTION];
    start(&queue_one, &a);
    command_queue_init(&queue_one, &one, true); /* its stream was destroyed, and a new one made */
    start(&queue_one, &b);
    b.status = COMMAND_COMPLETE;
    flight_reap(engine, false);
    ck_assert_uint_eq(engine->users, 2); /* the newest one says nothing about the other stream */
    a.status = COMMAND_COMPLETE;
    flight_reap(engine, false);
    ck_assert_uint_eq(engine->users, 0);
}
END_TEST

/* Is the note in the page that commands came while no job ran? Takes it. */
static bool noted(struct page *page)
{
    return page_take_apart(page) == PAGE_NO_JOB;
}

/* The program does not wait for its commands within its jobs. */
START_TEST(commands_between_two_explicit_jobs_are_noted_each_time)
{
    static _Alignas(64) struct page page;
    struct session *session;

    begin();
    session = runtime_session();
    page_init(&page, 1, 1);
    atomic_store(&session->protocol.page, &page);
    inferred_job_begins();
    session_job_begin(session, true, NSEC_PER_SEC);
    inferred_job_begins();
    ck_assert(!noted(&page));
    session_job_end(session, true, 2 * NSEC_PER_SEC);
    ck_assert(!noted(&page));
    for (unsigned i = 0; i < 2; i++) {
        inferred_job_begins();
        ck_assert(noted(&page));
    }
    ck_assert_uint_eq(inferred_job_number(), 1);
    session_job_begin(session, true, 3 * NSEC_PER_SEC);
    inferred_job_begins();
    ck_assert(!noted(&page));
    inferred_job_waited();
    ck_assert_uint_eq(first.jobs_over, 1);
    inferred_job_begins();
    ck_assert_uint_eq(inferred_job_number(), 2);
    session_job_end(session, true, 4 * NSEC_PER_SEC);
    inferred_job_waited();
    ck_assert_uint_eq(first.jobs_over, 2);
    ck_assert(!noted(&page));
    inferred_job_begins();
    ck_assert(noted(&page));
    atomic_store(&session->protocol.page, NULL);
}
END_TEST

/*
 * The clocks of two drivers have nothing in common. Both commands are seen to be over at about one
 * moment, so the distances of the clocks to the host's differ as the ends do.
 */
START_TEST(each_front_has_a_clock_of_its_own)
{
    struct mark a = {&first, COMMAND_COMPLETE, INT64_C(1) << 40, (INT64_C(1) << 40) + 1000, 1};
    struct mark b = {&second, COMMAND_COMPLETE, 5000, 8000, 1};
    int64_t apart;

    begin();
    start(&queue_one, &a);
    start(&queue_same, &b);
    inferred_job_waited();
    ck_assert(one.clock.known);
    ck_assert(same.clock.known);
    apart = same.clock.distance - one.clock.distance - (int64_t)(a.ended - b.ended);
    ck_assert_int_ge(apart, -60 * NSEC_PER_SEC);
    ck_assert_int_le(apart, 60 * NSEC_PER_SEC);
}
END_TEST

START_TEST(the_end_stops_each_front_once)
{
    begin();
    runtime_init(&second_ops); /* named twice, still one */
    runtime_stop();
    runtime_stop();
    ck_assert_uint_eq(first.stopped_issuers, 1);
    ck_assert_uint_eq(second.stopped_issuers, 1);
    ck_assert_uint_eq(first.stopped_threads, 1);
    ck_assert_uint_eq(second.stopped_threads, 1);
    ck_assert(runtime_off());
}
END_TEST

HARNESS_MAIN("engine-two-fronts", 60, records_of_one_gpu_share_its_engines,
             commands_of_both_are_in_one_hold_and_each_front_has_its_marks, each_front_has_a_clock_of_its_own,
             a_queue_at_the_address_of_an_earlier_one_is_another,
             commands_between_two_explicit_jobs_are_noted_each_time, the_end_stops_each_front_once)
