/*
 * The engines of a device: what a lease covers, and what a command occupies. The numbers are part
 * of the frames.
 */
#ifndef WIRE_ENGINE_KIND_H
#define WIRE_ENGINE_KIND_H

enum engine_kind {
    ENGINE_EXECUTION, /* kernels */
    ENGINE_COPY_IN,   /* host to device, and its bus */
    ENGINE_COPY_OUT,  /* device to host; the same engine as ENGINE_COPY_IN on a device with one copy engine */
    ENGINE_N
};

#endif
