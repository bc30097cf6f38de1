/*
 * Writes down when the machine was not what it is taken for, until it is terminated: one line
 * `FROM_NS TO_NS WHAT` each, of CLOCK_MONOTONIC.
 *
 *     disturbances CORE...
 *
 * late: on this core the most urgent thread, which sleeps for half a millisecond at a time, woke up
 * more than LATE_NS after its time. stolen: /proc/stat counts time of these cores in this interval
 * during which the machine's host ran something else.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SECOND  INT64_C(1000000000)
#define EVERY   INT64_C(500000)
#define LATE_NS INT64_C(200000)
#define LOOK    INT64_C(20000000)

static atomic_bool over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static void sleep_until(int64_t at)
{
    struct timespec until = {at / SECOND, at % SECOND};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static void say(int64_t from, int64_t to, const char *what)
{
    pthread_mutex_lock(&lock);
    (void)printf("%" PRId64 " %" PRId64 " %s\n", from, to, what);
    (void)fflush(stdout);
    pthread_mutex_unlock(&lock);
}

static void *watch(void *core)
{
    cpu_set_t set;
    struct sched_param priority = {.sched_priority = 98};
    int64_t at = now_ns();

    CPU_ZERO(&set);
    CPU_SET((size_t)(uintptr_t)core, &set);
    if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, SCHED_FIFO, &priority))
        exit(77);
    while (!atomic_load(&over)) {
        at += EVERY;
        sleep_until(at);
        if (now_ns() - at > LATE_NS)
            say(at, now_ns(), "late");
        if (now_ns() > at)
            at = now_ns();
    }
    return NULL;
}

/* The sum of column 8 over the lines of these cores, in ticks; -1: unknown. */
static long stolen_ticks(char **cores, int n)
{
    FILE *file = fopen("/proc/stat", "r");
    char line[512], core[16];
    long sum = -1, ticks;

    if (!file)
        return -1;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "cpu%15[0-9] %*u %*u %*u %*u %*u %*u %*u %ld", core, &ticks) != 2)
            continue;
        for (int i = 0; i < n; i++) {
            if (strtoul(core, NULL, 10) == strtoul(cores[i], NULL, 10))
                sum = (sum < 0 ? 0 : sum) + ticks;
        }
    }
    (void)fclose(file);
    return sum;
}

static void finish(int signal_number)
{
    (void)signal_number;
    atomic_store(&over, true);
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    long before = stolen_ticks(argv + 1, argc - 1);
    int64_t from = now_ns();

    (void)signal(SIGTERM, finish);
    for (int i = 1; i < argc && i <= 64; i++) {
        if (pthread_create(&threads[i - 1], NULL, watch, (void *)(uintptr_t)strtoul(argv[i], NULL, 10)))
            return 2;
    }
    while (!atomic_load(&over)) {
        long ticks;
        int64_t to;

        sleep_until(now_ns() + LOOK);
        ticks = stolen_ticks(argv + 1, argc - 1);
        to = now_ns();
        if (ticks != before)
            say(from, to, "stolen");
        before = ticks;
        from = to;
    }
    for (int i = 1; i < argc && i <= 64; i++)
        (void)pthread_join(threads[i - 1], NULL);
    return 0;
}
