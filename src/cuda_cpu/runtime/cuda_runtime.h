/*
 * libcudart.so.13 on top of the driver API: the calls of a compiled .cu file and of ordinary
 * programs. Each thread has a current device. The device's primary context is made current when the
 * thread first needs it. As documented, the last error belongs to the thread.
 *
 * This library calls libcuda.so.1 through the dynamic loader, like any program. So a library in
 * front of the driver (libbaton-cuda.so) sees these calls.
 */
#ifndef CUDA_CPU_RUNTIME_RUNTIME_H
#define CUDA_CPU_RUNTIME_RUNTIME_H

#include <stdbool.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/runtime_abi.h"

#define RUNTIME_EXPORT __attribute__((visibility("default")))

/* If this is an error, stores it as the thread's last error. Answers it. */
cudaError_t runtime_end(cudaError_t error);
cudaError_t runtime_end_driver(CUresult code);

/* Initialises the driver and makes the primary context of the thread's device current. */
cudaError_t runtime_begin(void);
/* The same without a context: for calls about devices. */
cudaError_t runtime_begin_driver(void);

int runtime_device(void); /* the thread's */

/* registry.c: what compiled files have registered. */
cudaError_t registry_kernel(const void *host, CUkernel *ret_kernel); /* cudaErrorInvalidDeviceFunction */
cudaError_t registry_symbol(const void *host, CUdeviceptr *ret_address,
                            size_t *ret_size); /* cudaErrorInvalidSymbol */

/*
 * Compiled files ask for a kernel once and ignore the answer. This is why the kernel of the latest
 * such request is missing.
 */
cudaError_t registry_failure(void);
/* The host function of the kernel; NULL: none. */
const void *registry_host(CUkernel kernel);

/* copy_rt.c: copies in the driver's words. */
cudaError_t copy_3d_to_driver(const cudaMemcpy3DParms *asked, CUDA_MEMCPY3D *ret_copy);
cudaError_t copy_line_to_driver(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                                CUDA_MEMCPY3D *ret_copy);

/* array_rt.c */
bool channel_to_format(const cudaChannelFormatDesc *about, CUarray_format *ret_format,
                       unsigned *ret_channels);

/* A call that becomes one call of the driver, in the thread's context. */
#define RUNTIME_CALL(call)                                                                                   \
    do {                                                                                                     \
        cudaError_t begun = runtime_begin();                                                                 \
                                                                                                             \
        return begun == cudaSuccess ? runtime_end_driver(call) : runtime_end(begun);                         \
    } while (0)

#endif
