/*
 * The graph of commands that the driver has not been given, or whose end it has not reported: who waits for whom. A command
 * is ready when everything it waits for is done; a failed wait ends it with
 * CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST. Nothing here calls the driver with the lock held; callbacks of the
 * program run with no lock at all.
 */
#ifndef OPENCL_GRAPH_GRAPH_H
#define OPENCL_GRAPH_GRAPH_H

#include <pthread.h>

#include "opencl/graph/command.h"

struct queue_record;

extern pthread_mutex_t graph_lock;

void graph_init(void);

/* adopt.c: the heap copy of a draft with one reference; NULL: no memory. graph_unref frees it with all that it holds. */
struct command *graph_adopt(const struct command *draft);
void graph_ref(struct command *command);
void graph_unref(struct command *command);
/*
 * Takes out the memory objects that the program has let go of: to release them may run its destructor callbacks, which may want a lock
 * that a thread has which waits for the command. The callbacks of the list do so.
 */
struct command_callback *graph_take_abandoned(struct command *command);
/* Gives back what is needed only until the command has run: arguments, memory objects, the driver's events. */
void graph_let_go(struct command *command);

/* graph.c, from here on. */

/*
 * Puts the command behind what it must wait for: the wait list, its queue's order, barriers. From then on workers may run it at
 * any moment. The driver's own events of the list are watched through callbacks. Takes over no reference.
 */
void graph_submit(struct command *command, cl_uint n_waits, const cl_event *waits);

/* The driver has all of it; commands that only need its place in the driver's queue may follow. */
void graph_issued(struct command *command);
/* CL_SUBMITTED or CL_RUNNING, with callbacks. */
void graph_progress(struct command *command, cl_int status);
/* The end: CL_COMPLETE or negative. Dependents, handle, callbacks, waiters. */
void graph_complete(struct command *command, cl_int status);

/* With graph_lock held: whoever waits looks again whether it can help. */
void graph_stir(void);

/* The handle is known to be this command's as long as somebody holds the record: each reference of the program, each callback. */
void graph_hold_record(struct command *command);
void graph_drop_record(struct command *command);

/* Calls the program, with no lock held, and frees them. */
void graph_run_callbacks(struct command_callback *due);

/* The end of a command that was never submitted: handle, callbacks. */
void graph_end_alone(struct command *command, cl_int status);

/* Waits until the command is complete; its status. */
cl_int graph_wait(struct command *command);
/* Waits until the driver has been given every command of the queue (and they are complete, if `complete`). */
void graph_wait_queue(struct queue_record *queue, bool complete);
/* Until every barrier of the queue is over: what a call that goes to the driver at once must not overtake on an out-of-order queue. */
void graph_wait_barriers(struct queue_record *queue);

/*
 * Back-pressure, as a driver's full ring gives it: while so many commands of the queue wait for nothing but their engine that
 * memory would grow without bound, the caller waits; briefly, since it may be a callback that the driver needs back.
 */
void graph_throttle(struct queue_record *queue);

cl_int graph_status(struct command *command);
/* Registers, or calls at once when the status is already reached. False: no memory. */
bool graph_callback(struct command *command, cl_int at, void(CL_CALLBACK *run)(cl_event, cl_int, void *),
                    void *data);

/* True when no command of this process is anywhere in the graph. */
bool graph_idle(void);

/* In a forked child. */
void graph_forget_locks(void);

#endif
