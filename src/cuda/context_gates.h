/*
 * Gates: waits of whole contexts, ordinary and green, for an event (context_events.c). Each stream
 * of the context passes a gate before the next thing that it is given, by a wait of its own. What
 * the stream was given before does not wait. Streams that come later pass the gate, too. A gate
 * ends when its event is complete, or when the process holds nothing back: the driver then waits in
 * the gate's place.
 */
#ifndef CUDA_CONTEXT_GATES_H
#define CUDA_CONTEXT_GATES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/list.h"
#include "cuda/objects.h"

struct event_record;

/* The streams that a call is about. */
struct context_group {
    struct context_record *context; /* of the event, or of the calling thread, if `green` is set */
    CUgreenCtx green;               /* NULL: all streams of the context */
    bool primary;                   /* the context is its device's primary one: green ones belong to it */
};

/* Streams with a reference each. */
struct stream_set {
    struct stream_record **streams; /* owned */
    size_t n, room;
    bool failed; /* no memory: some are missing */
};

/* The streams of the group that hold something back. */
void group_held(const struct context_group *group, struct stream_set *ret_set);
void stream_set_done(struct stream_set *set);

/*
 * What the group is given from now on waits for the event's newest record. The program made the
 * event, or another process shares it. False: no memory.
 */
bool gates_open(const struct context_group *group, struct event_record *event);

/* Is there any gate? */
bool gates_any(void);

/* Puts the waits for the gates into the stream; front.h has gates_pass(), which comes first. */
void gates_wait(struct stream_record *stream);

/*
 * Nothing is held back: the driver waits in the place of each gate. all: also of those whose event
 * another process records, because contexts end. What follows such a wait would hold its engine
 * until that process has acted, so else these gates stay.
 */
void gates_hand_over(bool all);

/* The gates of the process (cuda_front.gates). */
struct cuda_gates {
    pthread_mutex_t lock;         /* guards the following; before a context's lock and that of events */
    struct list open;             /* struct context_gate */
    atomic_uint_least64_t newest; /* the number of the newest gate; 0: there was none */
};

#endif
