/*
 * The errors that an enqueue call must report at once, for commands that cannot go to the driver
 * yet. When the queue is empty the driver itself is asked. tests/opencl/conformance.sh compares
 * both answers for every entry point.
 */
#ifndef OPENCL_GRAPH_OPENCL_VALIDATE_H
#define OPENCL_GRAPH_OPENCL_VALIDATE_H

#include "opencl/graph/opencl_command.h"
#include "opencl/opencl_objects.h"

/* CL_SUCCESS or the code for the draft's own parameters. */
cl_int validate_draft(const struct opencl_command *draft);

/* kind::validate, for the forms of transfers and for each other kind. */
cl_int validate_linear(const struct opencl_command *draft);
cl_int validate_rect(const struct opencl_command *draft);
cl_int validate_image(const struct opencl_command *draft);
cl_int validate_launch(const struct opencl_command *draft);
cl_int validate_native(const struct opencl_command *draft);
cl_int validate_migrate(const struct opencl_command *draft);
cl_int validate_svm_memcpy(const struct opencl_command *draft);
cl_int validate_svm_fill(const struct opencl_command *draft);
cl_int validate_svm_map(const struct opencl_command *draft);
cl_int validate_svm_unmap(const struct opencl_command *draft);
cl_int validate_svm_free(const struct opencl_command *draft);
cl_int validate_svm_migrate(const struct opencl_command *draft);

/* CL_SUCCESS, CL_INVALID_EVENT_WAIT_LIST or CL_INVALID_CONTEXT. */
cl_int validate_waits(const struct queue_record *queue, cl_uint n, const cl_event *waits);

/* The parts that map calls need before they have a draft. */
cl_int validate_mem(const struct queue_record *queue, cl_mem mem, bool image);
cl_int validate_region(cl_mem image, const size_t *origin, const size_t *region);
bool validate_range(cl_mem mem, size_t offset, size_t size);    /* false: outside the object, or empty */
bool validate_host_access(cl_mem mem, bool reads, bool writes); /* do its flags allow that? */

#endif
