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
 * Puts the command behind its queue's order and barriers, then behind each wait that is named until
 * graph_close(): from there on threads may run it at any moment. The graph takes a reference of its
 * own. The three calls are one thread's; others may run in between.
 *
 * graph_open: on an in-order queue the command follows the newest one (at its issue where both use
 * one engine, else at its end); on any other, the barriers, or everything if command->all_before.
 */
void graph_open(struct command *command);
void graph_wait_command(struct command *command, struct command *other, enum edge_kind kind);
/* The end of each command that the queue has now, with or without an error. */
void graph_wait_all(struct command *command, const struct command_queue *queue);
/*
 * A mark that no command of the graph has. The caller's reference must last during the call. A
 * failure is inherited.
 */
void graph_wait_mark(struct command *command, struct mark *mark);
void graph_close(struct command *command);

/*
 * The newest incomplete command of the queue, with a reference, or NULL. A command of another queue
 * waits for it to follow everything submitted to this in-order queue so far. (CUDA's legacy stream
 * waits so for each blocking stream, and they wait so for it.)
 */
struct command *graph_last(struct command_queue *queue);

/* --- progress: on the thread that drives the engine --- */

/*
 * The driver has the whole command; commands that only need its place in the driver's queue may
 * follow.
 */
void graph_issued(struct command *command);
/* COMMAND_SUBMITTED or COMMAND_RUNNING, with callbacks. */
void graph_progress(struct command *command, int status);
/*
 * Ends the command: COMMAND_COMPLETE or negative. Serves dependents, handle, callbacks, waiters.
 * Also for a node without work.
 */
void graph_complete(struct command *command, int status);
/* Ends a command that was never submitted: handle, callbacks. */
void graph_end_alone(struct command *command, int status);

/* With the lock held: wakes every waiting thread to see whether it can help. */
void graph_wake_locked(void);

/* --- waiting --- */

/*
 * Waits until the command is complete and returns its status. Drives its engine meanwhile if it
 * may. When the process ends no wait lasts, and a command that will not run has failed.
 */
int graph_wait(struct command *command);
/* Waits until the driver has every command of the queue (and they are complete, if `complete`). */
void graph_wait_queue(struct command_queue *queue, bool complete);
/* Is there nothing that graph_wait_queue would wait for? */
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
 * The same at a few commands, and until the driver has all of them, so that the next one can go to
 * the driver directly: a thread that queues faster than the worker issues would go through the
 * worker for ever. For short commands of a process that holds the engine undisputed.
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
