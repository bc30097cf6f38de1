/*
 * The worker of an engine: a thread that gives queued commands to the driver, in order and in
 * pieces, and follows them to their end. For the daemon it also waits for what program threads have
 * in flight (flight.h). Started when first needed.
 *
 * A program's thread that would only wait for such a command does the same in its place
 * (worker_help). Each thread that need not be woken saves 0.05 to 0.1 ms before an urgent result.
 * One thread at a time drives an engine, for one step: one command given to the driver, or followed
 * to its end.
 *
 * The daemon may want the lease while the worker is in a callback of the program. Then the relief,
 * a second thread, does the worker's steps until the callback returns. It is started when first
 * needed.
 */
#ifndef ENGINE_WORKER_H
#define ENGINE_WORKER_H

#include <stdbool.h>

#include "engine/command.h"
#include "engine/command_queue.h"
#include "engine/engine.h"

/* With the graph's lock held: hands over a command whose waits are over. */
void worker_ready(struct device_engine *engine, struct command *command);

/*
 * Does one step for the queue's commands up to `last` (NULL: all), on a program's thread that waits
 * for them. With the graph's lock held, unlocked meanwhile. False: there is no step for this thread
 * now; other threads do the work, and it may sleep. After the last call, and before the lock is
 * unlocked: worker_help_ends().
 */
bool worker_help(const struct command_queue *queue, const struct command *last);
void worker_help_ends(void);

/* Does the calling thread drive the engine? */
bool worker_drives(const struct device_engine *engine);

/*
 * If the calling thread drives an engine, leaves the program's callbacks to the worker, between two
 * steps. The callbacks may need a lock of a thread that waits for the engine. False: the calling
 * thread drives no engine, or the engine has no worker: the calling thread must run them itself.
 */
bool worker_call(struct device_engine *engine, struct command_callback *due);

/*
 * The daemon wants the lease while the program computes: the worker waits for the ring, then the
 * lease goes back.
 */
void worker_drain(struct device_engine *engine);

/* On the thread that drives the engine: waits for everything that the driver has. */
void worker_finish_issued(struct device_engine *engine);

/* At exit, first: ends all waits for grants, and pieces end at their next border. */
void worker_announce_stop(void);
/*
 * Then: lets the workers end at the next border and joins them; queued commands do not run. A
 * worker in program code (a callback, a native function) is left behind. That code may wait for
 * ever for a lock of the exiting thread. So is a worker that is still busy after the patience of
 * its front (driver_ops::exit_patience), since a kernel may never end.
 */
void worker_stop_all(void);
/*
 * The program's code has returned to the thread that called it. Does not return on a worker that
 * was left behind.
 */
void worker_came_back(void);

#endif
