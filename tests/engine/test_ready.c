/*
 * A command whose waits are over runs, with the right status. In these cases the driver cannot
 * notify, the worker is in program code, or no worker can be started.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "engine/command_queue.h"
#include "engine/engine_device.h"
#include "engine/graph.h"
#include "engine/runtime.h"
#include "harness.h"

#define PATIENCE_NS (60 * NSEC_PER_SEC) /* only a command that never runs reaches it */

struct mark {
    int status;
    bool notifies;
    struct mark_listener *listener;
};

static struct engine_device device;
static struct command_queue queue;
static struct mark done = {.status = COMMAND_COMPLETE};
static atomic_bool asked, called, may_return;
static bool refuses_threads;

/* Linked with --wrap=pthread_create. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    return refuses_threads ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

static int mark_status(struct mark *mark)
{
    return mark->listener || mark == &done ? mark->status : COMMAND_SUBMITTED;
}

static int mark_wait(struct mark *mark)
{
    return mark->status;
}

static bool mark_notify(struct mark *mark, struct mark_listener *listener)
{
    mark->listener = listener;
    return mark->notifies;
}

static void mark_nothing(struct mark *mark)
{
    (void)mark;
}

static void mark_no_times(struct mark *mark, struct mark_times *ret_times)
{
    (void)mark;
    *ret_times = (struct mark_times){0};
}

static bool decided(struct command *command, baton_nsec until_at)
{
    (void)command;
    (void)until_at;
    return true;
}

static int issue(struct piece_pipe *pipe, struct command *command, struct mark **ret_mark)
{
    (void)pipe;
    (void)command;
    *ret_mark = &done;
    return 0;
}

/* Asked under the graph's lock by a thread that waits and could help. */
static bool spread_idle(void)
{
    atomic_store(&asked, true);
    return true;
}

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

static const struct driver_ops ops = {.mark_status = mark_status,
                                      .mark_wait = mark_wait,
                                      .mark_notify = mark_notify,
                                      .mark_flush = mark_nothing,
                                      .mark_times = mark_no_times,
                                      .mark_queued = mark_no_times,
                                      .mark_keep = mark_nothing,
                                      .mark_drop = mark_nothing,
                                      .decided = decided,
                                      .issue = issue,
                                      .spread_idle = spread_idle,
                                      .ending = no_callback,
                                      .ended = ended,
                                      .free = free_command,
                                      .inherited_failure = -14};

static void begin(void)
{
    ck_assert_int_eq(setenv("BATON_SOCKET", "/nonexistent/baton.sock", 1), 0);
    runtime_init(&ops);
    engine_device_init(&device, &ops, "pci:0000:01:00.0", NULL);
    command_queue_init(&queue, &device, false);
}

static struct command *open_command(void)
{
    struct command *command = calloc(1, sizeof *command);

    ck_assert_ptr_nonnull(command);
    command->queue = &queue;
    command->engine = ENGINE_EXECUTION;
    command_init(command);
    graph_open(command);
    return command;
}

static void await(atomic_bool *flag)
{
    baton_nsec begin_at = clock_now();

    while (!atomic_load(flag)) {
        ck_assert_int_lt(clock_now() - begin_at, PATIENCE_NS);
        sched_yield();
    }
}

static int await_end(struct command *command)
{
    baton_nsec begin_at = clock_now();
    int status;

    while ((status = graph_status(command)) > COMMAND_COMPLETE) {
        ck_assert_int_lt(clock_now() - begin_at, PATIENCE_NS);
        sched_yield();
    }
    return status;
}

START_TEST(a_failed_wait_is_inherited_although_the_driver_cannot_notify)
{
    struct mark failed = {.status = -5};
    struct command *command;

    begin();
    command = open_command();
    graph_wait_mark(command, &failed);
    graph_close(command);
    ck_assert_int_eq(await_end(command), ops.inherited_failure);
    command_unref(command);
}
END_TEST

/* --- the worker is in program code --- */

static void stay_there(struct command_callback *callback)
{
    (void)callback;
    atomic_store(&called, true);
    await(&may_return);
}

static void *wait_for(void *command)
{
    (void)graph_wait(command);
    return NULL;
}

START_TEST(a_waiting_thread_takes_what_becomes_ready_while_the_worker_is_in_a_callback)
{
    struct command_callback callback = {.at = COMMAND_COMPLETE, .run = stay_there};
    struct mark pending = {.status = COMMAND_COMPLETE, .notifies = true};
    struct command *first, *second;
    pthread_t waiter;

    begin();
    first = open_command();
    graph_callback(first, &callback);
    graph_close(first);
    await(&called);
    second = open_command();
    graph_wait_mark(second, &pending);
    graph_close(second);
    ck_assert_int_eq(pthread_create(&waiter, NULL, wait_for, second), 0);
    await(&asked);
    graph_lock(); /* the waiting thread sleeps, or has not begun */
    graph_unlock();
    pending.listener->run(pending.listener, COMMAND_COMPLETE);
    ck_assert_int_eq(await_end(second), COMMAND_COMPLETE);
    atomic_store(&may_return, true);
    ck_assert_int_eq(pthread_join(waiter, NULL), 0);
    command_unref(second);
    command_unref(first);
}
END_TEST

/* --- no worker --- */

static void note_call(struct command_callback *callback)
{
    (void)callback;
    atomic_store(&called, true);
}

START_TEST(a_waiting_thread_does_everything_if_no_worker_can_be_started)
{
    struct command_callback callback = {.at = COMMAND_COMPLETE, .run = note_call};
    struct command *command;
    pthread_t waiter;

    begin();
    command = open_command();
    graph_callback(command, &callback);
    ck_assert_int_eq(pthread_create(&waiter, NULL, wait_for, command), 0);
    await(&asked);
    refuses_threads = true;
    graph_close(command);
    ck_assert_int_eq(await_end(command), COMMAND_COMPLETE);
    ck_assert_int_eq(pthread_join(waiter, NULL), 0);
    ck_assert(atomic_load(&called));
    command_unref(command);
}
END_TEST

HARNESS_MAIN("engine-ready", 60, a_failed_wait_is_inherited_although_the_driver_cannot_notify,
             a_waiting_thread_takes_what_becomes_ready_while_the_worker_is_in_a_callback,
             a_waiting_thread_does_everything_if_no_worker_can_be_started)
