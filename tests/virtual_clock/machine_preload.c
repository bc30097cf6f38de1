/*
 * The CPUs of a program under a virtual clock that has some of its own (clock.h): their number, the
 * list of those that are online and allowed, and the affinity of threads. No virtual clock limits
 * real-time programs. There are no processes beside those under the virtual clock: the real
 * machine's take no virtual time.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload.h"

#define EXPORT __attribute__((visibility("default")))

static unsigned cpus(void)
{
    const struct virtual_clock *clock = preload_clock();

    return clock ? atomic_load(&clock->cpus) : 0;
}

EXPORT long sysconf(int name)
{
    static long (*next)(int);

    if (name == _SC_NPROCESSORS_ONLN && cpus())
        return (long)cpus();
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "sysconf");
    return next(name);
}

EXPORT int sched_getaffinity(pid_t tid, size_t size, cpu_set_t *ret_cores)
{
    static int (*next)(pid_t, size_t, cpu_set_t *);
    uint64_t mine;
    int result;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "sched_getaffinity");
    result = next(tid, size, ret_cores);
    if (result < 0 || !cpus()) /* below 0: there is no such thread */
        return result;
    mine = virtual_cpus_of(preload_clock(), tid ? tid : gettid());
    memset(ret_cores, 0, size);
    for (unsigned cpu = 0; cpu < VIRTUAL_CPUS && cpu < size * 8; cpu++) {
        if (mine >> cpu & 1)
            CPU_SET_S(cpu, size, ret_cores);
    }
    return 0;
}

/* The row of the thread, or a new one; NULL: the table is full. */
static struct virtual_pin *pin_of(struct virtual_clock *clock, pid_t tid)
{
    for (int i = 0; i < VIRTUAL_PINS; i++) {
        pid_t found = 0;

        if (atomic_compare_exchange_strong(&clock->pins[i].tid, &found, tid) || found == tid)
            return &clock->pins[i];
    }
    return NULL;
}

EXPORT int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *cores)
{
    static int (*next)(pid_t, size_t, const cpu_set_t *);
    struct virtual_pin *pin;
    uint64_t wanted = 0;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "sched_setaffinity");
    if (!cpus())
        return next(tid, size, cores);
    for (unsigned cpu = 0; cpu < cpus() && cpu < size * 8; cpu++)
        wanted |= (uint64_t)(CPU_ISSET_S(cpu, size, cores) != 0) << cpu;
    pin = wanted ? pin_of(preload_clock(), tid ? tid : gettid()) : NULL;
    if (!pin) {
        errno = EINVAL;
        return -1;
    }
    atomic_store(&pin->cpus, wanted);
    return 0;
}

/* A file in memory with these words, and (n > 0) the list of so many CPUs. */
static int file_of(const char *words, unsigned n)
{
    int fd = memfd_create("machine", MFD_CLOEXEC);

    if (fd >= 0 && (dprintf(fd, "%s", words) < 0 || (n && dprintf(fd, "0-%u\n", n - 1) < 0) ||
                    lseek(fd, 0, SEEK_SET) < 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/*
 * Virtual CPUs run real-time threads for as long as these want. A file that is not there stays
 * away.
 */
static bool is_limit(const char *path)
{
    const char *name = strrchr(path, '/');

    return name && (!strcmp(name, "/sched_rt_runtime_us") || !strcmp(name, "/cpu.rt_runtime_us")) &&
           preload_clock() && access(path, F_OK) == 0;
}

EXPORT int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list list;
    int mode;

    va_start(list, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
    va_end(list);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "open");
    if (!strcmp(path, "/sys/devices/system/cpu/online") && cpus())
        return file_of("", cpus());
    if (!strcmp(path, "/proc/self/status") && cpus())
        return file_of("Name:\tvirtual\nCpus_allowed_list:\t", cpus());
    if (is_limit(path))
        return file_of("-1\n", 0);
    if (!strcmp(path, "/proc") && preload_clock()) {
        errno = ENOENT;
        return -1;
    }
    return next(path, flags, mode);
}
