#include "daemon/edge/device_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool names_layers(const char *variable)
{
    return strncmp(variable, "OPENCL_LAYERS=", strlen("OPENCL_LAYERS=")) == 0;
}

/* The probe's environment: the driver is asked, not Baton's layer. NULL: no memory. */
static char **without_layers(void)
{
    size_t n = 0, kept = 0;
    char **variables;

    while (environ[n])
        n++;
    variables = calloc(n + 1, sizeof *variables);
    for (size_t i = 0; variables && i < n; i++)
        if (!names_layers(environ[i]))
            variables[kept++] = environ[i];
    return variables;
}

/*
 * posix_spawn() returns when the child is another program, and has none of this process's files. A
 * child that is not yet one would keep the socket and its lock if batond were killed now, and the
 * next batond would not start.
 */
static int spawn(int output, pid_t *ret_pid)
{
    char *const arguments[] = {(char *)"batond", (char *)"--probe-devices", NULL};
    char **variables = without_layers();
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int result;

    if (!variables)
        return -ENOMEM;
    sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    result = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    if (!result)
        result = posix_spawn(ret_pid, "/proc/self/exe", &files, &attributes, arguments, variables);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    free(variables);
    return -result;
}

int probe_start(struct device_probe *probe)
{
    int pipes[2];
    int result;

    *probe = (struct device_probe){.fd = -1};
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return -errno;
    result = spawn(pipes[1], &probe->pid);
    close(pipes[1]);
    if (result) {
        close(pipes[0]);
        probe->pid = 0;
        return result;
    }
    (void)fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    probe->fd = pipes[0];
    return 0;
}

int probe_read(struct device_probe *probe)
{
    for (;;) {
        ssize_t n = read(probe->fd, probe->text + probe->n, sizeof probe->text - 1 - probe->n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            break; /* the end, or more output than any machine's devices need */
        probe->n += (size_t)n;
    }
    probe->text[probe->n] = 0;
    return 1;
}

int probe_next(struct device_probe *probe, size_t *at, const char **ret_name, const char **ret_description)
{
    char *line = probe->text + *at;
    char *end = strchr(line, '\n');
    char *tab;

    if (!end)
        return 0;
    *end = 0;
    *at = (size_t)(end + 1 - probe->text);
    tab = strchr(line, '\t');
    if (tab)
        *tab++ = 0;
    *ret_name = line;
    *ret_description = tab ? tab : "";
    return 1;
}

void probe_stop(struct device_probe *probe)
{
    if (probe->fd >= 0)
        close(probe->fd);
    probe->fd = -1;
    if (probe->pid > 0) {
        (void)kill(probe->pid, SIGKILL);
        (void)waitpid(probe->pid, NULL, 0);
    }
    probe->pid = 0;
}
