/*
 * Which cores the workers of one batch are on. Where the host's own cores copy (a device that shares its memory), two workers that the kernel
 * happens to wake on one core share it for tens of milliseconds while another core idles: their copies take twice as long as
 * planned. So a worker that is about to copy or compute moves away from a core that another one is busy on, if there is a less busy one.
 */
#ifndef CLIENT_BATCH_CORES_H
#define CLIENT_BATCH_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct batch_cores {
    cpu_set_t allowed; /* empty: unknown, and nobody is moved */
    unsigned short busy[CPU_SETSIZE];
};

/* Those that the calling thread may run on, all idle. */
void batch_cores_init(struct batch_cores *cores);

/* How many there are; 0: unknown. */
size_t batch_cores_count(const struct batch_cores *cores);

/* Is none of the workers busy on one of them? Callers hold the lock, as below. */
bool batch_cores_idle(const struct batch_cores *cores);

/*
 * Chooses a core for the calling thread, the one that it is on unless others are less busy, and counts it as busy; -1: unknown. Callers hold one lock
 * around this and batch_cores_leave().
 */
int batch_cores_take(struct batch_cores *cores);
void batch_cores_leave(struct batch_cores *cores, int core);

/* Moves the calling thread there, unless it is; it may be moved on by the kernel afterwards. Without the lock. */
void batch_cores_go(const struct batch_cores *cores, int core);

#endif
