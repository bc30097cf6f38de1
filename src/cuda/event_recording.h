/*
 * Records of events that are held back, or that a held-back wait needs.
 *
 *     HELD --(the driver has the record)--> GIVEN
 *
 * A wait means the newest record at the time of its call. A wait that is held back therefore keeps
 * the recording, not the event. If the program records the event again, or destroys it, meanwhile,
 * the recording gets an event of our own that stands at the same place.
 */
#ifndef CUDA_EVENT_RECORDING_H
#define CUDA_EVENT_RECORDING_H

#include "cuda/cuda_command.h"
#include "cuda/events.h"

struct recording {
    struct refs refs;
    struct event_record *of; /* a reference; NULL: it is of an event of our own only */
    bool by_launch;          /* a graph's launch makes it: always under the event's name */

    /* the event's lock guards the following */
    CUevent event; /* what a wait names: the program's, or `own`; NULL: the record is complete */
    CUevent own;   /* NULL: none; destroyed with the recording */

    /* cuda_front.events.lock guards the following */
    bool held;
    bool superseded;         /* the event has a newer record */
    struct command *command; /* that makes it, while held: a reference; NULL: not in the graph yet */

    /* of the thread that submits it, until recordings_follow(): references */
    struct recording *replaced;
    struct command *after;
};

/* One reference; NULL: no memory. */
struct recording *recording_new(struct event_record *of, bool held);
void recording_keep(struct recording *recording);
void recording_drop(struct recording *recording);

/* NULL is not held. */
bool recording_is_held(const struct recording *recording);
/* Waits until the driver has the record. NULL: it has. */
void recording_await(struct recording *recording);

/* The event's newest recording, a reference; NULL: none is needed, or no event. */
struct recording *event_newest(struct event_record *event);
/*
 * What a wait means that is called now and may reach the driver later: a reference; NULL: no
 * memory.
 */
struct recording *recording_for_wait(struct event_record *event);
/*
 * The same of an event that another process may record at any moment: an event of our own stands
 * for the record of now. The context in which that is made is current.
 */
struct recording *recording_of_others(const struct event_record *event);

/* The newest held-back launch that records the event: a reference; NULL: none, or no event. */
struct command *event_held_launch(struct event_record *event);
/* Is there one? */
bool event_follows_launch(struct event_record *event);
/* Waits until the driver has it. */
void event_await_launch(struct event_record *event);

/*
 * A heap command that makes the recordings, of different events, enters the graph.
 * recordings_enter(): under cuda_front.order, after graph_open(). They become the newest of their
 * events. recordings_follow(): with no lock held, before graph_close(). Adds the waits for launches
 * that record the same events under their names.
 */
void recordings_enter(struct recording *const *recordings, size_t n, struct command *command);
void recordings_follow(struct recording *const *recordings, size_t n, struct command *command);
/* The command makes the recording of an event of our own, which is in no table. */
void recording_held_by(struct recording *recording, struct command *command);
/* A heap command that waits for the recording: between graph_open() and graph_close(). */
void recording_wait(struct recording *recording, struct command *command);

/*
 * Calls the driver, which records the events under their names, in the order of their addresses.
 * A refused call leaves them as they are. captured: in a capture. Nothing that records them is to
 * be waited for (event_await_launch()).
 */
CUresult events_record_now(const struct call *call, struct event_record *const *events, size_t n,
                           bool captured);
/* The same for recordings of these events, on the thread that drives the engine. */
CUresult recordings_issue(const struct call *call, struct event_record *const *events,
                          struct recording *const *recordings, size_t n);
/* Of one record that may be superseded, or be of an event of our own. */
CUresult recording_issue(struct recording *recording, const struct call *call);
CUresult recording_issue_wait(struct recording *recording, const struct call *call);

/*
 * Gives recordings that the driver has under the names of these events, and that waits need, events
 * of our own. Takes the events' locks; the driver waits for a record if memory is short.
 */
void events_lock(struct event_record *const *events, size_t n);
void events_unlock(struct event_record *const *events, size_t n);
/* Under the event's lock: it has no recording any more. */
void event_forget_recordings(struct event_record *event);

/* What the recording's event is now; the same until recording_end(). NULL: complete. */
CUevent recording_begin(struct recording *recording);
void recording_end(struct recording *recording);

/* --- calls (events.c) --- */

/* Functions of a column of cuda_kinds.h. */
void event_enter_record(struct cuda_command *command);
void event_enter_wait(struct cuda_command *command);

/* The driver has all that the record must follow. NULL: an event that is not known. */
CUresult event_record_now(const struct call *call, struct event_record *event);
/*
 * The draft's call records the event, or waits for the recording, in the draft's stream, held back.
 * Neither drops the draft's reference to the stream.
 */
CUresult event_record_held(struct cuda_command *draft, struct event_record *event);
CUresult event_wait_held(struct cuda_command *draft, struct recording *recording);
/*
 * A wait in the stream for an event that another process may record. Nothing behind it has an
 * engine before it is over, because that process may need the engine first.
 */
CUresult event_wait_shared(struct stream_record *stream, const struct event_record *event);

#endif
