/* One engine and several processes: order of arrival, and what happens when one of them dies. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_cpu/driver/arrival.h"
#include "harness.h"

enum { MOST = 16 };

/* What the processes of a case share. */
static struct {
    _Atomic unsigned n;           /* entries of the diary */
    _Atomic unsigned diary[MOST]; /* numbers of the processes that were served, in order */
    _Atomic bool go, stop;
} * shared;

static char path[128];

static struct arrival_file *open_engines(void)
{
    struct arrival_file *file;

    setenv("BATON_CUDA_CPU_ENGINES", path, 1);
    ck_assert_int_eq(arrival_open(&file), 0);
    return file;
}

static void begin(void)
{
    char folder[64];

    harness_folder(folder);
    snprintf(path, sizeof path, "%s/engines", folder);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne((void *)shared, MAP_FAILED);
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* A process that enters, notes its number, stays until `go`, and leaves. */
static pid_t start(unsigned number, bool stays)
{
    pid_t child = fork();

    if (child == 0) {
        struct arrival_file *file = open_engines();
        uint64_t ticket;

        if (!arrival_enter(file, 0, 0, &shared->stop, &ticket))
            _exit(1);
        atomic_store(&shared->diary[atomic_fetch_add(&shared->n, 1)], number);
        while (stays && !atomic_load(&shared->go))
            pause_briefly();
        arrival_leave(file, 0, 0, ticket);
        _exit(0);
    }
    return child;
}

/* The next process is started when this one has its ticket: then the order is known. */
static void await_tickets(struct arrival_file *file, uint64_t n)
{
    while (arrival_waiting(file, 0, 0) < n)
        pause_briefly();
}

static int end_of(pid_t child)
{
    int status = 0;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

START_TEST(processes_are_served_in_order_of_arrival)
{
    enum { N = 6 };
    struct arrival_file *file;
    pid_t children[N];

    begin();
    file = open_engines();
    for (unsigned i = 0; i < N; i++) {
        children[i] = start(i, i == 0);
        await_tickets(file, i + 1);
    }
    ck_assert_uint_le(atomic_load(&shared->n), 1); /* at most the first is served */
    atomic_store(&shared->go, true);
    for (unsigned i = 0; i < N; i++)
        ck_assert_int_eq(end_of(children[i]), 0);
    for (unsigned i = 0; i < N; i++)
        ck_assert_uint_eq(atomic_load(&shared->diary[i]), i);
    ck_assert_uint_eq(arrival_waiting(file, 0, 0), 0);
    arrival_close(file);
}
END_TEST

START_TEST(a_holder_and_a_waiter_that_die_are_passed_over)
{
    struct arrival_file *file;
    pid_t holder, waiter, last;

    begin();
    file = open_engines();
    holder = start(0, true);
    await_tickets(file, 1);
    while (!atomic_load(&shared->n))
        pause_briefly();
    waiter = start(1, false);
    await_tickets(file, 2);
    last = start(2, false);
    await_tickets(file, 3);
    kill(waiter, SIGKILL);
    ck_assert_int_eq(end_of(waiter), -SIGKILL);
    kill(holder, SIGKILL);
    ck_assert_int_eq(end_of(holder), -SIGKILL);
    ck_assert_int_eq(end_of(last), 0);
    ck_assert_uint_eq(atomic_load(&shared->n), 2); /* the holder and the last one; the waiter never was */
    ck_assert_uint_eq(atomic_load(&shared->diary[1]), 2);
    arrival_close(file);
}
END_TEST

START_TEST(a_holder_that_becomes_another_program_is_passed_over)
{
    struct arrival_file *file;
    pid_t holder, last;

    begin();
    file = open_engines();
    holder = fork();
    if (holder == 0) {
        struct arrival_file *own = open_engines();
        uint64_t ticket;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (arrival_enter(own, 0, 0, &shared->stop, &ticket))
            execlp("sleep", "sleep", "infinity", (char *)NULL);
        _exit(1);
    }
    await_tickets(file, 1);
    last = start(2, false);
    ck_assert_int_eq(end_of(last), 0);
    kill(holder, SIGKILL);
    ck_assert_int_eq(end_of(holder), -SIGKILL); /* it was alive all the time */
    arrival_close(file);
}
END_TEST

START_TEST(tickets_of_the_program_before_are_dropped_when_the_file_is_opened_again)
{
    struct arrival_file *former, *file;
    static _Atomic bool stop;
    uint64_t ticket;

    begin();
    former = open_engines();
    ck_assert(arrival_enter(former, 3, 1, &stop, &ticket));
    file = open_engines(); /* as after exec(): the same process number, and the ticket is not over */
    ck_assert_uint_eq(arrival_waiting(file, 3, 1), 0);
    ck_assert(arrival_enter(file, 3, 1, &stop, &ticket));
    arrival_leave(file, 3, 1, ticket);
    arrival_close(former);
    arrival_close(file);
}
END_TEST

START_TEST(a_process_that_gives_up_lets_the_others_pass)
{
    struct arrival_file *file;
    static _Atomic bool stop;
    uint64_t mine, none;
    pid_t last;

    begin();
    file = open_engines();
    ck_assert(arrival_enter(file, 0, 0, &stop, &mine));
    atomic_store(&stop, true);
    ck_assert(!arrival_enter(file, 0, 0, &stop, &none)); /* it would wait for itself */
    atomic_store(&stop, false);
    last = start(7, false);
    await_tickets(file, 3); /* the holder, the ticket that was given up, the last one */
    arrival_leave(file, 0, 0, mine);
    ck_assert_int_eq(end_of(last), 0);
    ck_assert_uint_eq(arrival_waiting(file, 0, 0), 0);
    arrival_close(file);
}
END_TEST

START_TEST(engines_do_not_wait_for_each_other)
{
    struct arrival_file *file;
    static _Atomic bool stop;
    uint64_t first, second, third;

    begin();
    file = open_engines();
    ck_assert(arrival_enter(file, 0, 0, &stop, &first));
    ck_assert(arrival_enter(file, 0, 1, &stop, &second));
    ck_assert(arrival_enter(file, 1, 0, &stop, &third));
    arrival_leave(file, 1, 0, third);
    arrival_leave(file, 0, 1, second);
    arrival_leave(file, 0, 0, first);
    arrival_close(file);
}
END_TEST

START_TEST(a_file_that_is_not_one_of_engines_is_refused)
{
    struct arrival_file *file;
    FILE *other;

    begin();
    other = fopen(path, "w");
    ck_assert_ptr_nonnull(other);
    fputs("something else", other);
    fclose(other);
    setenv("BATON_CUDA_CPU_ENGINES", path, 1);
    ck_assert_int_lt(arrival_open(&file), 0);
}
END_TEST

HARNESS_MAIN("cuda engines", 60, processes_are_served_in_order_of_arrival,
             a_holder_and_a_waiter_that_die_are_passed_over,
             a_holder_that_becomes_another_program_is_passed_over,
             tickets_of_the_program_before_are_dropped_when_the_file_is_opened_again,
             a_process_that_gives_up_lets_the_others_pass, engines_do_not_wait_for_each_other,
             a_file_that_is_not_one_of_engines_is_refused)
