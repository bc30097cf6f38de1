#include "translate/child.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

/*
 * The host program must never notice this child: neither by wait() nor by SIGCHLD. A process that
 * execs always reports to its parent. So its parent is a short-lived keeper process, started
 * without an exit signal (only wait calls with __WCLONE see it). Both run on memory of this thread,
 * which sleeps meanwhile (CLONE_VFORK), so a large host pays no copy of its page tables. The orphan
 * becomes a child of init. Its pidfd, in the descriptors that the keeper shares with this process,
 * is used to wait for it and to kill it.
 */
enum { STACK = 64 * 1024 };

/* --- its environment --- */

/* Appends the entries of LD_PRELOAD other than Baton's front. */
static void copy_entries(const char *from, char *to)
{
    static const char separators[] = " :";

    to += strlen(to);
    for (size_t n; *from; from += n + (from[n] != 0)) {
        n = strcspn(from, separators);
        if (memmem(from, n, "libbaton-cuda.so", sizeof "libbaton-cuda.so" - 1))
            continue;
        memcpy(to, from, n);
        to[n] = from[n] ? ':' : 0;
        to += n + (from[n] != 0);
    }
    *to = 0;
}

/*
 * The host's environment, except that Baton's front is not preloaded. The process uses no GPU, and
 * a sanitized front cannot be loaded into a program that is not. One block; NULL: no memory.
 */
static char **make_environment(void)
{
    static const char preload[] = "LD_PRELOAD=";
    const char *entries = getenv("LD_PRELOAD");
    size_t n = 0;
    char **result;

    while (environ[n])
        n++;
    result = malloc((n + 1) * sizeof *result + sizeof preload + (entries ? strlen(entries) : 0));
    if (!result)
        return NULL;
    memcpy(result, environ, (n + 1) * sizeof *result);
    for (size_t i = 0; entries && i < n; i++) {
        if (strncmp(result[i], preload, sizeof preload - 1) != 0)
            continue;
        result[i] = (char *)(result + n + 1);
        memcpy(result[i], preload, sizeof preload);
        copy_entries(entries, result[i]);
        break;
    }
    return result;
}

/* --- how it is started --- */

struct child_start {
    const char *program;
    char **environment;
    int fd;    /* the process's standard input and output */
    int pidfd; /* -1: none */
    int error; /* why it could not be started */
    char *stack;
};

/*
 * The code that runs in the two processes must not change this one's state. It uses system calls
 * only (libc's sigaction and _exit do more, and sanitizers intercept both), and no instrumentation.
 */
#if defined(__clang__)
#define ALONE __attribute__((no_sanitize("address", "thread", "undefined"), noinline))
#else
#define ALONE __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined, noinline))
#endif

/* TSan treats every clone as a fork; libc's other name for it is not intercepted. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
extern int __clone(int (*run)(void *), void *stack, int flags, void *argument, ...);
#define clone __clone
#endif
#endif

/* In the new process: sets up the state that a fresh program expects. */
ALONE static int become(void *argument)
{
    struct child_start *start = argument;
    char *argv[] = {(char *)start->program, NULL};
    /* the kernel's struct sigaction: SIG_DFL, no flags, no mask */
    const unsigned long usual[4] = {0};
    const uint64_t none = 0;
    long null;

    for (int signal_number = 1; signal_number < NSIG; signal_number++)
        (void)syscall(SYS_rt_sigaction, signal_number, usual, NULL, sizeof none);
    null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY, 0);
    if (syscall(SYS_dup3, start->fd, STDIN_FILENO, 0) >= 0 &&
        syscall(SYS_dup3, start->fd, STDOUT_FILENO, 0) >= 0 &&
        syscall(SYS_dup3, null, STDERR_FILENO, 0) >= 0 &&
        syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0) {
        (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
        (void)syscall(SYS_execve, start->program, argv, start->environment);
    }
    start->error = errno;
    (void)syscall(SYS_exit_group, 127);
    return 0;
}

ALONE static int keep(void *argument)
{
    struct child_start *start = argument;

    if (clone(become, start->stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, start,
              &start->pidfd) < 0)
        start->error = errno;
    (void)syscall(SYS_exit_group, 0);
    return 0;
}

/* 0: the process runs, and *ret_pidfd refers to it. */
static int spawn(const char *program, int fd, int *ret_pidfd)
{
    struct child_start start = {.program = program, .environment = make_environment(), .fd = fd, .pidfd = -1};
    sigset_t all;
    sigset_t before;
    pid_t keeper;

    start.stack =
        mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (!start.environment || start.stack == MAP_FAILED) {
        free(start.environment);
        return -ENOMEM;
    }
    /* No handler of the host may run in a process that shares the host's memory. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    keeper = clone(keep, start.stack + (size_t)2 * STACK, CLONE_VM | CLONE_VFORK | CLONE_FILES, &start);
    if (keeper < 0)
        start.error = errno;
    while (keeper >= 0 && waitpid(keeper, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)munmap(start.stack, (size_t)2 * STACK);
    free(start.environment);
    if (start.error && start.pidfd >= 0)
        (void)close(start.pidfd);
    *ret_pidfd = start.pidfd;
    return -start.error;
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

/* 1 at the end of the answer. */
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
            talk->left = 0; /* the process has stopped reading; its answer may still come */
            r = 0;
        }
        if (!r && (poll_fd.revents & (POLLIN | POLLHUP | POLLERR)))
            r = receive_some(talk);
    }
    return r < 0 ? r : 0;
}

/*
 * Waits for the process, not beyond until_at. The process is a child of init, unless the host
 * itself adopts orphans.
 */
static int reap(int pidfd, bool kill_it, baton_nsec until_at)
{
    struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
    siginfo_t info = {0};

    while (!kill_it) {
        int ready = poll(&poll_fd, 1, milliseconds_left(until_at));

        if (ready > 0)
            break;
        kill_it = ready == 0 || errno != EINTR;
    }
    if (kill_it)
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0)
        if (errno != EINTR)
            return 0; /* ECHILD: init reaps it */
    return info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
}

int child_ask(const char *program, const uint8_t *question, size_t n, baton_nsec limit, size_t largest,
              uint8_t **ret_answer, size_t *ret_n, int *ret_status)
{
    struct talk talk = {.question = question, .left = n, .largest = largest, .until_at = clock_now() + limit};
    int fds[2];
    int cancel;
    int pidfd = -1;
    int r;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        r = -errno;
        goto restore;
    }
    r = spawn(program, fds[1], &pidfd);
    (void)close(fds[1]);
    talk.fd = fds[0];
    if (!r) {
        r = converse(&talk);
        *ret_status = reap(pidfd, r < 0, talk.until_at);
        if (!r && *ret_status)
            r = -ECHILD;
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
