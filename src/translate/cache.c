#include "translate/cache.h"
#include "translate/record.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *joined(const char *folder, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/*
 * Makes the folder and its parents. True if the folder belongs to this user and no other user can
 * write to it.
 */
static int make_folder(char *path)
{
    struct stat st;

    for (char *c = path + 1; *c; c++)
        if (*c == '/') {
            *c = 0;
            (void)mkdir(path, 0700);
            *c = '/';
        }
    (void)mkdir(path, 0700);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

char *cache_folder(void)
{
    const char *own = secure_getenv("BATON_CACHE_DIR");
    const char *xdg = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    char *path = NULL;

    if (own && own[0])
        path = joined(own, "translate");
    else if (xdg && xdg[0] == '/')
        path = joined(xdg, "baton/translate");
    else if (home && home[0] == '/')
        path = joined(home, ".cache/baton/translate");
    if (path && !make_folder(path)) {
        free(path);
        path = NULL;
    }
    return path;
}

int cache_read(const char *folder, const char *key, uint8_t **ret_bytes, size_t *ret_n)
{
    char *path = joined(folder, key);
    char *text;
    int r = path ? file_read(path, (size_t)RECORD_LARGEST + 64, &text, ret_n) : -ENOMEM;

    free(path);
    if (!r)
        *ret_bytes = (uint8_t *)text;
    return r;
}

static int write_file(const char *path, const uint8_t *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int r = fd < 0 ? -errno : 0;

    while (!r && n) {
        ssize_t done = write(fd, bytes, n);

        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        } else if (done == 0 || errno != EINTR) {
            r = done == 0 ? -EIO : -errno;
        }
    }
    if (fd >= 0 && close(fd) < 0 && !r)
        r = -errno;
    return r;
}

#define NEW_PREFIX  ".new-"
#define MARK_PREFIX ".mark-"

/* The name is of this call alone: a process that died may have left any other. NULL: no memory. */
static char *temporary_name(const char *folder, const char *prefix)
{
    uint64_t random;
    char *path;

    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random ||
        asprintf(&path, "%s/%s%016" PRIx64, folder, prefix, random) < 0)
        return NULL;
    return path;
}

/*
 * No fsync, so that a build does not wait for a disk. The entry contains its own hash, so one that
 * a crash has truncated is recognised.
 */
int cache_write(const char *folder, const char *key, const uint8_t *bytes, size_t n)
{
    static _Atomic unsigned counter;
    unsigned number = atomic_fetch_add(&counter, 1);
    char *path = joined(folder, key);
    char *temporary = path ? temporary_name(folder, NEW_PREFIX) : NULL;
    int r = -ENOMEM;

    if (temporary) {
        r = write_file(temporary, bytes, n);
        if (!r && rename(temporary, path) < 0)
            r = -errno;
        if (r && r != -EEXIST)
            (void)unlink(temporary);
    }
    free(temporary);
    free(path);
    if (!r && (number & 63) == 0)
        cache_prune(folder, CACHE_MOST_ENTRIES);
    return r;
}

void cache_touch(const char *folder, const char *key)
{
    char *path = joined(folder, key);

    if (path)
        (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    free(path);
}

static const char mark_name[] = "mark";

static int read_mark(const char *folder, char ret_mark[CACHE_MARK])
{
    uint8_t *bytes = NULL;
    size_t n = 0;
    int r = cache_read(folder, mark_name, &bytes, &n);

    if (r < 0)
        return r;
    r = n == CACHE_MARK - 1 && strspn((const char *)bytes, "0123456789abcdef") == n ? 0 : -EBADMSG;
    if (!r) {
        memcpy(ret_mark, bytes, n);
        ret_mark[n] = 0;
    }
    free(bytes);
    return r;
}

int cache_mark(const char *folder, char ret_mark[CACHE_MARK])
{
    char fresh[CACHE_MARK], *path = joined(folder, mark_name), *temporary;
    uint32_t random;
    int r = read_mark(folder, ret_mark);

    if (r == -EBADMSG && path)
        (void)unlink(path);
    temporary = r && path ? temporary_name(folder, MARK_PREFIX) : NULL;
    if (temporary && getrandom(&random, sizeof random, 0) == (ssize_t)sizeof random) {
        (void)snprintf(fresh, sizeof fresh, "%08x", (unsigned)random);
        if (write_file(temporary, (const uint8_t *)fresh, CACHE_MARK - 1) == 0)
            (void)!link(temporary, path); /* an entry that was made meanwhile stays */
        (void)unlink(temporary);
        r = read_mark(folder, ret_mark);
    }
    free(temporary);
    free(path);
    return r;
}

struct aged {
    struct timespec at;
    char *name;
};

static int by_age(const void *a, const void *b)
{
    const struct aged *x = a;
    const struct aged *y = b;

    if (x->at.tv_sec != y->at.tv_sec)
        return x->at.tv_sec < y->at.tv_sec ? -1 : 1;
    return (x->at.tv_nsec > y->at.tv_nsec) - (x->at.tv_nsec < y->at.tv_nsec);
}

/* A file that a process began an hour ago and has neither renamed nor removed: the process died. */
static bool is_abandoned(const char *name, const struct stat *about)
{
    return (!strncmp(name, NEW_PREFIX, strlen(NEW_PREFIX)) ||
            !strncmp(name, MARK_PREFIX, strlen(MARK_PREFIX))) &&
           about->st_mtime < time(NULL) - 3600;
}

void cache_prune(const char *folder, size_t most)
{
    DIR *dir = opendir(folder);
    struct aged *list = NULL;
    const struct dirent *entry;
    size_t n = 0;

    while (dir && (entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): the stream is local */
        struct aged *more = (n & (n + 1)) ? list : realloc(list, (2 * n + 2) * sizeof *list);
        struct stat st;

        if (!more)
            break;
        list = more;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            !strcmp(entry->d_name, mark_name))
            continue;
        if (is_abandoned(entry->d_name, &st)) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
            continue;
        }
        list[n].at = st.st_mtim;
        list[n].name = strdup(entry->d_name);
        if (!list[n].name)
            break;
        n++;
    }
    if (n > most) {
        qsort(list, n, sizeof *list, by_age);
        for (size_t i = 0; i < n - most; i++)
            (void)unlinkat(dirfd(dir), list[i].name, 0);
    }
    for (size_t i = 0; i < n; i++)
        free(list[i].name);
    free(list);
    if (dir)
        (void)closedir(dir);
}
