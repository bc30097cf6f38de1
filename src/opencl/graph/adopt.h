/*
 * Commands of the graph: made from drafts with all that they need, kept and released; and their
 * events as the program sees them. The graph itself belongs to the engine (engine/graph.h).
 */
#ifndef OPENCL_GRAPH_ADOPT_H
#define OPENCL_GRAPH_ADOPT_H

#include "engine/graph.h"
#include "opencl/graph/opencl_command.h"

/*
 * Fills in a draft that names its kind, queue and parameters: the engine's part, context and type.
 */
void command_prepare(struct opencl_command *draft);

/* The heap copy of a prepared draft with one reference; NULL: no memory. */
struct opencl_command *command_adopt(const struct opencl_command *draft);

/* kind::adopt */
bool adopt_launch(struct opencl_command *command);
bool adopt_native(struct opencl_command *command);
bool adopt_migrate(struct opencl_command *command);
bool adopt_svm_free(struct opencl_command *command);
bool adopt_svm_migrate(struct opencl_command *command);

/* driver_ops::ending and driver_ops::free. */
struct command_callback *command_ending(struct command *command);
void command_free(struct command *command);

/*
 * The handle means this command as long as the record is held: by each reference of the program and
 * by each callback.
 */
void command_hold_record(struct opencl_command *command);
void command_drop_record(struct opencl_command *command);

/*
 * Submits the command behind the events of the list, the layer's and the driver's, and behind its
 * queue's order.
 */
void command_submit(struct opencl_command *command, cl_uint n_waits, const cl_event *waits);

/*
 * Registers a callback of the program, or calls it at once when the status is reached. False: no
 * memory.
 */
bool command_callback(struct opencl_command *command, cl_int at,
                      void(CL_CALLBACK *run)(cl_event, cl_int, void *), void *data);

#endif
