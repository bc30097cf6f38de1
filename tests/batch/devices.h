/*
 * Two OpenCL devices in contexts of their own, a topology for them, and streams with real memory
 * behind them.
 */
#ifndef TESTS_BATCH_DEVICES_H
#define TESTS_BATCH_DEVICES_H

#include "baton/batch.h"
#include "client/batch/batcher.h"
#include "wire/device_name.h"

struct devices {
    struct opencl cl; /* a copy of the loader's functions: tests may replace some */
    cl_device_id device[2];
    cl_context context[2];
    cl_program program[2];
    char topology[96]; /* path of the file */
};

/*
 * Ends the test as failed when the machine has no two devices. The text is written to a temporary
 * file.
 */
void devices_open(struct devices *devices, const char *topology);
void devices_close(struct devices *devices);

/* Batcher over devices->cl with GPU0 and GPU1. */
struct baton_batcher *devices_batcher(struct devices *devices, enum baton_method method, const char *emulate,
                                      double ratio);

cl_mem devices_buffer(struct devices *devices, int device, size_t bytes);

/* `add`: out[i] += value, over n ints. */
cl_kernel devices_kernel(struct devices *devices, int device, const char *name);

/* join_hooks::name_device of a process without a front: every name is as the batch says. */
void devices_keep_name(uintptr_t device, char name[DEVICE_NAME_SIZE]);

/* Two GPUs behind one hub, both ways, fast enough not to matter. */
extern const char devices_fast[];

#endif
