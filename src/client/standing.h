/*
 * A program's standing with the operating system, both ways.
 *
 * Without --priority its standing becomes its priority: SCHED_FIFO and SCHED_RR 1..99 as they are; nice -20..19 as 40..1, so that
 * a program that is real-time to Linux (above 40, by habit) is above one that is merely nice, and nice 0 is 20. Under the policy
 * `adaptive` the nice value of a program without deadlines does not count (HELLO_NICE).
 *
 * With --period or --deadline it is a real-time client, and its priority becomes its standing: the threads that issue its work (the
 * one that opened the session, those that make queues, and ours) run under SCHED_FIFO, with the rank mapped into the
 * band 10..40 below batond: tasks of the plan above all others (wire/rank.h). Threads that are already real-time stay as they are; threads and processes that these start
 * are normal ones (SCHED_RESET_ON_FORK). Without the permission nothing happens. What was changed is put back.
 *
 * A daemon raises threads too, and puts them back. One that was killed cannot: what it raised is put back here.
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

/* What a thread is with the operating system, without a daemon's help. */
struct standing_thread {
    pid_t tid;
    int policy, priority;
    cpu_set_t cores;
};

struct standing {
    pthread_mutex_t lock; /* guards the following; a leaf */
    int fifo;             /* the SCHED_FIFO priority of its threads; 0: not a real-time client */
    bool left;            /* to the daemon */
    struct standing_thread raised[STANDING_THREADS]; /* by us, and what they were before */
    size_t n;
    struct standing_thread named[STANDING_THREADS]; /* to daemons, which may raise them */
    size_t n_named;
};

/* The priority 1..99 of a thread with this policy (without flags), real-time priority and nice value. */
unsigned standing_priority(int policy, int realtime_priority, int nice_value);
/* ... of the calling thread. */
unsigned standing_own(void);

/* What decides which thread runs first: the calling thread's real-time priority; 0: none, it shares the cores; -1: it gets what is left over. */
int standing_rank(void);

/* realtime: a real-time client, whose rank is this level (wire/rank.h). */
void standing_init(struct standing *standing, bool realtime, unsigned level);
/* A real-time client's rank is another one: its threads follow, those that were raised before too. */
void standing_set(struct standing *standing, unsigned level);
/* The daemon ranks the threads from now on (PLAN_CPUS), until standing_set(): those to come are not raised here. */
void standing_leave(struct standing *standing);
/* The calling thread issues work from now on. */
void standing_raise(struct standing *standing);
/* Daemons are told of this thread from now on. */
void standing_name(struct standing *standing, pid_t tid);
/* The daemon has gone, perhaps by force: every thread that is as it left them is put back. */
void standing_abandoned(struct standing *standing);
/* Puts every thread of this process back to what it was; none is raised any more. */
void standing_restore(struct standing *standing);

#endif
