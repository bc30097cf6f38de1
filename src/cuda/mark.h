/*
 * Marks (engine/command.h). A mark is an event of the front's own that tells when a command, or a
 * piece of one, is over. Or it is a fence: a callback of the driver tells when that is over.
 *
 * Times: CUDA tells only how far two events are apart, as a float of milliseconds. So each context
 * has a base event, from which the ends of marks are counted. The base moves on every second, which
 * keeps the float exact to a tenth of a microsecond. Starts are not recorded: a command starts when
 * the one before it in the same context ended, or when it was issued, whichever is later.
 *
 * An event costs about as much as an empty launch. So short launches of one stream share a mark
 * that has no event yet, an open mark. It is over when the program has waited for the stream, or
 * when the stream is found idle. It gets its event as soon as it stands for enough work
 * (mark_join), or a thread waits for it. It also gets its event before the stream cannot be named:
 * before its capture and its end (mark_close). The event is behind all that the stream was given by
 * then. Such a mark is never over too early, but may be late.
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
 * The same without times of its own: a reference to the stream's open mark. The driver has the
 * command, which takes about ns nanoseconds. NULL: no memory.
 */
struct mark *mark_join(struct stream_record *stream, baton_nsec issued_at, int64_t ns);
/* The stream's open mark, or all of the context's, get their events now. */
void mark_close(struct stream_record *stream);
void mark_close_context(struct context_record *context);

/*
 * Around a wait of the program: mark_place() before it; mark_passed() after it, for one stream or
 * NULL for all of the context. Open marks of what was issued before the place are over.
 */
uint64_t mark_place(struct context_record *context);
void mark_passed(struct context_record *context, const struct stream_record *stream, uint64_t place);

/*
 * A fence: a mark that is over once the driver has come to the place in the stream where the fence
 * was armed. A callback of the driver tells that, so no worker waits for it. NULL: no memory.
 * Arming visits the context. A driver that refuses ends the mark at once; the answer is false then.
 */
struct mark *mark_fence(struct stream_record *stream);
bool mark_fence_arm(struct mark *mark, struct stream_record *stream);

/* For driver_ops. */
int mark_status(struct mark *mark);
int mark_wait(struct mark *mark);
bool mark_notify(struct mark *mark, struct mark_listener *listener);
void mark_flush(struct mark *mark);
void mark_times(struct mark *mark, struct mark_times *ret_times);
void mark_queued(struct mark *mark, struct mark_times *ret_times);
void mark_keep(struct mark *mark);
void mark_drop(struct mark *mark);

/* The stream's record goes, because the driver does not know the stream. */
void mark_forget_stream(struct stream_record *stream);
/*
 * The context is about to end: marks that are not used go. Those that others still hold are over
 * from now on, and the driver is not asked about them: their events go with the context.
 */
void mark_forget_context(struct context_record *context);

#endif
