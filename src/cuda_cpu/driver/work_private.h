/* What work.c (the graph) and work_thread.c (the threads) share. */
#ifndef CUDA_CPU_DRIVER_WORK_PRIVATE_H
#define CUDA_CPU_DRIVER_WORK_PRIVATE_H

#include <pthread.h>

#include "cuda_cpu/driver/arrival.h"
#include "cuda_cpu/driver/work.h"

struct work_edge {
    struct work_edge *next;
    struct work *dependent; /* a reference */
};

/* One thread, and the operations that are ready for it. */
struct work_queue {
    int device; /* of the machine (visible.h); -1: the host's */
    enum work_engine engine;
    struct list ready;
    atomic_uint n_ready;
    bool started, asleep;
    atomic_int core; /* 1 + the only core that the thread may use; 0: any */
    pthread_t thread;
    pthread_cond_t wake;
    void (*stop)(void *data); /* work_on_stop() */
    void *stop_data;
};

/* The machine; `lock` guards everything that is not atomic. */
struct work_machine {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* an operation that a thread sleeps for is done, or the machine stops */
    unsigned n_callers;   /* threads that run an operation in work_do() */
    unsigned n_devices;
    atomic_bool stopping;
    atomic_bool closed;            /* the engines' threads have ended: no further operation will be done */
    struct work_edge *ended_edges; /* edges whose dependents have not been told yet */
    bool telling;                  /* a call of work_end() is telling dependents */
    struct arrival_file *arrival;
    atomic_bool slow[ARRIVAL_DEVICES]; /* the last wait for the device was longer than work_spin() */
    struct work_queue engines[ARRIVAL_DEVICES][WORK_ENGINES], host, poll;
};

/* Runs the operation in its turn among all processes. With no lock held. */
CUresult work_run(const struct work_queue *queue, struct work *work);

/* Under the lock: call when every wait of the operation is over. */
void work_ready(struct work *work);
/*
 * Under the lock: ends the operation; dependents may become ready. Drops the machine's reference.
 */
void work_end(struct work *work, CUresult status);

/*
 * work_thread.c. Under the lock: starts or wakes the thread of a queue that got an operation.
 * False: no thread can be started.
 */
bool work_wake(struct work_queue *queue);
/*
 * Spins for some microseconds until the operation is done, before the thread sleeps. Looks only
 * once on the core that the device computes on, because the device needs that core. The same holds
 * if the last wait for the device was longer. The core that spins may share its units with the
 * device's core, and would slow the device down for nothing.
 */
bool work_spin(const struct work *work);
/* A wait for an operation of the device took so long: decides whether the next wait spins. */
void work_waited(int device, baton_nsec waited);

#endif
