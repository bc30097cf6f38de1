/* The driver's plain enqueue call of each kind: rows of kinds.h. */
#ifndef OPENCL_GRAPH_GIVE_H
#define OPENCL_GRAPH_GIVE_H

#include "opencl/graph/opencl_command.h"

#define GIVE(name)                                                                                           \
    cl_int give_##name(const struct opencl_command *c, cl_bool blocking, cl_uint n, const cl_event *waits,   \
                       cl_event *event)

GIVE(read);
GIVE(write);
GIVE(copy);
GIVE(fill);
GIVE(read_rect);
GIVE(write_rect);
GIVE(copy_rect);
GIVE(read_image);
GIVE(write_image);
GIVE(copy_image);
GIVE(image_to_buffer);
GIVE(buffer_to_image);
GIVE(fill_image);
GIVE(unmap);
GIVE(migrate);
GIVE(kernel);
GIVE(task);
GIVE(native);
GIVE(marker);
GIVE(barrier);
GIVE(svm_memcpy);
GIVE(svm_fill);
GIVE(svm_map);
GIVE(svm_unmap);
GIVE(svm_free);
GIVE(svm_migrate);

#endif
