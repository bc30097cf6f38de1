#include "wire/dial.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool believed(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == getuid());
}

static int connect_to(const char path[SOCKET_PATH_SIZE], int flags, bool found)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    int result = fd < 0 ? -errno : 0;

    memcpy(address.sun_path, path, strlen(path) + 1);
    if (!result && connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        result = -errno;
    if (!result && found && !believed(fd))
        result = -EPERM;
    if (!result)
        return fd;
    if (fd >= 0)
        close(fd);
    return result;
}

int dial(const char *given, int flags, char ret_path[SOCKET_PATH_SIZE])
{
    bool found = !given || !given[0];
    char path[SOCKET_PATH_SIZE];
    int result = -ECONNREFUSED;
    int fd;

    for (unsigned i = 0; (fd = socket_path_candidate(given, i, path)) != -ENOENT; i++) {
        if (fd == 0)
            fd = connect_to(path, flags, found);
        if (fd >= 0) {
            memcpy(ret_path, path, SOCKET_PATH_SIZE);
            return fd;
        }
        if (fd != -ENOENT)
            result = fd;
    }
    return result;
}
