#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For a temporary file. Leftovers of a crash, or other threads, may have the first names. */
#define NAMES_TRIED 100

static int read_all(int fd, size_t limit, char **ret_text, size_t *ret_size)
{
    size_t size = 0;
    size_t room = 64 * 1024;
    char *text = malloc(room);

    while (text) {
        ssize_t n = read(fd, text + size, room - size - 1);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            goto fail;
        if (n == 0) {
            text[size] = 0;
            *ret_text = text;
            *ret_size = size;
            return 0;
        }
        size += (size_t)n;
        if (size > limit) {
            errno = EFBIG;
            goto fail;
        }
        if (room - size < 2) {
            char *more = realloc(text, room * 2);

            if (!more)
                goto fail;
            text = more;
            room *= 2;
        }
    }
fail:
    free(text);
    return errno ? -errno : -ENOMEM;
}

int file_read(const char *path, size_t limit, char **ret_text, size_t *ret_size)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int result;

    if (fd < 0)
        return -errno;
    result = read_all(fd, limit, ret_text, ret_size);
    if (!standard)
        close(fd);
    return result;
}

int file_write_all(int fd, const void *text, size_t size)
{
    const char *from = text;

    while (size > 0) {
        ssize_t n = write(fd, from, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        from += n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_in_place(const char *path, const void *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int result;

    if (fd < 0)
        return -errno;
    result = file_write_all(fd, text, size);
    if (close(fd) < 0 && !result)
        result = -errno;
    return result;
}

/*
 * Creates a new file beside path; the caller frees its name. mkstemp() is no alternative because it
 * ignores the umask. Reading the umask changes it for a moment, also for the other threads of a
 * host program.
 */
static int create_beside(const char *path, mode_t mode, char **ret_name)
{
    for (unsigned i = 0; i < NAMES_TRIED; i++) {
        char *name;
        int fd;

        if (asprintf(&name, "%s.%ld-%u", path, (long)getpid(), i) < 0)
            return -ENOMEM;
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0) {
            *ret_name = name;
            return fd;
        }
        free(name);
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

int file_write_atomic(const char *path, const void *text, size_t size)
{
    struct stat old;
    bool exists;
    char *temporary = NULL;
    int result;
    int fd;

    if (strcmp(path, "-") == 0)
        return file_write_all(STDOUT_FILENO, text, size);
    exists = stat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode))
        return S_ISDIR(old.st_mode) ? -EISDIR : write_in_place(path, text, size);
    fd = create_beside(path, exists ? 0600 : 0666, &temporary);
    if (fd < 0)
        return fd;
    result = file_write_all(fd, text, size);
    if (!result && ((exists && fchmod(fd, old.st_mode & 07777) < 0) || fsync(fd) < 0))
        result = -errno;
    if (close(fd) < 0 && !result)
        result = -errno;
    if (!result && rename(temporary, path) < 0)
        result = -errno;
    if (result)
        unlink(temporary);
    free(temporary);
    return result;
}

int file_check_output(const char *path)
{
    char *temporary = NULL;
    struct stat old;
    int fd;

    if (strcmp(path, "-") == 0)
        return 0;
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode))
        return S_ISDIR(old.st_mode) ? -EISDIR : access(path, W_OK) < 0 ? -errno : 0;
    fd = create_beside(path, 0600, &temporary);
    if (fd < 0)
        return fd;
    close(fd);
    unlink(temporary);
    free(temporary);
    return 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

void file_remove_folder(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
