/*
 * Commands in flight: given to the driver by program threads that did not wait for their end. A
 * ring per engine, oldest first. Each command stays a user of the engine (engine.h) until its mark
 * is seen to be over. Commands of one kernel that share a mark share an entry. Any thread may query
 * the marks, and leaves the engine for entries that are over.
 */
#ifndef ENGINE_FLIGHT_H
#define ENGINE_FLIGHT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/command.h"
#include "engine/command_queue.h"

struct device_engine;
struct engine_device;

enum { FLIGHT_ROOM = 256 };

struct flight {
    struct mark *mark; /* a reference of the ring's */
    /* device of its queue: gives the front of mark and meter, and the clock */
    struct engine_device *device;
    const struct command_queue *queue; /* valid while it is added */
    uint64_t queue_number;             /* flight_add() fills it in */
    int64_t predicted;                 /* predicted ns that the engine was entered with */
    /* measured by this mark, a reference; NULL: not measured */
    struct meter *meter;
    size_t items;          /* items that the meter counts in it, or bytes of a copy */
    enum engine_kind kind; /* the kind that it is reported as */
    unsigned n_commands;   /* commands in this entry */
};

struct flight_ring { /* under the engine's lock */
    struct flight entries[FLIGHT_ROOM];
    unsigned first, n;
    unsigned n_commands; /* of all entries */
    /* all of one in-order queue, and noted by one thread: the newest is complete only if all are */
    bool ordered;
    pthread_t thread; /* noted the oldest */
    int64_t ns;       /* predicted time of the ring */
    atomic_uint any;  /* n, readable without the lock */
    struct mark_listener listener;
};

void flight_init(struct device_engine *engine);

/*
 * Notes that the caller, which has entered, gave one command to the driver. The ring leaves the
 * engine when the mark is over. Takes over the reference to the mark.
 */
void flight_add(struct device_engine *engine, const struct flight *flight);

/*
 * Before entering for a command with that policy: is there room in the ring? If the ring is full
 * of tiny commands, gives half of them a moment to end. False: the worker must issue the command.
 */
bool flight_room(struct device_engine *engine, const struct policy *policy, int64_t predicted);

/*
 * The ring has no room for a command of that length. Gives its older half at most two milliseconds
 * to end, so that the driver stays busy meanwhile. Is there room now? For callers that know that
 * all of the ring is short.
 */
bool flight_make_room(struct device_engine *engine, const struct policy *policy, int64_t predicted);

/* Leaves the engine for all complete commands, oldest first; wait: waits for all. */
void flight_reap(struct device_engine *engine, bool wait);

/* Under the engine's lock, which it unlocks and locks. */
void flight_reap_locked(struct device_engine *engine, bool wait);

/*
 * The newest mark, with a reference, that the queue has in the ring of another engine, of any
 * device; NULL: all of that is over.
 */
struct mark *flight_elsewhere(const struct device_engine *engine, const struct command_queue *queue);

/* Is anything in flight? One atomic load. */
bool flight_any(const struct device_engine *engine);

#endif
