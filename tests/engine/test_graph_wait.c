/* Waiting for a queue that other threads never leave empty. */
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "engine/command_queue.h"
#include "engine/engine_device.h"
#include "engine/graph.h"
#include "engine/runtime.h"
#include "harness.h"

#define PATIENCE_NS (60 * NSEC_PER_SEC) /* only a wait without end reaches it */

static struct command_callback *no_callback(struct command *command)
{
    (void)command;
    return NULL;
}

static void ended(struct command *command, int status)
{
    (void)command;
    (void)status;
}

static void free_command(struct command *command)
{
    free(command);
}

static const struct driver_ops ops = {.ending = no_callback, .ended = ended, .free = free_command};
static struct engine_device device;
static struct command_queue queue;
static atomic_bool returned;

static void begin(bool in_order)
{
    ck_assert_int_eq(setenv("BATON_SOCKET", "/nonexistent/baton.sock", 1), 0);
    runtime_init(&ops);
    engine_device_init(&device, &ops, "pci:0000:01:00.0", NULL);
    command_queue_init(&queue, &device, in_order);
}

/* No worker ever takes it: it is not closed. */
static struct command *submit(void)
{
    struct command *command = calloc(1, sizeof *command);

    ck_assert_ptr_nonnull(command);
    command->queue = &queue;
    command->engine = ENGINE_EXECUTION;
    command_init(command);
    graph_open(command);
    return command;
}

static void complete(struct command *command)
{
    graph_complete(command, COMMAND_COMPLETE);
    command_unref(command);
}

static void *wait_for_queue(void *is_complete)
{
    graph_wait_queue(&queue, is_complete != NULL);
    atomic_store(&returned, true);
    return NULL;
}

/* The next command is there before one is complete, or issued. */
static void keep_busy(bool is_complete)
{
    baton_nsec begin_at = clock_now();
    struct command *newest = submit();
    pthread_t waiter;

    atomic_store(&returned, false);
    ck_assert_int_eq(pthread_create(&waiter, NULL, wait_for_queue, is_complete ? &returned : NULL), 0);
    while (!atomic_load(&returned)) {
        struct command *next = submit();

        if (!is_complete)
            graph_issued(newest);
        ck_assert_int_lt(clock_now() - begin_at, PATIENCE_NS);
        complete(newest);
        newest = next;
    }
    ck_assert_uint_gt(atomic_load(&queue.n_unissued), 0);
    complete(newest);
    ck_assert_int_eq(pthread_join(waiter, NULL), 0);
}

START_TEST(a_wait_ends_when_all_that_came_before_it_is_complete)
{
    begin(true);
    keep_busy(true);
}
END_TEST

START_TEST(the_same_without_order)
{
    begin(false);
    keep_busy(true);
}
END_TEST

START_TEST(a_wait_for_the_driver_ends_when_it_has_all_that_came_before)
{
    begin(true);
    keep_busy(false);
}
END_TEST

START_TEST(an_empty_queue_is_not_waited_for)
{
    begin(true);
    graph_wait_queue(&queue, true);
    graph_wait_queue(&queue, false);
    ck_assert(graph_queue_over(&queue, true));
}
END_TEST

HARNESS_MAIN("engine-graph-wait", 90, a_wait_ends_when_all_that_came_before_it_is_complete,
             the_same_without_order, a_wait_for_the_driver_ends_when_it_has_all_that_came_before,
             an_empty_queue_is_not_waited_for)
