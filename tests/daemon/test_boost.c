/* Which threads the daemon raises: those of the process that named them, and of no other. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/edge/boost.h"
#include "harness.h"

static int policy_of(pid_t tid)
{
    return sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
}

START_TEST(only_threads_of_the_named_process_are_raised)
{
    static struct boost boost = {.low = 10, .high = 40, .permitted = true};
    const struct sched_param low = {.sched_priority = 1};
    pid_t other = fork(), self = getpid();

    if (other == 0) {
        pause();
        _exit(0);
    }
    if (sched_setscheduler(other, SCHED_FIFO, &low) < 0) {
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
        return; /* not permitted here */
    }
    sched_setscheduler(other, SCHED_OTHER, &(struct sched_param){0});
    boost_threads(&boost, self, &other, 1, 99);
    ck_assert_int_eq(policy_of(other), SCHED_OTHER);
    boost_threads(&boost, other, &other, 1, 99);
    ck_assert_int_eq(policy_of(other), SCHED_FIFO);
    boost_threads(&boost, other, &other, 1, 0);
    ck_assert_int_eq(policy_of(other), SCHED_OTHER);
    boost_threads(&boost, other, &other, 1, 99);
    boost.raised[0].pid = self; /* as if that thread had ended, and its number were another process's now */
    boost_done(&boost);
    ck_assert_int_eq(policy_of(other), SCHED_FIFO);
    ck_assert_int_eq(boost.n, 0);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    boost_threads(&boost, other, &other, 1, 99); /* the thread of that number has ended */
    ck_assert_int_eq(boost.n, 0);
}
END_TEST

/*
 * What a process does at its end may need threads that are not real-time: a sanitizer waits busily
 * for one, and on the same core it would never run.
 */
START_TEST(batond_is_not_real_time_any_more_when_it_ends)
{
    struct boost boost;
    uint32_t about;

    boost_init(&boost, 10, 40, true, &about);
    ck_assert_int_eq(policy_of(0), boost.permitted ? SCHED_FIFO : SCHED_OTHER);
    boost_done(&boost);
    boost_leave(&boost);
    ck_assert_int_eq(policy_of(0), SCHED_OTHER);
}
END_TEST

HARNESS_MAIN("boost", 10, batond_is_not_real_time_any_more_when_it_ends,
             only_threads_of_the_named_process_are_raised)
