/*
 * The cores of a batch's workers, for devices that use the host's own cores to copy. The kernel may
 * wake two workers on one core. They then share it for tens of milliseconds while another core
 * idles, and their copies take twice as long as planned. A worker that is about to copy or compute
 * therefore leaves a busy core if there is a less busy one. A worker that waits for its planned
 * instant waits on the core that the plan gives it. Otherwise it could wake up behind another
 * stream's copy and stay there to its end, even if another core has become idle.
 */
#ifndef CLIENT_BATCH_CORES_H
#define CLIENT_BATCH_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/nsec.h"

struct batch_cores {
    cpu_set_t allowed; /* empty: unknown; no thread is moved */
    unsigned short busy[CPU_SETSIZE];
};

/* The cores that the calling thread may use, all idle. */
void batch_cores_init(struct batch_cores *cores);

/* The number of cores; 0: unknown. */
size_t batch_cores_count(const struct batch_cores *cores);

/*
 * Chooses a core for the calling thread and counts it as busy; -1: unknown. It is the current core
 * unless others are less busy. Callers hold one lock around this and batch_cores_leave().
 */
int batch_cores_take(struct batch_cores *cores);
void batch_cores_leave(struct batch_cores *cores, int core);

/*
 * Moves the calling thread to that core; the kernel may move it again afterwards. Called without
 * the lock.
 */
void batch_cores_go(const struct batch_cores *cores, int core);

/* The same, but the thread stays there until the next call. -1: any core. */
void batch_cores_stay(const struct batch_cores *cores, int core);

/* Planned work of a worker, and the core on which it waits for it. */
struct core_use {
    baton_nsec begin, end; /* end == begin: no work */
    int core;              /* -1: unknown */
};

/*
 * Gives each use a core among the first `limit`: one that is free by then if the plan is kept. At
 * most BATCH_MAX_STREAMS * 2 uses.
 */
void batch_cores_assign(const struct batch_cores *cores, size_t limit, struct core_use uses[], size_t n);

#endif
