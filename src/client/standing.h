/*
 * A program's scheduling by the operating system, both ways: "standing" is a thread's policy and
 * priority.
 *
 * Without --priority the standing determines the program's priority. SCHED_FIFO and SCHED_RR 1..99
 * are taken as they are; nice -20..19 becomes 40..1, and nice 0 is 20. So a program that is
 * real-time to Linux (usually above 40) is above one that only has a nice value. Under the policy
 * `adaptive` the nice value of a program without deadlines does not count (HELLO_NICE).
 *
 * A program with --period or --deadline is a real-time client, and its priority determines its
 * standing. The threads that issue its work run under SCHED_FIFO: the one that opened the session,
 * those that make queues, and Baton's own. Their rank is mapped into the band 10..40 below batond:
 * tasks of the plan above all others (wire/rank.h). Threads that are already real-time stay as they
 * are. Threads and processes that these start are normal ones (SCHED_RESET_ON_FORK). Without the
 * permission nothing changes. All changes are undone at the end.
 *
 * A daemon also raises threads and restores them. A daemon that was killed cannot: this module then
 * restores the threads.
 */
#ifndef CLIENT_STANDING_H
#define CLIENT_STANDING_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define STANDING_LOW     10 /* as batond's default band */
#define STANDING_HIGH    40
#define STANDING_THREADS 16

/* A thread's policy and priority without a daemon's boost. */
struct standing_thread {
    pid_t tid;
    int policy, priority;
    cpu_set_t cores;
};

struct standing {
    pthread_mutex_t lock; /* guards the following; a leaf */
    int fifo;             /* the SCHED_FIFO priority of its threads; 0: not a real-time client */
    bool left;            /* the daemon ranks the threads */
    struct standing_thread raised[STANDING_THREADS]; /* by this module, with what they were before */
    size_t n;
    struct standing_thread named[STANDING_THREADS]; /* reported to daemons, which may raise them */
    size_t n_named;
};

/*
 * The priority 1..99 of a thread with this policy (without flags), real-time priority and nice
 * value.
 */
unsigned standing_priority(int policy, int realtime_priority, int nice_value);
/* ... of the calling thread. */
unsigned standing_own(void);

/*
 * Decides which thread runs first: the calling thread's real-time priority. 0: none, it shares the
 * cores. -1: it gets only idle time.
 */
int standing_rank(void);

/* realtime: a real-time client, whose rank is this level (wire/rank.h). */
void standing_init(struct standing *standing, bool realtime, unsigned level);
/*
 * The rank of a real-time client changed: its threads get the new one, including those raised
 * before.
 */
void standing_set(struct standing *standing, unsigned level);
/*
 * The daemon ranks the threads from now on (PLAN_CPUS), until standing_set(): later threads are not
 * raised here.
 */
void standing_leave(struct standing *standing);
/* The calling thread issues work from now on. */
void standing_raise(struct standing *standing);
/* This thread is reported to daemons from now on. */
void standing_name(struct standing *standing, pid_t tid);
/* The daemon is gone, perhaps killed: restores every thread that still has what the daemon set. */
void standing_abandoned(struct standing *standing);
/* Restores every thread of this process; none is raised afterwards. */
void standing_restore(struct standing *standing);

#endif
