/*
 * baton start: starts batond in the background, with a log at a known place. batond returns once it
 * listens, so that the next command can connect.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/subcommand.h"
#include "cli/installed.h"
#include "cli/monitor.h"

#define SYSTEM_LOG "/dev/log" /* where syslog(3) writes and the journal listens */
#define MAX_WORDS  48

static const struct cli_option options[] = {
#define STARTED(name, value, help) {name, 0, value, help},
#define NOT_STARTED(name, value, help)
#define DAEMON_OPTION(name, code, value, started, help) started(name, value, help)
#include "model/daemon_options.def"
#undef DAEMON_OPTION
#undef STARTED
#undef NOT_STARTED
    {NULL, 0, NULL, NULL},
};

/*
 * Where a daemon without a system log writes: beside its socket. "": there is a system log, or
 * --log is given.
 */
static int choose_log(const struct cli_args *args, char *ret_path, size_t size)
{
    const char *named = cli_value(args, "socket", getenv("BATON_SOCKET"));
    char path[SOCKET_PATH_SIZE];
    struct stat about;
    char *slash;
    int result = 0;

    ret_path[0] = 0;
    if (cli_has(args, "log") || (stat(SYSTEM_LOG, &about) == 0 && S_ISSOCK(about.st_mode)))
        return 0;
    if (named && named[0])
        (void)snprintf(path, sizeof path, "%s", named);
    else
        result = socket_path_own(path);
    if (result)
        return result;
    slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    /*
     * batond creates the private folder of a user's own socket when it opens it, but the log is
     * needed earlier.
     */
    if (slash && mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    (void)snprintf(ret_path, size, "%s/batond.log", slash ? path : ".");
    return 0;
}

static _Noreturn void become_daemon(const struct cli_args *args, const char *log)
{
    char storage[MAX_WORDS][64];
    char *words[2 * MAX_WORDS + 4];
    char log_word[] = "--log";
    char name[] = "batond";
    size_t n = 0;

    words[n++] = name;
    for (size_t i = 0; i < args->n_given && i < MAX_WORDS; i++) {
        (void)snprintf(storage[i], sizeof storage[i], "--%s", args->given[i].option->name);
        words[n++] = storage[i];
        if (args->given[i].option->value)
            words[n++] = (char *)(uintptr_t)args->given[i].value;
    }
    if (log[0]) {
        words[n++] = log_word;
        words[n++] = (char *)(uintptr_t)log;
    }
    words[n] = NULL;
    /*
     * The daemon outlives this process. It must not keep a pipe or a lock of this process open, for
     * the end of which another process waits.
     */
    (void)close_range(3, ~0U, 0);
    installed_exec("batond", words);
}

static int start(const struct cli_args *args, const char *log)
{
    pid_t pid = fork();
    int status = 0;

    if (pid < 0)
        return cli_fail_environment(args, errno, "batond");
    if (pid == 0)
        become_daemon(args, log);
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return cli_fail_environment(args, errno, "batond");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return cli_fail_environment(args, ENOENT, "batond");
    /* batond has printed the reason. */
    return WIFEXITED(status) && WEXITSTATUS(status) == CLI_USAGE ? CLI_USAGE : CLI_ENVIRONMENT;
}

/*
 * The process that batond was started as ends with 0 once batond runs in the background. What fails
 * after that, such as a place for metrics, is only in the log.
 */
static int fail_ended(const struct cli_args *args, const char *log)
{
    return log[0]
               ? cli_fail_environment(args, 0, "batond ended as it started; its log %s says why", log)
               : cli_fail_environment(args, 0, "batond ended as it started; `journalctl -t batond` says why");
}

static void print_found(const struct monitor *monitor, uint32_t pid, const char *log)
{
    printf("batond (pid %u) listens on %s\n", pid, monitor->path);
    if (log)
        printf("its log: %s\n", log[0] ? log : "the system's (journalctl -t batond)");
}

/* The pid of the daemon that listens there; 0: none does. */
static uint32_t find_running(const char *socket, struct monitor *monitor)
{
    struct frame answer;
    uint32_t pid = 0;

    if (monitor_open(monitor, socket) != 0)
        return 0;
    if (monitor_query(monitor, QUERY_DAEMON, 0, 0, &answer) == 0 && answer.type == FRAME_ABOUT_DAEMON)
        pid = answer.about_daemon.pid;
    monitor_close(monitor);
    return pid;
}

static int run(const struct cli_args *args)
{
    const char *socket = cli_value(args, "socket", NULL);
    char log[SOCKET_PATH_SIZE + 16];
    struct monitor monitor;
    uint32_t pid = find_running(socket, &monitor);
    int status;

    if (pid) {
        print_found(&monitor, pid, NULL);
        if (args->n_given > (size_t)cli_has(args, "socket"))
            return cli_fail_usage(args, "batond runs already, with other options; `baton stop` ends it");
        return CLI_YES;
    }
    status = choose_log(args, log, sizeof log);
    if (status)
        return cli_fail_environment(args, status, "the log");
    status = start(args, log);
    if (status)
        return status;
    pid = find_running(socket, &monitor);
    if (cli_has(args, "log"))
        (void)snprintf(log, sizeof log, "%s", cli_value(args, "log", ""));
    if (!pid)
        return fail_ended(args, log);
    print_found(&monitor, pid, log);
    return CLI_YES;
}

const struct cli_command command_start = {
    .name = "start",
    .summary = "start batond in the background",
    .arguments = "",
    .options = options,
    .example = "baton start --plan robot.plan --log batond.log",
    .run = run,
};
