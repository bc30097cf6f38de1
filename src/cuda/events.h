/*
 * Events of the program. A record that goes to the driver at once needs nothing here: the driver
 * knows. A record that is held back is a `recording`: until the driver has it, the event is not
 * ready, whatever the driver says about an older record of it.
 *
 * A wait means the newest record at the time of its call. A wait that is held back therefore keeps
 * the recording, not the event: if the program records the event again, or destroys it, meanwhile,
 * the recording gets an event of our own that stands at the same place.
 *
 *     HELD --(the driver has the record)--> GIVEN
 *
 * One lock for all events, under which the driver is called; nothing else is taken inside.
 */
#ifndef CUDA_EVENTS_H
#define CUDA_EVENTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "cuda/entries.h"
#include "engine/command.h"
#include "engine/handle_table.h"

struct recording;

void events_init(void);

/* References. */
void recording_keep(struct recording *recording);
void recording_drop(struct recording *recording);

/* A heap command that records, or that waits, is on its way into the graph. */
void recording_held_by(struct recording *recording, struct command *command);
void recording_wait(struct recording *recording, struct command *command);

/* On the thread that drives the engine: the driver's calls. */
CUresult recording_issue(struct recording *recording, const struct call *call);
CUresult recording_issue_wait(struct recording *recording, const struct call *call);

/* A launch is about to record the event, on the calling thread. captured: the launch is a node. */
void event_recorded_by_launch(CUevent event, bool captured, bool external);

/* The front's events (cuda_front.events). */
struct cuda_events {
    struct handle_table table;    /* the program's event -> its newest recording, a reference */
    struct handle_table owners;   /* ... -> the context that it was made in */
    struct handle_table shared;   /* events that another process may record -> themselves */
    struct handle_table captured; /* events whose newest record is in a capture -> themselves */
    atomic_bool any_shared, any_captured;
    pthread_mutex_t lock;
};

#endif
