/*
 * The graph of commands that the driver has not been given, or whose end it has not reported, with
 * an edge for each wait. A command is ready when everything that it waits for is done. Then its
 * engine's worker, or a thread that waits for the command, issues it (worker.h). A failed listed
 * wait ends the command with driver_ops::inherited_failure.
 *
 * One lock, runtime.graph.lock. The driver is never called with it held; callbacks of the program
 * run with no lock at all. All functions are called without it unless their name ends in _locked.
 */
#ifndef ENGINE_GRAPH_H
#define ENGINE_GRAPH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/command.h"
#include "engine/command_queue.h"

void graph_init(void);
void graph_lock(void);
void graph_unlock(void);

/* --- submitting --- */

/*
 * Submits a command in three steps, on one thread; others may run in between. graph_open() puts the
 * command behind its queue's order and barriers, and takes a reference of the graph's own. The wait
 * functions add one wait each. After graph_close() threads may run the command at any moment.
 *
 * On an in-order queue the command follows the newest one: at its issue where both use one engine,
 * else at its end. On any other queue it follows the barriers, or everything if
 * command->all_before.
 */
void graph_open(struct command *command);
void graph_wait_command(struct command *command, struct command *other, enum edge_kind kind);
/*
 * Follows all that another in-order queue has now: at the issue of its newest command where both
 * use one engine, else at its end. (CUDA's legacy stream follows each blocking stream in this way,
 * and each blocking stream follows it.)
 */
void graph_wait_last(struct command *command, const struct command_queue *queue);
/* Waits for the end of each command that the queue has now, with or without an error. */
void graph_wait_all(struct command *command, const struct command_queue *queue);
/*
 * Waits for a mark that belongs to no command of the graph. The caller's reference must last during
 * the call. A failure is inherited.
 */
void graph_wait_mark(struct command *command, struct mark *mark);
void graph_close(struct command *command);

/* --- progress: on the thread that drives the engine --- */

/*
 * The driver has the whole command; commands that only need its place in the driver's queue may
 * follow.
 */
void graph_issued(struct command *command);
/* COMMAND_SUBMITTED or COMMAND_RUNNING, with callbacks. */
void graph_progress(struct command *command, int status);
/*
 * Ends the command: COMMAND_COMPLETE or negative. Releases dependents, updates the handle, runs
 * callbacks, wakes waiters. Also for a node without work.
 */
void graph_complete(struct command *command, int status);
/* Ends a command that was never submitted: updates the handle, runs callbacks. */
void graph_end_alone(struct command *command, int status);

/* With the lock held: wakes every waiting thread to see whether it can help. */
void graph_wake_locked(void);

/* --- waiting --- */

/*
 * Waits until the command is complete and returns its status. Drives its engine meanwhile if it
 * may. When the process ends, no wait lasts, and a command that will not run counts as failed.
 */
int graph_wait(struct command *command);
/* Waits until the driver has the command, in the same way. */
void graph_wait_issued(struct command *command);
/*
 * Waits until the driver has every command that the queue has now (and they are complete, if
 * `complete`). Commands of other threads that come later are not waited for.
 */
void graph_wait_queue(struct command_queue *queue, bool complete);
/* Would graph_wait_queue() return at once? */
bool graph_queue_over(struct command_queue *queue, bool complete);
/*
 * Waits until every barrier of the queue is over: a direct call on an out-of-order queue must not
 * overtake one.
 */
void graph_wait_barriers(struct command_queue *queue);

/*
 * Back-pressure, like that of a driver's full ring. The caller waits while so many commands of the
 * queue wait only for their engine that memory would grow without bound. The wait is brief, since
 * the caller may be a callback that the driver needs back.
 */
void graph_throttle(struct command_queue *queue);
/*
 * Waits already at a few commands, and until the driver has all of them, so that the next command
 * can go to the driver directly. Otherwise a thread that queues faster than the worker issues would
 * go through the worker for ever. For short commands of a process that holds the engine undisputed.
 */
void graph_catch_up(struct command_queue *queue);

/* --- looking --- */

int graph_status(struct command *command);
/* True when no command of this process is anywhere in the graph. */
bool graph_idle(void);

/* --- callbacks --- */

/*
 * Registers a callback for callback->at. If that status is already reached, the callback runs
 * before the call returns. The graph owns the callback from here on.
 */
void graph_callback(struct command *command, struct command_callback *callback);
/* Runs the callbacks one after the other, with no lock held. */
void graph_run_callbacks(struct command_callback *due);

#endif
