/*
 * The guard around a driver's list of machine code, beside a model of that list. The model does
 * what PoCL 3.1 does at the beginning and at the end of a launch. The model aborts as PoCL does. A
 * piece runs when the test says so, or when the guard waits for it.
 */
#include "opencl/quirks/quirks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "harness.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"
#include "opencl/quirks/nested_enqueue.h"

struct opencl_front front;
static bool nested;

bool nested_enqueue_nested(void)
{
    return nested;
}

/* --- the model: variants of one kernel and local size, first in the list first --- */

enum { MOST = 64 };
static struct item {
    size_t width;
    int users;
} list[MOST];
static int n_items;
static bool aborted;

static void to_front(int i)
{
    struct item item = list[i];

    memmove(&list[1], &list[0], (size_t)i * sizeof item);
    list[0] = item;
}

static void model_begins(size_t width)
{
    int i = 0;

    while (i < n_items && list[i].width < width)
        i++;
    if (i == n_items)
        list[n_items++] = (struct item){.width = width};
    to_front(i);
    list[0].users++;
}

static void model_ends(void)
{
    if (list[0].users == 0)
        aborted = true;
    else
        list[0].users--;
}

/* --- pieces --- */

struct _cl_event {
    size_t width;
    int queue;
    bool begun, over;
};
static struct _cl_event pieces[4096];
static int n_pieces, n_waits;

enum { IN_ORDER, ALSO_IN_ORDER, OUT_OF_ORDER, N_QUEUES };
static struct opencl_device device = {.quirks.has = 1u << QUIRK_WIDER_ALONE};
static struct queue_record queues_of[N_QUEUES];

/* A piece of an in-order queue begins when those before it in the queue are over. */
static void begin_piece(struct _cl_event *piece)
{
    for (struct _cl_event *other = pieces; other < piece; other++)
        if (piece->queue != OUT_OF_ORDER && other->queue == piece->queue && !other->over) {
            begin_piece(other);
            model_ends();
            other->over = true;
        }
    if (!piece->begun)
        model_begins(piece->width);
    piece->begun = true;
}

static void end_piece(struct _cl_event *piece)
{
    if (piece->over)
        return;
    begin_piece(piece);
    model_ends();
    piece->over = true;
}

static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *list_of_events)
{
    (void)n;
    n_waits++;
    end_piece(*list_of_events);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL event_info(cl_event event, cl_event_info name, size_t size, void *ret_value,
                                     size_t *ret_size)
{
    (void)name;
    (void)size;
    (void)ret_size;
    *(cl_int *)ret_value = event->over ? CL_COMPLETE : event->begun ? CL_RUNNING : CL_SUBMITTED;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL keep(cl_event event)
{
    (void)event;
    return CL_SUCCESS;
}

static void reset(void)
{
    static const char *const handles[N_QUEUES] = {"a", "b", "c"};

    front.target.clWaitForEvents = wait_for_events;
    front.target.clGetEventInfo = event_info;
    front.target.clRetainEvent = front.target.clReleaseEvent = keep;
    for (int i = 0; i < N_QUEUES; i++)
        queues_of[i] = (struct queue_record){.handle = (cl_command_queue)(uintptr_t)handles[i],
                                             .device = &device,
                                             .base.in_order = i != OUT_OF_ORDER};
}

/* Enqueues a piece of the guarded kernel. */
static struct _cl_event *add(int queue, const char *kernel, size_t width)
{
    static const size_t local = 8;
    struct _cl_event *piece = &pieces[n_pieces++];
    struct quirks_launch use;

    quirks_launch_begin(&queues_of[queue], kernel, 1, &local, &width, &use);
    *piece = (struct _cl_event){.width = width, .queue = queue};
    quirks_launch_end(&use, piece);
    return piece;
}

START_TEST(a_wider_piece_waits_for_those_in_flight)
{
    struct _cl_event *narrow, *same, *wide, *after;

    reset();
    narrow = add(IN_ORDER, "k", 16);
    begin_piece(narrow);
    end_piece(narrow); /* the first of all is a widest one: over before others begin */
    quirks_over(narrow);
    narrow = add(IN_ORDER, "k", 16);
    same = add(ALSO_IN_ORDER, "k", 16);
    begin_piece(narrow);
    begin_piece(same);
    ck_assert_int_eq(n_waits, 0);
    wide = add(IN_ORDER, "k", 128);
    ck_assert(same->over && !narrow->over); /* its own queue's order is the driver's affair */
    ck_assert_int_eq(n_waits, 1);
    after = add(ALSO_IN_ORDER, "k", 16);
    ck_assert(wide->over && !after->over);
    quirks_over(narrow);
    quirks_over(same);
    quirks_over(wide);
    (void)add(OUT_OF_ORDER, "other", 512);
    ck_assert_int_eq(n_waits, 2);
    ck_assert(!aborted);
}
END_TEST

START_TEST(pieces_of_an_unordered_queue_wait_for_each_other)
{
    struct _cl_event *first, *second;

    reset();
    first = add(OUT_OF_ORDER, "k", 16);
    second = add(OUT_OF_ORDER, "k", 128);
    ck_assert(first->over && !second->over);
}
END_TEST

START_TEST(a_width_that_the_driver_refused_is_not_relied_upon)
{
    const size_t local = 8, width = 1024;
    struct _cl_event *piece;
    struct quirks_launch use;

    reset();
    quirks_launch_begin(&queues_of[IN_ORDER], "k", 1, &local, &width, &use);
    quirks_launch_end(&use, NULL);
    piece = add(IN_ORDER, "k", 16);
    (void)add(ALSO_IN_ORDER, "k", 512);
    ck_assert(piece->over);
}
END_TEST

START_TEST(other_drivers_and_nested_calls_never_wait)
{
    reset();
    device.quirks.has = 0;
    (void)add(IN_ORDER, "k", 16);
    (void)add(ALSO_IN_ORDER, "k", 128);
    device.quirks.has = 1u << QUIRK_WIDER_ALONE;
    nested = true;
    (void)add(IN_ORDER, "k", 256);
    (void)add(ALSO_IN_ORDER, "k", 512);
    nested = false;
    ck_assert_int_eq(n_waits, 0);
}
END_TEST

/* Without the guard the model aborts: the test below looks at something. */
START_TEST(the_model_has_the_defect)
{
    model_begins(16);
    model_begins(128);
    model_ends();
    ck_assert(!aborted);
    model_ends();
    ck_assert(aborted);
}
END_TEST

static void random_history(int seed, const char *kernel)
{
    struct random_state random;
    int in_flight = 0;

    random_init(&random, (uint64_t)seed, 1);
    while (n_pieces < 3000 && !aborted) {
        size_t width = (size_t)8 << random_below(&random, 12);
        struct _cl_event *piece;

        (void)add((int)random_below(&random, N_QUEUES), kernel, width);
        /* Some time passes: pieces begin, end, and are seen to be over. */
        for (uint64_t n = random_below(&random, 4); n; n--) {
            piece = &pieces[random_below(&random, (uint64_t)n_pieces)];
            if (random_below(&random, 2))
                begin_piece(piece);
            else
                end_piece(piece);
        }
        piece = &pieces[random_below(&random, (uint64_t)n_pieces)];
        if (piece->over)
            quirks_over(piece);
        for (int i = 0; i < n_pieces; i++)
            in_flight += pieces[i].begun && !pieces[i].over;
    }
    ck_assert_msg(!aborted, "seed %d", seed);
    ck_assert_int_gt(in_flight, 3000); /* more than one at a time in the mean: they do run together */
}

START_TEST(random_pieces_never_abort)
{
    reset();
    for (int seed = 0; seed < 20; seed++) {
        char kernel[16];

        (void)snprintf(kernel, sizeof kernel, "k%d", seed);
        n_pieces = n_items = 0;
        random_history(seed, kernel);
    }
}
END_TEST

HARNESS_MAIN("variant", 60, a_wider_piece_waits_for_those_in_flight,
             pieces_of_an_unordered_queue_wait_for_each_other,
             a_width_that_the_driver_refused_is_not_relied_upon, other_drivers_and_nested_calls_never_wait,
             the_model_has_the_defect, random_pieces_never_abort)
