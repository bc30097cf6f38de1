/*
 * Is a command surely valid, so that the driver need not be asked before the call returns? "No"
 * only means that the call waits for its turn and gets the driver's own answer.
 */
#ifndef CUDA_VALIDATE_H
#define CUDA_VALIDATE_H

#include "cuda/cuda_command.h"

/* By the command's kind (cuda_kinds.h). */
bool validate_command(const struct cuda_command *command);

/* For the rows of kinds. */
bool validate_cuda_launch(const struct cuda_command *command);
bool validate_cuda_copy(const struct cuda_command *command);
bool validate_told(const struct cuda_command *command); /* the handler has looked: cuda_command::valid */

/* Does a device range lie within one allocation? */
bool validate_device_range(CUdeviceptr address, size_t size);

/*
 * Does the driver know the memory that a call names as the host's? It may be pinned, managed or of
 * a device: copies are asynchronous and read or write it in stream order.
 */
bool validate_known(const void *memory);

/* Does the driver take the address for memory of a device? Managed memory counts. */
bool validate_is_device(CUdeviceptr address);

/* An aligned word that streams can wait for and write: of a device, or of the host and pinned. */
bool validate_word(CUdeviceptr address, size_t size);

/* Managed memory. */
bool validate_managed(CUdeviceptr address);

/* A two-dimensional copy between pitched memory of devices and memory that the driver knows. */
bool validate_copy_2d(const CUDA_MEMCPY2D *about);

#endif
