/*
 * baton stop, load, reload, reset, priority: requests to a running batond. One question, one DONE
 * (src/daemon/control.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/patience.h"
#include "cli/subcommand.h"
#include "cli/file_kind.h"
#include "cli/monitor.h"
#include "model/task_set.h"

#define STOP_NS (10 * NSEC_PER_SEC) /* how long a daemon may take to end after it said so */

/* Asks, and prints the daemon's answer. 0, or an exit status after a message to the user. */
static int ask(const struct cli_args *args, const struct frame *question, struct frame *ret_answer)
{
    const char *socket = cli_value(args, "socket", NULL);
    struct monitor monitor;
    int result = monitor_open(&monitor, socket);

    if (result)
        return monitor_fail_absent(args, socket, result);
    result = monitor_ask(&monitor, question, ret_answer);
    monitor_close(&monitor);
    /* A daemon of an older version disconnects a client with an unknown request. */
    if (result == -ECONNRESET && question->type == FRAME_CONTROL)
        return cli_fail_environment(args, 0, "batond on %s does not know this command; restart it",
                                    monitor.path);
    if (result || ret_answer->type != FRAME_DONE)
        return cli_fail_environment(args, result ? result : EPROTO, "batond");
    if (ret_answer->done.reason)
        return cli_fail_usage(args, "%s", ret_answer->done.text);
    return 0;
}

static int ask_and_print(const struct cli_args *args, const struct frame *question)
{
    struct frame answer;
    int status = ask(args, question, &answer);

    if (!status)
        printf("%s\n", answer.done.text);
    return status;
}

static int run_reload(const struct cli_args *args)
{
    return ask_and_print(args, &(const struct frame){.type = FRAME_RELOAD});
}

static int run_reset(const struct cli_args *args)
{
    return ask_and_print(args,
                         &(const struct frame){.type = FRAME_CONTROL, .control = {.what = CONTROL_RESET}});
}

/* Returns when no daemon listens, so that the next `baton start` does not find the old one. */
static int run_stop(const struct cli_args *args)
{
    const struct timespec pause = {.tv_nsec = 10 * NSEC_PER_MS};
    const struct frame question = {.type = FRAME_CONTROL, .control = {.what = CONTROL_STOP}};
    const char *socket = cli_value(args, "socket", NULL);
    baton_nsec until = clock_now() + patience_limit(STOP_NS);
    char path[SOCKET_PATH_SIZE];
    char unused[SOCKET_PATH_SIZE];
    struct frame answer;
    int status = monitor_find(socket, path);

    status = status ? monitor_fail_absent(args, socket, status) : ask(args, &question, &answer);
    if (status)
        return status;
    /* The answer is the socket's path. Otherwise the socket stays, because it is systemd's. */
    while (access(answer.done.text, F_OK) == 0 && monitor_find(path, unused) == 0 && clock_now() < until)
        (void)nanosleep(&pause, NULL);
    printf("batond has ended: %s\n", answer.done.text);
    return CLI_YES;
}

static int run_load(const struct cli_args *args)
{
    const char *path = args->positional[0];
    struct frame question = {.type = FRAME_CONTROL};
    enum file_kind kind = FILE_PLAN;
    struct input_error error;
    char *absolute = NULL;
    char *text = NULL;
    size_t size = 0;
    int status = file_read(path, TASK_SET_FILE_LIMIT, &text, &size);

    if (!status)
        status = file_kind_guess(path, text, size, &kind, &error);
    free(text);
    status = cli_input_result(args, status, path, &error);
    if (status)
        return status;
    if (kind != FILE_PLAN && kind != FILE_TASK_SET)
        return cli_fail_usage(args, "%s: expected a plan or a task set, found a file of the kind %s", path,
                              file_kind_names[kind]);
    absolute = realpath(path, NULL);
    if (!absolute)
        return cli_fail_usage(args, "%s: %s", path, strerror(errno));
    if (strlen(absolute) >= sizeof question.control.path) {
        free(absolute);
        return cli_fail_usage(args, "%s: the path is longer than %zu characters", path,
                              sizeof question.control.path - 1);
    }
    question.control.what = kind == FILE_PLAN ? CONTROL_LOAD_PLAN : CONTROL_LOAD_TASKS;
    (void)snprintf(question.control.path, sizeof question.control.path, "%s", absolute);
    free(absolute);
    return ask_and_print(args, &question);
}

static int read_number(const struct cli_args *args, const char *what, const char *text, long low, long high,
                       uint32_t *ret_value)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end || value < low || value > high)
        return cli_fail_usage(args, "%s: expected a whole number from %ld to %ld, found '%s'", what, low,
                              high, text);
    *ret_value = (uint32_t)value;
    return 0;
}

static int run_priority(const struct cli_args *args)
{
    struct frame question = {.type = FRAME_CONTROL, .control = {.what = CONTROL_PRIORITY}};
    int status = read_number(args, "PID", args->positional[0], 1, INT_MAX, &question.control.pid);

    if (!status)
        status = read_number(args, "PRIORITY", args->positional[1], 1, 99, &question.control.priority);
    return status ? status : ask_and_print(args, &question);
}

static const struct cli_option options[] = {
    {"socket", 0, "PATH", "of the daemon; otherwise as for `baton run`"},
    {NULL, 0, NULL, NULL},
};

const struct cli_command command_stop = {
    .name = "stop",
    .summary = "end batond; programs go on unscheduled",
    .arguments = "",
    .options = options,
    .example = "baton stop && baton start --plan robot.plan",
    .run = run_stop,
};

const struct cli_command command_load = {
    .name = "load",
    .summary = "give a plan or a task set to the running batond",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .example = "baton plan tasks.yaml -o robot.plan && baton load robot.plan",
    .run = run_load,
};

const struct cli_command command_reload = {
    .name = "reload",
    .summary = "make batond read user limits, the plan and the tasks again",
    .arguments = "",
    .options = options,
    .example = "baton reload    # after editing the plan that batond runs with",
    .run = run_reload,
};

const struct cli_command command_reset = {
    .name = "reset",
    .summary = "clear the worst response, jitter and tardiness that status and top show",
    .arguments = "",
    .options = options,
    .example = "baton reset    # after the warm-up, before the measurement",
    .run = run_reset,
};

const struct cli_command command_priority = {
    .name = "priority",
    .summary = "change the priority of a running program",
    .arguments = "PID PRIORITY",
    .min_arguments = 2,
    .max_arguments = 2,
    .options = options,
    .example = "baton priority 4711 80    # `baton status` shows pids",
    .run = run_priority,
};
