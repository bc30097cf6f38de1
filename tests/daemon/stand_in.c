/*
 * Preloaded into batond: what the kernel says of this machine, where a test needs it to be another.
 *
 *     BATON_TEST_ISOLATED=CORES  the list of isolated cores
 *     BATON_TEST_RT_RUNTIME=US   Linux's limit on real-time programs, also of each cgroup; -1: none
 *     BATON_TEST_ALONE=1         the list of processes cannot be read: other tests may run beside
 *                                this one, with programs that are real-time
 *
 * Everything else is this machine's. A limit that this machine does not have stays away.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the file says instead of its content; NULL: its content. */
static const char *instead(const char *path)
{
    const char *name = strrchr(path, '/');

    if (strcmp(path, "/sys/devices/system/cpu/isolated") == 0)
        return getenv("BATON_TEST_ISOLATED");
    if (name && (strcmp(name, "/sched_rt_runtime_us") == 0 || strcmp(name, "/cpu.rt_runtime_us") == 0))
        return access(path, F_OK) == 0 ? getenv("BATON_TEST_RT_RUNTIME") : NULL;
    return NULL;
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    const char *words = instead(path);
    va_list list;
    int mode;
    int fd;

    va_start(list, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
    va_end(list);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "open");
    if (strcmp(path, "/proc") == 0 && getenv("BATON_TEST_ALONE")) {
        errno = EACCES;
        return -1;
    }
    if (!words)
        return next(path, flags, mode);
    fd = memfd_create("stand-in", MFD_CLOEXEC);
    if (fd >= 0 && (dprintf(fd, "%s\n", words) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}
