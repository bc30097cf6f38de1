/*
 * What runs a work's kernels: OpenCL (work.c) or CUDA's driver API (work_cuda.c). A program has one
 * of them. Each also implements work_buffer, work_image, work_launch, work_write, work_read,
 * work_copy and work_fill of workload.h.
 */
#ifndef WORKLOAD_BACKEND_H
#define WORKLOAD_BACKEND_H

#include "workload.h"

/* Ends the program when it fails, as everything here. */
void backend_open(struct work *work, unsigned device);
void backend_close(struct work *work);
/* The buffer's `in` to the device, its `out` from there; asynchronous. */
void backend_write(struct work *work, const struct work_buffer *buffer);
void backend_read(struct work *work, const struct work_buffer *buffer);
void backend_finish(struct work *work);

#endif
