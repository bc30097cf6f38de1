/*
 * Machine code that a driver makes anew for wider launches: PoCL. It keeps one variant of a kernel per local size and width; a launch runs the first variant in its
 * list that is wide enough, and a new one goes to the front. PoCL 3.1 looks a variant up by its width when a launch begins, and without it when the launch ends. A
 * launch that ends after a wider variant was made therefore gives back a variant that it does not use, and the process aborts (pocl_release_dlhandle_cache).
 * Devices of one kind share the list, whatever context they are in.
 *
 * A program whose launches are all of one width never meets this, but the pieces of its launches differ in width. So a piece that is wider than all before it, of a
 * kernel with the same name and local size, runs alone: it begins when no other is in flight, and no other begins before its end. Pieces of one in-order queue do not wait
 * for each other: the driver runs them one after the other anyway. All others run together, and nothing of this is done for other drivers.
 *
 * A piece that waits here waits for pieces that the driver already has, never for a lease. It holds its engine meanwhile, which no analysis counts: batond claims
 * no bound while a task computes on two such devices (daemon/claims.h).
 */
#ifndef OPENCL_GRAPH_WIDENING_H
#define OPENCL_GRAPH_WIDENING_H

#include "opencl/objects.h"

struct widening;

/* One piece on its way to the driver. Filled by widening_begin(). */
struct widening_use {
    struct widening *variant; /* NULL: nothing to mind */
    const struct queue_record *queue;
    bool widest; /* wider than all before it */
};

/* Before the piece is enqueued, no crossing begun: waits until it may. dim values of local and global count. */
void widening_begin(const struct queue_record *queue, const char *kernel, cl_uint dim, const size_t *local,
                    const size_t *global, struct widening_use *ret_use);

/* After it. event: the piece's, retained here; NULL: the driver did not take it. */
void widening_end(struct widening_use *use, cl_event event);

/* The command of this event is complete: forgets it. Any other event is passed over. Without the call it is forgotten later. */
void widening_over(cl_event event);

#endif
