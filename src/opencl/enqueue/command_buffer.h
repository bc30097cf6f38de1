/*
 * cl_khr_command_buffer 0.9, implemented by the layer. A command is recorded with everything that
 * it needs, a kernel with its arguments. An enqueue gives each command to the layer's own entry
 * point. So every recorded command is scheduled like one that the program enqueues itself: under a
 * lease, cut or whole, on one GPU or several. The driver's command buffers are never used; the
 * extension is offered only where the driver has it.
 *
 * A handle is the address of the record, which lives until the program has released it. The
 * record's lock guards the state and the list; a finalized list does not change. Nothing is
 * enqueued with the lock held, because a driver may run callbacks of the program inside the call.
 */
#ifndef OPENCL_ENQUEUE_COMMAND_BUFFER_H
#define OPENCL_ENQUEUE_COMMAND_BUFFER_H

#include <CL/cl_ext.h>

#include "opencl/graph/opencl_command.h"
#include "opencl/opencl_objects.h"

/* One recorded command. */
struct recorded {
    struct opencl_command draft; /* its kind and parameters; no queue */
    cl_kernel kernel;            /* a launch: the layer's kernel object, with the arguments at the call */
    cl_mem *mems;                /* owned references: what it uses, n_mems of them */
    cl_uint n_mems;
    cl_sampler *samplers; /* owned references: n_samplers of a launch's arguments */
    cl_uint n_samplers;
    cl_sync_point_khr *waits; /* owned */
    cl_uint n_waits;
};

struct command_buffer {
    struct object object;
    cl_command_queue queue; /* a reference */
    pthread_mutex_t lock;
    cl_command_buffer_state_khr state;
    bool simultaneous;
    size_t n_properties; /* as given, with the terminating 0; 0: none were given */
    cl_command_buffer_properties_khr properties[3];
    struct recorded *list; /* owned; sync point i + 1 is list[i] */
    size_t n, room;
    unsigned enqueuing; /* threads that replay it at this moment */
    cl_event last;      /* a reference to the latest enqueue's event; NULL: it is over, or there was none */
};

/* Adds a reference, which the caller drops. NULL: not a command buffer of the layer. */
struct command_buffer *command_buffer_find(cl_command_buffer_khr handle);
void command_buffer_unref(struct command_buffer *buffer);
void recorded_done(struct recorded *recorded);

/*
 * The functions of the extension by name; NULL: not one of them. properties: the form with a list
 * of properties, which recording functions have from version 0.9.5 on.
 */
void (*command_buffer_function(const char *name, bool properties))(void);
/* The recording ones among them. */
void (*command_buffer_recorder(const char *name, bool properties))(void);

#endif
