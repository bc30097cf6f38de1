/*
 * The inside of a worker, shared by the files of this folder. Everything here belongs to the thread
 * that runs the launch.
 *
 * Device threads that may wait run as fibres. A fibre is in one of these states:
 *
 *     NEW ----> RUNNING ----> DONE
 *                |    ^
 *                v    |
 *        BARRIER, COLLECTIVE, ACTIVE, YIELDED
 *
 * A fibre leaves BARRIER and COLLECTIVE when the last thread that it waits for arrives. It leaves
 * ACTIVE when no other lane of its warp can run, and YIELDED when its turn comes. A thread that
 * never waits leaves its stack to the next thread.
 */
#ifndef CUDA_CPU_EXEC_H
#define CUDA_CPU_EXEC_H

#include "cuda_cpu/device/abi.h"
#include "cuda_cpu/launch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum fibre_state {
    FIBRE_NEW,
    FIBRE_RUNNING,
    FIBRE_BARRIER,
    FIBRE_COLLECTIVE,
    FIBRE_ACTIVE,
    FIBRE_YIELDED,
    FIBRE_DONE
};

struct fibre {
    void *stack_pointer; /* valid while the fibre does not run */
    struct fibre *next;  /* in the ready queue, or at its barrier */
    struct exec_block *block;
    int32_t stack; /* index of the worker's stack; -1: none */
    enum fibre_state state;
    uint32_t result; /* of a barrier */
    struct device_thread t;
    struct device_collective *collective;
} __attribute__((aligned(64)));

enum { EXEC_BARRIERS = 16, EXEC_MOST_WARPS = LAUNCH_MOST_THREADS / LAUNCH_WARP };

struct exec_barrier {
    uint32_t arrived, expected;      /* expected 0: all threads of the block */
    uint32_t warps;                  /* warps of which a thread has arrived */
    uint32_t lanes[EXEC_MOST_WARPS]; /* lanes that have arrived, by warp */
    uint32_t trues;                  /* predicates */
    struct fibre *waiting;           /* list of waiting fibres */
};

/* Lanes that have arrived at a warp operation with the same mask. */
struct exec_group {
    uint32_t mask, operation, arrived;
};

struct exec_warp {
    uint32_t live; /* lanes that have not ended */
    uint32_t n_groups, n_active;
    struct exec_group groups[LAUNCH_WARP];
};

struct exec_block {
    struct fibre *fibres; /* its first thread */
    uint32_t threads, live;
    unsigned char *shared;
    struct exec_barrier barriers[EXEC_BARRIERS];
    struct exec_warp warps[EXEC_MOST_WARPS];
};

struct exec_stack {
    uint64_t low, high;
    int32_t next_free;
};

struct exec_queue {
    struct fibre *first, *last;
};

struct worker {
    struct space *space;
    pthread_t thread;
    pthread_mutex_t lock; /* guards is_running against worker_abort() */
    bool is_running;
    atomic_bool is_aborted;
    atomic_uint sent, received; /* signals of worker_abort() */
    /* Stacks, all of one size; replaced when a launch needs larger ones. */
    struct exec_stack *stacks;
    size_t n_stacks;
    uint64_t *chunks; /* blocks of the space that hold the stacks */
    size_t n_chunks;
    uint64_t stack_bytes;
    int32_t free_stack;
    /* Memory of a launch, kept for the next. */
    uint64_t shared, shared_room; /* shared memory of all resident blocks */
    uint64_t parameters, parameters_room;
    uint64_t frames, frames_room; /* frames of threads that wait all together */
    uint64_t workspace;
    struct fibre *fibres;
    size_t fibres_room;
    struct exec_block *blocks;
    size_t blocks_room;
    void *signal_stack;
    /* The launch. */
    const struct launch *launch;
    const struct device_entry *entry;
    struct fibre *current;
    struct exec_queue ready;
    uint32_t n_threads, next_new; /* threads of this batch */
    uint32_t n_done;
    void *host;                       /* stack pointer of the launching thread */
    volatile sig_atomic_t in_library; /* a fault at this moment is not the kernel's */
    enum cpu_status status;
    struct launch_fault fault;
    uint64_t heap_used;
    struct device_thread plain; /* the thread of a kernel that never waits */
};

extern const struct device_calls exec_calls;

/*
 * Generated code runs on stacks that sanitizers do not know. gcc and clang report an active
 * sanitizer in different ways.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EXEC_THREAD_SANITIZER 1
#endif
#if __has_feature(address_sanitizer)
#define EXEC_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define EXEC_THREAD_SANITIZER 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define EXEC_ADDRESS_SANITIZER 1
#endif
/*
 * A function that switches stacks returns elsewhere than it was called. Clang's no_sanitize_thread
 * still counts calls and returns, and TSan's room for those that have not returned is limited.
 *
 * A function that generated code calls, too: until it has entered the library, a signal may end the
 * launch there (worker_abort). An instrumented function would be in TSan's run time at that moment,
 * perhaps with one of TSan's locks, and the thread would wait for itself.
 */
#if defined(EXEC_THREAD_SANITIZER) && defined(__clang__)
#define EXEC_PLAIN __attribute__((disable_sanitizer_instrumentation))
#elif defined(EXEC_THREAD_SANITIZER)
#define EXEC_PLAIN __attribute__((no_sanitize_thread))
#else
#define EXEC_PLAIN
#endif
/*
 * Before a call that does not return, ASan unmarks the frames of the thread's own stack, and warns
 * if they are on another one. exec_take_stack() unmarks abandoned frames of kernels. So ASan is not
 * told which functions leave the kernel.
 */
#if defined(EXEC_ADDRESS_SANITIZER)
#define EXEC_LEAVES __attribute__((no_sanitize("address")))
#define EXEC_DOES_NOT_RETURN
#else
#define EXEC_LEAVES
#define EXEC_DOES_NOT_RETURN __attribute__((noreturn))
#endif

/* thread_schedule.c */
void exec_run_fibres(struct worker *worker); /* to the end, or to a fault */
void exec_wait(struct worker *worker, struct fibre *fibre, enum fibre_state state);
void exec_ready(struct worker *worker, struct fibre *fibre);
void exec_finish_thread(struct worker *worker, struct fibre *fibre);
uint32_t exec_barrier(struct device_thread *t, uint32_t kind, uint32_t id, uint32_t count,
                      uint32_t predicate);
void exec_yield(struct device_thread *t);
void exec_exit(struct device_thread *t) EXEC_DOES_NOT_RETURN;

/* warp.c */
void exec_collective(struct device_thread *t, struct device_collective *c);
/* After a lane has ended or begun to wait: completes the operations that waited for it. */
void exec_settle_warp(struct worker *worker, struct exec_block *block, uint32_t warp);
void exec_settle_active(struct worker *worker, struct exec_block *block, uint32_t warp);

/* stacks.c */
int exec_take_stack(struct worker *worker); /* index, or -1 */
void exec_give_stack(struct worker *worker, int32_t stack);
int exec_size_stacks(struct worker *worker, uint64_t bytes);
void exec_free_stacks(struct worker *worker);

/* fault.c */
void exec_guard(struct worker *worker);   /* from here on the launch gets the faults of its thread ... */
void exec_unguard(struct worker *worker); /* ... up to here */
/* Ends the launch with this status from within a kernel. */
void exec_fail(struct device_thread *t, enum cpu_status status, uint64_t address, uint32_t line,
               const char *format, ...) EXEC_DOES_NOT_RETURN __attribute__((format(printf, 5, 6)));
void exec_enter_library(struct device_thread *t);
void exec_leave_library(struct device_thread *t);

/* device_print.c, texture.c, surface.c */
uint32_t exec_print(struct device_thread *t, uint64_t format, uint64_t arguments);
void exec_assertion(struct device_thread *t, uint64_t message, uint64_t file, uint32_t line,
                    uint64_t function) EXEC_DOES_NOT_RETURN;
void exec_texture(struct device_thread *t, struct device_texture_call *call);
void exec_surface(struct device_thread *t, struct device_surface_call *call);
uint32_t exec_query(struct device_thread *t, uint64_t object, uint32_t what, uint32_t is_surface,
                    uint32_t line);

EXEC_PLAIN static inline struct worker *exec_worker(struct device_thread *t)
{
    return t->worker;
}

#endif
