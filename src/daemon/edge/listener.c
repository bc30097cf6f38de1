#include "daemon/edge/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "wire/lease_word.h"

#define FIRST_HANDED_FD 3 /* sd_listen_fds(3) */
#define BACKLOG         256

/* systemd's protocol: LISTEN_PID is this process, LISTEN_FDS counts descriptors from 3 on. */
static int handed_over(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *fds = getenv("LISTEN_FDS");
    struct sockaddr_un address = {0};
    socklen_t size = sizeof address;
    int listening = 0;
    socklen_t length = sizeof listening;

    if (!pid || !fds || strtol(pid, NULL, 10) != getpid() || strtol(fds, NULL, 10) < 1)
        return -ENOENT;
    if (getsockname(FIRST_HANDED_FD, (struct sockaddr *)&address, &size) < 0 ||
        address.sun_family != AF_UNIX ||
        getsockopt(FIRST_HANDED_FD, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) < 0 || !listening)
        return -ENOTSOCK;
    (void)fcntl(FIRST_HANDED_FD, F_SETFD, FD_CLOEXEC);
    (void)fcntl(FIRST_HANDED_FD, F_SETFL, O_NONBLOCK);
    return FIRST_HANDED_FD;
}

/* Makes sure that the folder exists and that no other user can write to it. */
static int prepare_folder(const char *path)
{
    char folder[SOCKET_PATH_SIZE];
    struct stat status;
    char *slash;

    memcpy(folder, path, strlen(path) + 1);
    slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return 0;
    *slash = 0;
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return -errno;
    if (lstat(folder, &status) < 0)
        return -errno;
    if (!S_ISDIR(status.st_mode))
        return -ENOTDIR;
    if ((status.st_mode & 022) && !(status.st_mode & S_ISVTX))
        return -EPERM;
    return status.st_uid == getuid() || status.st_uid == 0 ? 0 : -EPERM;
}

/*
 * The content of PATH.lock: the generation of the last daemon, and whether it ended in order. Only
 * the flock on the file makes a process the daemon of that socket. The content does not, and
 * contains no process id.
 */
#define LOCK_FORMAT "batond generation %u %s\n"
#define LOCK_PREFIX "batond generation "
#define RUNNING     "not ended"
#define ENDED       "ended"

/* -ENOLCK: another file has this name, and stays as it is. */
static int take_lock(struct listener *listener)
{
    char path[SOCKET_PATH_SIZE + 8];
    char text[64] = "";
    unsigned long previous = 0;
    struct stat about;
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, "%s.lock", listener->path);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int result = errno == EWOULDBLOCK ? -EBUSY : -errno;

        close(fd);
        return result;
    }
    n = fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (n < 0 || (n > 0 && strncmp(text, LOCK_PREFIX, sizeof LOCK_PREFIX - 1) != 0)) {
        close(fd);
        return -ENOLCK;
    }
    if (n > 0)
        previous = strtoul(text + sizeof LOCK_PREFIX - 1, NULL, 10);
    listener->unclean = strstr(text, RUNNING) != NULL;
    listener->generation = (uint32_t)(previous + 1) & LEASE_GENERATION_MASK;
    if (listener->generation == 0)
        listener->generation = 1;
    listener->lock = fd;
    return 0;
}

/* The file is never empty: a daemon that is killed here leaves the old content or the new. */
static void write_lock(const struct listener *listener, const char *state)
{
    char text[64];
    int n = snprintf(text, sizeof text, LOCK_FORMAT, listener->generation, state);

    if (listener->lock >= 0 && pwrite(listener->lock, text, (size_t)n, 0) == n)
        (void)!ftruncate(listener->lock, n);
}

static void name_handed(struct listener *listener)
{
    struct sockaddr_un address = {0};
    socklen_t size = sizeof address;

    if (getsockname(listener->fd, (struct sockaddr *)&address, &size) == 0)
        (void)snprintf(listener->path, sizeof listener->path, "%.*s", (int)sizeof address.sun_path - 1,
                       address.sun_path);
    listener->generation = (uint32_t)time(NULL) & LEASE_GENERATION_MASK;
    /* without a lock: the generation comes from the clock, and the predecessor's end is unknown */
    (void)take_lock(listener);
}

/* The lock says which daemon this is before a client can connect, however soon it is killed. */
static int make_socket(struct listener *listener, bool shared)
{
    int result;
    int fd = socket_file_listen(listener->path, shared, BACKLOG, &listener->file);

    if (fd < 0)
        return fd;
    write_lock(listener, RUNNING);
    result = socket_file_show(&listener->file);
    if (result) {
        close(fd);
        return result;
    }
    return fd;
}

int listener_open(const char *path, bool shared, struct listener *ret_listener)
{
    struct listener listener = {.fd = handed_over(), .lock = -1};
    int result;

    if (listener.fd >= 0) {
        listener.handed = true;
        name_handed(&listener);
        write_lock(&listener, RUNNING);
        *ret_listener = listener;
        return 0;
    }
    if (listener.fd != -ENOENT)
        return listener.fd;
    result = path[0] ? socket_path_candidate(path, 0, listener.path) : socket_path_own(listener.path);
    if (!result)
        result = prepare_folder(listener.path);
    if (!result) /* before the lock, which makes a file */
        result = socket_file_look(listener.path);
    if (!result)
        result = take_lock(&listener);
    if (result)
        return result;
    listener.fd = make_socket(&listener, shared);
    if (listener.fd < 0) {
        close(listener.lock);
        return listener.fd;
    }
    *ret_listener = listener;
    return 0;
}

void listener_close(struct listener *listener)
{
    socket_file_remove(&listener->file);
    write_lock(listener, ENDED);
    close(listener->fd);
    if (listener->lock >= 0)
        close(listener->lock);
}
