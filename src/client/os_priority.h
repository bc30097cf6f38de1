/*
 * The policy and priority that the operating system schedules a program's threads by, in both
 * directions.
 *
 * Without --priority they determine the program's priority. SCHED_FIFO and SCHED_RR 1..99
 * are taken as they are; nice -20..19 becomes 40..1, and nice 0 is 20. So a program that is
 * real-time to Linux (usually above 40) is above one that only has a nice value. Under the policy
 * `adaptive` the nice value of a program without deadlines does not count (HELLO_NICE).
 *
 * A program with --period or --deadline is a real-time client, and its priority determines how the
 * operating system schedules it. The threads that issue its work run under SCHED_FIFO: the one that
 * opened the session, those that make queues or begin jobs, and Baton's own. Their rank is mapped
 * into the band 10..40 below batond: tasks of the plan above all others (wire/rank.h). Threads that
 * are already real-time stay as they are. Threads and processes that these start are normal ones
 * (SCHED_RESET_ON_FORK). Without the permission nothing changes. All changes are undone at the end.
 *
 * A daemon also raises threads and restores them. A daemon that was killed cannot: this module then
 * restores the threads.
 */
#ifndef CLIENT_OS_PRIORITY_H
#define CLIENT_OS_PRIORITY_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OS_PRIORITY_LOW     10 /* as batond's default band */
#define OS_PRIORITY_HIGH    40
#define OS_PRIORITY_THREADS 16

/* A thread's policy and priority without a daemon's boost. */
struct os_priority_thread {
    pid_t tid;
    int policy, priority;
    cpu_set_t cores;
};

struct os_priority {
    pthread_mutex_t lock; /* guards the following; a leaf */
    int fifo;             /* the SCHED_FIFO priority of its threads; 0: not a real-time client */
    bool left;            /* the daemon ranks the threads */
    struct os_priority_thread raised[OS_PRIORITY_THREADS]; /* by this module, with what they were before */
    size_t n;
    struct os_priority_thread named[OS_PRIORITY_THREADS]; /* reported to daemons, which may raise them */
    size_t n_named;
};

/*
 * The priority 1..99 of a thread with this policy (without flags), real-time priority and nice
 * value.
 */
unsigned os_priority_of(int policy, int realtime_priority, int nice_value);
/* ... of the calling thread. */
unsigned os_priority_own(void);

/*
 * The rank of the calling thread on the CPUs: its real-time priority. 0: none, it shares the cores.
 * -1: it gets only idle time.
 */
int os_priority_rank(void);

/* realtime: a real-time client, whose rank is this level (wire/rank.h). */
void os_priority_init(struct os_priority *threads, bool realtime, unsigned level);
/*
 * The rank of a real-time client changed: its threads get the new one, including those raised
 * before.
 */
void os_priority_set(struct os_priority *threads, unsigned level);
/*
 * The daemon ranks the threads from now on (PLAN_CPUS), until os_priority_set(): later threads are
 * not raised here.
 */
void os_priority_leave(struct os_priority *threads);
/* The calling thread issues work from now on. */
void os_priority_raise(struct os_priority *threads);
/* This thread is reported to daemons from now on. */
void os_priority_name(struct os_priority *threads, pid_t tid);
/* The daemon is gone, perhaps killed: restores every thread that still has what the daemon set. */
void os_priority_abandoned(struct os_priority *threads);
/* Restores every thread of this process; none is raised afterwards. */
void os_priority_restore(struct os_priority *threads);

#endif
