/* The machine's processes, and which of their threads are real-time on some cores. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/edge/machine.h"
#include "daemon/edge/processes.h"
#include "harness.h"

static atomic_bool over;

/* A thread on core 0, real-time if that is permitted. */
static void *run(void *argument)
{
    struct sched_param parameters = {.sched_priority = 3};
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    (void)pthread_setname_np(pthread_self(), "odd ) name");
    atomic_store((_Atomic int *)argument, sched_setaffinity(0, sizeof set, &set) == 0 &&
                                                  sched_setscheduler(0, SCHED_FIFO, &parameters) == 0
                                              ? 1
                                              : -1);
    while (!atomic_load(&over))
        (void)usleep(1000);
    return NULL;
}

START_TEST(every_round_has_every_process_once)
{
    struct processes processes;
    unsigned own[2] = {0}, first[2] = {0};

    processes_init(&processes);
    while (processes_next(&processes) != 0) {
    }
    for (int round = 0; round < 2; round++) {
        for (pid_t pid; (pid = processes_next(&processes)) != 0;) {
            own[round] += pid == getpid();
            first[round] += pid == 1;
        }
        ck_assert_uint_eq(own[round], 1);
        ck_assert_uint_eq(first[round], 1);
    }
    processes_done(&processes);
}
END_TEST

START_TEST(a_real_time_thread_is_found_on_the_cores_that_it_may_run_on)
{
    struct core_set here = {{1}}, elsewhere = {{~UINT64_C(1)}};
    struct realtime_thread thread;
    _Atomic int permitted = 0;
    pthread_t id;

    ck_assert(!processes_realtime(getpid(), &here, &thread));
    ck_assert_int_eq(pthread_create(&id, NULL, run, &permitted), 0);
    while (!atomic_load(&permitted))
        (void)usleep(1000);
    if (atomic_load(&permitted) > 0) {
        ck_assert(processes_realtime(getpid(), &here, &thread));
        ck_assert_int_eq(thread.rank, 3);
        ck_assert_str_eq(thread.name, "odd ) name");
        ck_assert(!processes_realtime(getpid(), &elsewhere, &thread));
    }
    atomic_store(&over, true);
    (void)pthread_join(id, NULL);
    ck_assert(!processes_realtime(getpid(), &here, &thread));
    ck_assert(!processes_realtime(INT32_MAX, &here, &thread));
}
END_TEST

/* Linux has some on every core (migration/N); a container may not show them. */
START_TEST(threads_of_the_kernel_are_not_counted)
{
    struct core_set all;
    struct realtime_thread thread;
    struct processes processes;

    memset(&all, 0xff, sizeof all);
    processes_init(&processes);
    for (pid_t pid; (pid = processes_next(&processes)) != 0;) {
        char path[64], target[8];
        bool of_kernel;

        (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
        of_kernel = machine_rank_of(pid) > 0 && readlink(path, target, sizeof target) < 0 && getuid() == 0;
        ck_assert_msg(!of_kernel || !processes_realtime(pid, &all, &thread), "process %d", (int)pid);
    }
    processes_done(&processes);
}
END_TEST

HARNESS_MAIN("processes", 30, every_round_has_every_process_once,
             a_real_time_thread_is_found_on_the_cores_that_it_may_run_on,
             threads_of_the_kernel_are_not_counted)
