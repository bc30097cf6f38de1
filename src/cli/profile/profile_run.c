#include "cli/profile/profile_run.h"
#include "cli/installed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/patience.h"
#include "cli/monitor.h"
#include "cli/profile/throttle.h"

#define LOOK_NS       (50 * NSEC_PER_MS) /* interval between two looks at the log */
#define START_NS      (10 * NSEC_PER_SEC)
#define PATIENCE_NS   (5 * NSEC_PER_SEC) /* between asking the program to end and killing it */
#define LOG_PATH_SIZE 512
#define LOOK_SHARE    20 /* looking at a long log takes about one part in this many of a core */

/* --- the place --- */

static pid_t start_daemon(const char *socket)
{
    pid_t pid = fork();

    if (pid == 0) {
        char *const words[] = {(char[]){"batond"}, (char[]){"--foreground"}, (char[]){"--socket"},
                               (char *)(uintptr_t)socket, NULL};
        int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);

        (void)setpgid(0, 0); /* Ctrl-C is meant for the program */
        if (silent >= 0)
            (void)dup2(silent, STDERR_FILENO);
        installed_exec("batond", words);
    }
    return pid;
}

void profile_place_done(struct profile_place *place)
{
    if (place->daemon > 0) {
        (void)kill(place->daemon, SIGTERM);
        (void)waitpid(place->daemon, NULL, 0);
    }
    file_remove_folder(place->folder);
}

int profile_place_open(struct profile_place *ret_place)
{
    const struct timespec pause = {.tv_nsec = 10 * NSEC_PER_MS};
    baton_nsec until = clock_now() + patience_limit(START_NS);
    struct profile_place place = {.folder = "/tmp/baton-profile-XXXXXX"};
    char found[SOCKET_PATH_SIZE];

    if (!mkdtemp(place.folder))
        return -errno;
    (void)snprintf(place.socket, sizeof place.socket, "%s/socket", place.folder);
    place.daemon = start_daemon(place.socket);
    while (place.daemon > 0 && monitor_find(place.socket, found) < 0) {
        if (waitpid(place.daemon, NULL, WNOHANG) == place.daemon)
            place.daemon = -1;
        if (clock_now() > until)
            break;
        (void)nanosleep(&pause, NULL);
    }
    if (place.daemon <= 0 || monitor_find(place.socket, found) < 0) {
        profile_place_done(&place);
        return -ECONNREFUSED;
    }
    *ret_place = place;
    return 0;
}

int profile_place_gpus(const struct profile_place *place, unsigned *ret_gpus)
{
    struct frame answer;
    struct monitor monitor;
    unsigned gpus = 0;
    int result = monitor_open(&monitor, place->socket);

    if (result)
        return result;
    while ((result = monitor_query(&monitor, QUERY_DEVICE, gpus, 0, &answer)) == 0 &&
           answer.type == FRAME_ABOUT_DEVICE)
        gpus++;
    monitor_close(&monitor);
    if (!result)
        *ret_gpus = gpus;
    return result;
}

/* --- the logs --- */

/* The log with the most jobs in the folder. 0, -ENODATA or -errno. */
static int read_logs(const char *folder, size_t *ret_programs, struct profile_log *ret_log)
{
    struct profile_log best = {0};
    struct dirent *entry;
    size_t programs = 0;
    DIR *listing = opendir(folder);
    int result = 0;

    if (!listing)
        return -errno;
    while (!result && (entry = readdir(listing))) {
        struct profile_log log = {0};
        char path[LOG_PATH_SIZE];
        char *text;
        size_t size;

        if (entry->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= LOG_PATH_SIZE)
            continue;
        result = file_read(path, PROFILE_LOG_LIMIT, &text, &size);
        if (result)
            break;
        result = profile_log_read(text, size, &log);
        free(text);
        if (result == -EPROTO) { /* it died before its first line was complete */
            result = 0;
            continue;
        }
        programs += log.n_jobs > 0;
        if (!result && log.n_jobs >= best.n_jobs) {
            profile_log_done(&best);
            best = log;
        } else {
            profile_log_done(&log);
        }
    }
    (void)closedir(listing);
    if (!result && best.n_jobs == 0)
        result = -ENODATA;
    if (result) {
        profile_log_done(&best);
        return result;
    }
    *ret_programs = programs;
    *ret_log = best;
    return 0;
}

/* Does the log hold enough jobs to measure? */
static bool is_enough(const char *folder, const struct profile_run *run)
{
    struct profile_task task;
    struct profile_log log;
    size_t programs;
    bool enough = false;

    if (read_logs(folder, &programs, &log) < 0)
        return false;
    if (log.n_jobs >= run->jobs + run->warm && profile_align(&log, run->warm, &task) == 0) {
        enough = task.jobs + task.other_shapes >= run->jobs;
        profile_task_done(&task);
    }
    profile_log_done(&log);
    return enough;
}

/* --- the program --- */

/*
 * The program starts with ordinary scheduling: Linux would throttle a real-time priority inherited
 * from the shell.
 */
static void leave_real_time(void)
{
    const struct sched_param none = {0};
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

    if ((policy == SCHED_FIFO || policy == SCHED_RR) && sched_setscheduler(0, SCHED_OTHER, &none) == 0)
        (void)fprintf(stderr, "baton profile: the program starts under SCHED_OTHER, not under the real-time "
                              "priority of baton profile itself\n");
}

static void run_program(const struct profile_place *place, const struct profile_run *run, const char *folder)
{
    size_t n = 0;
    char gpus[16];
    const char **words;

    while (run->command[n])
        n++;
    leave_real_time();
    words = calloc(n + 16, sizeof *words);
    if (!words || setenv("BATON_PROFILE", folder, 1) < 0)
        _exit(127);
    (void)snprintf(gpus, sizeof gpus, "%u", run->gpus);
    n = 0;
    words[n++] = "baton";
    words[n++] = "run";
    words[n++] = "--require-daemon";
    words[n++] = "--socket";
    words[n++] = place->socket;
    words[n++] = "--name";
    words[n++] = run->name;
    if (run->gpus > 1) {
        words[n++] = "--gpus";
        words[n++] = gpus;
    }
    if (run->device) {
        words[n++] = "--device";
        words[n++] = run->device;
    }
    words[n++] = "--";
    for (size_t i = 0; run->command[i]; i++)
        words[n++] = run->command[i];
    installed_exec("baton", (char *const *)words);
}

/*
 * Signals that end a profile are passed to the program. The program ends by itself, and the profile
 * of its work is written.
 */
static void block_signals(sigset_t *ret_waited, sigset_t *ret_old)
{
    sigemptyset(ret_waited);
    sigaddset(ret_waited, SIGCHLD);
    sigaddset(ret_waited, SIGTERM);
    sigaddset(ret_waited, SIGHUP);
    sigaddset(ret_waited, SIGINT); /* from a terminal the program receives it directly */
    sigaddset(ret_waited, SIGQUIT);
    (void)sigprocmask(SIG_BLOCK, ret_waited, ret_old);
}

/* Waits for the program, and ends it when there are enough jobs. */
static int await_program(pid_t pid, const struct profile_run *run, const char *folder, const sigset_t *waited,
                         struct profile_outcome *outcome)
{
    bool *ret_stopped = &outcome->stopped;
    struct throttle throttle;
    const struct timespec look = {.tv_nsec = LOOK_NS};
    baton_nsec kill_at = NSEC_MAX;
    baton_nsec look_at = 0;
    int status = 0;

    throttle_open(&throttle);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        int number = sigtimedwait(waited, NULL, &look);

        throttle_look(&throttle, pid);
        if (number == SIGTERM || number == SIGHUP)
            (void)kill(pid, number);
        if (run->jobs && !*ret_stopped && clock_now() >= look_at) {
            baton_nsec began_at = clock_now();

            *ret_stopped = is_enough(folder, run);
            look_at = clock_now() + LOOK_SHARE * (clock_now() - began_at);
            if (*ret_stopped) {
                kill_at = clock_now() + patience_limit(PATIENCE_NS);
                (void)kill(pid, SIGTERM);
            }
        }
        if (clock_now() > kill_at)
            (void)kill(pid, SIGKILL);
    }
    outcome->throttled = throttle.lost;
    return status;
}

int profile_run(const struct profile_place *place, const struct profile_run *run,
                struct profile_outcome *ret_outcome)
{
    struct profile_outcome outcome = {0};
    char folder[LOG_PATH_SIZE];
    sigset_t waited;
    sigset_t old;
    pid_t pid;
    int status;
    int result;

    (void)snprintf(folder, sizeof folder, "%s/%u.%u", place->folder, run->gpus, run->repeated);
    if (mkdir(folder, 0700) < 0)
        return -errno;
    (void)fflush(NULL);
    block_signals(&waited, &old);
    pid = fork();
    if (pid == 0) {
        (void)sigprocmask(SIG_SETMASK, &old, NULL);
        run_program(place, run, folder);
    }
    if (pid < 0) {
        result = -errno;
        (void)sigprocmask(SIG_SETMASK, &old, NULL);
        return result;
    }
    status = await_program(pid, run, folder, &waited, &outcome);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (outcome.stopped && (outcome.status == 128 + SIGTERM || outcome.status == 128 + SIGKILL))
        outcome.status = 0; /* as requested */
    result = read_logs(folder, &outcome.programs, &outcome.log);
    if (result == 0 || result == -ENODATA)
        *ret_outcome = outcome;
    return result;
}
