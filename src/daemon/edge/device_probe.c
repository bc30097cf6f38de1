#include "daemon/edge/device_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int probe_start(struct device_probe *probe)
{
    char *const arguments[] = {(char *)"batond", (char *)"--probe-devices", NULL};
    sigset_t none;
    int pipes[2];
    pid_t pid;

    *probe = (struct device_probe){.fd = -1};
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return -errno;
    pid = fork();
    if (pid < 0) {
        int result = -errno;

        close(pipes[0]);
        close(pipes[1]);
        return result;
    }
    if (pid == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        (void)unsetenv("OPENCL_LAYERS");
        if (dup2(pipes[1], STDOUT_FILENO) >= 0)
            execv("/proc/self/exe", arguments);
        _exit(3);
    }
    close(pipes[1]);
    (void)fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    probe->pid = pid;
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
