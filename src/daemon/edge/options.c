#include "daemon/edge/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/edge/log.h"
#include "daemon/edge/device_probe.h"
#include "sched/profile.h"
#include "version.h"
#include "wire/socket_path.h"

/* One option of the command line. */
struct daemon_option {
    const char *name;
    char code;
    const char *value, *help;
};

static const struct daemon_option daemon_options[] = {
#define DAEMON_OPTION(name, code, value, started, help) {name, code, value, help},
#include "model/daemon_options.def"
#undef DAEMON_OPTION
    {NULL, 0, NULL, NULL},
};

/* The choices of an option, one per line, if a table explains them. */
static void print_choices(char code)
{
    for (size_t i = 0; code == 'p' && i < SCHED_PROFILES; i++)
        printf("                       %-15s %s\n", sched_profiles[i].name, sched_profiles[i].summary);
    for (size_t i = 0; code == 'y' && i < SCHED_POLICIES; i++)
        printf("                       %-15s %s\n", sched_policies[i].name, sched_policies[i].summary);
#define LEVEL(identifier, name, priority, help)                                                              \
    if (code == 'L')                                                                                         \
        printf("                       %-15s %s\n", name, help);
#include "daemon/edge/log_levels.def"
#undef LEVEL
}

static void print_help(void)
{
    printf("usage: batond [OPTION...]\n\n"
           "Arbitrates the engines of this machine's GPUs among programs started by `baton run`.\n\n");
    for (size_t i = 0; daemon_options[i].name; i++) {
        const struct daemon_option *option = &daemon_options[i];
        bool choices = option->value && strchr(option->value, '|');
        char left[64];

        (void)snprintf(left, sizeof left, "--%s%s%s", option->name, option->value ? " " : "",
                       choices         ? "NAME"
                       : option->value ? option->value
                                       : "");
        printf("  %-18s %s\n", left, option->help);
        print_choices(option->code);
    }
    printf(
        "\nBounds of the profile gpusync need gpu_cluster, cpu_cluster and a plan in the configuration.\n\n"
        "SIGHUP (or `baton reload`) reads the configuration's user limits, the plan and the tasks again, "
        "and\n"
        "starts a new log file. `baton start`, `stop` and `load` find the daemon without a pid.\n");
}

void options_make_absolute(const struct daemon_options *options, char *path, size_t size)
{
    char whole[sizeof((struct config *)NULL)->plan];

    if (path[0] && path[0] != '/' &&
        (size_t)snprintf(whole, sizeof whole, "%s/%s", options->folder, path) < size)
        memcpy(path, whole, strlen(whole) + 1);
}

int options_reject(char code, const char *word)
{
    for (const struct daemon_option *option = daemon_options; option->name; option++) {
        if (option->code == code)
            log_say(LOG_LEVEL_ERROR, "--%s: expected %s, found '%s'", option->name, option->value, word);
    }
    return 2;
}

static int set_idle_exit(struct daemon_options *options, const char *text)
{
    char *end;

    options->idle_exit_ms = strtod(text, &end);
    if (end != text && !*end && options->idle_exit_ms >= 0 && options->idle_exit_ms < 1e12)
        return 0;
    log_say(LOG_LEVEL_ERROR, "--idle-exit: expected milliseconds, found '%s'", text);
    return 2;
}

static int set_log(const struct daemon_options *options, const char *text)
{
    char path[sizeof options->folder];
    int result;

    (void)snprintf(path, sizeof path, "%s", text);
    options_make_absolute(options, path, sizeof path);
    result = log_to_file(path);
    if (result)
        log_say(LOG_LEVEL_ERROR, "--log: %s: %s", path, strerror(-result));
    return result ? 2 : 0;
}

static int set_log_level(const char *text)
{
    int level = log_level_find(text);

    if (level < 0)
        return options_reject('L', text);
    log_set_level((enum log_level)level);
    return 0;
}

/* 0, or 2 after the mistake was logged. Answers that need no daemon are given here. */
static int take_option(struct daemon_options *options, int code)
{
    switch (code) {
    case 's':
        (void)snprintf(options->socket, sizeof options->socket, "%s", optarg);
        return 0;
    case 'c':
        (void)snprintf(options->config, sizeof options->config, "%s", optarg);
        options_make_absolute(options, options->config, sizeof options->config);
        return 0;
    case 'p':
        options->profile = optarg;
        return 0;
    case 'y':
        options->policy = optarg;
        return 0;
    case 'n':
        (void)snprintf(options->plan, sizeof options->plan, "%s", optarg);
        return 0;
    case 't':
        (void)snprintf(options->tasks, sizeof options->tasks, "%s", optarg);
        return 0;
    case 'i':
        return set_idle_exit(options, optarg);
    case 'l':
        return set_log(options, optarg);
    case 'L':
        return set_log_level(optarg);
    case 'a':
        options->shared = true;
        return 0;
    case 'f':
        options->foreground = true;
        return 0;
    case 'C':
        options->check = options->foreground = true;
        return 0;
    case 'P':
        exit(probe_main());
    case 'h':
        print_help();
        exit(0);
    case 'v':
        printf("batond %s\n", BATON_VERSION);
        exit(0);
    default:
        return 2;
    }
}

/* getopt has printed what it does not know; this prints the known options. */
static int reject_options(void)
{
    char known[512] = "";
    size_t used = 0;

    for (size_t i = 0; daemon_options[i].name && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "--%s, ", daemon_options[i].name);
    log_say(LOG_LEVEL_ERROR, "expected %s--version or --help", known);
    return 2;
}

int options_parse(int argc, char *argv[], struct daemon_options *ret_options)
{
    struct option known[sizeof daemon_options / sizeof daemon_options[0] + 4] = {
        {"probe-devices", no_argument, NULL, 'P'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
    };
    struct daemon_options options = {.idle_exit_ms = -1};
    const char *socket = getenv("BATON_SOCKET");
    int index = 0;
    int c;

    for (size_t i = 0; daemon_options[i].name; i++)
        known[3 + i] =
            (struct option){daemon_options[i].name, daemon_options[i].value ? required_argument : no_argument,
                            NULL, daemon_options[i].code};
    if (socket)
        (void)snprintf(options.socket, sizeof options.socket, "%s", socket);
    /* the folder is gone: relative names fail when they are opened */
    if (!getcwd(options.folder, sizeof options.folder))
        (void)snprintf(options.folder, sizeof options.folder, ".");
    while ((c = getopt_long(argc, argv, "", known, &index)) != -1) {
        int result = c == '?' ? reject_options() : 0;

        if (!result && known[index].has_arg == required_argument && strcmp(optarg, "--") == 0) {
            log_say(LOG_LEVEL_ERROR, "option --%s needs a value; see --help", known[index].name);
            result = 2;
        }
        if (!result)
            result = take_option(&options, c);
        if (result)
            return result;
    }
    if (optind < argc) {
        log_say(LOG_LEVEL_ERROR, "unexpected argument '%s'; see --help", argv[optind]);
        return 2;
    }
    if (strlen(options.socket) < SOCKET_PATH_SIZE)
        options_make_absolute(&options, options.socket, SOCKET_PATH_SIZE);
    *ret_options = options;
    return 0;
}
