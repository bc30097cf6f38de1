/*
 * The functions of CUDA's driver API that the client library uses, found at run time. So a program
 * that links libbaton also starts without CUDA. Under `baton run` these are functions of the front,
 * so batches are scheduled.
 */
#ifndef CLIENT_CUDA_DRIVER_H
#define CLIENT_CUDA_DRIVER_H

#include "cuda_abi/driver_calls.h"

#define CUDA_DRIVER_FUNCTIONS(F)                                                                             \
    F(cuInit)                                                                                                \
    F(cuCtxDisablePeerAccess)                                                                                \
    F(cuCtxEnablePeerAccess)                                                                                 \
    F(cuCtxGetCurrent)                                                                                       \
    F(cuCtxGetDevice)                                                                                        \
    F(cuCtxPopCurrent_v2)                                                                                    \
    F(cuCtxPushCurrent_v2)                                                                                   \
    F(cuCtxSynchronize)                                                                                      \
    F(cuDeviceCanAccessPeer)                                                                                 \
    F(cuDeviceGetPCIBusId)                                                                                   \
    F(cuDevicePrimaryCtxRelease_v2)                                                                          \
    F(cuDevicePrimaryCtxRetain)                                                                              \
    F(cuLaunchKernel)                                                                                        \
    F(cuMemFreeHost)                                                                                         \
    F(cuMemHostAlloc)                                                                                        \
    F(cuMemcpyDtoDAsync_v2)                                                                                  \
    F(cuMemcpyDtoHAsync_v2)                                                                                  \
    F(cuMemcpyHtoDAsync_v2)                                                                                  \
    F(cuMemcpyPeerAsync)                                                                                     \
    F(cuPointerGetAttribute)                                                                                 \
    F(cuStreamCreate)                                                                                        \
    F(cuStreamDestroy_v2)                                                                                    \
    F(cuStreamSynchronize)

/* Newer ones: NULL where the driver lacks them. */
#define CUDA_DRIVER_NEWER(F)                                                                                 \
    F(cuCtxGetId)                                                                                            \
    F(cuFuncGetParamInfo)                                                                                    \
    F(cuKernelGetParamInfo)

struct cuda_driver {
#define CUDA_DRIVER_MEMBER(name) __typeof__(&(name)) name;
    CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_MEMBER)
    CUDA_DRIVER_NEWER(CUDA_DRIVER_MEMBER)
#undef CUDA_DRIVER_MEMBER
};

/*
 * The functions of libcuda.so.1, found once. NULL if there is none or it lacks one that is needed.
 * Never unloaded.
 */
const struct cuda_driver *cuda_driver_get(void);

/* "CUDA_ERROR_INVALID_VALUE", or "an unknown CUDA error". */
const char *cuda_driver_error_name(int code);

#endif
