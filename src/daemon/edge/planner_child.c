#include "daemon/edge/planner_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NICENESS 10

void planner_init(struct planner_child *planner)
{
    planner->pid = 0;
    planner->pidfd = planner->fds[0] = planner->fds[1] = -1;
    planner->until_at = NSEC_MAX;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The task set as a file: written at once, so that a slow child does not block the daemon. */
static int input_file(const char *set, size_t size)
{
    int fd = memfd_create("baton-task-set", MFD_CLOEXEC);
    size_t done = 0;

    while (fd >= 0 && done < size) {
        ssize_t n = write(fd, set + done, size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            close(fd);
            return -EIO;
        }
        done += (size_t)n;
    }
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET);
    return fd < 0 ? -errno : fd;
}

static void become_baton(const char *program, const char *analysis)
{
    char *arguments[] = {(char *)"baton",      (char *)"plan",   (char *)"-",
                         (char *)"--json",     (char *)"-o",     (char *)"/dev/fd/3",
                         (char *)"--analysis", (char *)analysis, NULL};
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 8);
    char *slash;

    if (program[0]) {
        (void)execv(program, arguments);
        return;
    }
    path[n < 0 ? 0 : n] = 0;
    slash = strrchr(path, '/');
    if (slash) {
        memcpy(slash + 1, "baton", 6);
        (void)execv(path, arguments);
    }
    (void)execvp("baton", arguments);
}

/*
 * Paths in a task set are relative to its folder. If the folder is gone, opening a file reports it.
 */
static void enter_folder(const char *file)
{
    const char *slash = strrchr(file, '/');
    char folder[4096];

    if (!slash || (size_t)(slash - file) + 2 > sizeof folder)
        return;
    memcpy(folder, file, (size_t)(slash - file) + 1);
    folder[slash - file + 1] = 0;
    (void)!chdir(folder);
}

/* The child's side: only calls that are safe after fork(), though the daemon has one thread. */
static void run_child(const struct planner_question *question, int input, const int outputs[PLANNER_PIPES])
{
    rlim_t seconds = (rlim_t)(question->limit / NSEC_PER_SEC) + 1;
    struct rlimit cpu = {seconds, seconds + 1};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    sigset_t none;

    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpriority(PRIO_PROCESS, 0, NICENESS);
    (void)setrlimit(RLIMIT_CPU, &cpu);
    (void)unsetenv("OPENCL_LAYERS");
    /* The plan's pipe first: its descriptor may be 0 or 1, which the next calls replace. */
    if (dup2(outputs[1], 3) == 3 && dup2(input, STDIN_FILENO) == STDIN_FILENO &&
        dup2(outputs[0], STDOUT_FILENO) == STDOUT_FILENO) {
        (void)dup2(null, STDERR_FILENO);
        enter_folder(question->file);
        become_baton(question->program, question->analysis);
    }
    _exit(127);
}

/* A descriptor above those that the child redefines. */
static int high(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);

    close(fd);
    return moved < 0 ? -errno : moved;
}

static int make_pipes(struct planner_child *planner, int ret_ends[PLANNER_PIPES])
{
    ret_ends[0] = ret_ends[1] = -1;
    for (unsigned i = 0; i < PLANNER_PIPES; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
            return -errno;
        planner->fds[i] = ends[0];
        (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
        ret_ends[i] = high(ends[1]);
        if (ret_ends[i] < 0)
            return ret_ends[i];
    }
    return 0;
}

int planner_start(struct planner_child *planner, const struct planner_question *question, baton_nsec now_at)
{
    int ends[PLANNER_PIPES];
    int input = -1;
    int result;

    planner_stop(planner);
    planner->n[0] = planner->n[1] = 0;
    planner->overflow = planner->late = false;
    result = make_pipes(planner, ends);
    if (!result) {
        input = input_file(question->set, question->size);
        input = input < 0 ? input : high(input);
        result = input < 0 ? input : 0;
    }
    if (!result) {
        planner->pid = fork();
        if (planner->pid == 0)
            run_child(question, input, ends);
        result = planner->pid < 0 ? -errno : 0;
    }
    if (!result) {
        planner->pidfd = (int)syscall(SYS_pidfd_open, planner->pid, 0);
        result = planner->pidfd < 0 ? -errno : 0;
    }
    close_fd(&ends[0]);
    close_fd(&ends[1]);
    close_fd(&input);
    if (result) {
        planner_stop(planner);
        return result;
    }
    planner->begun_at = now_at;
    planner->until_at = now_at + question->limit;
    return 0;
}

void planner_read(struct planner_child *planner, unsigned pipe)
{
    while (planner->fds[pipe] >= 0) {
        size_t room = PLANNER_OUTPUT - planner->n[pipe];
        ssize_t n = room ? read(planner->fds[pipe], planner->text[pipe] + planner->n[pipe], room) : 0;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n > 0) {
            planner->n[pipe] += (size_t)n;
            continue;
        }
        planner->overflow |= room == 0;
        close_fd(&planner->fds[pipe]);
    }
}

void planner_expire(struct planner_child *planner)
{
    planner->late = true;
    planner->until_at = NSEC_MAX;
    if (planner->pid > 0)
        (void)kill(planner->pid, SIGKILL);
}

struct planning planner_end(struct planner_child *planner, baton_nsec now_at)
{
    struct planning planning = {
        .late = planner->late, .status = -1, .cost = now_at - planner->begun_at, .object = planner->text[0]};
    int status = 0;

    for (unsigned i = 0; i < PLANNER_PIPES; i++)
        planner_read(planner, i);
    if (planner->pid > 0 && waitpid(planner->pid, &status, 0) == planner->pid && WIFEXITED(status) &&
        !planner->overflow)
        planning.status = WEXITSTATUS(status);
    planning.object_size = planner->n[0];
    planning.plan = planner->text[1];
    planning.plan_size = planner->n[1];
    planner->pid = 0;
    planner_stop(planner);
    return planning;
}

void planner_stop(struct planner_child *planner)
{
    if (planner->pid > 0) {
        (void)kill(planner->pid, SIGKILL);
        (void)waitpid(planner->pid, NULL, 0);
    }
    close_fd(&planner->pidfd);
    close_fd(&planner->fds[0]);
    close_fd(&planner->fds[1]);
    planner_init(planner);
}
