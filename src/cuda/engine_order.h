/*
 * No engine is held while another one works: a command enters its engine when all that comes before
 * it in the driver, and that another engine does, is over. So a copy behind a long kernel does not
 * keep other programs from the copy engine.
 *
 * What comes before is what the stream was given, what the legacy stream's rule puts before it, and
 * what the stream waits for by events. Most commands follow work of their own engine, and a look at
 * the stream's record shows that (engine/command_queue.h: works_on). Else an event behind all of
 * that tells. A call that blocks waits for it without any lease. Other commands are held back; a
 * callback of the driver's then lets them go on, so that no worker waits.
 *
 * Without a daemon nothing is arbitrated, and the driver alone keeps the order.
 */
#ifndef CUDA_ENGINE_ORDER_H
#define CUDA_ENGINE_ORDER_H

#include "cuda/cuda_command.h"
#include "engine/engine.h"

/* Does the command occupy an engine, and may work of another one be before it? False is certain. */
static inline bool engine_order_changes(const struct cuda_command *command)
{
    return command->base.leased && stream_changes_engine(command->stream, command->base.runs_on->kind);
}

/*
 * Is all of that over? blocking: waits for it. False also if another thread gives work to the
 * stream meanwhile. A command that must not wait here is held back then.
 */
bool engine_order_over(const struct cuda_command *draft, bool blocking);

/* driver_ops::add_wait */
bool engine_order_add_wait(struct command *base);

#endif
