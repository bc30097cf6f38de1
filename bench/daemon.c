/*
 * What a lease costs, measured with the real batond. A launch on a kept lease takes no message, an
 * acquire from an idle holder takes one. In a handover the holder is asked to yield. Beside them is
 * the bare round trip of a socket between two processes, on the same machine in the same run.
 * Medians, 10th and 90th percentiles, in microseconds. Last comes the cost of one request as
 * GPU-SPARC counts it (appendix B, Fig. 10). There it is 12 us of the scheduler's CPU time and 45
 * us of communication. Printed are the daemon's CPU time per request over a growing number of them,
 * and the whole, from the request to the grant.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/lease.h"
#include "figure.h"

#define ROUNDS 3000

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double print_row(const char *what, double *us, size_t n)
{
    qsort(us, n, sizeof *us, compare);
    printf("  %-52s %9.3f   [%.3f, %.3f]\n", what, us[n / 2], us[n / 10], us[n * 9 / 10]);
    return us[n / 2];
}

static double us_since(baton_nsec at)
{
    return (double)(clock_now() - at) / 1000.0;
}

/* ---- the bare means ---- */

static void socket_echo(int fd)
{
    char byte;

    while (read(fd, &byte, 1) == 1)
        (void)!write(fd, &byte, 1);
    _exit(0);
}

static double bench_socket(void)
{
    static double us[ROUNDS];
    int fds[2];
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        return 0;
    child = fork();
    if (child == 0) {
        close(fds[0]);
        socket_echo(fds[1]);
    }
    close(fds[1]);
    for (unsigned i = 0; i < ROUNDS; i++) {
        baton_nsec at = clock_now();
        char byte = 0;

        (void)!write(fds[0], &byte, 1);
        (void)!read(fds[0], &byte, 1);
        us[i] = us_since(at);
    }
    close(fds[0]);
    (void)waitpid(child, NULL, 0);
    return print_row("socket round trip between two processes", us, ROUNDS);
}

/* ---- leases ---- */

static pid_t start_daemon(const char *folder, const char *socket_path)
{
    const char *build = getenv("BATON_BUILD");
    char config[128];
    char program[4096];
    FILE *file;
    pid_t pid;

    (void)snprintf(config, sizeof config, "%s/c.yaml", folder);
    file = fopen(config, "w");
    if (!file)
        exit(3);
    (void)fputs("probe: false\n", file);
    (void)fclose(file);
    (void)snprintf(program, sizeof program, "%s/batond", build ? build : "build");
    pid = fork();
    if (pid == 0) {
        execl(program, "batond", "--foreground", "--socket", socket_path, "--config", config, (char *)NULL);
        _exit(127);
    }
    for (unsigned i = 0; i < 2000 && access(socket_path, F_OK) != 0; i++)
        usleep(1000);
    return pid;
}

static struct lease *open_lease(const char *socket_path, const char *name, int priority,
                                struct session **ret_session)
{
    struct settings settings;
    struct lease *lease;

    settings_init(&settings);
    (void)snprintf(settings.socket, sizeof settings.socket, "%s", socket_path);
    (void)snprintf(settings.name, sizeof settings.name, "%s", name);
    settings.priority = priority;
    settings.require_daemon = true;
    if (session_open(&settings, NULL, ret_session) < 0 ||
        lease_open(*ret_session, "bench:0", ENGINE_EXECUTION, &lease) < 0) {
        (void)fprintf(stderr, "bench-daemon: no batond (set BATON_BUILD to the build folder)\n");
        exit(3);
    }
    return lease;
}

static void acquire(struct lease *lease)
{
    if (lease_try_begin(lease) != LEASE_BEGUN && lease_request(lease) == LEASE_ASK)
        (void)lease_wait(lease, NSEC_MAX);
}

static void bench_kept(struct lease *lease)
{
    enum { BATCH = 1000 };
    static double us[ROUNDS / 10];

    acquire(lease);
    lease_end(lease);
    for (unsigned i = 0; i < ROUNDS / 10; i++) {
        baton_nsec at = clock_now();

        for (unsigned j = 0; j < BATCH; j++) {
            (void)lease_try_begin(lease);
            lease_end(lease);
        }
        us[i] = us_since(at) / BATCH;
    }
    (void)print_row("begin + end on a kept lease, no message", us, ROUNDS / 10);
}

static void bench_ran(struct lease *lease)
{
    enum { BATCH = 1000 };
    static double us[ROUNDS / 10];

    for (unsigned i = 0; i < ROUNDS / 10; i++) {
        baton_nsec at = clock_now();

        for (unsigned j = 0; j < BATCH; j++) {
            (void)lease_try_begin(lease);
            lease_ran(lease, at, at + 1, NULL);
            lease_end(lease);
        }
        us[i] = us_since(at) / BATCH;
    }
    (void)print_row("... with the run recorded for the trace", us, ROUNDS / 10);
}

/*
 * The other process: takes the engine, ends at once, and keeps it idle; or holds it and polls for
 * YIELD.
 */
struct stage {
    _Atomic unsigned turn; /* odd: the rival has prepared, our move; even: the rival's */
    _Atomic bool stop;
};

static void wait_turn(struct stage *stage, unsigned parity)
{
    while (atomic_load(&stage->turn) % 2 != parity && !atomic_load(&stage->stop))
        sched_yield();
}

static void rival(struct stage *stage, const char *socket_path, bool holds)
{
    struct session *session;
    struct lease *lease = open_lease(socket_path, "rival", 10, &session);

    while (!atomic_load(&stage->stop)) {
        wait_turn(stage, 0);
        acquire(lease);
        if (!holds)
            lease_end(lease);
        (void)atomic_fetch_add(&stage->turn, 1);
        while (holds && !(lease_flags(lease) & LEASE_FLAG_YIELD) && !atomic_load(&stage->stop))
            ; /* the pieces of a kernel, at their finest */
        if (holds)
            lease_end(lease);
    }
    session_close(session);
    _exit(0);
}

/*
 * Two requests a round, the rival's and ours. Answers the median of ours; what NULL: prints
 * nothing.
 */
static double bench_against(const char *what, const char *socket_path, struct lease *lease, bool holds,
                            unsigned rounds)
{
    static double us[ROUNDS];
    struct stage *stage = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();

    if (child == 0)
        rival(stage, socket_path, holds);
    for (unsigned i = 0; i < rounds; i++) {
        baton_nsec at;

        wait_turn(stage, 1);
        at = clock_now();
        acquire(lease);
        us[i] = us_since(at);
        lease_end(lease);
        (void)atomic_fetch_add(&stage->turn, 1);
    }
    atomic_store(&stage->stop, true);
    (void)waitpid(child, NULL, 0);
    (void)munmap(stage, 4096);
    if (what)
        return print_row(what, us, rounds);
    qsort(us, rounds, sizeof *us, compare);
    return us[rounds / 2];
}

/* CPU time of a process so far, us; 0: the system does not say. */
static double cpu_us(pid_t pid)
{
    struct timespec time;
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void bench_requests(pid_t daemon, const char *socket_path, struct lease *lease)
{
    static const unsigned counts[] = {250, 500, 1000, 2000, 4000};
    double each = 0;
    double whole = 0;

    printf("  requests   batond's CPU time per request, us   request to grant, us   (GPU-SPARC: 12, 57)\n");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        double begin = cpu_us(daemon);

        whole = bench_against(NULL, socket_path, lease, false, counts[i] / 2);
        each = (cpu_us(daemon) - begin) / counts[i];
        printf("  %8u   %33.2f   %20.2f\n", counts[i], each, whole);
    }
    figure("daemon-cpu", each, each, each); /* of the largest number: the connection hardly counts */
    figure("daemon-request", whole, whole, whole);
}

int main(void)
{
    char folder[] = "/tmp/baton-bench-XXXXXX";
    char socket_path[64];
    struct session *session;
    struct lease *lease;
    double bare;
    double taken;
    double handed;
    pid_t daemon;

    if (!mkdtemp(folder))
        return 3;
    (void)snprintf(socket_path, sizeof socket_path, "%s/s", folder);
    printf("  %-52s %9s   [p10, p90] us, %d rounds\n", "", "median", ROUNDS);
    bare = bench_socket();
    daemon = start_daemon(folder, socket_path);
    lease = open_lease(socket_path, "bench", 80, &session);
    bench_kept(lease);
    bench_ran(lease);
    taken = bench_against("acquire from an idle holder (one message)", socket_path, lease, false, ROUNDS);
    handed = bench_against("handover from a holder asked to yield", socket_path, lease, true, ROUNDS);
    if (bare > 0)
        printf("  against one bare socket round trip: acquire x %.2f, handover x %.2f\n", taken / bare,
               handed / bare);
    bench_requests(daemon, socket_path, lease);
    session_close(session);
    (void)kill(daemon, SIGTERM);
    (void)waitpid(daemon, NULL, 0);
    (void)snprintf(socket_path, sizeof socket_path, "rm -rf %s", folder);
    return system(socket_path) == 0 ? 0 : 3;
}
