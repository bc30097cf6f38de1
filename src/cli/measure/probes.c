#include "cli/measure/probes.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SWEEP_BYTES ((size_t)16 << 20) /* exceeds the last-level cache of most machines */
/* us: a longer gap between clock readings means that the thread did not run */
#define GAP_LIMIT    2
#define GAP_SECONDS  1 /* limit for observing gaps */
#define TIMER_PERIOD (200 * NSEC_PER_US)
#define LINE         64

const char *const probe_names[PROBES] = {"system call",           "scheduler",     "context switch",
                                         "wake-up (another CPU)", "timer latency", "interruption"};

static double since_us(baton_nsec begin_at)
{
    return (double)(clock_now() - begin_at) / NSEC_PER_US;
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* The index-th CPU that this process may use; the last one if there are fewer. */
static int usable_cpu(const cpu_set_t *allowed, int index)
{
    int last = 0;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, allowed)) {
            last = cpu;
            if (index-- == 0)
                break;
        }
    return last;
}

static void sample_syscalls(size_t n, double ret_us[])
{
    for (size_t i = 0; i < n; i++) {
        baton_nsec begin_at = clock_now();

        (void)syscall(SYS_getppid);
        ret_us[i] = since_us(begin_at);
    }
}

static void sample_yields(size_t n, double ret_us[])
{
    for (size_t i = 0; i < n; i++) {
        baton_nsec begin_at = clock_now();

        (void)sched_yield();
        ret_us[i] = since_us(begin_at);
    }
}

/* A second thread that does its half until told to end. */
struct partner {
    int cpu;
    atomic_bool end;
    int there, back; /* eventfds */
    _Atomic baton_nsec woken_at;
    atomic_size_t turns;
};

static void *yield_too(void *context)
{
    struct partner *partner = context;

    pin(partner->cpu);
    while (!atomic_load(&partner->end)) {
        atomic_fetch_add(&partner->turns, 1);
        (void)sched_yield();
    }
    return NULL;
}

static void *wake_and_answer(void *context)
{
    struct partner *partner = context;
    uint64_t value = 0;

    pin(partner->cpu);
    while (read(partner->there, &value, sizeof value) == sizeof value && !atomic_load(&partner->end)) {
        atomic_store(&partner->woken_at, clock_now());
        value = 1;
        if (write(partner->back, &value, sizeof value) != sizeof value)
            break;
    }
    return NULL;
}

/* A yield that returns after the partner ran took two switches. */
static int sample_switches(struct partner *partner, size_t n, double ret_us[], size_t *ret_n)
{
    baton_nsec end_at = clock_now() + GAP_SECONDS * NSEC_PER_SEC;
    pthread_t thread;
    size_t found = 0;
    int result = pthread_create(&thread, NULL, yield_too, partner);

    if (result)
        return -result;
    while (found < n && clock_now() < end_at) {
        size_t turns = atomic_load(&partner->turns);
        baton_nsec begin_at = clock_now();

        (void)sched_yield();
        if (atomic_load(&partner->turns) == turns + 1)
            ret_us[found++] = since_us(begin_at) / 2;
    }
    atomic_store(&partner->end, true);
    (void)pthread_join(thread, NULL);
    *ret_n = found;
    return 0;
}

static int sample_wakes(struct partner *partner, size_t n, double ret_us[], size_t *ret_n)
{
    uint64_t value = 1;
    pthread_t thread = {0};
    size_t found = 0;
    int result;

    partner->there = eventfd(0, EFD_CLOEXEC);
    partner->back = eventfd(0, EFD_CLOEXEC);
    result = partner->there < 0 || partner->back < 0
                 ? errno
                 : pthread_create(&thread, NULL, wake_and_answer, partner);
    while (!result && found < n) {
        baton_nsec begin_at = clock_now();

        value = 1;
        if (write(partner->there, &value, sizeof value) != sizeof value ||
            read(partner->back, &value, sizeof value) != sizeof value)
            break;
        ret_us[found++] = (double)(atomic_load(&partner->woken_at) - begin_at) / NSEC_PER_US;
    }
    if (!result) {
        atomic_store(&partner->end, true);
        value = 1;
        (void)!write(partner->there, &value, sizeof value);
        (void)pthread_join(thread, NULL);
    }
    (void)close(partner->there);
    (void)close(partner->back);
    *ret_n = found;
    return -result;
}

static void sample_timers(size_t n, double ret_us[])
{
    for (size_t i = 0; i < n; i++) {
        baton_nsec at = clock_now() + TIMER_PERIOD;
        struct timespec until;

        until = (struct timespec){.tv_sec = at / NSEC_PER_SEC, .tv_nsec = at % NSEC_PER_SEC};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
        }
        ret_us[i] = since_us(at);
    }
}

static size_t sample_gaps(size_t n, double ret_us[])
{
    baton_nsec end_at = clock_now() + GAP_SECONDS * NSEC_PER_SEC;
    baton_nsec last = clock_now();
    size_t found = 0;

    while (found < n && last < end_at) {
        baton_nsec now = clock_now();

        if (now - last > GAP_LIMIT * NSEC_PER_US)
            ret_us[found++] = (double)(now - last) / NSEC_PER_US;
        last = now;
    }
    return found;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Subtracts the median of plain yields from the switches. */
static int sample_net_switches(struct partner *partner, size_t n, double ret_us[], size_t *ret_n)
{
    double plain[64];
    int result;

    sample_yields(64, plain);
    qsort(plain, 64, sizeof plain[0], ascending);
    result = sample_switches(partner, n, ret_us, ret_n);
    for (size_t i = 0; !result && i < *ret_n; i++)
        ret_us[i] = ret_us[i] > plain[32] ? ret_us[i] - plain[32] : 0;
    return result;
}

int probe_run(enum probe probe, size_t n, double ret_us[], size_t *ret_n)
{
    struct partner partner = {.there = -1, .back = -1};
    cpu_set_t allowed;
    int result = 0;

    if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed))
        return -EINVAL;
    pin(usable_cpu(&allowed, 0));
    partner.cpu = usable_cpu(&allowed, probe == PROBE_WAKE ? 1 : 0);
    *ret_n = n;
    switch (probe) {
    case PROBE_SYSCALL:
        sample_syscalls(n, ret_us);
        break;
    case PROBE_SCHEDULER:
        sample_yields(n, ret_us);
        break;
    case PROBE_SWITCH:
        result = sample_net_switches(&partner, n, ret_us, ret_n);
        break;
    case PROBE_WAKE:
        result = sample_wakes(&partner, n, ret_us, ret_n);
        break;
    case PROBE_TIMER:
        sample_timers(n, ret_us);
        break;
    case PROBE_GAP:
        *ret_n = sample_gaps(n, ret_us);
        break;
    case PROBES:
        result = -EINVAL;
        break;
    }
    (void)pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
    return result;
}

static double walk_us(volatile const unsigned char *bytes, size_t n)
{
    baton_nsec begin_at = clock_now();

    for (size_t i = 0; i < n; i += LINE)
        (void)bytes[i];
    return since_us(begin_at);
}

int probe_cache(size_t bytes, size_t n, double ret_us[])
{
    unsigned char *data = calloc(1, bytes);
    unsigned char *others = malloc(SWEEP_BYTES);

    if (!data || !others) {
        free(data);
        free(others);
        return -ENOMEM;
    }
    memset(others, 1, SWEEP_BYTES);
    memset(data, 1, bytes);
    for (size_t i = 0; i < n; i++) {
        double cold;
        double warm;

        (void)walk_us(others, SWEEP_BYTES);
        cold = walk_us(data, bytes);
        warm = walk_us(data, bytes);
        ret_us[i] = cold > warm ? cold - warm : 0;
    }
    free(data);
    free(others);
    return 0;
}

bool probe_real_time(void)
{
    struct sched_param parameter = {.sched_priority = 50};

    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) == 0;
}

struct probe_load {
    atomic_bool end;
    size_t n;
    pthread_t threads[1024];
};

static void *sweep(void *context)
{
    const struct probe_load *load = context;
    const struct sched_param normal = {0};
    unsigned char *bytes = malloc(SWEEP_BYTES);

    (void)pthread_setschedparam(pthread_self(), SCHED_OTHER, &normal); /* never above the probes */
    for (unsigned turn = 0; bytes && !atomic_load(&load->end); turn++)
        memset(bytes, (int)(turn & 0xff), SWEEP_BYTES);
    free(bytes);
    return NULL;
}

struct probe_load *probe_load_start(void)
{
    struct probe_load *load = calloc(1, sizeof *load);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (!load)
        return NULL;
    while (load->n < 1024 && (long)load->n < cpus)
        if (pthread_create(&load->threads[load->n], NULL, sweep, load))
            break;
        else
            load->n++;
    if (load->n == 0) {
        free(load);
        return NULL;
    }
    return load;
}

void probe_load_stop(struct probe_load *load)
{
    if (!load)
        return;
    atomic_store(&load->end, true);
    for (size_t i = 0; i < load->n; i++)
        (void)pthread_join(load->threads[i], NULL);
    free(load);
}
