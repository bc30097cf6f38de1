#include "daemon/edge/socket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Does no process listen there? 0, -EADDRINUSE or -errno. */
static int knock(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    /* not blocking: the queue of a live listener may be full */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int result = -EADDRINUSE;

    if (fd < 0)
        return -errno;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED)
        result = 0;
    close(fd);
    return result;
}

int socket_file_look(const char *path)
{
    struct stat about;

    if (strlen(path) >= SOCKET_PATH_SIZE)
        return -ENAMETOOLONG;
    if (lstat(path, &about) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(about.st_mode))
        return -EEXIST;
    return about.st_uid == geteuid() ? knock(path) : -EPERM;
}

const char *socket_file_words(int error)
{
    switch (error) {
    case -EEXIST:
        return "the file there (or at that name with a ~) is not a socket, and batond does not replace it";
    case -EPERM:
        return "the socket or its folder belongs to another user, or others may write to the folder";
    case -EADDRINUSE:
        return "another program listens there already";
    default:
        return strerror(-error);
    }
}

/* Removes a dead socket. */
static int clear(const char *path)
{
    int result = socket_file_look(path);

    return !result && unlink(path) < 0 && errno != ENOENT ? -errno : result;
}

static int bind_socket(int fd, const struct sockaddr_un *address, bool all)
{
    mode_t before = umask(all ? 0111 : 0177);
    int result = bind(fd, (const struct sockaddr *)address, sizeof *address) < 0 ? -errno : 0;

    (void)umask(before);
    return result;
}

int socket_file_listen(const char *path, bool all, int backlog, struct socket_file *ret_file)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct socket_file file;
    struct stat about;
    int result;
    int fd;

    if (strlen(path) + 1 >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    (void)snprintf(file.path, sizeof file.path, "%s", path);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.*s~", (int)sizeof file.path - 2, path);
    result = clear(address.sun_path);
    fd = result ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return result ? result : -errno;
    result = bind_socket(fd, &address, all);
    if (result) {
        close(fd);
        return result;
    }
    if (listen(fd, backlog) < 0 || lstat(address.sun_path, &about) < 0) {
        result = -errno;
        (void)unlink(address.sun_path);
        close(fd);
        return result;
    }
    file.device = about.st_dev;
    file.inode = about.st_ino;
    *ret_file = file;
    return fd;
}

int socket_file_show(struct socket_file *file)
{
    struct socket_file hidden = *file;
    int result;

    (void)snprintf(hidden.path, sizeof hidden.path, "%.*s~", (int)sizeof file->path - 2, file->path);
    result = renameat2(AT_FDCWD, hidden.path, AT_FDCWD, file->path, RENAME_NOREPLACE) < 0 ? -errno : 0;
    if (result == -EEXIST || result == -EINVAL) { /* EINVAL: the file system has no such rename */
        result = socket_file_look(file->path);
        if (!result && rename(hidden.path, file->path) < 0)
            result = -errno;
    }
    if (result)
        socket_file_remove(&hidden);
    return result;
}

void socket_file_remove(struct socket_file *file)
{
    struct stat about;

    if (file->path[0] && lstat(file->path, &about) == 0 && about.st_dev == file->device &&
        about.st_ino == file->inode)
        (void)unlink(file->path);
    file->path[0] = 0;
}
