/*
 * The worker of an engine: a thread that gives queued commands to the driver, in order, pieces and all, sees them to their end, and ends for the daemon what
 * program threads have in flight (engine.h). Started when first needed.
 */
#ifndef LAYER_GRAPH_WORKER_H
#define LAYER_GRAPH_WORKER_H

#include "layer/graph/engine.h"

/* With graph_lock held: hands over a command whose waits are over. */
void worker_ready(struct engine *engine, struct command *command);

/* The daemon wants the lease while the program computes: the worker waits for the ring, then the lease goes back. */
void worker_drain(struct engine *engine);

/* On the worker's thread: waits for all that it gave to the driver. */
void worker_finish_issued(struct engine *engine);

/* At exit: lets the workers end at the next piece border and joins them; what is queued stays undone. */
void worker_stop_all(void);
bool worker_stopping(void);

#endif
