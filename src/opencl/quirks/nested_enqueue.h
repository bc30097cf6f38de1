/*
 * QUIRK_ENQUEUE_ALONE. The driver itself makes some commands wait for others. Migrations follow the
 * last command that used the memory. Markers and barriers without a list follow everything in an
 * out-of-order queue. If two threads enqueue such commands at the same time:
 * - A device that runs commands inside the enqueue call waits for itself for ever. The end of one
 *   command runs what waits for it in the same thread, with the waiting event locked.
 * - Any other device may free the event of the migration too early, and crash.
 *
 * The graph gives the driver no command that waits. A program with one thread never meets this
 * defect without Baton, but the workers under Baton would. So these commands are enqueued alone,
 * all others together (quirks_call_begin()).
 */
#ifndef OPENCL_QUIRKS_NESTED_ENQUEUE_H
#define OPENCL_QUIRKS_NESTED_ENQUEUE_H

#include <stdbool.h>

/* Is the calling thread inside such a call? */
bool nested_enqueue_nested(void);

#endif
