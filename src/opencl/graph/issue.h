/* Commands in the driver's language: one call per kind, whole or as chunks. */
#ifndef OPENCL_GRAPH_ISSUE_H
#define OPENCL_GRAPH_ISSUE_H

#include "opencl/graph/command.h"
#include "opencl/graph/engine.h"

/*
 * The driver's own enqueue call for the command, with the program's kernel object while a draft. A NULL event list and event
 * are allowed. Not for COMMAND_MAP of the program's threads (enqueue_map.c).
 */
cl_int issue_whole(const struct command *command, cl_bool blocking, cl_uint n_waits, const cl_event *waits,
                   cl_event *ret_event);

/*
 * On a worker (or on a thread that is about to block anyway) that has entered the engine: gives everything to the driver,
 * giving way between pieces when asked; command->first_event and driver_event are set.
 */
cl_int issue_command(struct engine *engine, struct command *command);

/* Bytes a transfer moves; 0: not a transfer that can be cut. */
size_t issue_bytes(const struct command *command);
/* The largest chunk for it; SIZE_MAX: whole. */
size_t issue_chunk(const struct command *command);
/* One measurement of a transfer. */
void issue_learn(struct engine *engine, size_t bytes, int64_t ns);
/* Expected nanoseconds of a transfer. */
int64_t issue_predict(const struct engine *engine, size_t bytes);

/*
 * Direct commands that are complete, oldest first: what follows closely is reported as one
 * run from the first one's start to the last one's end, and the last kernel's own length is learnt.
 */
void issue_measure_run(struct engine *engine, unsigned n, const struct engine_flight flights[]);
/* One run on the engine, for the trace and the statistics. */
void issue_report(struct engine *engine, baton_nsec begin_at, baton_nsec end_at);
/* The same of a draft that the caller gave to the driver whole. */
void issue_report_draft(struct engine *engine, const struct command *draft, baton_nsec begin_at,
                        baton_nsec end_at);
/* The same of what a command ran since its engine was last given away, by the times of its pieces. */
void issue_report_run(struct engine *engine, struct command *command);
/* Fills command->times from its events, in the driver's clock, and measures. */
void issue_read_times(struct engine *engine, struct command *command);

/* The first part of it: only the times. */
void issue_event_times(struct command *command);

/* At most two pieces are in flight; the third waits for the first. Pieces report their event here. */
struct issue_pipe {
    struct engine *engine;
    struct command *command;
    cl_event last;            /* the piece before the newest; not yet waited for */
    size_t last_items, items; /* of that one and of the newest, bytes of a transfer; 0: not to be measured */
};
void issue_pipe_begin(struct issue_pipe *pipe, struct engine *engine, struct command *command);
/* Before each piece: waits until at most one is in flight, and gives way if asked. */
void issue_pipe_turn(struct issue_pipe *pipe);
void issue_pipe_add(struct issue_pipe *pipe, cl_event event, size_t items);
/* Waits for what is in flight, and reports what ran since the engine was last given away: while another client has it, nothing does. */
void issue_pipe_report(struct issue_pipe *pipe);
/* After the last piece: the one before it is over too, and only the newest may be in flight. */
void issue_pipe_finish(struct issue_pipe *pipe);
/* After a failure: waits for what is in flight. */
void issue_pipe_abandon(struct issue_pipe *pipe);

#endif
