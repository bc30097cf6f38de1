/* batond: the arbiter. Reads what it was told, opens its socket, and runs the loop. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "daemon/edge/loop.h"
#include "model/overheads.h"
#include "version.h"

#define OVERHEADS_LIMIT (1 << 20) /* bytes */

#define SYSTEM_CONFIG "/etc/baton/baton.yaml"

struct daemon_options {
    const char *socket, *profile, *policy, *plan, *tasks;
    char config[sizeof((struct config *)NULL)->plan]; /* "": the usual places */
    char folder[sizeof((struct config *)NULL)->plan]; /* where batond was started */
    double idle_exit_ms;
    bool foreground, shared;
};

static struct daemon_options options = {.socket = "", .idle_exit_ms = -1};
static bool to_syslog;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * A line at once, or not at all where that would mean to wait: a reader of the log that has stopped must not stop the daemon. What can be written
 * to can be written a line of this size, pipes included.
 */
static void say(const char *format, ...)
{
    struct pollfd log = {STDERR_FILENO, POLLOUT, 0};
    char text[2048];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (to_syslog)
        syslog(LOG_NOTICE, "%s", text);
    else if (poll(&log, 1, 0) == 1 && log.revents == POLLOUT)
        (void)dprintf(STDERR_FILENO, "batond: %s\n", text);
}

static void print_help(void)
{
    printf("usage: batond [--socket PATH] [--config FILE] [--profile NAME] [--policy NAME] [--plan FILE]\n"
           "              [--tasks FILE] [--idle-exit MS] [--shared] [--foreground]\n\n"
           "Arbitrates the engines of this machine's GPUs among programs started by `baton run`.\n\n"
           "  --socket PATH    listen there; otherwise $BATON_SOCKET, or below $XDG_RUNTIME_DIR or /tmp\n"
           "  --config FILE    instead of " SYSTEM_CONFIG " and ~/.config/baton/baton.yaml\n"
           "  --profile NAME   which rules run together:\n");
    for (size_t i = 0; i < SCHED_PROFILES; i++)
        printf("                     %-15s %s\n", sched_profiles[i].name, sched_profiles[i].summary);
    printf("                   gpusync needs gpu_cluster, cpu_cluster and a plan in the configuration for "
           "bounds\n"
           "  --policy NAME    how jobs are ranked:\n");
    for (size_t i = 0; i < SCHED_POLICIES; i++)
        printf("                     %-15s %s\n", sched_policies[i].name, sched_policies[i].summary);
    printf(
        "  --plan FILE      take priorities and pieces from this plan (`baton plan`)\n"
        "  --tasks FILE     admit programs of these tasks only as far as the analysis allows (admission:)\n"
        "  --idle-exit MS   end after so long without clients\n"
        "  --shared         let every local user connect, not only the one who runs batond\n"
        "  --foreground     stay, and log to standard error\n\n"
        "SIGHUP (or `baton reload`) reads the configuration's user limits, the plan and the tasks again.\n");
}

/* ---- configuration ---- */

/* 0, 2 (told) or 3 (told): exit codes. A file that need not exist may be missing. */
static int read_config(struct config *config, const char *path, bool needed)
{
    struct input_error error;
    char text[1024];
    int result = config_read_file(config, path, &error);

    if (result == 0 || (result == -ENOENT && !needed))
        return 0;
    if (result == INPUT_REJECTED) {
        (void)input_error_format(&error, text, sizeof text);
        say("%s", text);
        return 2;
    }
    say("%s: %s", path, strerror(-result));
    return needed ? 2 : 3;
}

static int read_all_config(struct config *config)
{
    const char *home = getenv("HOME");
    const char *base = getenv("XDG_CONFIG_HOME");
    char path[4096];
    int result;

    config_init(config);
    if (options.config[0])
        return read_config(config, options.config, true);
    result = read_config(config, SYSTEM_CONFIG, false);
    if (result || getuid() == 0 || (!home && !base))
        return result;
    if (base && base[0] == '/')
        (void)snprintf(path, sizeof path, "%s/baton/baton.yaml", base);
    else
        (void)snprintf(path, sizeof path, "%s/.config/baton/baton.yaml", home ? home : "");
    return read_config(config, path, false);
}

/* batond leaves its working folder for `/`: names of files are made whole while they still mean what they meant. */
static void make_absolute(char *path, size_t size)
{
    char whole[sizeof((struct config *)NULL)->plan];

    if (path[0] && path[0] != '/' &&
        (size_t)snprintf(whole, sizeof whole, "%s/%s", options.folder, path) < size)
        (void)snprintf(path, size, "%s", whole);
}

/* The command line has the last word. */
static int apply_options(struct config *config)
{
    int index;

    if (options.profile) {
        index = sched_profile_find(options.profile);
        if (index < 0) {
            say("--profile: expected a profile, found '%s'; see --help", options.profile);
            return 2;
        }
        config->profile = (enum sched_profile_id)index;
    }
    if (options.policy) {
        index = sched_policy_find(options.policy);
        if (index < 0) {
            say("--policy: expected a policy, found '%s'; see --help", options.policy);
            return 2;
        }
        config->policy = (enum sched_policy_id)index;
    }
    if (options.plan)
        (void)snprintf(config->plan, sizeof config->plan, "%s", options.plan);
    if (options.tasks)
        (void)snprintf(config->tasks, sizeof config->tasks, "%s", options.tasks);
    if (options.idle_exit_ms >= 0)
        config->idle_exit = (baton_nsec)(options.idle_exit_ms * (double)NSEC_PER_MS);
    make_absolute(config->plan, sizeof config->plan);
    make_absolute(config->tasks, sizeof config->tasks);
    make_absolute(config->overheads, sizeof config->overheads);
    make_absolute(config->planner, sizeof config->planner);
    return 0;
}

/* ---- plan and tasks ---- */

struct files {
    struct plan plan;
    struct task_set tasks;
    bool has_plan, has_tasks;
};

static void files_done(struct files *files)
{
    if (files->has_plan)
        plan_done(&files->plan);
    if (files->has_tasks)
        task_set_done(&files->tasks);
    *files = (struct files){0};
}

static int tell_file_error(int result, const char *path, const struct input_error *error, char *ret_text,
                           size_t size)
{
    if (result == INPUT_REJECTED)
        (void)input_error_format(error, ret_text, size);
    else if (result < 0)
        (void)snprintf(ret_text, size, "%.180s: %s", path, strerror(-result));
    return result == INPUT_REJECTED ? -EINVAL : result;
}

/* What tells the declared overhead set from others, as plans do. 0, or -errno with the reason in words. */
static int seal_overheads(struct config *config, char *ret_text, size_t size)
{
    struct platform platform = {.has_overheads = true};
    struct input_error error = {0};
    struct document document;
    struct plan_basis basis = {0};
    struct arena arena;
    size_t length = 0;
    char *text = NULL;
    int result = config->overheads[0] ? file_read(config->overheads, OVERHEADS_LIMIT, &text, &length) : 0;

    if (!text)
        return result ? tell_file_error(result, config->overheads, &error, ret_text, size) : 0;
    arena_init(&arena, 0);
    result = document_parse(config->overheads, text, length, &document, &error);
    if (!result) {
        result = overheads_read_any(&document, NULL, &arena, &platform.overheads, &error);
        document_done(&document);
    }
    if (!result) {
        plan_basis_set_overheads(&basis, &platform);
        (void)snprintf(config->overheads_seal, sizeof config->overheads_seal, "%s",
                       basis.values[BASIS_OVERHEADS]);
    }
    arena_done(&arena);
    free(text);
    return result ? tell_file_error(result, config->overheads, &error, ret_text, size) : 0;
}

/* 0, or -errno with the reason in words. */
static int read_files(const struct config *config, struct files *ret_files, char *ret_text, size_t size)
{
    const struct sched_profile *profile = &sched_profiles[config->profile];
    struct input_error error = {0};
    int result = 0;

    *ret_files = (struct files){0};
    if (config->plan[0]) {
        result = plan_read_file(config->plan, &ret_files->plan, &error);
        ret_files->has_plan = result == 0;
        if (result)
            return tell_file_error(result, config->plan, &error, ret_text, size);
    }
    if (config->tasks[0] && !profile->analysis) {
        say("no analysis covers the profile '%s': there is no admission", profile->name);
    } else if (config->tasks[0]) {
        result = task_set_read_file(config->tasks, &ret_files->tasks, &error);
        ret_files->has_tasks = result == 0;
        if (result)
            files_done(ret_files);
    }
    return result ? tell_file_error(result, config->tasks, &error, ret_text, size) : 0;
}

static int use_files(struct loop *loop, const struct config *config, struct files *files, char *ret_text,
                     size_t size)
{
    /* With tasks and without a plan file, the plan that was computed for them stays until the next one. */
    int result =
        files->has_plan || !files->has_tasks
            ? server_set_plan(loop->server, files->has_plan ? &files->plan : NULL, config->plan, clock_now())
            : 0;

    if (!result)
        result = server_set_tasks(loop->server, files->has_tasks ? &files->tasks : NULL, config->tasks,
                                  clock_now());
    files->has_tasks = files->has_tasks && result < 0; /* taken over */
    if (result < 0)
        (void)snprintf(ret_text, size, "%.180s: %s", config->tasks, strerror(-result));
    return result;
}

/* Everything is read before anything changes: a bad file leaves all as it was. */
static int reload(struct loop *loop, char *ret_text, size_t size)
{
    static struct config fresh;
    struct files files;
    int result;

    if (read_all_config(&fresh) || apply_options(&fresh)) {
        (void)snprintf(ret_text, size, "the configuration was rejected; see the log");
        return -EINVAL;
    }
    fresh.profile = loop->config.profile;
    result = read_files(&fresh, &files, ret_text, size);
    if (result)
        return result;
    server_set_limits(loop->server, &fresh, clock_now());
    result = use_files(loop, &fresh, &files, ret_text, size);
    files_done(&files);
    if (!result)
        (void)snprintf(ret_text, size, "done");
    return result;
}

/* What this configuration names and batond does not do: said once, at the start. */
static void say_what_is_not_enforced(const struct config *config)
{
    if (sched_profiles[config->profile].tokens && !config->cpu_cluster)
        say("profile %s without cpu_cluster: Linux orders the programs on the CPUs, so no bound is claimed",
            sched_profiles[config->profile].name);
    if (config->policy == POLICY_FAIR_LATENESS && !sched_profiles[config->profile].tokens)
        say("policy fair-lateness under the profile %s: jobs come without their costs, so they are ranked as "
            "under edf",
            sched_profiles[config->profile].name);
}

/* ---- starting ---- */

static int parse_options(int argc, char *argv[])
{
    static const struct option known[] = {
        {"socket", required_argument, NULL, 's'},
        {"config", required_argument, NULL, 'c'},
        {"profile", required_argument, NULL, 'p'},
        {"policy", required_argument, NULL, 'y'},
        {"plan", required_argument, NULL, 'n'},
        {"tasks", required_argument, NULL, 't'},
        {"idle-exit", required_argument, NULL, 'i'},
        {"shared", no_argument, NULL, 'a'},
        {"foreground", no_argument, NULL, 'f'},
        {"probe-devices", no_argument, NULL, 'P'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    const char *socket = getenv("BATON_SOCKET");
    char *end;
    int c;

    if (socket)
        options.socket = socket;
    if (!getcwd(options.folder, sizeof options.folder))
        (void)snprintf(options.folder, sizeof options.folder, "."); /* gone: such names fail by themselves */
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (c) {
        case 's':
            options.socket = optarg;
            break;
        case 'c':
            (void)snprintf(options.config, sizeof options.config, "%s", optarg);
            make_absolute(options.config, sizeof options.config);
            break;
        case 'p':
            options.profile = optarg;
            break;
        case 'y':
            options.policy = optarg;
            break;
        case 'n':
            options.plan = optarg;
            break;
        case 't':
            options.tasks = optarg;
            break;
        case 'i':
            options.idle_exit_ms = strtod(optarg, &end);
            if (end == optarg || *end || !(options.idle_exit_ms >= 0 && options.idle_exit_ms < 1e12)) {
                say("--idle-exit: expected milliseconds, found '%s'", optarg);
                return 2;
            }
            break;
        case 'a':
            options.shared = true;
            break;
        case 'f':
            options.foreground = true;
            break;
        case 'P':
            exit(probe_main());
        case 'h':
            print_help();
            exit(0);
        case 'v':
            printf("batond %s\n", BATON_VERSION);
            exit(0);
        default:
            say("see --help");
            return 2;
        }
    }
    if (optind < argc) {
        say("unexpected argument '%s'; see --help", argv[optind]);
        return 2;
    }
    return 0;
}

/* The parent returns when the child listens, so that whoever started us can connect. */
static int go_to_background(void)
{
    pid_t pid = fork();
    int null;

    if (pid < 0)
        return -errno;
    if (pid > 0)
        _exit(0);
    (void)setsid();
    (void)!chdir("/");
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        close(null);
    }
    openlog("batond", LOG_PID, LOG_DAEMON);
    to_syslog = true;
    return 0;
}

static int open_listener(struct listener *listener)
{
    int result = listener_open(options.socket, options.shared, listener);

    if (result == 0)
        return 0;
    if (result == -EBUSY)
        say("another batond listens there already");
    else
        say("cannot listen on %s: %s", options.socket[0] ? options.socket : "the user's socket",
            strerror(-result));
    return 3;
}

static int serve(struct loop *loop, struct files *files)
{
    char text[1024] = "";
    int result = loop_init(loop);

    if (result < 0) {
        say("cannot start: %s", strerror(-result));
        return 3;
    }
    result = use_files(loop, &loop->config, files, text, sizeof text);
    files_done(files);
    if (result) {
        say("%s", text);
        return 2;
    }
    say("%s listens on %s, generation %u, profile %s", BATON_VERSION, loop->listener.path,
        loop->listener.generation, sched_profiles[loop->config.profile].name);
    say_what_is_not_enforced(&loop->config);
    loop_run(loop);
    return 0;
}

int main(int argc, char *argv[])
{
    static struct loop loop;
    struct files files = {0};
    char text[1024] = "";
    int status = parse_options(argc, argv);

    loop.log = say;
    loop.reload = reload;
    if (!status)
        status = read_all_config(&loop.config);
    if (!status)
        status = apply_options(&loop.config);
    if (!status && (seal_overheads(&loop.config, text, sizeof text) ||
                    read_files(&loop.config, &files, text, sizeof text))) {
        say("%s", text);
        status = 2;
    }
    if (!status)
        status = open_listener(&loop.listener);
    if (status) {
        files_done(&files);
        return status;
    }
    if (!options.foreground && !loop.listener.handed && go_to_background() < 0) {
        say("cannot go to the background: %s", strerror(errno));
        listener_close(&loop.listener, true);
        return 3;
    }
    status = serve(&loop, &files);
    loop_done(&loop);
    listener_close(&loop.listener, true);
    return status;
}
