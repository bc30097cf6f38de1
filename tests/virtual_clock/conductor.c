/*
 * virtual-clock FILE [CPUS]: makes the file of a virtual clock (clock.h), prints `ready`, and moves
 * the clock until it is ended by a signal, or its parent ends.
 *
 * The clock moves when no thread of any program could do anything before (quiet.h). While nothing
 * sleeps and all wait, the clock goes as the real one does: a thread may wait in poll() for an
 * instant to come. It then goes in steps of at most LONGEST_STEP, so that time in which the machine
 * did not run the conductor does not pass here.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "quiet.h"

#define LONGEST_STEP 1000000 /* ns */

/*
 * Between two looks at the programs, ns. A look costs about as much as the shortest rest, so rests
 * grow while the programs compute: a look at threads that all wait makes the next rest short again.
 */
#define SHORTEST_REST 20000
#define LONGEST_REST  320000

/* ---- virtual CPUs ---- */

struct worker {
    struct virtual_sleeper *sleeper;
    cpu_set_t cores;
    int priority;
};

static struct worker running[VIRTUAL_SLEEPERS]; /* since `accounted` */
static size_t n_running;
static int64_t accounted;

static bool works(struct virtual_sleeper *sleeper)
{
    return atomic_load(&sleeper->state) == SLEEPER_WAITS && !atomic_load(&sleeper->woken) &&
           atomic_load(&sleeper->left) > 0;
}

static bool any_works(struct virtual_clock *clock)
{
    for (int i = 0, used = atomic_load(&clock->used); i < used; i++)
        if (works(&clock->sleepers[i]))
            return true;
    return false;
}

/* What has been given since the last time to those that ran. */
static void account(struct virtual_clock *clock)
{
    int64_t now = atomic_load(&clock->now);

    for (size_t i = 0; i < n_running; i++) {
        int64_t left = atomic_load(&running[i].sleeper->left);

        if (works(running[i].sleeper)) /* at least 1, until it is woken */
            atomic_store(&running[i].sleeper->left, left > now - accounted ? left - (now - accounted) : 1);
    }
    accounted = now;
}

static bool cores_of(const struct virtual_clock *clock, pid_t tid, cpu_set_t *ret_cores)
{
    uint64_t cpus;

    if (!atomic_load(&clock->cpus))
        return sched_getaffinity(tid, sizeof *ret_cores, ret_cores) == 0;
    cpus = virtual_cpus_of(clock, tid);
    CPU_ZERO(ret_cores);
    for (unsigned cpu = 0; cpu < VIRTUAL_CPUS; cpu++) {
        if (cpus >> cpu & 1)
            CPU_SET(cpu, ret_cores);
    }
    return true;
}

static bool look_at_worker(const struct virtual_clock *clock, struct virtual_sleeper *sleeper,
                           struct worker *ret_worker)
{
    struct sched_param parameters = {0};
    pid_t tid = atomic_load(&sleeper->tid);

    *ret_worker = (struct worker){.sleeper = sleeper};
    if (!works(sleeper) || !cores_of(clock, tid, &ret_worker->cores))
        return false;
    (void)sched_getparam(tid, &parameters);
    ret_worker->priority = parameters.sched_priority;
    return true;
}

/*
 * Of all that work with the same cores, as many as there are cores, the highest priorities first.
 */
static void schedule(struct virtual_clock *clock)
{
    static struct worker all[VIRTUAL_SLEEPERS];
    size_t n = 0;

    account(clock);
    for (int i = 0, used = atomic_load(&clock->used); i < used; i++)
        n += look_at_worker(clock, &clock->sleepers[i], &all[n]);
    n_running = 0;
    for (size_t i = 0; i < n; i++) {
        int above = 0;

        for (size_t j = 0; j < n; j++)
            above += CPU_EQUAL(&all[i].cores, &all[j].cores) &&
                     (all[j].priority > all[i].priority || (j < i && all[j].priority == all[i].priority));
        if (above < CPU_COUNT(&all[i].cores))
            running[n_running++] = all[i];
    }
}

/* When the first of them is done; INT64_MAX: none runs. */
static int64_t work_done_at(void)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < n_running; i++) {
        int64_t done = accounted + atomic_load(&running[i].sleeper->left);

        next = done < next ? done : next;
    }
    return next;
}

static void wake(struct virtual_sleeper *sleeper)
{
    atomic_store(&sleeper->woken, 1);
    (void)syscall(SYS_futex, &sleeper->woken, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* At `now` these have had all their work. */
static void finish_work(struct virtual_clock *clock)
{
    int64_t now = atomic_load(&clock->now);

    for (size_t i = 0; i < n_running; i++)
        if (works(running[i].sleeper) && accounted + atomic_load(&running[i].sleeper->left) <= now)
            wake(running[i].sleeper);
    account(clock);
}

/* ---- the clock ---- */

/* The earliest instant that is waited for; INT64_MAX: nothing sleeps. */
static int64_t next_instant(struct virtual_clock *clock)
{
    int64_t next = INT64_MAX;

    for (int i = 0, used = atomic_load(&clock->used); i < used; i++) {
        struct virtual_sleeper *sleeper = &clock->sleepers[i];

        if (atomic_load(&sleeper->state) == SLEEPER_WAITS && !atomic_load(&sleeper->woken) &&
            atomic_load(&sleeper->until) < next)
            next = atomic_load(&sleeper->until);
    }
    return next;
}

static void move(struct virtual_clock *clock, int64_t next)
{
    if (atomic_load(&clock->now) < next)
        atomic_store(&clock->now, next);
    for (int i = 0, used = atomic_load(&clock->used); i < used; i++) {
        struct virtual_sleeper *sleeper = &clock->sleepers[i];

        if (atomic_load(&sleeper->state) == SLEEPER_WAITS && !atomic_load(&sleeper->woken) &&
            atomic_load(&sleeper->until) <= atomic_load(&clock->now))
            wake(sleeper);
    }
}

static int64_t step(int64_t ns)
{
    return ns < LONGEST_STEP ? ns : LONGEST_STEP;
}

static int64_t real_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Rests, and answers how long to rest after the next look that finds the same. */
static long rest_and_grow(long rest)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = rest}, NULL);
    return 2 * rest < LONGEST_REST ? 2 * rest : LONGEST_REST;
}

int main(int argc, char **argv)
{
    long rest = SHORTEST_REST, idle = SHORTEST_REST;
    unsigned long cpus = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    int fd = (argc == 2 || argc == 3) && cpus <= VIRTUAL_CPUS
                 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                 : -1;
    struct virtual_clock *clock;

    if (fd < 0 || ftruncate(fd, sizeof *clock) < 0)
        return 2;
    clock = mmap(NULL, sizeof *clock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (clock == MAP_FAILED)
        return 2;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)prctl(PR_SET_TIMERSLACK, 1000UL);
    atomic_store(&clock->now, real_now());
    atomic_store(&clock->cpus, (unsigned)cpus);
    printf("ready\n");
    (void)fflush(stdout);
    for (int64_t before = real_now();; before = real_now()) {
        int64_t next = next_instant(clock);

        idle = next == INT64_MAX && !any_works(clock) ? rest_and_grow(idle) : SHORTEST_REST;
        if (!quiet_all(clock)) {
            rest = rest_and_grow(rest);
            continue;
        }
        rest = SHORTEST_REST;
        schedule(clock);
        next = next_instant(clock);
        if (work_done_at() <= next && work_done_at() != INT64_MAX) {
            if (atomic_load(&clock->now) < work_done_at())
                atomic_store(&clock->now, work_done_at());
            finish_work(clock);
            continue;
        }
        move(clock, next == INT64_MAX ? atomic_load(&clock->now) + step(real_now() - before) : next);
    }
}
