/*
 * QUIRK_WIDER_ALONE. A widening: the driver makes machine code of a kernel anew, for a launch that
 * is wider than all before it. The driver keeps one variant of a kernel per local size and width. A
 * launch runs the first variant in the list that is wide enough; a new variant goes to the front.
 * The driver looks a variant up by its width when a launch begins, but without the width when the
 * launch ends. If a wider variant was made in between, the launch releases a variant that it does
 * not use, and the process aborts (pocl_release_dlhandle_cache). Devices of one kind share the
 * list, over all contexts.
 *
 * A program whose launches all have one width never meets this defect, but pieces of its launches
 * differ in width. So a piece that is wider than all earlier ones, of a kernel with the same name
 * and local size, runs alone. It begins when no other is in flight, and no other begins before its
 * end. Pieces of one in-order queue do not wait for each other, because the driver runs them one
 * after the other anyway. All others run together.
 *
 * A piece that waits in quirks_launch_begin() waits for pieces that the driver already has, never
 * for a lease. It holds its engine meanwhile, which no analysis counts: batond claims no bound
 * while a task computes on two such devices (daemon/claims.h). Under the lock the driver is asked
 * about events, and no other lock is taken.
 */
#ifndef OPENCL_QUIRKS_WIDENING_H
#define OPENCL_QUIRKS_WIDENING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct widening;        /* of one kernel with one local size */
struct widening_flight; /* a piece that the driver has */

/* In struct opencl_front (layer.h). */
struct widening_state {
    pthread_mutex_t lock; /* a leaf; guards the following */
    pthread_cond_t changed;
    struct widening *variants;
    struct widening_flight *flights; /* owned, `room` of room */
    size_t n_flights, room;
    unsigned long n_made; /* variants that the driver has made for this process */
    atomic_bool any;      /* read without the lock: some piece had the quirk */
};

#endif
