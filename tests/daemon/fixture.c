#include "fixture.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "harness.h"
#include "wire/dial.h"

static void nap(void)
{
    struct timespec some = {0, 500 * 1000};

    nanosleep(&some, NULL);
}

void fixture_wait(bool (*condition)(void *argument), void *argument, const char *what)
{
    baton_nsec until_at = clock_now() + FIXTURE_LIMIT;

    while (!condition(argument)) {
        ck_assert_msg(clock_now() < until_at, "waited in vain: %s", what);
        nap();
    }
}

static bool listens(void *argument)
{
    const struct fixture *fixture = argument;
    char path[SOCKET_PATH_SIZE];
    int fd = dial(fixture->socket, 0, path);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void run_daemon(const struct fixture *fixture, const char *const extra[])
{
    const char *arguments[32] = {"batond",        "--foreground", "--socket",
                                 fixture->socket, "--config",     fixture->config};
    const char *build = getenv("BATON_BUILD");
    const char *logged = getenv("BATON_TEST_LOG");
    char path[4096];
    size_t n = 6;
    int log;

    (void)snprintf(path, sizeof path, "%s/batond", build ? build : "build");
    for (size_t i = 0; extra && extra[i] && n < 31; i++)
        arguments[n++] = extra[i];
    log = open(logged ? logged : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)dup2(log, STDERR_FILENO);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failing test leaves nothing behind */
    execv(path, (char *const *)(uintptr_t)arguments);
    _exit(127);
}

void fixture_restart(struct fixture *fixture, const char *const extra[])
{
    fixture->daemon = fork();
    if (fixture->daemon == 0)
        run_daemon(fixture, extra);
    fixture_wait(listens, fixture, "batond listens");
}

void fixture_start(struct fixture *fixture, const char *config, const char *const extra[])
{
    harness_folder(fixture->folder);
    (void)snprintf(fixture->socket, sizeof fixture->socket, "%s/s", fixture->folder);
    (void)snprintf(fixture->config, sizeof fixture->config, "%s/c.yaml", fixture->folder);
    ck_assert_int_eq(file_write_atomic(fixture->config, config, strlen(config)), 0);
    fixture_restart(fixture, extra);
}

void fixture_kill_daemon(struct fixture *fixture, int signal_number)
{
    (void)kill(fixture->daemon, signal_number);
    (void)waitpid(fixture->daemon, NULL, 0);
    fixture->daemon = 0;
}

void fixture_done(struct fixture *fixture)
{
    if (fixture->daemon > 0)
        fixture_kill_daemon(fixture, SIGTERM);
}

struct settings fixture_settings(const struct fixture *fixture, const char *name, int priority)
{
    struct settings settings;

    settings_init(&settings);
    (void)snprintf(settings.socket, sizeof settings.socket, "%s", fixture->socket);
    (void)snprintf(settings.name, sizeof settings.name, "%s", name);
    settings.priority = priority;
    settings.require_daemon = true;
    return settings;
}

int fixture_session(const struct settings *settings, struct session **ret_session)
{
    int result;

    while ((result = session_open(settings, NULL, ret_session)) == -ECONNREFUSED)
        nap();
    return result;
}

/*
 * Calls visit(path, data) with the folder of each thread in /proc; false: visit said so, or there
 * is no such process.
 */
static bool each_thread(pid_t pid, bool (*visit)(const char *path, void *data), void *data)
{
    const struct dirent *entry;
    char path[320];
    bool good = true;
    DIR *threads;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    threads = opendir(path);
    if (!threads)
        return false;
    while (good && (entry = readdir(threads))) {
        (void)snprintf(path, sizeof path, "/proc/%d/task/%s", (int)pid, entry->d_name);
        good = entry->d_name[0] == '.' || visit(path, data);
    }
    (void)closedir(threads);
    return good;
}

/* Adds how often the thread was switched away. False: it does not sleep. */
static bool sleeps(const char *path, void *data)
{
    unsigned long long switches;
    char line[256], state = '?';
    char file_path[352];
    FILE *file;

    (void)snprintf(file_path, sizeof file_path, "%s/status", path);
    file = fopen(file_path, "r");
    while (file && fgets(line, sizeof line, file)) {
        (void)sscanf(line, "State: %c", &state);
        if (sscanf(line, "voluntary_ctxt_switches: %llu", &switches) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %llu", &switches) == 1)
            *(unsigned long long *)data += switches;
    }
    if (file)
        (void)fclose(file);
    return state == 'S';
}

struct crowd {
    const pid_t *pids;
    unsigned n;
    unsigned long long switches;
};

static bool all_sleep(const struct crowd *crowd, unsigned long long *ret_switches)
{
    *ret_switches = 0;
    for (unsigned i = 0; i < crowd->n; i++)
        if (!each_thread(crowd->pids[i], sleeps, ret_switches))
            return false;
    return true;
}

/*
 * Every thread sleeps from its first look to its second, and all of these times have an instant in
 * common.
 */
static bool is_quiet(void *argument)
{
    struct crowd *crowd = argument;
    unsigned long long before;

    if (!all_sleep(crowd, &before))
        return false;
    nap();
    return all_sleep(crowd, &crowd->switches) && crowd->switches == before;
}

unsigned long long fixture_quiet(const pid_t pids[], unsigned n)
{
    struct crowd crowd = {pids, n, 0};

    fixture_wait(is_quiet, &crowd, "processes sleep");
    return crowd.switches;
}

void fixture_rests(pid_t pid)
{
    (void)fixture_quiet(&pid, 1);
}

baton_nsec fixture_timer(pid_t pid)
{
    baton_nsec earliest = NSEC_MAX;
    const struct dirent *entry;
    char path[320], line[128];
    DIR *files;

    (void)snprintf(path, sizeof path, "/proc/%d/fdinfo", (int)pid);
    files = opendir(path);
    ck_assert_ptr_nonnull(files);
    while ((entry = readdir(files))) {
        long long sec, nsec;
        FILE *file;

        (void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)pid, entry->d_name);
        file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (file && fgets(line, sizeof line, file))
            if (sscanf(line, "it_value: (%lld, %lld)", &sec, &nsec) == 2 && (sec || nsec) &&
                sec * NSEC_PER_SEC + nsec < earliest)
                earliest = sec * NSEC_PER_SEC + nsec;
        if (file)
            (void)fclose(file);
    }
    (void)closedir(files);
    return earliest;
}

bool fixture_has_children(pid_t pid)
{
    char path[96], text[32] = "";
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    (void)!fgets(text, sizeof text, file);
    (void)fclose(file);
    return text[0] != 0;
}

/* ---- puppets ---- */

static char obey(struct session *session, struct lease *lease, char order)
{
    switch (order) {
    case PUPPET_BEGIN:
        if (lease_try_begin(lease) != LEASE_BEGUN && lease_request(lease) == LEASE_ASK)
            (void)lease_wait(lease, NSEC_MAX);
        return 'B';
    case PUPPET_FREE:
        return lease_try_begin(lease) == LEASE_BEGUN ? 'B' : 'N';
    case PUPPET_ASK:
        (void)lease_request(lease);
        return 'A';
    case PUPPET_WAIT:
        (void)lease_wait(lease, NSEC_MAX);
        return 'W';
    case PUPPET_END:
        lease_end(lease);
        return 'E';
    case PUPPET_YIELD:
        if (!(lease_flags(lease) & LEASE_FLAG_YIELD))
            return 'N';
        (void)lease_yield(lease);
        return 'Y';
    case PUPPET_JOB_BEGIN:
        session_job_begin(session, true, clock_now());
        return 'J';
    case PUPPET_JOB_END:
        session_job_end(session, true, clock_now());
        return 'K';
    case PUPPET_RAN:
        lease_ran(lease, clock_now() - NSEC_PER_MS, clock_now(), NULL);
        return 'R';
    case PUPPET_REGISTER:
        session_register_thread(session, gettid());
        return 'G';
    case PUPPET_EXEC:
        (void)execlp("sleep", "sleep", "600", (char *)NULL);
        return '?';
    case PUPPET_ONLINE:
        return session_online(session) ? 'O' : 'F';
    default:
        return '?';
    }
}

static void puppet_main(const struct settings *settings, const char *device, enum engine_kind engine,
                        int orders, int answers)
{
    struct session *session = NULL;
    struct lease *lease = NULL;
    char order;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fixture_session(settings, &session) < 0 || lease_open(session, device, engine, &lease) < 0)
        _exit(3);
    (void)!write(answers, "!", 1);
    while (read(orders, &order, 1) == 1 && order != PUPPET_QUIT) {
        char answer = obey(session, lease, order);

        if (write(answers, &answer, 1) != 1)
            break;
    }
    session_close(session);
    _exit(0);
}

struct puppet puppet_start(const struct fixture *fixture, const char *name, int priority, const char *device)
{
    return puppet_start_on(fixture, name, priority, device, ENGINE_EXECUTION);
}

struct puppet puppet_start_on(const struct fixture *fixture, const char *name, int priority,
                              const char *device, enum engine_kind engine)
{
    struct settings settings = fixture_settings(fixture, name, priority);
    struct puppet puppet;
    int orders[2];
    int answers[2];

    ck_assert_int_eq(pipe2(orders, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(answers, O_CLOEXEC), 0);
    puppet.pid = fork();
    ck_assert_int_ge(puppet.pid, 0);
    if (puppet.pid == 0) {
        close(orders[1]);
        close(answers[0]);
        puppet_main(&settings, device, engine, orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    puppet.orders = orders[1];
    puppet.answers = answers[0];
    ck_assert_int_eq(puppet_hear(&puppet, FIXTURE_LIMIT), '!');
    return puppet;
}

void puppet_say(struct puppet *puppet, enum puppet_order order)
{
    char letter = (char)order;

    ck_assert_int_eq(write(puppet->orders, &letter, 1), 1);
}

char puppet_hear(struct puppet *puppet, baton_nsec limit)
{
    struct pollfd fd = {puppet->answers, POLLIN, 0};
    char answer = 0;

    if (poll(&fd, 1, (int)(limit / NSEC_PER_MS)) <= 0)
        return 0;
    return read(puppet->answers, &answer, 1) == 1 ? answer : 0;
}

void puppet_do(struct puppet *puppet, enum puppet_order order, char expected)
{
    char answer;

    puppet_say(puppet, order);
    answer = puppet_hear(puppet, FIXTURE_LIMIT);
    ck_assert_msg(answer == expected, "order '%c': expected '%c', heard '%c'", (char)order, expected,
                  answer ? answer : '-');
}

static void bury(struct puppet *puppet)
{
    (void)waitpid(puppet->pid, NULL, 0);
    close(puppet->orders);
    close(puppet->answers);
}

void puppet_kill(struct puppet *puppet)
{
    (void)kill(puppet->pid, SIGKILL);
    bury(puppet);
}

void puppet_quit(struct puppet *puppet)
{
    puppet_say(puppet, PUPPET_QUIT);
    bury(puppet);
}

void fixture_heard(const struct fixture *fixture)
{
    /*
     * Newcomers come last in each turn of the daemon. So a client that is welcomed after others
     * have written knows that batond has read them.
     */
    struct puppet last = puppet_start(fixture, "last", 1, "test:0");

    puppet_quit(&last);
}

void puppet_silent(const struct fixture *fixture, struct puppet *puppet)
{
    const pid_t both[] = {fixture->daemon, puppet->pid};

    (void)fixture_quiet(both, 2);
    ck_assert_int_eq(puppet_hear(puppet, 0), 0);
}
