/*
 * libbaton-layer.so, which the loader puts between an OpenCL program and its driver. The layer
 * copies the driver's table and overrides the entry points that schedule (entry.h). Handles stay
 * the driver's own; the layer's records lie beside them (engine/handle_table.h).
 *
 * The path of a command: an entry point of enqueue/ makes a struct opencl_command
 * (graph/opencl_command.h). enqueue/opencl_submit.h gives it to the driver at once, or to the
 * engine (src/engine/). The engine calls opencl_driver.c back to issue it, whole or in pieces
 * (graph/opencl_issue.h, graph/kernel_launch.h).
 *
 * Locks: ARCHITECTURE.md has their order. The driver is never called with the graph's lock held.
 */
#ifndef OPENCL_LAYER_H
#define OPENCL_LAYER_H

#include <CL/cl_icd.h>

#include "engine/runtime.h"
#include "opencl/enqueue/command_buffer.h"
#include "engine/handle_table.h"
#include "opencl/program/known_binaries.h"
#include "opencl/program/twin.h"
#include "opencl/quirks/widening.h"
#include "opencl/spread/spread_state.h"

/* The state of the OpenCL front in a process, beside the engine's (engine/runtime.h). */
struct opencl_front {
    /* the driver's table, from the loader; written once by clInitLayer */
    cl_icd_dispatch target;
    cl_icd_dispatch table; /* the table that the loader calls; written once */

    /* of records that begin with struct object */
    struct handle_table queues, mems, kernels, programs, samplers, command_buffers;
    struct handle_table events;   /* struct opencl_command of the layer's handles */
    pthread_mutex_t devices_lock; /* one device is made at a time */
    struct opencl_device *_Atomic devices;

    atomic_uint task_type; /* graph/kernel_launch.h */
    struct twin_builder builder;
    struct known_binaries_mark mark;
    struct widening_state widening;
    struct spread_state spread;
};

extern struct opencl_front front;

/* Exported, for libbaton.so (client/join.h). */
struct join_hooks;
const struct join_hooks *baton_join(void);

#endif
