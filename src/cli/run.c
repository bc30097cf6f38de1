/*
 * baton run: starts a program under Baton. All settings go into BATON_* variables, so children
 * inherit them. Then this process executes the program, so the exit status, signals and terminal
 * are the program's own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nsec.h"
#include "base/patience.h"
#include "cli/subcommand.h"
#include "cli/installed.h"
#include "cli/monitor.h"
#include "cli/run_cuda.h"
#include "cli/run_table.h"
#include "cli/task_words.h"
#include "client/session.h"
#include "client/settings.h"

#define LAYER_NAME   "libbaton-layer.so"
#define IDLE_EXIT_MS "60000" /* a daemon that was started for one program ends when idle */
#define PATH_SIZE    4096
#define VERDICT_WAIT (120 * NSEC_PER_SEC) /* the daemon limits its planner; for one that hangs */

/* BATON_LAYER overrides. */
static int find_layer(char ret_path[PATH_SIZE])
{
    const char *given = getenv("BATON_LAYER");

    if (!given || !given[0])
        return installed_find(LAYER_NAME, ret_path, PATH_SIZE);
    (void)snprintf(ret_path, PATH_SIZE, "%s", given);
    return access(ret_path, R_OK) == 0 ? 0 : -errno;
}

static void run_daemon(void)
{
    char folder[PATH_SIZE - 16];
    char path[PATH_SIZE];

    /*
     * The daemon outlives this process. It must not keep a pipe or a lock of this process open, for
     * the end of which another process waits.
     */
    (void)close_range(3, ~0U, 0);
    if (installed_folder(folder, sizeof folder) == 0) {
        (void)snprintf(path, sizeof path, "%s/batond", folder);
        (void)execl(path, "batond", "--idle-exit", IDLE_EXIT_MS, (char *)NULL);
    }
    (void)execlp("batond", "batond", "--idle-exit", IDLE_EXIT_MS, (char *)NULL);
    _exit(127);
}

/*
 * batond returns once it listens. If another daemon was faster, this one ends and the other is
 * found.
 */
static int start_daemon(char ret_path[SOCKET_PATH_SIZE])
{
    pid_t pid = fork();
    int status;

    if (pid < 0)
        return -errno;
    if (pid == 0)
        run_daemon();
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return monitor_find(NULL, ret_path);
}

/* 0: a daemon listens at *ret_path. */
static int find_daemon(const struct settings *settings, char ret_path[SOCKET_PATH_SIZE])
{
    const char *variable = getenv("BATON_SOCKET");
    int result = monitor_find(settings->socket, ret_path);

    if (result == 0 || settings->socket[0] || (variable && variable[0]))
        return result;
    return start_daemon(ret_path);
}

/* Each option passes the parser of its variable, so that the program never sees an invalid one. */
static int read_options(const struct cli_args *args, struct settings *settings)
{
    settings_init(settings);
    for (size_t i = 0; i < setting_n_entries; i++) {
        const struct setting_entry *entry = &setting_entries[i];
        const char *text = cli_value(args, entry->option, NULL);

        if (!text)
            continue;
        if (!entry->value)
            text = "1";
        if (settings_set(settings, entry->name, text) < 0)
            return cli_fail_usage(args, "--%s: expected %s, found '%s'", entry->option, entry->expected,
                                  text);
        if (setenv(entry->variable, text, 1) < 0)
            return cli_fail_environment(args, errno, "environment");
    }
    return 0;
}

/*
 * Writes an object with every key, so that readers find a file even if the program never uses
 * OpenCL.
 */
static int prepare_stats(const struct cli_args *args, const struct settings *settings)
{
    char *absolute = NULL;
    int result;

    if (!settings->stats[0])
        return 0;
    result = session_write_stats(NULL, settings->stats);
    if (result)
        return cli_fail_environment(args, result, "%s", settings->stats);
    /* The program may change its working folder before it exits. */
    absolute = realpath(settings->stats, NULL);
    result = absolute && setenv("BATON_STATS", absolute, 1) == 0 ? 0 : errno;
    free(absolute);
    return result ? cli_fail_environment(args, result, "%s", settings->stats) : 0;
}

/* Is this path an entry of the colon-separated list? */
static bool listed(const char *list, const char *path)
{
    size_t length = strlen(path);

    for (const char *at = list; at && *at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        if (strncmp(at, path, length) == 0 && (at[length] == ':' || !at[length]))
            return true;
    }
    return false;
}

/*
 * The OpenCL loader silently skips a layer that it cannot load, and the program would run
 * unscheduled. Check first.
 */
static int prove_layer(const struct cli_args *args, const char *layer)
{
    void *library = dlopen(layer, RTLD_NOW | RTLD_LOCAL);
    int result = 0;

    if (!library)
        return cli_fail_environment(args, 0, "%s", dlerror());
    if (!dlsym(library, "clInitLayer"))
        result = cli_fail_environment(args, 0, "%s: expected an OpenCL layer, found no clInitLayer", layer);
    (void)dlclose(library);
    return result;
}

static int prepare_layer(const struct cli_args *args)
{
    const char *others = getenv("OPENCL_LAYERS");
    char layer[PATH_SIZE];
    char *list = NULL;
    int result = find_layer(layer);

    if (result)
        return cli_fail_environment(args, result, LAYER_NAME);
    result = prove_layer(args, layer);
    if (result)
        return result;
    if (asprintf(&list, "%s%s%s", layer, others && others[0] ? ":" : "", others ? others : "") < 0)
        return cli_fail_environment(args, ENOMEM, "environment");
    /* A program started under `baton run` by another such program must not get the layer twice. */
    result = listed(others, layer) ? 0 : setenv("OPENCL_LAYERS", list, 1);
    free(list);
    return result < 0 ? cli_fail_environment(args, errno, "environment") : 0;
}

static int prepare_daemon(const struct cli_args *args, const struct settings *settings)
{
    char path[SOCKET_PATH_SIZE];
    char words[1024];
    int result = find_daemon(settings, path);

    if (result == 0)
        return setenv("BATON_SOCKET", path, 1) == 0 ? 0 : cli_fail_environment(args, errno, "environment");
    monitor_absent_words(settings->socket, result, words, sizeof words);
    if (settings->task[0])
        return cli_fail_environment(args, 0, "no batond runs, and only batond knows tasks: %s", words);
    if (settings->require_daemon)
        return cli_fail_environment(args, 0, "no batond: %s", words);
    (void)fprintf(stderr, "baton run: no batond: %s; the program runs unscheduled\n", words);
    return 0;
}

/* ---- the task ---- */

static int unknown_task(const struct cli_args *args, struct monitor *monitor, const char *task)
{
    char known[512] = "";
    struct frame frame;

    for (uint32_t i = 0; monitor_query(monitor, QUERY_TASK, i, 0, &frame) == 0; i++) {
        size_t used = strlen(known);

        if (frame.type != FRAME_ABOUT_TASK)
            break;
        if (frame.about_task.state == VERDICT_UNKNOWN)
            continue;
        (void)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", frame.about_task.name);
    }
    if (!known[0])
        return cli_fail_usage(
            args,
            "--task: batond on %s has neither a plan nor tasks (`plan:` and `tasks:` in its configuration)",
            monitor->path);
    return cli_fail_usage(args, "--task: expected a task of the plan (%s), found '%s'", known, task);
}

/* Takes over what the task's entry says about its jobs, unless the command line overrides it. */
static int take_times(const struct settings *settings, const struct frame_verdict *verdict)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%.6f", nsec_to_ms((baton_nsec)verdict->period));
    if (verdict->period && !settings->period && setenv("BATON_PERIOD", text, 1) < 0)
        return -errno;
    (void)snprintf(text, sizeof text, "%.6f", nsec_to_ms((baton_nsec)verdict->deadline));
    if (verdict->deadline && !settings->deadline && setenv("BATON_DEADLINE", text, 1) < 0)
        return -errno;
    (void)snprintf(text, sizeof text, "%" PRIu64, verdict->warm);
    if (verdict->warm && settings->warm == SETTING_AUTO && setenv("BATON_WARM", text, 1) < 0)
        return -errno;
    return 0;
}

static int heed_verdict(const struct cli_args *args, const struct settings *settings, struct monitor *monitor,
                        const struct frame_verdict *verdict)
{
    char why[256];
    int result;

    task_reason_words(verdict->reason, verdict->cause, verdict->response, verdict->limit, why, sizeof why);
    switch (verdict->verdict) {
    case VERDICT_UNKNOWN:
        return unknown_task(args, monitor, settings->task);
    case VERDICT_REFUSED:
        (void)fprintf(stderr, "baton run: task %s is refused: %s\n", settings->task, why);
        return CLI_NO;
    case VERDICT_BEST_EFFORT:
        (void)fprintf(stderr, "baton run: task %s runs as best effort: %s\n", settings->task, why);
        break;
    case VERDICT_ADMITTED:
        if (verdict->reason == REASON_TARDY)
            (void)fprintf(stderr, "baton run: task %s is admitted with %s\n", settings->task, why);
        break;
    default:
        break;
    }
    result = take_times(settings, verdict);
    return result ? cli_fail_environment(args, result, "environment") : 0;
}

/*
 * Asks batond whether this process may become a program of the task. The place is kept while this
 * process lives, which becomes the program's lifetime.
 */
static int prepare_task(const struct cli_args *args, const struct settings *settings)
{
    struct frame question = {.type = FRAME_ADMIT};
    struct monitor monitor;
    struct frame answer;
    int result;

    if (!settings->task[0])
        return 0;
    if (settings->priority != SETTING_PRIORITY_UNSET || settings->name[0])
        return cli_fail_usage(
            args, "--task takes name and priority from the plan; give it without --name and --priority");
    if (strlen(settings->task) > 64)
        return cli_fail_usage(args, "--task: expected a name of at most 64 characters");
    result = monitor_open(&monitor, NULL);
    if (result)
        return cli_fail_environment(args, result, "no batond runs, and only batond knows tasks");
    monitor.answer_ms = (int)(patience_limit(VERDICT_WAIT) / NSEC_PER_MS);
    (void)snprintf(question.admit.task, sizeof question.admit.task, "%.64s", settings->task);
    result = monitor_ask(&monitor, &question, &answer);
    if (!result && answer.type != FRAME_VERDICT)
        result = -EPROTO;
    if (result)
        return cli_fail_environment(args, result, "batond");
    return heed_verdict(args, settings, &monitor,
                        &answer.verdict); /* the connection ends with this program */
}

static int run(const struct cli_args *args)
{
    struct settings settings;
    int result = read_options(args, &settings);

    if (!result)
        result = prepare_layer(args);
    if (!result)
        result = run_cuda_prepare(args);
    if (!result)
        result = prepare_stats(args, &settings);
    if (!result)
        result = prepare_daemon(args, &settings);
    if (!result)
        result = prepare_task(args, &settings);
    if (result)
        return CLI_OWN_FAILURE;
    (void)fflush(NULL);
    if (cli_has(args, "table") && !getenv("BATON_PROFILE"))
        return table_run(args->positional);
    (void)execvp(args->positional[0], args->positional);
    result = errno == ENOENT ? CLI_NOT_THERE : CLI_CANNOT_RUN;
    (void)cli_fail_environment(args, errno, "%s", args->positional[0]);
    return result;
}

static const struct cli_option options[] = {
#define SETTING(kind, identifier, option, variable, value, help) {option, 0, value, help},
#include "client/settings.def"
#undef SETTING
    {"device", 0, "cpu", "run a CUDA program on CPU cores, by the device that comes with Baton"},
    {"table", 0, NULL, "print launches, pieces and time of each kernel when the program has ended"},
    {NULL, 0, NULL, NULL},
};

const struct cli_command command_run = {
    .name = "run",
    .summary = "start a program whose OpenCL and CUDA work is scheduled",
    .arguments = "-- COMMAND...",
    .min_arguments = 1,
    .max_arguments = (size_t)-1,
    .takes_command = true,
    .options = options,
    .example = "baton run --priority 80 --period 33 -- ./detector    # its frames come first, the others get "
               "the rest",
    .run = run,
};
