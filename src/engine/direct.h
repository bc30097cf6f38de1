/*
 * Commands that a program's thread gives to the driver at once, without a node in the graph:
 *
 *     if (command_queue_idle(queue) && nothing that it waits for is pending &&
 *         no work of the queue is on another engine && direct_enter(draft, blocking)) {
 *             the driver's call, with a mark;
 *             then one of direct_in_flight(), direct_over() if the call has waited for the end, and
 *             direct_leave() if the driver refused the command
 *     } else make a heap command and give it to the graph (graph_open());
 *
 * draft: a struct command with its first part filled in and resolved (command_resolve()); it need
 * not live longer than the calls.
 */
#ifndef ENGINE_DIRECT_H
#define ENGINE_DIRECT_H

#include <stdbool.h>

#include "engine/command.h"
#include "engine/engine.h"
#include "engine/runtime.h"

/*
 * Enters the command's engine if the command is leased. A thread that blocks until the end waits
 * for the lease; any other thread does not. False: not entered; the command must be queued.
 */
static inline bool direct_enter(const struct command *draft, bool blocking)
{
    struct device_engine *engine = draft->runs_on;

    if (!draft->leased)
        return true;
    if (blocking) {
        engine_enter(engine, &draft->policy, draft->predicted);
        return true;
    }
    return flight_room(engine, &draft->policy, draft->predicted) &&
           engine_try_enter(engine, &draft->policy, draft->predicted);
}

/*
 * The driver has taken the command.
 *
 * direct_over(): the call has waited for the end; leaves the engine. begin_at: when the call began.
 * alone: the call ran nothing else, so its time teaches the bandwidth.
 *
 * direct_in_flight(): the command is in flight. Takes over one reference to the mark.
 */
void direct_over(const struct command *draft, baton_nsec begin_at, bool alone);

static inline void direct_in_flight(const struct command *draft, struct mark *mark)
{
    struct flight flight = {.mark = mark,
                            .device = draft->queue->device,
                            .queue = draft->queue,
                            .kind = draft->engine,
                            .predicted = draft->predicted,
                            .meter = draft->meter,
                            .items = draft->meter ? draft->items : draft->bytes};

    command_queue_works_on(draft->queue, draft->runs_on->kind);
    flight_add(draft->runs_on, &flight);
}

/* The driver refused the command, or it occupies no engine: leaves what direct_enter() entered. */
void direct_leave(const struct command *draft);

#endif
