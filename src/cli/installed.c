#include "cli/installed.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "version.h"

int installed_folder(char *ret_folder, size_t room)
{
    ssize_t n = readlink("/proc/self/exe", ret_folder, room);
    char *slash;

    if (n < 0)
        return -errno;
    if ((size_t)n == room)
        return -ENAMETOOLONG;
    ret_folder[n] = 0;
    slash = strrchr(ret_folder, '/');
    if (slash)
        *slash = 0;
    return 0;
}

int installed_find(const char *name, char *ret_path, size_t room)
{
    static const char *const places[] = {".", BATON_LIBDIR, "../lib"};
    char folder[PATH_MAX];
    int result = installed_folder(folder, sizeof folder);

    for (size_t i = 0; result == 0 && i < sizeof places / sizeof places[0]; i++) {
        int n = places[i][0] == '/' ? snprintf(ret_path, room, "%s/%s", places[i], name)
                                    : snprintf(ret_path, room, "%s/%s/%s", folder, places[i], name);

        if ((size_t)n < room && access(ret_path, R_OK) == 0)
            return 0;
    }
    return result ? result : -ENOENT;
}

void installed_exec(const char *name, char *const words[])
{
    char folder[4096], path[sizeof folder + 32];

    if (installed_folder(folder, sizeof folder) == 0) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        (void)execv(path, words);
    }
    (void)execvp(name, words);
    _exit(127);
}
