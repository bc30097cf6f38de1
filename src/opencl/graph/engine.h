/*
 * One engine of a device as this process uses it: the hold on its lease, what is in the driver, and the commands that program threads gave
 * it directly and that are still in flight. Queued commands are its worker's (worker.h).
 *
 * The lease is held by the process as a whole; `users` counts who is on the engine. When the daemon asks to yield, nobody
 * new enters; the last to leave gives the lease back. The same when an equal waits and the hold has lasted for a turn (LEASE_TURN_NS): a
 * program that keeps its pipeline full never leaves by itself, and its equals would wait for ever.
 *
 * Whoever enters says how long its command is predicted to run. A program of the plan has no more in the driver than the plan counts, from all its threads
 * together: who does not fit waits, or asks the worker.
 */
#ifndef OPENCL_GRAPH_ENGINE_H
#define OPENCL_GRAPH_ENGINE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/nsec.h"
#include "opencl/graph/command.h"

struct lease;
struct device_record;

enum { ENGINE_FLIGHT = 256 };

#define ENGINE_PIECE_NS (500 * NSEC_PER_US) /* about how long a piece of a kernel runs */

#define ENGINE_NO_RANK INT_MAX

#define ENGINE_ALONE (2 * ENGINE_PIECE_NS) /* a command of unknown length: in a program of the plan, alone */
#define ENGINE_STAY  INT64_C(-1)           /* no command: only to keep the engine */

struct engine_flight {
    cl_event event;                   /* a reference of ours */
    const struct queue_record *queue; /* only compared */
    bool in_order;
    int64_t predicted;
    struct kernel_record *kernel; /* to be measured by this event, a reference; NULL: not measured */
    size_t items;
};

struct engine {
    struct device_record *device;
    enum engine_kind kind;
    struct lease *lease; /* NULL: no session, always free */

    pthread_mutex_t lock; /* guards the following; a leaf */
    pthread_cond_t changed;
    unsigned users;
    bool held, asking;
    unsigned n_ahead; /* commands of those users, and what they are predicted to take */
    int64_t ahead_ns;
    atomic_llong held_at; /* when this hold began: a turn is counted from there; readable without the lock */
    struct engine_flight flight[ENGINE_FLIGHT]; /* ring of direct commands */
    unsigned flight_first, flight_n;
    bool flight_ordered;    /* all of one in-order queue: the newest is complete only if all are */
    int64_t flight_ns;      /* predicted, of the ring */
    atomic_uint flight_any; /* flight_n, readable without the lock */

    /* graph_lock */
    struct list ready, issued;
    int64_t issued_ns;
    unsigned n_issued;
    bool drain; /* the daemon wants the lease: wait for the ring */
    bool started, stopping;
    bool gone;        /* the worker has ended */
    unsigned calling; /* it is in the program's own code, which may not come back */
    bool left;        /* the process ends without it: from there it touches nothing any more */
    bool driven;      /* a thread is at a step for it: the worker, or one that helps (worker.h) */
    struct command_callback *called; /* left to the worker */
    pthread_cond_t work;
    pthread_t thread;
    int rank;     /* of the worker's thread as it began (client/standing.h); ENGINE_NO_RANK: it has not */
    bool carried; /* of whoever drives: it stays on the engine from one queued command to the next */

    atomic_llong bytes_per_ms; /* measured copy bandwidth; 0: unknown */
    atomic_llong gave_way_at;  /* when somebody more urgent last wanted it; 0: never */
};

void engine_init(struct engine *engine, struct device_record *device, enum engine_kind kind);

/* The copies of the same device in the other direction; NULL for execution. */
struct engine *engine_other_way(struct engine *engine);

/* Enters without waiting: false if the lease is elsewhere or must be given back. */
bool engine_try_enter(struct engine *engine, int64_t ns);
/* Enters, waiting for the grant and for room. */
void engine_enter(struct engine *engine, int64_t ns);
/* With what it entered with. */
void engine_leave(struct engine *engine, int64_t ns);

/* How much a program may have in the driver, by prediction. */
int64_t engine_most_in_flight(void);

/* Is it to be left at the next border, because the daemon asks to yield or the turn is over? One atomic load where nobody waits. */
bool engine_border_asked(const struct engine *engine);
/* Between two pieces, with nothing of this thread in flight any more: gives way and waits until it may go on. */
void engine_give_way(struct engine *engine);

/*
 * How long a chunk of a copy should take. Each boundary costs some 20 us, and two chunks are on their way when somebody more urgent comes: short ones
 * for as long as somebody comes, long ones where nobody did for a while.
 */
int64_t engine_chunk_ns(const struct engine *engine);

/*
 * Notes that the caller, who has entered, gave a command to the driver: the ring leaves the engine when the event is
 * complete. Takes over one reference to the event.
 */
void engine_flight_add(struct engine *engine, const struct engine_flight *flight);
/* Before entering for such a command: is there room in the ring? Where it is full of tiny ones, gives half of them two milliseconds to end. False: ask the worker. */
bool engine_flight_room(struct engine *engine, int64_t predicted);
/* Leaves for all completed ones, oldest first; wait: for all. */
void engine_flight_reap(struct engine *engine, bool wait);

#endif
