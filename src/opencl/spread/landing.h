/*
 * Landings: commands that may write home and are not over. A copy of such a buffer to another
 * device could miss their bytes, and the record would call it valid. A program may leave a write
 * unordered against a launch that has the same buffer as an argument, if they use different parts
 * of it.
 *
 * So a launch on other devices waits, before it copies anything, for the writers of its buffers
 * that are on their way. They need their engine only, and the waiting thread has entered none. A
 * writer that the program's thread gave to the driver counts until the call returns, then as in
 * flight.
 */
#ifndef OPENCL_SPREAD_LANDING_H
#define OPENCL_SPREAD_LANDING_H

#include "opencl/graph/opencl_command.h"

struct split;

/*
 * The command is about to be given to the driver. Call before looking whether its buffers are
 * shared. Does nothing if it already counts. False: no memory.
 */
bool landing_begins(struct opencl_command *command);
/*
 * The command is over, was given to the driver by the calling thread, or is not given now. Takes a
 * leaf lock only.
 */
void landing_ends(struct opencl_command *command);

/*
 * With the spread lock held, which it releases meanwhile: waits for the writers of the split's
 * buffers, which have records already. *ret_waited: the lock was released.
 */
void landing_wait(const struct split *split, const struct queue_record *queue, bool *ret_waited);
/* Threads in landing_wait() look again: a writer is over, or the process ends. */
void landing_wake(void);

#endif
