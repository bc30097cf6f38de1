#include "cuda/mark.h"

#include <stdint.h>

#include "cuda/front.h"
#include "cuda/genuine.h"
#include "harness.h"

/*
 * The driver: one stream that is given operations and does them when told. An event is over when
 * all that the stream had before it is done.
 */
static struct driver {
    unsigned given, done;
    unsigned events[64], n_events; /* where each was recorded; 0: never */
    unsigned n_records, n_queries, n_waits, n_visits;
    bool refuses_records;
} driver;

struct cuda_front cuda_front;

void context_visit_begin(struct context_record *context, struct context_visit *ret_visit)
{
    (void)context;
    driver.n_visits++;
    *ret_visit = (struct context_visit){0};
}

void context_visit_end(const struct context_visit *visit)
{
    (void)visit;
}

static CUresult create_event(CUevent *ret_event, unsigned flags)
{
    (void)flags;
    ck_assert_uint_lt(driver.n_events + 1, 64);
    *ret_event = (CUevent)(uintptr_t)++driver.n_events;
    return CUDA_SUCCESS;
}

static unsigned *place_of(CUevent event)
{
    return &driver.events[(uintptr_t)event];
}

static CUresult record(CUevent event, CUstream stream)
{
    (void)stream;
    if (driver.refuses_records)
        return CUDA_ERROR_OUT_OF_MEMORY;
    driver.n_records++;
    *place_of(event) = driver.given;
    return CUDA_SUCCESS;
}

static CUresult query_event(CUevent event)
{
    driver.n_queries++;
    return driver.done >= *place_of(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult query_stream(CUstream stream)
{
    (void)stream;
    driver.n_queries++;
    return driver.done == driver.given ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult wait_event(CUevent event)
{
    driver.n_waits++;
    driver.done = driver.done > *place_of(event) ? driver.done : *place_of(event);
    return CUDA_SUCCESS;
}

static CUresult wait_stream(CUstream stream)
{
    (void)stream;
    driver.n_waits++;
    driver.done = driver.given;
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *ret_ms, CUevent begin, CUevent end)
{
    (void)begin;
    (void)end;
    *ret_ms = 0;
    return CUDA_SUCCESS;
}

static CUresult create_stream(CUstream *ret_stream, unsigned flags)
{
    (void)flags;
    *ret_stream = (CUstream)(uintptr_t)3;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static struct context_record context;
static struct stream_record stream, other;

static void begin(void)
{
    cuda_front.genuine = (struct genuine){.cuEventCreate = create_event,
                                          .cuEventRecord = record,
                                          .cuEventQuery = query_event,
                                          .cuStreamQuery = query_stream,
                                          .cuEventSynchronize = wait_event,
                                          .cuStreamSynchronize = wait_stream,
                                          .cuEventElapsedTime = elapsed,
                                          .cuStreamCreate = create_stream,
                                          .cuStreamDestroy_v2 = destroy};
    pthread_mutex_init(&context.marks_lock, NULL);
    list_init(&context.open_marks);
    stream.context = other.context = &context;
    stream.handle = (CUstream)(uintptr_t)1;
    other.handle = (CUstream)(uintptr_t)2;
}

/* A launch of a microsecond, and its mark. */
static struct mark *launch(struct stream_record *on)
{
    driver.given++;
    return mark_join(on, 1, 1000);
}

START_TEST(short_launches_share_a_mark_without_an_event)
{
    struct mark *first, *second;

    begin();
    first = launch(&stream);
    second = launch(&stream);
    ck_assert_ptr_eq(first, second);
    ck_assert_uint_eq(driver.n_records, 0);
    ck_assert_int_eq(mark_status(first), COMMAND_RUNNING);
    driver.done = 1; /* the second one still runs */
    ck_assert_int_eq(mark_status(first), COMMAND_RUNNING);
    driver.done = 2;
    ck_assert_int_eq(mark_status(first), COMMAND_COMPLETE);
    ck_assert_uint_eq(driver.n_records, 0);
    mark_drop(first);
    mark_drop(second);
}
END_TEST

START_TEST(a_launch_behind_a_mark_that_is_over_is_in_flight)
{
    struct mark *first, *second;

    begin();
    first = launch(&stream);
    driver.done = 1;
    ck_assert_int_eq(mark_status(first), COMMAND_COMPLETE);
    second = launch(&stream);
    ck_assert_ptr_ne(first, second);
    ck_assert_int_eq(mark_status(second), COMMAND_RUNNING);
    ck_assert_int_eq(mark_status(first), COMMAND_COMPLETE);
    mark_drop(first);
    mark_drop(second);
}
END_TEST

START_TEST(a_thread_that_waits_gives_the_mark_its_event)
{
    struct mark *first, *second;

    begin();
    first = launch(&stream);
    driver.given++; /* of the program, behind the launch: the event comes behind it */
    ck_assert_int_eq(mark_wait(first), COMMAND_COMPLETE);
    ck_assert_uint_eq(driver.n_records, 1);
    ck_assert_uint_eq(driver.done, 2);
    second = launch(&stream);
    ck_assert_int_eq(mark_status(second), COMMAND_RUNNING);
    mark_drop(first);
    mark_drop(second);
}
END_TEST

START_TEST(what_joins_during_a_wait_is_not_over_after_it)
{
    struct mark *before, *during;
    uint64_t place;

    begin();
    before = launch(&stream);
    place = mark_place(&context);
    during = launch(&stream); /* another thread's, while the driver waits */
    mark_passed(&context, NULL, place);
    ck_assert_int_eq(mark_status(during), COMMAND_RUNNING);
    place = mark_place(&context);
    mark_passed(&context, &other, place); /* another stream's wait says nothing */
    ck_assert_int_eq(mark_status(during), COMMAND_RUNNING);
    mark_passed(&context, &stream, place);
    driver.n_queries = 0;
    ck_assert_int_eq(mark_status(before), COMMAND_COMPLETE);
    ck_assert_int_eq(mark_status(during), COMMAND_COMPLETE);
    ck_assert_uint_eq(driver.n_queries, 0); /* the driver is not asked */
    mark_drop(before);
    mark_drop(during);
}
END_TEST

START_TEST(a_wait_for_the_context_passes_all_its_streams)
{
    struct mark *here, *there;

    begin();
    here = launch(&stream);
    there = launch(&other);
    ck_assert_ptr_ne(here, there);
    mark_passed(&context, NULL, mark_place(&context));
    ck_assert_int_eq(mark_status(here), COMMAND_COMPLETE);
    ck_assert_int_eq(mark_status(there), COMMAND_COMPLETE);
    mark_drop(here);
    mark_drop(there);
}
END_TEST

START_TEST(a_mark_of_much_work_gets_an_event)
{
    struct mark *marks[33], *shared;

    begin();
    for (int i = 0; i < 32; i++)
        marks[i] = launch(&stream);
    ck_assert_uint_eq(driver.n_records, 1); /* at the 32nd command */
    shared = marks[31];
    ck_assert_ptr_eq(marks[0], shared);
    marks[32] = launch(&stream);
    ck_assert_ptr_ne(marks[32], shared);
    driver.done = 32;
    ck_assert_int_eq(mark_status(shared), COMMAND_COMPLETE);
    ck_assert_int_eq(mark_status(marks[32]), COMMAND_RUNNING);
    for (int i = 0; i < 33; i++)
        mark_drop(marks[i]);
}
END_TEST

START_TEST(marks_have_events_before_a_capture_begins)
{
    struct mark *before, *within;

    begin();
    before = launch(&stream);
    atomic_store(&cuda_front.n_capturing, 1);
    mark_close_context(&context);
    ck_assert_uint_eq(driver.n_records, 1);
    within = launch(&other); /* an event of its own at once: later the stream may be captured */
    ck_assert_uint_eq(driver.n_records, 2);
    driver.done = 1;
    ck_assert_int_eq(mark_status(before), COMMAND_COMPLETE);
    ck_assert_int_eq(mark_status(within), COMMAND_RUNNING);
    mark_drop(before);
    mark_drop(within);
}
END_TEST

START_TEST(a_driver_without_events_is_waited_for)
{
    struct mark *mark;

    begin();
    driver.refuses_records = true;
    mark = launch(&stream);
    mark_close(&stream);
    ck_assert_uint_eq(driver.done, 1);
    ck_assert_int_eq(mark_status(mark), COMMAND_COMPLETE);
    mark_drop(mark);
}
END_TEST

START_TEST(times_of_a_shared_mark_are_told_as_such)
{
    struct mark_times times;
    struct mark *mark;

    begin();
    mark = launch(&stream);
    mark_passed(&context, NULL, mark_place(&context));
    mark_times(mark, &times);
    ck_assert(times.shared);
    ck_assert_uint_eq(times.started, 1);
    ck_assert_uint_ge(times.ended, times.started);
    mark_drop(mark);
    driver.given++;
    mark = mark_record(&stream, 1);
    driver.done = driver.given;
    ck_assert_int_eq(mark_status(mark), COMMAND_COMPLETE);
    mark_times(mark, &times);
    ck_assert(!times.shared);
    mark_drop(mark);
}
END_TEST

START_TEST(what_a_stream_leaves_behind_ends_with_it)
{
    struct mark *mark;

    begin();
    mark = launch(&stream);
    mark_close(&stream); /* before the driver destroys it */
    mark_forget_stream(&stream);
    ck_assert_int_eq(mark_status(mark), COMMAND_RUNNING);
    driver.done = 1;
    ck_assert_int_eq(mark_status(mark), COMMAND_COMPLETE);
    mark_drop(mark);
    mark = launch(&other);
    mark_forget_context(&context); /* its events went with it */
    ck_assert_int_eq(mark_status(mark), COMMAND_COMPLETE);
    mark_drop(mark);
}
END_TEST

START_TEST(no_mark_of_a_context_that_ended_is_asked_about)
{
    struct mark *recorded, *waited, *open;
    struct mark_times times;

    begin();
    driver.given++;
    recorded = mark_record(&stream, 1);
    driver.given++;
    waited = mark_record(&other, 1);
    open = launch(&stream);
    mark_forget_context(&context);
    driver.n_queries = driver.n_waits = driver.n_visits = 0;
    ck_assert_int_eq(mark_status(recorded), COMMAND_COMPLETE);
    ck_assert_int_eq(mark_wait(waited), COMMAND_COMPLETE);
    ck_assert_int_eq(mark_wait(open), COMMAND_COMPLETE);
    mark_times(recorded, &times);
    ck_assert_uint_ge(times.ended, times.started);
    ck_assert_uint_eq(driver.n_queries + driver.n_waits + driver.n_visits, 0);
    mark_drop(recorded);
    mark_drop(waited);
    mark_drop(open);
}
END_TEST

HARNESS_MAIN("cuda marks", 20, short_launches_share_a_mark_without_an_event,
             a_launch_behind_a_mark_that_is_over_is_in_flight, a_thread_that_waits_gives_the_mark_its_event,
             what_joins_during_a_wait_is_not_over_after_it, a_wait_for_the_context_passes_all_its_streams,
             a_mark_of_much_work_gets_an_event, marks_have_events_before_a_capture_begins,
             a_driver_without_events_is_waited_for, times_of_a_shared_mark_are_told_as_such,
             what_a_stream_leaves_behind_ends_with_it, no_mark_of_a_context_that_ended_is_asked_about)
