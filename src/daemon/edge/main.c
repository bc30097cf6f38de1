/* batond: the arbiter. Reads its configuration, opens its socket, and runs the loop. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "daemon/edge/batond.h"
#include "model/overheads.h"
#include "version.h"

#define OVERHEADS_LIMIT (1 << 20) /* bytes */

#define SYSTEM_CONFIG "/etc/baton/baton.yaml"

struct batond batond = {.log = {.level = LOG_LEVEL_INFO, .file = -1}};

/* ---- configuration ---- */

/* 0, or the exit code 2 or 3 after the mistake was logged. An optional file may be missing. */
static int read_config(struct config *config, const char *path, bool needed)
{
    struct input_error error;
    char text[1024];
    int result = config_read_file(config, path, &error);

    if (result == 0 || (result == -ENOENT && !needed))
        return 0;
    if (result == INPUT_REJECTED) {
        (void)input_error_format(&error, text, sizeof text);
        log_say(LOG_LEVEL_ERROR, "%s", text);
        return 2;
    }
    log_say(LOG_LEVEL_ERROR, "%s: %s", path, strerror(-result));
    return needed ? 2 : 3;
}

static int read_all_config(struct config *config)
{
    const char *home = getenv("HOME");
    const char *base = getenv("XDG_CONFIG_HOME");
    char path[4096];
    int result;

    config_init(config);
    if (batond.options.config[0])
        return read_config(config, batond.options.config, true);
    result = read_config(config, SYSTEM_CONFIG, false);
    if (result || getuid() == 0 || (!home && !base))
        return result;
    if (base && base[0] == '/')
        (void)snprintf(path, sizeof path, "%s/baton/baton.yaml", base);
    else
        (void)snprintf(path, sizeof path, "%s/.config/baton/baton.yaml", home ? home : "");
    return read_config(config, path, false);
}

/* The command line overrides the files. */
static int apply_options(struct config *config)
{
    int index;

    if (batond.options.profile) {
        index = sched_profile_find(batond.options.profile);
        if (index < 0) {
            return options_reject('p', batond.options.profile);
        }
        config->profile = (enum sched_profile_id)index;
    }
    if (batond.options.policy) {
        index = sched_policy_find(batond.options.policy);
        if (index < 0) {
            return options_reject('y', batond.options.policy);
        }
        config->policy = (enum sched_policy_id)index;
    }
    if (batond.loaded)
        config->plan[0] = config->tasks[0] = 0;
    if (batond.options.plan[0])
        (void)snprintf(config->plan, sizeof config->plan, "%s", batond.options.plan);
    if (batond.options.tasks[0])
        (void)snprintf(config->tasks, sizeof config->tasks, "%s", batond.options.tasks);
    if (batond.options.idle_exit_ms >= 0)
        config->idle_exit = (baton_nsec)(batond.options.idle_exit_ms * (double)NSEC_PER_MS);
    options_make_absolute(&batond.options, config->plan, sizeof config->plan);
    options_make_absolute(&batond.options, config->tasks, sizeof config->tasks);
    options_make_absolute(&batond.options, config->overheads, sizeof config->overheads);
    options_make_absolute(&batond.options, config->planner, sizeof config->planner);
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

/*
 * The seal that tells the declared overhead set from others, as in plans. 0, or -errno with the
 * reason in words.
 */
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
        log_say(LOG_LEVEL_WARNING, "no analysis covers the profile '%s': there is no admission",
                profile->name);
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
    int result = files->has_plan ? server_set_plan(loop->server, &files->plan, config->plan, clock_now()) : 0;

    if (!result)
        result = server_set_tasks(loop->server, files->has_tasks ? &files->tasks : NULL, config->tasks,
                                  clock_now());
    if (!result && !files->has_plan)
        server_retire_plan(loop->server, clock_now());
    files->has_tasks = files->has_tasks && result < 0; /* taken over */
    if (result < 0)
        (void)snprintf(ret_text, size, "%.180s: %s", config->tasks, strerror(-result));
    return result;
}

/* Reads everything before anything changes: a bad file leaves all as it was. */
static int reload(struct loop *loop, char *ret_text, size_t size)
{
    struct config *fresh = calloc(1, sizeof *fresh);
    struct files files;
    int result;

    log_reopen();
    if (!fresh) {
        (void)snprintf(ret_text, size, "out of memory");
        return -ENOMEM;
    }
    if (read_all_config(fresh) || apply_options(fresh)) {
        (void)snprintf(ret_text, size, "the configuration was rejected; see the log");
        free(fresh);
        return -EINVAL;
    }
    fresh->profile = loop->config.profile;
    result = read_files(fresh, &files, ret_text, size);
    if (!result) {
        server_set_limits(loop->server, fresh, clock_now());
        loop->config.admission = fresh->admission;
        result = use_files(loop, fresh, &files, ret_text, size);
        files_done(&files);
        if (!result)
            (void)snprintf(ret_text, size, "done");
    }
    free(fresh);
    return result;
}

/* A task set that no analysis covers, or that admission leaves aside, would not be in force. */
static int check_covered(const struct config *config, char *ret_text, size_t size)
{
    const struct sched_profile *profile = &sched_profiles[config->profile];

    if (profile->analysis && config->admission != ADMISSION_OFF)
        return 0;
    if (profile->analysis)
        (void)snprintf(ret_text, size, "under `admission: off` a task set is not used: load its plan");
    else
        (void)snprintf(ret_text, size, "no analysis covers the profile '%s': there is no admission",
                       profile->name);
    return -EINVAL;
}

/*
 * From now on the file is the only plan or task set: those of the configuration, of the command
 * line and of former loads no longer count. If the file is refused, the present ones stay in force.
 */
static int load(struct loop *loop, bool tasks, const char *path, char *ret_text, size_t size)
{
    struct daemon_options before = batond.options;
    bool loaded = batond.loaded;
    int result = tasks ? check_covered(&loop->config, ret_text, size) : 0;

    batond.loaded = true;
    (void)snprintf(batond.options.plan, sizeof batond.options.plan, "%s", tasks ? "" : path);
    (void)snprintf(batond.options.tasks, sizeof batond.options.tasks, "%s", tasks ? path : "");
    if (!result)
        result = reload(loop, ret_text, size);
    if (result) {
        batond.options = before;
        batond.loaded = loaded;
    } else {
        (void)snprintf(ret_text, size, "%s is in force", path);
    }
    log_say(result ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "load: %s", ret_text);
    return result;
}

/* Warns once, at the start, of settings that batond cannot enforce. */
static void say_what_is_not_enforced(const struct config *config)
{
    if (sched_profiles[config->profile].tokens && !config->cpu_cluster)
        log_say(
            LOG_LEVEL_WARNING,
            "profile %s without cpu_cluster: Linux orders the programs on the CPUs, so no bound is claimed",
            sched_profiles[config->profile].name);
    if (config->policy == POLICY_FAIR_LATENESS && !sched_profiles[config->profile].tokens)
        log_say(
            LOG_LEVEL_WARNING,
            "policy fair-lateness under the profile %s: jobs come without their costs, so they are ranked as "
            "under edf",
            sched_profiles[config->profile].name);
}

/* ---- starting ---- */

/*
 * The parent returns when the child listens, so that clients can connect as soon as the command
 * returns.
 */
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
    log_to_system();
    return 0;
}

/* 0, or the exit code after the reason was logged: 2 where the path is that of another file. */
static int open_listener(struct listener *listener)
{
    const char *words;
    int result;

    loop_hold_signals();
    result = listener_open(batond.options.socket, batond.options.shared, listener);
    if (result == 0)
        return 0;
    words = result == -EBUSY    ? "another batond listens there already"
            : result == -ENOLCK ? "the file beside it that ends in .lock is not batond's, and stays as it is"
                                : socket_file_words(result);
    log_say(LOG_LEVEL_ERROR, "cannot listen on %s: %s",
            batond.options.socket[0] ? batond.options.socket : "the user's socket", words);
    return result == -EEXIST || result == -ENOLCK ? 2 : 3;
}

static int serve(struct loop *loop, struct files *files)
{
    char text[1024] = "";
    int result = loop_init(loop);

    if (result < 0) {
        log_say(LOG_LEVEL_ERROR, "cannot start: %s", strerror(-result));
        return 3;
    }
    result = use_files(loop, &loop->config, files, text, sizeof text);
    files_done(files);
    if (result) {
        log_say(LOG_LEVEL_ERROR, "%s", text);
        return 2;
    }
    log_say(LOG_LEVEL_INFO, "%s listens on %s, generation %u, profile %s", BATON_VERSION, loop->listener.path,
            loop->listener.generation, sched_profiles[loop->config.profile].name);
    say_what_is_not_enforced(&loop->config);
    server_look(loop->server, clock_now()); /* a partition that is not there */
    loop_run(loop);
    return 0;
}

int main(int argc, char *argv[])
{
    struct loop *loop = &batond.loop;
    struct files files = {0};
    char text[1024] = "";
    int status = options_parse(argc, argv, &batond.options);

    loop->log = log_say;
    loop->reload = reload;
    loop->load = load;
    if (!status)
        status = read_all_config(&loop->config);
    if (!status)
        status = apply_options(&loop->config);
    if (!status && (seal_overheads(&loop->config, text, sizeof text) ||
                    read_files(&loop->config, &files, text, sizeof text))) {
        log_say(LOG_LEVEL_ERROR, "%s", text);
        status = 2;
    }
    if (!status && !batond.options.check)
        status = open_listener(&loop->listener);
    if (status || batond.options.check) {
        if (!status)
            printf("batond: the configuration is valid (profile %s%s%s%s%s)\n",
                   sched_profiles[loop->config.profile].name, loop->config.plan[0] ? ", plan " : "",
                   loop->config.plan, loop->config.tasks[0] ? ", tasks " : "", loop->config.tasks);
        files_done(&files);
        return status;
    }
    if (!batond.options.foreground && !loop->listener.handed && go_to_background() < 0) {
        log_say(LOG_LEVEL_ERROR, "cannot go to the background: %s", strerror(errno));
        listener_close(&loop->listener);
        return 3;
    }
    status = serve(loop, &files);
    loop_done(loop);
    listener_close(&loop->listener);
    boost_leave(&loop->boost);
    return status;
}
