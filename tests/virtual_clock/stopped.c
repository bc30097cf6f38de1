/*
 * Does the virtual clock stand while a program is stopped? A child sleeps in steps of a
 * millisecond, so that the clock has somewhere to go. This program stops itself in the middle of a
 * computation, and test_stopped lets it go on after a while. Prints by how much the clock has moved
 * meanwhile, and ends with 1 if that is more than the looks at it take.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static int64_t now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * SECOND + at.tv_nsec;
}

static void sleep_for(int64_t ns)
{
    struct timespec until = {(now() + ns) / SECOND, (now() + ns) % SECOND};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

int main(int argc, char **argv)
{
    pid_t child = argc == 2 && argv[1][0] == 's' ? fork() : -1;
    int64_t before;
    int64_t moved;

    if (child == 0) {
        for (;;)
            sleep_for(SECOND / 1000);
    }
    if (child < 0)
        return 2;
    sleep_for(SECOND / 10); /* the child sleeps, too */
    before = now();
    (void)raise(SIGSTOP);
    moved = now() - before;
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    (void)printf("%lld ns\n", (long long)moved);
    return moved >= SECOND / 1000;
}
