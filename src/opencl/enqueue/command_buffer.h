/*
 * cl_khr_command_buffer 0.9, done here whatever the driver's own does: commands are recorded with
 * everything that they need, kernels with their arguments, and an enqueue gives each to the layer's
 * own entry point. So every recorded command is scheduled like one that the program enqueues
 * itself: under a lease, cut or whole, on one GPU or several. The driver's command buffers are
 * never used; the extension is there only where the driver has it.
 *
 * A handle is the address of the record. The record lives until the program has released it. Its
 * lock guards the state and the list; one that is finalized does not change any more. Nothing is
 * enqueued with the lock held: a driver may run callbacks of the program inside the call.
 */
#ifndef OPENCL_ENQUEUE_COMMAND_BUFFER_H
#define OPENCL_ENQUEUE_COMMAND_BUFFER_H

#include <CL/cl_ext.h>

#include "opencl/graph/opencl_command.h"
#include "opencl/opencl_objects.h"

/* One recorded command. */
struct recorded {
    struct opencl_command draft; /* its kind and parameters; no queue */
    cl_kernel kernel;            /* of a launch: ours, with the arguments of that moment */
    cl_mem *mems;                /* owned references: what it uses, n_mems of them */
    cl_uint n_mems;
    cl_sync_point_khr *waits; /* owned */
    cl_uint n_waits;
};

struct command_buffer {
    atomic_uint refs, app_refs;
    cl_command_queue queue; /* a reference */
    pthread_mutex_t lock;
    cl_command_buffer_state_khr state;
    bool simultaneous;
    size_t n_properties; /* as given, with the 0 behind; 0: none were given */
    cl_command_buffer_properties_khr properties[3];
    struct recorded *list; /* owned; sync point i + 1 is list[i] */
    size_t n, room;
    unsigned enqueuing; /* threads that replay it at this moment */
    cl_event last;      /* a reference: the latest enqueue's; NULL: over, or never */
};

/* Those that the program holds. In struct opencl_front (layer.h). */
struct command_buffers {
    pthread_mutex_t lock; /* a leaf: the list, and references taken from it */
    struct listed_buffer *all;
};

/* Kept by find; give back. NULL: not one of ours. */
struct command_buffer *command_buffer_find(cl_command_buffer_khr handle);
void command_buffer_unref(struct command_buffer *buffer);
void recorded_done(struct recorded *recorded);

/*
 * The functions of the extension by name; NULL: not one of them. properties: with the list of
 * properties that recording functions have from version 0.9.5 on.
 */
void (*command_buffer_function(const char *name, bool properties))(void);
/* The recording ones among them. */
void (*command_buffer_recorder(const char *name, bool properties))(void);

#endif
