/*
 * What the demonstration programs share: the first OpenCL device, one in-order queue, one program
 * from source, and a kernel whose result the host can check. Plain OpenCL 1.2; nothing here knows
 * of Baton. Every failure ends the program with exit status 3 and the name of the call.
 */
#ifndef DEMO_DEVICE_H
#define DEMO_DEVICE_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure.h"

struct device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
};

void device_open(struct device *device, const char *source);
void device_close(struct device *device);
cl_kernel device_kernel(struct device *device, const char *name);
cl_mem device_buffer(struct device *device, size_t bytes);
/* Ends the program unless the code is CL_SUCCESS. */
void device_must(cl_int code, const char *call);

/* The source of `turn` (measure.h). */
extern const char DEVICE_TURN[];

#endif
