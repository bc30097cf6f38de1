/*
 * The worker is in a callback of the program for long, and its engine has a command that is over:
 * under the real batond another client gets the engine nevertheless.
 */
#include <sched.h>
#include <stdlib.h>

#include "daemon/fixture.h"
#include "engine/command_queue.h"
#include "engine/engine_device.h"
#include "engine/graph.h"
#include "engine/runtime.h"
#include "engine/worker.h"
#include "harness.h"

#define DEVICE "test:0"

struct mark {
    int unused;
};

static const char config[] = "probe: false\nrealtime: false\ndevices: 1\n";
static struct fixture fixture;
static struct engine_device device;
static struct command_queue queue;
static struct mark over;
static atomic_bool called, may_return;

static int mark_complete(struct mark *mark)
{
    (void)mark;
    return COMMAND_COMPLETE;
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
    *ret_mark = &over;
    return 0;
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

static const struct driver_ops ops = {.mark_status = mark_complete,
                                      .mark_wait = mark_complete,
                                      .mark_times = mark_no_times,
                                      .mark_queued = mark_no_times,
                                      .mark_keep = mark_nothing,
                                      .mark_drop = mark_nothing,
                                      .decided = decided,
                                      .issue = issue,
                                      .ending = no_callback,
                                      .ended = ended,
                                      .free = free_command};

static void program_start(void)
{
    fixture_start(&fixture, config, NULL);
    ck_assert_int_eq(setenv("BATON_SOCKET", fixture.socket, 1), 0);
    ck_assert_int_eq(setenv("BATON_PRIORITY", "10", 1), 0);
    runtime_init(&ops);
    engine_device_init(&device, &ops, DEVICE, NULL);
    command_queue_init(&queue, &device, true);
    ck_assert_ptr_nonnull(device.own[ENGINE_EXECUTION].lease);
}

static struct command *open_command(void)
{
    struct command *command = calloc(1, sizeof *command);

    ck_assert_ptr_nonnull(command);
    command->queue = &queue;
    command->engine = ENGINE_EXECUTION;
    command->leased = true;
    command->predicted = 1000;
    command_init(command);
    graph_open(command);
    return command;
}

static bool is_set(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

static void stay_there(struct command_callback *callback)
{
    (void)callback;
    atomic_store(&called, true);
    while (!atomic_load(&may_return))
        sched_yield();
}

/* Two commands, one behind the other, and the worker in the callback of the first. */
static void begin_callback(struct command_callback *callback, struct command *ret_commands[2])
{
    ret_commands[0] = open_command();
    ret_commands[1] = open_command();
    graph_callback(ret_commands[0], callback);
    graph_close(ret_commands[1]);
    graph_close(ret_commands[0]);
    fixture_wait(is_set, &called, "the callback runs");
}

static void end_callback(struct command *commands[2])
{
    atomic_store(&may_return, true);
    ck_assert_int_eq(graph_wait(commands[1]), COMMAND_COMPLETE);
    command_unref(commands[0]);
    command_unref(commands[1]);
}

START_TEST(a_callback_of_the_program_does_not_keep_the_engine)
{
    struct command_callback callback = {.at = COMMAND_COMPLETE, .run = stay_there};
    struct command *commands[2];
    struct puppet other;

    program_start();
    other = puppet_start(&fixture, "other", 90, DEVICE);
    begin_callback(&callback, commands);
    puppet_do(&other, PUPPET_BEGIN, 'B');
    puppet_do(&other, PUPPET_END, 'E');
    end_callback(commands);
    puppet_quit(&other);
    runtime_stop();
    session_close(runtime_session());
    fixture_done(&fixture);
}
END_TEST

HARNESS_MAIN("engine-relief", 60, a_callback_of_the_program_does_not_keep_the_engine)
