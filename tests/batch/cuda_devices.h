/*
 * Three CUDA devices (the CPU device, BATON_CUDA_CPU_DEVICES=3) as GPU0 to GPU2 of a topology, with
 * a context of their own each, two kernels, and memory.
 */
#ifndef TESTS_BATCH_CUDA_DEVICES_H
#define TESTS_BATCH_CUDA_DEVICES_H

#include "baton/batch.h"
#include "client/batch/batcher.h"
#include "cuda_abi/driver_calls.h"

#define CUDA_DEVICES 3
#define CUDA_WORDS   ((size_t)4096)
#define CUDA_BYTES   (CUDA_WORDS * sizeof(int))
#define CUDA_BLOCK   64

struct cuda_devices {
    CUcontext context[CUDA_DEVICES]; /* none is current */
    CUmodule module[CUDA_DEVICES];
    CUfunction add[CUDA_DEVICES];     /* (address, int value): each word += value */
    CUfunction reverse[CUDA_DEVICES]; /* (address): the words of a block, through shared memory */
    CUdeviceptr memory[CUDA_DEVICES]; /* CUDA_BYTES each */
    int *up, *down;                   /* CUDA_BYTES each */
    CUdeviceptr address;              /* parameters of the latest cuda_kernel() */
    int value;
    struct baton_arg args[2];
    char topology[96]; /* path of the file */
};

/* MEM0 and GPU0 to GPU3, each with links to and from a hub; each GPU has one to itself. */
extern const char cuda_devices_topology[];
extern const char cuda_devices_kernels[]; /* PTX */

/* Ends the test as failed without three devices. */
void cuda_devices_open(struct cuda_devices *devices);
void cuda_devices_close(struct cuda_devices *devices);

/* Batcher over the process's own libraries and session, with GPU0 to GPU2. */
struct baton_batcher *cuda_devices_batcher(const struct cuda_devices *devices, enum baton_method method);

/* Copies of CUDA_BYTES. */
struct baton_stream cuda_devices_up(const struct cuda_devices *devices, int to);
struct baton_stream cuda_devices_down(const struct cuda_devices *devices, int from);
/* `add` over CUDA_WORDS words at the address. One at a time: the arguments live in *devices. */
struct baton_kernel cuda_devices_add(struct cuda_devices *devices, int device, CUdeviceptr address,
                                     int value);

const char *cuda_devices_node(int device); /* "GPU0" */

/* Memory of a device, read and written by the program itself. */
void cuda_devices_read(const struct cuda_devices *devices, int device, CUdeviceptr from, void *to,
                       size_t bytes);
void cuda_devices_write(const struct cuda_devices *devices, int device, CUdeviceptr to, const void *from,
                        size_t bytes);

#endif
