/*
 * Which cores the workers of one batch are on. Where the host's own cores copy (a device that shares its memory), two workers that the kernel
 * happens to wake on one core share it for tens of milliseconds while another core idles: their copies take twice as long as
 * planned. So a worker that is about to copy or compute moves away from a core that another one is busy on, if there is a less busy one. And a worker that
 * waits for its planned instant waits on the core that the plan leaves to it: a sleeper that wakes up behind another stream's copy stays there to its end, even
 * if another core has become idle.
 */
#ifndef CLIENT_BATCH_CORES_H
#define CLIENT_BATCH_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/nsec.h"

struct batch_cores {
    cpu_set_t allowed; /* empty: unknown, and no thread is moved */
    unsigned short busy[CPU_SETSIZE];
};

/* Those that the calling thread may run on, all idle. */
void batch_cores_init(struct batch_cores *cores);

/* How many there are; 0: unknown. */
size_t batch_cores_count(const struct batch_cores *cores);

/*
 * Chooses a core for the calling thread, the one that it is on unless others are less busy, and counts it as busy; -1: unknown. Callers hold one lock
 * around this and batch_cores_leave().
 */
int batch_cores_take(struct batch_cores *cores);
void batch_cores_leave(struct batch_cores *cores, int core);

/* Moves the calling thread there, unless it is; it may be moved on by the kernel afterwards. Without the lock. */
void batch_cores_go(const struct batch_cores *cores, int core);

/* The same, and there it stays until it is told to go somewhere else. -1: anywhere. */
void batch_cores_stay(const struct batch_cores *cores, int core);

/* What the plan has a worker do, and on which core it is to wait for it. */
struct core_use {
    baton_nsec begin, end; /* end == begin: nothing */
    int core;              /* -1: unknown */
};

/* Gives each its core, of the first `limit` ones: one that is free by then if the plan is kept. At most BATCH_MAX_STREAMS * 2 uses. */
void batch_cores_assign(const struct batch_cores *cores, size_t limit, struct core_use uses[], size_t n);

#endif
