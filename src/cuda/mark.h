/*
 * Marks (engine/command.h): the driver's events of our own that say when a command, or a piece of
 * one, is over; and marks of host functions, which the driver calls.
 *
 * Times: CUDA tells only how far two events are apart, as a float of milliseconds. So each context
 * has a base event; a mark's end is counted from it, and the base moves on every second, which
 * keeps the float exact to a tenth of a microsecond. Starts are not recorded: a command starts when
 * the one before it in the same context ended, or when it was issued, whichever is later.
 */
#ifndef CUDA_MARK_H
#define CUDA_MARK_H

#include "cuda/objects.h"
#include "engine/command.h"

/*
 * A mark behind all that the stream was given so far, with one reference. If the driver refuses,
 * waits for the stream, and the mark is over. NULL: no memory. The context is visited.
 */
struct mark *mark_record(struct stream_record *stream, baton_nsec issued_at);

/*
 * A mark that is over once the driver has come to the place in the stream where it was armed, told
 * by a callback: so that no worker waits for it. NULL: no memory. Arming visits the context; a
 * driver that refuses ends the mark at once.
 */
struct mark *mark_fence(struct stream_record *stream);
void mark_fence_arm(struct mark *mark, struct stream_record *stream);

/* For driver_ops. */
int mark_status(struct mark *mark);
int mark_wait(struct mark *mark);
bool mark_notify(struct mark *mark, struct mark_listener *listener);
void mark_flush(struct mark *mark);
void mark_times(struct mark *mark, struct mark_times *ret_times);
void mark_queued(struct mark *mark, struct mark_times *ret_times);
void mark_keep(struct mark *mark);
void mark_drop(struct mark *mark);

/* The context ends: its events, and marks that are not used, go. */
void mark_forget_context(struct context_record *context);

#endif
