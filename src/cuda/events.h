/*
 * Events of the program: one record for each, from its creation to its end, so that no memory is
 * needed when it is used. A record of work that goes to the driver at once needs nothing more: the
 * driver knows. A record that is held back is a `recording` (event_recording.h). Until the driver
 * has it, the event is not ready, whatever the driver says about an older record of it.
 *
 * Two orders. The newest recording is that of the program's last call. The named one is what the
 * driver has under the event's name; an older one that was held back never gets there. The launch
 * of a graph records events under their names only: what records such an event later is held back
 * behind the launch.
 *
 * Locks. An event's own lock is held over each call of the driver that records the event, or waits
 * for a recording, perhaps under the event's name. Several are taken in the order of their
 * addresses. cuda_front.events.lock guards what queries look at; nothing is called under it.
 */
#ifndef CUDA_EVENTS_H
#define CUDA_EVENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/refs.h"
#include "cuda/entries.h"
#include "engine/command.h"
#include "engine/handle_table.h"

struct context_record;
struct cuda_command;
struct recording;

struct event_record {
    struct refs refs;
    CUevent handle;
    CUcontext owner; /* in which the program made it; NULL: another process made it */
    /* another process has it, to which a record that is held back would look like none */
    atomic_bool shared;
    /* its newest record is in a capture; a stream that waits for it joins that */
    atomic_bool captured;

    pthread_mutex_t lock;    /* guards the following */
    struct recording *named; /* a reference; NULL: nothing of ours waits for what the driver has */

    /* cuda_front.events.lock guards the following */
    /*
     * a reference; NULL: the driver has it, and nothing of ours waits for it; may be compared with
     * NULL without the lock
     */
    struct recording *_Atomic newest;
    /*
     * the newest launch of a graph that is held back and records the event, until it is given; may
     * be compared with NULL without the lock
     */
    struct command *_Atomic launch;
    unsigned n_launches; /* held-back launches whose nodes name the event: the driver keeps it so long */
    bool ended;          /* the program has destroyed it */
    bool ends_late;      /* the driver is told when the last such launch is over */
};

void events_init(void);

/* A reference; NULL: neither made nor opened by a call that was seen. */
struct event_record *event_find(CUevent handle);
void event_keep(struct event_record *event);
void event_drop(struct event_record *event);

/* The context that the event was made in; NULL: not known. */
struct context_record *event_home(const struct event_record *event);
/* Did the program make the event in this context? Then the driver will surely take it. NULL: no. */
bool event_is_of(const struct event_record *event, const struct context_record *context);
/* NULL is not shared, nor captured. */
bool event_is_shared(const struct event_record *event);
bool event_is_captured(const struct event_record *event);

/* A launch whose nodes name the event is held back, and is given or gone. */
void event_named_by_launch(struct event_record *event);
void event_not_named(struct event_record *event);

/* The front's events (cuda_front.events). */
struct cuda_events {
    struct handle_table table; /* event -> its record, a reference */
    pthread_mutex_t lock;      /* a leaf: guards parts of events and of recordings */
};

#endif
