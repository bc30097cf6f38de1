/*
 * libbaton-layer.so: what the loader puts between an OpenCL program and its driver. The driver's table is copied and the
 * entry points that schedule are overridden (entry.h); handles stay the driver's own, our state lives beside them
 * (handle_table.h). The way of a command: an entry point of enqueue/ makes a struct opencl_command (graph/command.h),
 * enqueue/submit.h gives it to the driver at once or to the engine (src/engine/), which calls graph/driver.c back to
 * issue it, whole or in pieces (graph/issue.h, graph/launch.h).
 *
 * Locks, in the order in which they may be nested: kernel / program records -> the engine's (engine/runtime.h) ->
 * handle-table shards. The driver is never called with the graph's lock held.
 */
#ifndef OPENCL_LAYER_H
#define OPENCL_LAYER_H

#include <CL/cl_icd.h>

#include "engine/runtime.h"

extern cl_icd_dispatch target; /* the driver, as the loader gave it to us; written once by clInitLayer */

/* Registers the handler that stops our threads before the driver is torn down: when a queue is made, and after each build. */
void layer_stop_at_exit(void);

#endif
