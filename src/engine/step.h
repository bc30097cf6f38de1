/*
 * One step for an engine: one command given to the driver, or followed to its end. One thread at a
 * time drives an engine: its worker, or a program's thread that waits (worker.h).
 */
#ifndef ENGINE_STEP_H
#define ENGINE_STEP_H

#include <stdbool.h>

#include "engine/command.h"
#include "engine/command_queue.h"
#include "engine/engine.h"

/* What the calling thread does for engines. */
struct step_thread {
    struct device_engine *driving;       /* the engine that it does a step for */
    struct device_engine *serving;       /* the engine whose worker it is */
    const struct engine_device *helping; /* the device for one of whose queues it waits and helps */
    int rank;                            /* while it helps (client/os_priority.h) */
    bool registered;                     /* the daemon can boost it */
};

extern _Thread_local struct step_thread step_thread;

/* The commands that a program's thread waits for. A worker takes all commands. */
struct helper_wait {
    const struct command_queue *queue;
    const struct command *last; /* NULL: all of the queue */
};

/*
 * With the graph's lock held, unlocked meanwhile: does the next step for the engine. False: there
 * is none for this thread. wait: NULL on a worker.
 */
bool step_run(struct device_engine *engine, const struct helper_wait *wait);

/* With the graph's lock held. */
bool step_has_work(const struct device_engine *engine);
/* The same, on a thread that helps: wakes the workers for what it will not do itself. */
void step_wake_workers(void);

/* Leaves the engine that was kept from one queued command to the next. */
void step_end_stay(struct device_engine *engine);

#endif
