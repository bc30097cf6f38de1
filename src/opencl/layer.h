/*
 * libbaton-layer.so: what the loader puts between an OpenCL program and its driver. The driver's table is copied and the
 * entry points that schedule are overridden (entry.h); handles stay the driver's own, our state lives beside them
 * (handle_table.h). The way of a command: an entry point of enqueue/ makes a struct command (command.h), submit.h gives it to
 * the driver at once or to the graph (graph.h), where a worker of its engine (engine.h) issues it, whole or in pieces
 * (issue.h, launch.h).
 *
 * Locks, in the order in which they may be nested: kernel / program records -> graph_lock -> handle-table shards; an
 * engine's lock is a leaf. The driver is never called with graph_lock held.
 */
#ifndef OPENCL_LAYER_H
#define OPENCL_LAYER_H

#include <CL/cl_icd.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/session.h"
#include "client/settings.h"

extern cl_icd_dispatch target;      /* the driver, as the loader gave it to us; written once by clInitLayer */
extern struct settings settings;    /* read once by clInitLayer */
extern bool layer_queue_everything; /* tests: no command goes to the driver from the calling thread */

/* True in a forked child: every entry point then calls the driver and nothing else. */
extern atomic_bool layer_passes;

static inline bool layer_off(void)
{
    return atomic_load_explicit(&layer_passes, memory_order_relaxed);
}

/*
 * The conversation with the daemon, opened when first needed (a program that only lists devices never connects). NULL: no
 * memory or no thread, or a daemon is required and absent (then layer_refused() is true).
 */
struct session *layer_session(void);
bool layer_refused(void);

/* Should kernels / copies be cut at all: asked for by number, or automatic and a daemon is there to gain by it. */
bool layer_slicing(void);
bool layer_chunking(void);

/* Is the program a task of the plan? */
bool layer_tasked(void);

/* What the plan says: longest piece, bytes per chunk from or to the device. 0: nothing. */
baton_nsec layer_piece(void);
int64_t layer_chunk(bool out);
/* How many GPUs the plan gives this program (0: it says nothing), and which (0: any). */
unsigned layer_gpus(uint64_t *ret_set);
/* Is state copied to the host at the end of every job (migration `system`)? */
bool layer_saves_state(void);
/* Grows with every plan that is taken; 0: none was. */
unsigned layer_plan_number(void);

/* Registers the handler that stops our threads before the driver is torn down: when a queue is made, and after each build. */
void layer_stop_at_exit(void);

#endif
