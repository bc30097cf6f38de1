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

static int take_lock(struct listener *listener)
{
    char path[SOCKET_PATH_SIZE + 8];
    char text[64] = "";
    unsigned long previous = 0;
    int fd;

    (void)snprintf(path, sizeof path, "%s.lock", listener->path);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int result = errno == EWOULDBLOCK ? -EBUSY : -errno;

        close(fd);
        return result;
    }
    if (pread(fd, text, sizeof text - 1, 0) > 0) {
        if (strncmp(text, LOCK_PREFIX, sizeof LOCK_PREFIX - 1) == 0)
            previous = strtoul(text + sizeof LOCK_PREFIX - 1, NULL, 10);
        listener->unclean = strstr(text, RUNNING) != NULL;
    }
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

/*
 * Bound under another name and renamed once it listens, so that a client that sees the name can
 * connect. By then the lock says which daemon this is, however soon it is killed.
 */
static int make_socket(const struct listener *listener, bool shared)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t before;
    int result = 0;

    if (fd < 0)
        return -errno;
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s~", listener->path) >=
        (int)sizeof address.sun_path) {
        close(fd);
        return -ENAMETOOLONG;
    }
    (void)unlink(address.sun_path);
    before = umask(shared ? 0111 : 0177);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        result = -errno;
    umask(before);
    if (!result && listen(fd, BACKLOG) < 0)
        result = -errno;
    if (!result)
        write_lock(listener, RUNNING);
    if (!result && rename(address.sun_path, listener->path) < 0)
        result = -errno;
    if (result) {
        (void)unlink(address.sun_path);
        close(fd);
        return result;
    }
    return fd;
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

void listener_close(struct listener *listener, bool clean)
{
    if (!listener->handed && clean)
        (void)unlink(listener->path);
    if (clean)
        write_lock(listener, ENDED);
    close(listener->fd);
    if (listener->lock >= 0)
        close(listener->lock);
}
