/*
 * Preloaded into batond by tests/gpusync/partition.py: the kernel's list of isolated cores is what
 * BATON_TEST_ISOLATED says. Everything else is this machine's.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    const char *cores = getenv("BATON_TEST_ISOLATED");
    va_list list;
    int mode;
    int fd;

    va_start(list, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
    va_end(list);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "open");
    if (!cores || strcmp(path, "/sys/devices/system/cpu/isolated") != 0)
        return next(path, flags, mode);
    fd = memfd_create("isolated", MFD_CLOEXEC);
    if (fd >= 0 && (dprintf(fd, "%s\n", cores) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}
