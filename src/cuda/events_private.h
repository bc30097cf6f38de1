/* What events.c (events of streams) and context_events.c (events of contexts) share. */
#ifndef CUDA_EVENTS_PRIVATE_H
#define CUDA_EVENTS_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cuda/cuda_command.h"
#include "cuda/events.h"

struct recording {
    atomic_uint refs;
    /* under cuda_front.events.lock */
    CUevent event; /* what a wait names: the program's, or `own`; NULL: the record is complete */
    CUevent own;   /* NULL: none; destroyed with the recording */
    bool held, superseded;
    struct command *command; /* a reference while held */
};

/* One reference; NULL: no memory. */
struct recording *recording_new(CUevent event, bool held);
/* NULL is not held. */
bool recording_is_held(const struct recording *recording);
/* Waits until the driver has the record. NULL: it has. */
void recording_await(struct recording *recording);
/*
 * What a wait means that is called now and may reach the driver later: a reference; NULL: no
 * memory.
 */
struct recording *recording_for_wait(CUevent event);
/*
 * The same of an event that another process may record at any moment: an event of our own stands
 * for the record of now. The context in which that is made is current.
 */
struct recording *recording_of_others(CUevent event);

/* The context that the event was made in; NULL: not known. */
struct context_record *event_home(CUevent event);
/* Did the program make the event, and in this context? Then the driver will surely take it. */
bool event_is_known(CUevent event);
bool event_is_of(CUevent event, const struct context_record *context);
/* Does another process have it? Then a record that is held back would look like none there. */
bool event_is_shared(CUevent event);

/*
 * Is the event's newest record in a capture? A stream that waits for it joins the capture. Both
 * changes are made under the lock of events.
 */
bool event_is_captured(CUevent event);
void event_set_captured(CUevent event);
void event_forget_captured(CUevent event);

/* The driver has all that the record must follow. */
CUresult event_record_now(const struct call *call, CUevent event);
/*
 * The draft's call records the event, or waits for it, in the draft's stream, held back. Neither
 * drops the draft's reference to the stream.
 */
CUresult event_record_held(struct cuda_command *draft, CUevent event);
CUresult event_wait_held(struct cuda_command *draft, struct recording *recording);

#endif
