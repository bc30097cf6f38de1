/*
 * The calls that a copy in chunks costs: each chunk is given to the driver once, waited for once,
 * and its times are read once. Nothing polls, flushes, asks to be notified or hands the chunk to
 * another thread. A command of which the end of the process leaves pieces out has failed. How many
 * pieces of a kernel are in flight.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session_private.h"
#include "engine/command_queue.h"
#include "engine/driver_ops.h"
#include "engine/engine_device.h"
#include "engine/meter.h"
#include "engine/pipe.h"
#include "engine/runtime.h"
#include "engine/worker.h"
#include "harness.h"

enum { CHUNK = 512 << 10, CHUNKS = 64 };

struct mark {
    unsigned refs;
};

static struct calls {
    unsigned ranges, waits, times, overs, keeps, drops, others;
} calls;

static struct mark marks[CHUNKS];
static pid_t issuer;
static unsigned ends_at;      /* the process begins to end while the driver is given this range; 0: none */
static uint64_t apart = 1000; /* from one start to the next: no pause between two chunks of 1000 ns */
static uint64_t lasts = 1000;
static uint64_t early;          /* by so much the driver tells each start too early */
static unsigned most_in_flight; /* given to the driver and not yet over */

static int other_status(struct mark *mark)
{
    (void)mark;
    calls.others++;
    return COMMAND_COMPLETE;
}

static bool other_notify(struct mark *mark, struct mark_listener *listener)
{
    (void)mark;
    (void)listener;
    calls.others++;
    return false;
}

static void other_flush(struct mark *mark)
{
    (void)mark;
    calls.others++;
}

static int wait_for(struct mark *mark)
{
    ck_assert_uint_gt(mark->refs, 0);
    calls.waits++;
    return COMMAND_COMPLETE;
}

static void read_times(struct mark *mark, struct mark_times *ret_times)
{
    uint64_t index = (uint64_t)(mark - marks);

    calls.times++;
    ret_times->started = 1000000 + index * apart;
    ret_times->ended = ret_times->started + lasts;
    ret_times->started -= early;
}

static void keep(struct mark *mark)
{
    mark->refs++;
    calls.keeps++;
}

static void drop(struct mark *mark)
{
    mark->refs--;
    calls.drops++;
}

static void over(struct mark *mark)
{
    ck_assert_uint_gt(mark->refs, 0);
    calls.overs++;
}

static int give_range(struct command *command, struct piece_cut *cut, uint64_t begin, uint64_t limit,
                      uint64_t *ret_end, struct mark **ret_mark)
{
    (void)command;
    ck_assert_uint_eq(limit - begin, cut->step);
    ck_assert_uint_lt(calls.ranges, CHUNKS);
    ck_assert_int_eq(gettid(), issuer);
    *ret_end = limit;
    *ret_mark = &marks[calls.ranges++];
    if (calls.ranges == ends_at)
        worker_announce_stop();
    (*ret_mark)->refs = 1;
    if (calls.ranges - calls.overs > most_in_flight)
        most_in_flight = calls.ranges - calls.overs;
    return 0;
}

static const struct driver_ops driver = {.mark_status = other_status,
                                         .mark_wait = wait_for,
                                         .mark_notify = other_notify,
                                         .mark_flush = other_flush,
                                         .mark_times = read_times,
                                         .mark_keep = keep,
                                         .mark_drop = drop,
                                         .mark_over = over,
                                         .issue_range = give_range,
                                         .inherited_failure = -14};

static struct engine_device device;
static struct command_queue queue;
static struct command command = {.queue = &queue,
                                 .engine = ENGINE_COPY_IN,
                                 .leased = true,
                                 .bytes = (size_t)CHUNKS * CHUNK,
                                 .predicted = 1000};

static void open_device(void)
{
    ck_assert_int_eq(setenv("BATON_SOCKET", "/nonexistent/baton.sock", 1), 0);
    runtime_init(&driver);
    engine_device_init(&device, &driver, "test:0", NULL);
    command_queue_init(&queue, &device, true);
    command_resolve(&command);
}

static int run(bool to_the_end)
{
    struct piece_cut cut = {
        .step = CHUNK, .unit_items = 1, .to_the_end = to_the_end, .counter = COUNTER_CHUNKS};
    struct piece_pipe pipe;
    int code;

    issuer = gettid();
    pipe_begin(&pipe, command.runs_on, &command);
    code = pipe_run(&pipe, &cut, (struct piece_source){.end = (uint64_t)CHUNKS * CHUNK});
    pipe_finish(&pipe);
    return code;
}

static void run_chunks(void)
{
    ck_assert_int_eq(run(true), 0);
}

START_TEST(a_chunk_costs_one_call_of_each_kind)
{
    open_device();
    run_chunks();
    ck_assert_uint_eq(calls.ranges, CHUNKS);
    /* the newest chunk is in flight, and the command keeps the marks of its first and its last */
    ck_assert_uint_eq(calls.waits, CHUNKS - 1);
    ck_assert_uint_eq(calls.times, CHUNKS - 1);
    ck_assert_uint_eq(calls.overs, CHUNKS - 1);
    ck_assert_uint_eq(calls.drops, CHUNKS - 1);
    ck_assert_uint_eq(calls.keeps, 1);
    ck_assert_uint_eq(calls.others, 0);
    command_drop_marks(&command);
    for (unsigned i = 0; i < CHUNKS; i++)
        ck_assert_uint_eq(marks[i].refs, 0);
}
END_TEST

/* Between two chunks the host pauses for 2000 ns. 63 of 64 chunks are over: 63 * 1000 ns. */
START_TEST(a_pause_between_two_chunks_is_no_engine_time)
{
    apart = 3000;
    open_device();
    ck_assert_ptr_nonnull(command.runs_on->lease);
    session_job_begin(runtime.session, false, 0);
    run_chunks();
    ck_assert_int_eq(runtime.session->used, (CHUNKS - 1) * 1000);
}
END_TEST

START_TEST(a_command_that_the_end_of_the_process_cuts_short_has_failed)
{
    open_device();
    ends_at = CHUNKS / 2;
    ck_assert_int_eq(run(false), driver.inherited_failure);
    ck_assert_uint_eq(calls.ranges, CHUNKS / 2);
}
END_TEST

START_TEST(a_command_whose_last_piece_the_driver_has_when_the_process_ends_has_not)
{
    open_device();
    ends_at = CHUNKS;
    ck_assert_int_eq(run(false), 0);
    ck_assert_uint_eq(calls.ranges, CHUNKS);
}
END_TEST

START_TEST(chunks_of_a_copy_go_on_while_the_process_ends)
{
    open_device();
    ends_at = 1;
    run_chunks();
    ck_assert_uint_eq(calls.ranges, CHUNKS);
}
END_TEST

/* The pieces of a kernel, each so long: how many are in flight at most? */
static unsigned run_pieces(uint64_t length)
{
    static struct meter meter;

    lasts = apart = length;
    command.engine = ENGINE_EXECUTION;
    command.meter = &meter;
    run_chunks();
    ck_assert_uint_eq(calls.waits, CHUNKS - 1); /* each but the newest, once */
    ck_assert_uint_eq(calls.overs, CHUNKS - 1);
    return most_in_flight;
}

/* Two pieces should take a millisecond. */
START_TEST(short_pieces_are_up_to_four_in_flight)
{
    open_device();
    ck_assert_uint_eq(run_pieces(1000), 4);
}
END_TEST

START_TEST(pieces_of_a_third_of_a_millisecond_are_three_in_flight)
{
    open_device();
    ck_assert_uint_eq(run_pieces(333000), 3);
}
END_TEST

START_TEST(longer_pieces_are_two_in_flight)
{
    open_device();
    ck_assert_uint_eq(run_pieces(334000), 2);
}
END_TEST

/* It is told when a piece was issued, one piece before it began. */
START_TEST(what_a_piece_waits_for_the_one_before_it_does_not_count)
{
    open_device();
    early = 333000;
    ck_assert_uint_eq(run_pieces(333000), 3);
}
END_TEST

/* The last of them an hour from now: no pause of this program makes the engine calm. */
START_TEST(while_others_ask_for_the_engine_two_are_in_flight)
{
    open_device();
    atomic_store(&command.runs_on->yielded_at, clock_now() + 3600 * NSEC_PER_SEC);
    ck_assert_uint_eq(run_pieces(1000), 2);
}
END_TEST

HARNESS_MAIN("engine-piece-calls", 60, short_pieces_are_up_to_four_in_flight,
             pieces_of_a_third_of_a_millisecond_are_three_in_flight, longer_pieces_are_two_in_flight,
             what_a_piece_waits_for_the_one_before_it_does_not_count,
             while_others_ask_for_the_engine_two_are_in_flight, a_chunk_costs_one_call_of_each_kind,
             a_pause_between_two_chunks_is_no_engine_time,
             a_command_that_the_end_of_the_process_cuts_short_has_failed,
             a_command_whose_last_piece_the_driver_has_when_the_process_ends_has_not,
             chunks_of_a_copy_go_on_while_the_process_ends)
