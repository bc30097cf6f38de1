/*
 * Crossing into a driver that runs commands inside the enqueue call (PoCL's basic device). There the end of one command runs what waits for it
 * in the same thread, with the waiting event locked: a thread that completes a command behind which another thread has enqueued waits for
 * itself for ever. Our graph gives the driver no command that waits, but the driver adds waits of its own: migrations follow the last
 * command that used the memory; markers and barriers without a list follow everything in an out-of-order queue. These cross alone, all others
 * together. A program of one thread never meets this without us; its workers under us would.
 */
#ifndef LAYER_GRAPH_CROSSING_H
#define LAYER_GRAPH_CROSSING_H

#include <pthread.h>
#include <stdbool.h>

#include "layer/graph/command.h"

struct crossing {
    bool needed; /* written once */
    pthread_rwlock_t lock;
};

void crossing_init(struct crossing *crossing, cl_device_id device);

/* Does the driver make such a command wait for others by itself? */
bool crossing_alone(const struct command *command);

/*
 * Around each call that gives a driver a command. In between nothing of ours is waited for. Nests: callbacks of the program may run inside
 * the call, and enqueue. Both do nothing for drivers that run commands elsewhere.
 */
void crossing_begin(struct crossing *crossing, bool alone);
void crossing_end(struct crossing *crossing);

#endif
