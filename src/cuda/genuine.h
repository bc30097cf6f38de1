/*
 * The genuine libcuda.so.1: found without finding ourselves, opened when first needed, never
 * closed.
 *
 * Which one: BATON_CUDA_LIBRARY if it is set (`baton run` sets it); else the first libcuda.so.1
 * that the dynamic loader would find: LD_LIBRARY_PATH, the loader's cache, its default folders. A
 * file that is this library itself is passed over. dlopen() by name cannot be used: a library of
 * that name is loaded already, and it is this one.
 */
#ifndef CUDA_GENUINE_H
#define CUDA_GENUINE_H

#include <stdbool.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"

#define GENUINE_VARIABLE "BATON_CUDA_LIBRARY"
#define GENUINE_NAME     "libcuda.so.1"

/* The driver's functions that the front itself calls. One that a driver lacks is NULL. */
#define GENUINE_FUNCTIONS(F)                                                                                 \
    F(cuCtxCreate_v2)                                                                                        \
    F(cuCtxGetCurrent)                                                                                       \
    F(cuCtxGetDevice)                                                                                        \
    F(cuCtxPopCurrent_v2)                                                                                    \
    F(cuCtxPushCurrent_v2)                                                                                   \
    F(cuCtxSetCurrent)                                                                                       \
    F(cuCtxSynchronize)                                                                                      \
    F(cuCtxWaitEvent)                                                                                        \
    F(cuDeviceCanAccessPeer)                                                                                 \
    F(cuDeviceGetAttribute)                                                                                  \
    F(cuDeviceGetCount)                                                                                      \
    F(cuDeviceGetName)                                                                                       \
    F(cuDeviceGetPCIBusId)                                                                                   \
    F(cuDevicePrimaryCtxGetState)                                                                            \
    F(cuDevicePrimaryCtxRelease_v2)                                                                          \
    F(cuDevicePrimaryCtxRetain)                                                                              \
    F(cuEventCreate)                                                                                         \
    F(cuEventDestroy_v2)                                                                                     \
    F(cuEventElapsedTime)                                                                                    \
    F(cuEventQuery)                                                                                          \
    F(cuEventRecord)                                                                                         \
    F(cuEventSynchronize)                                                                                    \
    F(cuFuncGetAttribute)                                                                                    \
    F(cuFuncGetModule)                                                                                       \
    F(cuFuncGetName)                                                                                         \
    F(cuFuncGetParamInfo)                                                                                    \
    F(cuFuncSetAttribute)                                                                                    \
    F(cuGraphChildGraphNodeGetGraph)                                                                         \
    F(cuGraphEventRecordNodeGetEvent)                                                                        \
    F(cuGraphEventWaitNodeGetEvent)                                                                          \
    F(cuGraphExecGetFlags)                                                                                   \
    F(cuGraphGetNodes)                                                                                       \
    F(cuGraphNodeGetType)                                                                                    \
    F(cuGreenCtxWaitEvent)                                                                                   \
    F(cuKernelGetAttribute)                                                                                  \
    F(cuKernelGetName)                                                                                       \
    F(cuKernelGetParamInfo)                                                                                  \
    F(cuLaunchKernel)                                                                                        \
    F(cuLibraryGetKernel)                                                                                    \
    F(cuLibraryGetModule)                                                                                    \
    F(cuLibraryUnload)                                                                                       \
    F(cuMemAddressFree)                                                                                      \
    F(cuMemAddressReserve)                                                                                   \
    F(cuMemCreate)                                                                                           \
    F(cuMemFree_v2)                                                                                          \
    F(cuMemGetAddressRange_v2)                                                                               \
    F(cuMemGetAllocationGranularity)                                                                         \
    F(cuMemMap)                                                                                              \
    F(cuMemRelease)                                                                                          \
    F(cuMemSetAccess)                                                                                        \
    F(cuMemUnmap)                                                                                            \
    F(cuMemcpy2DAsync_v2)                                                                                    \
    F(cuMemcpyDtoDAsync_v2)                                                                                  \
    F(cuMemcpyDtoHAsync_v2)                                                                                  \
    F(cuMemcpyHtoDAsync_v2)                                                                                  \
    F(cuMemcpyPeerAsync)                                                                                     \
    F(cuModuleGetFunction)                                                                                   \
    F(cuModuleLoadData)                                                                                      \
    F(cuModuleUnload)                                                                                        \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                           \
    F(cuPointerGetAttribute)                                                                                 \
    F(cuPointerGetAttributes)                                                                                \
    F(cuStreamAddCallback)                                                                                   \
    F(cuStreamCreate)                                                                                        \
    F(cuStreamDestroy_v2)                                                                                    \
    F(cuStreamGetCtx)                                                                                        \
    F(cuStreamGetFlags)                                                                                      \
    F(cuStreamGetGreenCtx)                                                                                   \
    F(cuStreamIsCapturing)                                                                                   \
    F(cuStreamIsCapturing_ptsz)                                                                              \
    F(cuStreamQuery)                                                                                         \
    F(cuStreamSynchronize)                                                                                   \
    F(cuStreamWaitEvent)                                                                                     \
    F(cuThreadExchangeStreamCaptureMode)

/* How often the driver is asked something that it fails to answer. */
enum { GENUINE_ASKS = 2 };

/* cuda_front.genuine; valid after genuine_open(). */
struct genuine {
    void *library;    /* NULL: there is none */
    const void *stub; /* in the library of the stubs, which has the driver's name */
#define GENUINE_MEMBER(name) __typeof__(&(name)) name;
    GENUINE_FUNCTIONS(GENUINE_MEMBER)
#undef GENUINE_MEMBER
};

/*
 * Finds and opens it; once, before the others. stub: in the library that has its name (stubs.h).
 * False: there is none.
 */
bool genuine_open(const void *stub);

/* The genuine library's address of an exported name; NULL: it has none. */
void *genuine_symbol(const char *symbol);

#endif
