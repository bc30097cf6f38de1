/* libvirtual-clock.so: what a program under a virtual clock calls in place of the C library. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

#define SECOND INT64_C(1000000000)
#define EXPORT __attribute__((visibility("default")))

static struct virtual_clock *clock_file; /* NULL: the real clock */

struct virtual_clock *preload_clock(void)
{
    return clock_file;
}

/* The C library's own syscall(); ours stands before it. */
static long kernel(long number, long a, long b, long c, long d, long e, long f)
{
    static long (*next)(long, ...);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next(number, a, b, c, d, e, f);
}

static int64_t nanoseconds(const struct timespec *time)
{
    return time->tv_sec * SECOND + time->tv_nsec;
}

static struct timespec spec_of(int64_t ns)
{
    ns = ns < 0 ? 0 : ns;
    return (struct timespec){ns / SECOND, ns % SECOND};
}

static int64_t real_now(void)
{
    struct timespec now;

    (void)kernel(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    return nanoseconds(&now);
}

/* This process, in the list that the conductor looks at. A child of fork() adds itself. */
static void enrol(void)
{
    for (int i = 0; clock_file && i < VIRTUAL_PROGRAMS; i++) {
        pid_t none = 0;

        if (atomic_compare_exchange_strong(&clock_file->programs[i], &none, getpid()))
            return;
    }
}

__attribute__((constructor)) static void open_clock(void)
{
    const char *path = getenv("VIRTUAL_CLOCK");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *shared;

    if (fd < 0)
        return;
    shared = mmap(NULL, sizeof *clock_file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (shared == MAP_FAILED)
        return;
    clock_file = shared;
    enrol();
    (void)pthread_atfork(NULL, NULL, enrol);
}

static int64_t now(void)
{
    return atomic_fetch_add(&clock_file->now, VIRTUAL_READING) + VIRTUAL_READING;
}

static void note_used(int n)
{
    int used = atomic_load(&clock_file->used);

    while (used < n && !atomic_compare_exchange_weak(&clock_file->used, &used, n)) {
    }
}

static struct virtual_sleeper *claim(void)
{
    for (;;) {
        for (int i = 0; i < VIRTUAL_SLEEPERS; i++) {
            int expected = SLEEPER_FREE;

            if (!atomic_compare_exchange_strong(&clock_file->sleepers[i].state, &expected, SLEEPER_CLAIMED))
                continue;
            note_used(i + 1);
            return &clock_file->sleepers[i];
        }
        (void)sched_yield();
    }
}

static void wait_for(int64_t until, int64_t work)
{
    struct virtual_sleeper *sleeper = claim();

    atomic_store(&sleeper->woken, 0);
    atomic_store(&sleeper->pid, getpid());
    atomic_store(&sleeper->tid, gettid());
    atomic_store(&sleeper->until, until);
    atomic_store(&sleeper->left, work);
    atomic_store(&sleeper->state, SLEEPER_WAITS);
    while (!atomic_load(&sleeper->woken))
        (void)kernel(SYS_futex, (long)&sleeper->woken, FUTEX_WAIT, 0, 0, 0, 0);
    atomic_store(&sleeper->state, SLEEPER_FREE);
}

static void sleep_until(int64_t until)
{
    if (until > atomic_load(&clock_file->now))
        wait_for(until, 0);
}

EXPORT void virtual_clock_work(int64_t ns);
EXPORT void virtual_clock_work(int64_t ns)
{
    if (clock_file && ns > 0)
        wait_for(INT64_MAX, ns);
}

EXPORT int clock_gettime(clockid_t which, struct timespec *ret_time)
{
    if (which != CLOCK_MONOTONIC || !clock_file)
        return (int)kernel(SYS_clock_gettime, which, (long)ret_time, 0, 0, 0, 0);
    *ret_time = spec_of(now());
    return 0;
}

EXPORT int nanosleep(const struct timespec *length, struct timespec *ret_left)
{
    if (!clock_file)
        return (int)kernel(SYS_nanosleep, (long)length, (long)ret_left, 0, 0, 0, 0);
    sleep_until(now() + nanoseconds(length));
    return 0;
}

EXPORT int usleep(useconds_t us)
{
    struct timespec length = spec_of((int64_t)us * 1000);

    return nanosleep(&length, NULL);
}

EXPORT int clock_nanosleep(clockid_t which, int flags, const struct timespec *time, struct timespec *ret_left)
{
    if (which != CLOCK_MONOTONIC || !clock_file)
        return kernel(SYS_clock_nanosleep, which, flags, (long)time, (long)ret_left, 0, 0) < 0 ? errno : 0;
    sleep_until((flags & TIMER_ABSTIME ? 0 : now()) + nanoseconds(time));
    return 0;
}

/*
 * Instants of the virtual clock that the kernel is to wait for: as far from now as they are, on the
 * real one.
 */
static struct timespec real_of(const struct timespec *instant)
{
    return spec_of(real_now() + nanoseconds(instant) - atomic_load(&clock_file->now));
}

/*
 * A program whose timer fires before its instant has come on the virtual clock sets it again, and
 * again, and is never found asleep. So each time that the same instant is asked for, the real wait
 * is at least twice as long as before, up to a second.
 */
static int64_t patience(int64_t instant)
{
    static _Atomic int64_t last;
    static _Atomic int again;

    if (atomic_exchange(&last, instant) != instant) {
        atomic_store(&again, 0);
        return 0;
    }
    return INT64_C(1000000) << (atomic_load(&again) < 10 ? atomic_fetch_add(&again, 1) : 10);
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *timer, struct itimerspec *ret_old)
{
    struct itimerspec real = *timer;

    if (clock_file && (flags & TFD_TIMER_ABSTIME) && nanoseconds(&timer->it_value) > 0) {
        int64_t instant = nanoseconds(&timer->it_value);
        int64_t least = instant > atomic_load(&clock_file->now) ? real_now() + patience(instant) : 0;

        real.it_value = real_of(&timer->it_value);
        if (nanoseconds(&real.it_value) < least)
            real.it_value = spec_of(least);
        real.it_value.tv_nsec += real.it_value.tv_sec == 0 && real.it_value.tv_nsec == 0;
    }
    return (int)kernel(SYS_timerfd_settime, fd, flags, (long)&real, (long)ret_old, 0, 0);
}

/*
 * The same for threads that look after something every now and then: up to 16 ms more, as long as
 * the virtual clock stands.
 */
static int64_t look_patience(void)
{
    static _Thread_local int64_t last;
    static _Thread_local int again;
    int64_t now = atomic_load(&clock_file->now);

    again = now - last < 100000 ? again + (again < 4) : 0;
    last = now;
    return again ? INT64_C(1000000) << again : 0;
}

static struct timespec later(const struct timespec *instant, int64_t more)
{
    return spec_of(nanoseconds(instant) + more);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t which,
                                  const struct timespec *until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    struct timespec real = *until;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    if (clock_file && which == CLOCK_MONOTONIC)
        real = real_of(until);
    return next(condition, mutex, which, &real);
}

/*
 * A condition does not tell its clock, but an instant does: CLOCK_REALTIME counts from 1970, the
 * other from the last start.
 */
EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    const time_t long_up = (time_t)20 * 365 * 24 * 3600;
    struct timespec real = *until;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (clock_file && until->tv_sec < long_up)
        real = real_of(until);
    if (clock_file)
        real = later(&real, look_patience());
    return next(condition, mutex, &real);
}

/*
 * Programs call the kernel by number for futexes alone; one that waits until an instant means the
 * virtual one.
 */
EXPORT long syscall(long number, ...)
{
    long words[6];
    struct timespec real;
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (clock_file && number == SYS_futex && (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && words[3]) {
        real = real_of((const struct timespec *)words[3]);
        words[3] = (long)&real;
    }
    return kernel(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
