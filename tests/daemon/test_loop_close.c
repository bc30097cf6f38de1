/* A descriptor that batond has closed is not reported any more (daemon/edge/loop.h). */
#include <signal.h>
#include <sys/wait.h>

#include "daemon/edge/loop.h"
#include "harness.h"

/* The planner's process between fork() and exec(): it has every descriptor of batond. */
static pid_t fork_idle_child(void)
{
    pid_t child = fork();

    if (child == 0)
        for (;;)
            (void)pause();
    ck_assert_int_gt(child, 0);
    return child;
}

static void watch(const struct loop *loop, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = loop_tag(SOURCE_EXIT, 3)};

    ck_assert_int_eq(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event), 0);
}

START_TEST(what_is_closed_is_not_reported_while_a_forked_child_has_it)
{
    struct loop loop = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
    struct epoll_event event;
    int pipes[2], status;
    pid_t child;

    ck_assert_int_ge(loop.epoll, 0);
    ck_assert_int_eq(pipe(pipes), 0);
    watch(&loop, pipes[0]);
    child = fork_idle_child();
    ck_assert_int_eq(write(pipes[1], "x", 1), 1);
    ck_assert_int_eq(epoll_wait(loop.epoll, &event, 1, 0), 1); /* it is watched */
    loop_close(&loop, pipes[0]);
    ck_assert_int_eq(epoll_wait(loop.epoll, &event, 1, 0), 0);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    close(pipes[1]);
    close(loop.epoll);
}
END_TEST

HARNESS_MAIN("loop close", 30, what_is_closed_is_not_reported_while_a_forked_child_has_it)
