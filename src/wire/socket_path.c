#include "wire/socket_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int copy(char ret_path[SOCKET_PATH_SIZE], const char *text)
{
    if (strlen(text) >= SOCKET_PATH_SIZE)
        return -ENAMETOOLONG;
    memcpy(ret_path, text, strlen(text) + 1);
    return 0;
}

int socket_path_own(char ret_path[SOCKET_PATH_SIZE])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char path[SOCKET_PATH_SIZE];
    int n;

    if (runtime && runtime[0] == '/')
        n = snprintf(path, sizeof path, "%s/baton/baton.sock", runtime);
    else
        n = snprintf(path, sizeof path, "/tmp/baton-%u/baton.sock", (unsigned)getuid());
    if (n < 0 || (size_t)n >= sizeof path)
        return -ENAMETOOLONG;
    return copy(ret_path, path);
}

int socket_path_candidate(const char *given, unsigned index, char ret_path[SOCKET_PATH_SIZE])
{
    if (given && given[0])
        return index == 0 ? copy(ret_path, given) : -ENOENT;
    if (index == 0)
        return socket_path_own(ret_path);
    return index == 1 ? copy(ret_path, SOCKET_PATH_SYSTEM) : -ENOENT;
}
