#include "client/program_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS 16 /* an interpreter has fewer options before its script */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Does the file's first line name this interpreter? `python3.11` and `python3` are both python. */
static bool is_script_for(const char *path, const char *interpreter)
{
    char line[129];
    char stem[64];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

    if (fd >= 0)
        (void)close(fd);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    (void)snprintf(stem, sizeof stem, "%.*s", (int)strcspn(interpreter, "0123456789"), interpreter);
    return line[0] == '#' && line[1] == '!' && stem[0] && strstr(line, stem) != NULL;
}

void program_name(char *const words[], char *ret_name, size_t size)
{
    const char *name = base_of(words[0]);

    for (size_t i = 1; words[i]; i++) {
        if (words[i][0] == '-')
            continue;
        if (is_script_for(words[i], name))
            name = base_of(words[i]);
        break;
    }
    (void)snprintf(ret_name, size, "%s", name);
}

void program_name_own(char *ret_name, size_t size)
{
    char text[4096];
    char *words[MAX_WORDS + 1] = {NULL};
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    size_t used = 0;

    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = 0;
    for (ssize_t at = 0; at < n && used < MAX_WORDS; at += (ssize_t)strlen(text + at) + 1)
        words[used++] = text + at;
    if (used && words[0][0])
        program_name(words, ret_name, size);
    else
        (void)snprintf(ret_name, size, "%s", program_invocation_short_name);
}
