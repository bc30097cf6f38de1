/*
 * Crossing into a driver that minds who else is in it: PoCL. It makes some commands wait for others by itself: migrations follow the last command that used the
 * memory; markers and barriers without a list follow everything in an out-of-order queue. Where two threads enqueue such commands at the same time
 *   - its basic device, which runs commands inside the enqueue call, waits for itself for ever: the end of one command runs what waits for it in the same thread, with
 *     the waiting event locked;
 *   - its pthread device may free the event of the migration too early, and crashes.
 * Our graph gives the driver no command that waits, and a program of one thread never meets this without us; but its workers under us would. So these commands cross
 * alone, all others together.
 */
#ifndef OPENCL_GRAPH_CROSSING_H
#define OPENCL_GRAPH_CROSSING_H

#include <pthread.h>
#include <stdbool.h>

#include "opencl/graph/command.h"

struct crossing {
    bool needed, inside; /* written once; inside: commands run inside the enqueue call */
    pthread_rwlock_t lock;
};

void crossing_init(struct crossing *crossing, cl_device_id device);

/* Does the driver make such a command wait for others by itself? */
bool crossing_alone(const struct opencl_command *command);

/*
 * Around each call that gives a driver a command. In between nothing of ours is waited for. Nests: callbacks of the program may run inside
 * the call, and enqueue. Both do nothing for other drivers.
 */
void crossing_begin(struct crossing *crossing, bool alone);
void crossing_end(struct crossing *crossing);

/* Is the calling thread inside such a call? */
bool crossing_nested(void);

#endif
