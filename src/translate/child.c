#include "translate/child.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct talk {
    int fd;
    const uint8_t *question;
    size_t left;
    uint8_t *answer;
    size_t length;
    size_t room;
    size_t largest;
    baton_nsec until_at;
};

static int spawn(const char *program, int fd, pid_t *ret_pid)
{
    char *argv[] = {(char *)"baton-translate", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all;
    sigset_t none;
    int r;

    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    r = posix_spawn_file_actions_init(&actions);
    if (r)
        return -r;
    r = posix_spawnattr_init(&attributes);
    if (r)
        goto no_attributes;
    if (!r)
        r = posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    if (!r)
        r = posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    if (!r)
        r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!r)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    if (!r)
        r = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!r)
        r = posix_spawnattr_setsigmask(&attributes, &none);
    if (!r)
        r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (!r)
        r = posix_spawn(ret_pid, program, &actions, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
no_attributes:
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int send_some(struct talk *talk)
{
    ssize_t n = send(talk->fd, talk->question, talk->left, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    talk->question += n;
    talk->left -= (size_t)n;
    if (!talk->left)
        (void)shutdown(talk->fd, SHUT_WR);
    return 0;
}

/* 1 at the end. */
static int receive_some(struct talk *talk)
{
    ssize_t n;

    if (talk->room - talk->length < 65536) {
        size_t room = talk->room * 2 + 262144;
        uint8_t *more = realloc(talk->answer, room);

        if (!more)
            return -ENOMEM;
        talk->answer = more;
        talk->room = room;
    }
    n = recv(talk->fd, talk->answer + talk->length, talk->room - talk->length, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : errno == ECONNRESET ? 1 : -errno;
    talk->length += (size_t)n;
    if (talk->length > talk->largest)
        return -EFBIG;
    return n == 0;
}

static int milliseconds_left(baton_nsec until_at)
{
    baton_nsec left = until_at - clock_now();

    return left <= 0 ? 0 : (int)(left / 1000000) + 1;
}

static int converse(struct talk *talk)
{
    int r = 0;

    while (!r) {
        struct pollfd poll_fd = {.fd = talk->fd, .events = (short)(POLLIN | (talk->left ? POLLOUT : 0))};
        int wait = milliseconds_left(talk->until_at);

        if (!wait)
            return -ETIMEDOUT;
        if (poll(&poll_fd, 1, wait) < 0 && errno != EINTR)
            return -errno;
        if (poll_fd.revents & POLLOUT)
            r = send_some(talk);
        if (r == -EPIPE || r == -ECONNRESET) {
            talk->left = 0; /* it has stopped reading; what it wrote may still be told */
            r = 0;
        }
        if (!r && (poll_fd.revents & (POLLIN | POLLHUP | POLLERR)))
            r = receive_some(talk);
    }
    return r < 0 ? r : 0;
}

/* Waits for the process, not beyond until_at, and not for one that the host has reaped already. */
static int reap(pid_t pid, int pidfd, bool kill_it, baton_nsec until_at)
{
    struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
    int status = 0;

    while (!kill_it && pidfd >= 0) {
        int ready = poll(&poll_fd, 1, milliseconds_left(until_at));

        if (ready > 0)
            break;
        kill_it = ready == 0 || errno != EINTR;
    }
    if (kill_it && pidfd >= 0)
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 0; /* ECHILD: SIGCHLD is ignored, or the host waits for everything */
    return status;
}

int child_ask(const char *program, const uint8_t *question, size_t n, baton_nsec limit, size_t largest,
              uint8_t **ret_answer, size_t *ret_n, int *ret_status)
{
    struct talk talk = {.question = question, .left = n, .largest = largest, .until_at = clock_now() + limit};
    int fds[2];
    int cancel;
    int pidfd = -1;
    pid_t pid;
    int r;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        r = -errno;
        goto restore;
    }
    r = spawn(program, fds[1], &pid);
    (void)close(fds[1]);
    talk.fd = fds[0];
    if (!r) {
        pidfd = pidfd_open(pid, 0);
        r = converse(&talk);
        *ret_status = reap(pid, pidfd, r < 0, talk.until_at);
        if (!r && *ret_status)
            r = -ECHILD;
        if (pidfd >= 0)
            (void)close(pidfd);
    }
    (void)close(fds[0]);
restore:
    (void)pthread_setcancelstate(cancel, NULL);
    if (r < 0) {
        free(talk.answer);
        return r;
    }
    *ret_answer = talk.answer;
    *ret_n = talk.length;
    return 0;
}
