/*
 * What batches need of a GPU API. Each API is one file that fills in one table, with a function
 * that opens a device. No other file of this folder knows an API. A device and a kernel are the
 * API's own structs, behind void pointers.
 *
 * Codes are the API's own; 0 is success in all of them. Texts complete a sentence about a stream.
 */
#ifndef CLIENT_BATCH_API_H
#define CLIENT_BATCH_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baton/batch.h"
#include "client/cuda_driver.h"
#include "client/opencl.h"
#include "wire/device_name.h"

struct batch_api {
    const char *(*error_name)(int code);

    /* Undoes connect(), before any device is closed. NULL: nothing to undo. */
    void (*disconnect)(void *device);
    void (*close)(void *device);
    /*
     * The stable name (wire/device_name.h), as the front and the daemon compute it. Returns the
     * value that identifies the device for session_name_device().
     */
    uintptr_t (*device_name)(const void *device, char ret_name[DEVICE_NAME_SIZE]);

    /*
     * The functions from here to kernel_free() are called by the program's thread when it starts a
     * batch, and their counterparts by the batcher's thread.
     */

    /* Can copy() copy from source to target? Prepares the devices for it. */
    bool (*connect)(void *source, void *target);
    /* Checks the memory of a copy and keeps it. NULL, or "the memory that it copies from ...". */
    const char *(*hold)(void *device, const struct baton_place *place, size_t bytes);
    void (*drop)(void *device, const struct baton_place *place);
    /* Copies the kernel with its arguments. NULL, or the error. */
    const char *(*kernel_new)(void *device, const struct baton_kernel *kernel, void **ret_kernel);
    void (*kernel_free)(void *device, void *kernel); /* NULL is accepted */

    /*
     * Called by workers; they return when the driver has finished. The caller lets only one copy in
     * each direction and one kernel of a device run at a time.
     */
    int (*write)(void *device, const struct baton_place *to, const void *from, size_t length);
    int (*read)(void *device, const struct baton_place *from, void *to, size_t length);
    int (*copy)(void *source, const struct baton_place *from, void *target, const struct baton_place *to,
                size_t length);
    /* Does a front count such a copy as work of the target's execution engine? */
    bool (*copy_executes)(const void *source, const void *target);
    int (*launch)(void *device, void *kernel);

    /* Host memory that the driver pins. NULL: none. *ret_handle: what host_free() needs besides. */
    void *(*host_alloc)(void *device, size_t bytes, void **ret_handle);
    void (*host_free)(void *device, void *host, void *handle);
};

extern const struct batch_api batch_opencl;
extern const struct batch_api batch_cuda;

/* The libraries that a batcher uses. NULL: no device of that API can be given. */
struct batch_libraries {
    const struct opencl *cl;
    const struct cuda_driver *cuda;
};

/* 0, or -EINVAL or -ENODEV with a message that follows the node's name. */
int batch_opencl_open(const struct batch_libraries *libraries, const struct baton_gpu *gpu, void **ret_device,
                      char *message, size_t size);
int batch_cuda_open(const struct batch_libraries *libraries, const struct baton_cuda_gpu *gpu,
                    void **ret_device, char *message, size_t size);

#endif
