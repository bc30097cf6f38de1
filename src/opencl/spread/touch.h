/* Which buffers a command touches, and how. */
#ifndef OPENCL_SPREAD_TOUCH_H
#define OPENCL_SPREAD_TOUCH_H

#include "opencl/opencl_objects.h"
#include "spread/ranges.h"

struct translate_kernel;

struct touch {
    struct mem_record *mem; /* borrowed for the visit */
    struct range range;     /* in its root */
    bool reads, writes;
    cl_uint arg; /* of a launch */
};

/*
 * Visits every known memory object of the command, until a visit answers false; answers that too.
 * about: what is known of a launch's kernel; NULL: each argument may be read and written. Works on
 * drafts and on commands of the graph.
 */
bool touch_each(const struct opencl_command *command, const struct translate_kernel *about,
                bool (*visit)(const struct touch *touch, void *data), void *data);

#endif
