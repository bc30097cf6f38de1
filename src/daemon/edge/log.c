#include "daemon/edge/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "daemon/edge/batond.h"

const char *const log_level_names[LOG_LEVELS] = {
#define LEVEL(identifier, name, priority, help) [LOG_LEVEL_##identifier] = (name),
#include "daemon/edge/log_levels.def"
#undef LEVEL
};

static const int priorities[LOG_LEVELS] = {
#define LEVEL(identifier, name, priority, help) [LOG_LEVEL_##identifier] = (priority),
#include "daemon/edge/log_levels.def"
#undef LEVEL
};

int log_level_find(const char *name)
{
    for (int i = 0; i < LOG_LEVELS; i++) {
        if (strcmp(log_level_names[i], name) == 0)
            return i;
    }
    return -1;
}

void log_set_level(enum log_level level)
{
    batond.log.level = level;
}

int log_to_file(const char *path)
{
    int file;

    if (strlen(path) >= sizeof batond.log.path)
        return -ENAMETOOLONG;
    file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (file < 0)
        return -errno;
    if (batond.log.file >= 0)
        (void)close(batond.log.file);
    batond.log.file = file;
    if (path != batond.log.path)
        (void)snprintf(batond.log.path, sizeof batond.log.path, "%s", path);
    return 0;
}

void log_to_system(void)
{
    openlog("batond", LOG_PID, LOG_DAEMON);
    batond.log.system = true;
}

void log_reopen(void)
{
    if (batond.log.file >= 0)
        (void)log_to_file(batond.log.path);
}

/*
 * Does standard error go to the journal? Then each line begins with its level, which the journal
 * removes.
 */
static bool is_journal(void)
{
    const char *named = getenv("JOURNAL_STREAM");
    char own[64];
    struct stat about;

    if (!named || fstat(STDERR_FILENO, &about) < 0)
        return false;
    (void)snprintf(own, sizeof own, "%llu:%llu", (unsigned long long)about.st_dev,
                   (unsigned long long)about.st_ino);
    return strcmp(own, named) == 0;
}

/* A descriptor that is ready for writing takes a line of this size, also a pipe. */
static bool has_room(int fd)
{
    struct pollfd one = {fd, POLLOUT, 0};

    return poll(&one, 1, 0) == 1 && one.revents == POLLOUT;
}

static void write_file(enum log_level level, const char *text)
{
    struct timespec now;
    struct tm local;
    char stamp[64] = "";

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (localtime_r(&now.tv_sec, &local))
        (void)strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local);
    if (has_room(batond.log.file))
        (void)dprintf(batond.log.file, "%s.%03ld %s: %s\n", stamp, now.tv_nsec / 1000000,
                      log_level_names[level], text);
}

void log_say(enum log_level level, const char *format, ...)
{
    char text[2048];
    va_list arguments;

    if (level > batond.log.level)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (batond.log.file >= 0)
        write_file(level, text);
    /* Until batond goes to the background, its user reads standard error. */
    if (batond.log.file >= 0 && (batond.log.system || level != LOG_LEVEL_ERROR))
        return;
    if (batond.log.system)
        syslog(priorities[level], "%s", text);
    else if (has_room(STDERR_FILENO) && is_journal())
        (void)dprintf(STDERR_FILENO, "<%d>%s\n", priorities[level], text);
    else if (has_room(STDERR_FILENO))
        (void)dprintf(STDERR_FILENO, "batond: %s\n", text);
}
