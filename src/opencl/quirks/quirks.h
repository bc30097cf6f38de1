/*
 * Driver quirks (base/driver_quirks.def), looked up once per device, behind one small interface:
 * the calls around each command that the driver gets. For drivers without quirks every function
 * here tests one bit.
 *
 *     quirks_launch_begin(...)        a launch or a piece of one; may wait for others in the driver
 *     quirks_call_begin(queue, ...)   any enqueue call
 *     the driver's call
 *     quirks_call_end(queue)
 *     quirks_launch_end(...)
 *     quirks_over(event)              once the command is complete
 */
#ifndef OPENCL_QUIRKS_QUIRKS_H
#define OPENCL_QUIRKS_QUIRKS_H

#include <CL/cl_icd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/driver_quirks.h"

struct queue_record;

/* The quirks of one device. */
struct quirks {
    unsigned has;                         /* of driver_quirks_of(); written once */
    pthread_rwlock_t nested_enqueue_lock; /* QUIRK_ENQUEUE_ALONE */
};

void quirks_init(struct quirks *quirks, cl_device_id device);

static inline bool quirks_have(const struct quirks *quirks, enum driver_quirk quirk)
{
    return driver_quirks_have(quirks->has, quirk);
}

/*
 * Around each call that gives a driver a command. alone: the driver makes the command wait for
 * others by itself. In between the layer waits for nothing. Nests: callbacks of the program may run
 * inside the call, and enqueue.
 */
void quirks_call_begin(const struct queue_record *queue, bool alone);
void quirks_call_end(const struct queue_record *queue);

/*
 * Must a blocking call be made without blocking, and its end be waited for outside of the call? A
 * thread that waits inside keeps others from enqueuing alone, and the end may depend on those.
 */
bool quirks_wait_outside(const struct queue_record *queue);

/* One launch, or piece of one, on its way to the driver. */
struct quirks_launch {
    struct widening *variant; /* NULL: no quirk applies; else the driver's event is needed */
    const struct queue_record *queue;
    bool widest; /* wider than all earlier pieces */
};

/*
 * Call before quirks_call_begin(): waits until the launch may begin. local and global have dim
 * values.
 */
void quirks_launch_begin(const struct queue_record *queue, const char *kernel, cl_uint dim,
                         const size_t *local, const size_t *global, struct quirks_launch *ret_launch);
/* Call after quirks_call_end(). event: the launch's, retained here; NULL: the driver refused it. */
void quirks_launch_end(struct quirks_launch *launch, cl_event event);

/*
 * The command of this event is complete: forgets it at once instead of later. Ignores any other
 * event.
 */
void quirks_over(cl_event event);

#endif
