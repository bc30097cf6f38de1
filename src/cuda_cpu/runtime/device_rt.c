/* Questions about devices. */
#include <string.h>

#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"

#define DEVICE_CALL(call)                                                                                    \
    do {                                                                                                     \
        cudaError_t begun = runtime_begin_driver();                                                          \
                                                                                                             \
        return begun == cudaSuccess ? runtime_end_driver(call) : runtime_end(begun);                         \
    } while (0)

RUNTIME_EXPORT cudaError_t cudaDeviceGetAttribute(int *ret_value, int attribute, int device)
{
    DEVICE_CALL(cuDeviceGetAttribute(ret_value, attribute, device));
}

RUNTIME_EXPORT cudaError_t cudaDeviceGetPCIBusId(char *ret_id, int room, int device)
{
    DEVICE_CALL(cuDeviceGetPCIBusId(ret_id, room, device));
}

RUNTIME_EXPORT cudaError_t cudaDeviceGetByPCIBusId(int *ret_device, const char *id)
{
    DEVICE_CALL(cuDeviceGetByPCIBusId(ret_device, id));
}

RUNTIME_EXPORT cudaError_t cudaDeviceCanAccessPeer(int *ret_can, int device, int peer)
{
    DEVICE_CALL(cuDeviceCanAccessPeer(ret_can, device, peer));
}

RUNTIME_EXPORT cudaError_t cudaDeviceGetP2PAttribute(int *ret_value, int attribute, int from, int to)
{
    DEVICE_CALL(cuDeviceGetP2PAttribute(ret_value, attribute, from, to));
}

RUNTIME_EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret_pool, int device)
{
    DEVICE_CALL(cuDeviceGetDefaultMemPool(ret_pool, device));
}

RUNTIME_EXPORT cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *ret_pool, int device)
{
    DEVICE_CALL(cuDeviceGetMemPool(ret_pool, device));
}

RUNTIME_EXPORT cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    DEVICE_CALL(cuDeviceSetMemPool(device, pool));
}

static cudaError_t change_peer(int peer, bool enable)
{
    cudaError_t error = runtime_begin();
    CUcontext context;
    CUresult code;

    if (error != cudaSuccess)
        return runtime_end(error);
    code = cuDevicePrimaryCtxRetain(&context, peer);
    if (code != CUDA_SUCCESS)
        return runtime_end_driver(code);
    code = enable ? cuCtxEnablePeerAccess(context, 0) : cuCtxDisablePeerAccess(context);
    (void)cuDevicePrimaryCtxRelease_v2(peer);
    return runtime_end(code == CUDA_ERROR_INVALID_CONTEXT ? cudaErrorInvalidDevice : (cudaError_t)code);
}

RUNTIME_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    return flags ? runtime_end(cudaErrorInvalidValue) : change_peer(peer, true);
}

RUNTIME_EXPORT cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    return change_peer(peer, false);
}

/* --- all properties at once --- */

/* The fields of cudaDeviceProp that are attributes: their offsets and numbers. */
static const struct {
    size_t offset;
    int attribute;
    bool wide; /* a size_t */
} fields[] = {
#define FIELD(name, number)                                                                                  \
    {                                                                                                        \
        offsetof(cudaDeviceProp, name), number, false                                                        \
    }
#define WIDE_FIELD(name, number)                                                                             \
    {                                                                                                        \
        offsetof(cudaDeviceProp, name), number, true                                                         \
    }
    WIDE_FIELD(sharedMemPerBlock, 8),
    FIELD(regsPerBlock, 12),
    FIELD(warpSize, 10),
    WIDE_FIELD(memPitch, 11),
    FIELD(maxThreadsPerBlock, 1),
    FIELD(maxThreadsDim[0], 2),
    FIELD(maxThreadsDim[1], 3),
    FIELD(maxThreadsDim[2], 4),
    FIELD(maxGridSize[0], 5),
    FIELD(maxGridSize[1], 6),
    FIELD(maxGridSize[2], 7),
    WIDE_FIELD(totalConstMem, 9),
    FIELD(major, 75),
    FIELD(minor, 76),
    WIDE_FIELD(textureAlignment, 14),
    WIDE_FIELD(texturePitchAlignment, 51),
    FIELD(multiProcessorCount, 16),
    FIELD(integrated, 18),
    FIELD(canMapHostMemory, 19),
    FIELD(maxTexture1D, 21),
    FIELD(maxTexture2D[0], 22),
    FIELD(maxTexture2D[1], 23),
    FIELD(maxTexture3D[0], 24),
    FIELD(maxTexture3D[1], 25),
    FIELD(maxTexture3D[2], 26),
    FIELD(maxTexture2DLayered[0], 27),
    FIELD(maxTexture2DLayered[1], 28),
    FIELD(maxTexture2DLayered[2], 29),
    FIELD(maxTexture2DLinear[0], 70),
    FIELD(maxTexture2DLinear[1], 71),
    FIELD(maxTexture2DLinear[2], 72),
    FIELD(maxTextureCubemap, 52),
    FIELD(maxTexture1DMipmap, 77),
    FIELD(maxTexture2DMipmap[0], 73),
    FIELD(maxTexture2DMipmap[1], 74),
    FIELD(maxTexture1DLayered[0], 42),
    FIELD(maxTexture1DLayered[1], 43),
    FIELD(maxSurface1D, 55),
    FIELD(maxSurface2D[0], 56),
    FIELD(maxSurface2D[1], 57),
    FIELD(maxSurface3D[0], 58),
    FIELD(maxSurface3D[1], 59),
    FIELD(maxSurface3D[2], 60),
    WIDE_FIELD(surfaceAlignment, 30),
    FIELD(concurrentKernels, 31),
    FIELD(ECCEnabled, 32),
    FIELD(pciBusID, 33),
    FIELD(pciDeviceID, 34),
    FIELD(pciDomainID, 50),
    FIELD(asyncEngineCount, 40),
    FIELD(unifiedAddressing, 41),
    FIELD(memoryBusWidth, 37),
    FIELD(l2CacheSize, 38),
    FIELD(maxThreadsPerMultiProcessor, 39),
    FIELD(streamPrioritiesSupported, 78),
    FIELD(globalL1CacheSupported, 79),
    FIELD(localL1CacheSupported, 80),
    WIDE_FIELD(sharedMemPerMultiprocessor, 81),
    FIELD(regsPerMultiprocessor, 82),
    FIELD(managedMemory, 83),
    FIELD(multiGpuBoardGroupID, 85),
    FIELD(hostNativeAtomicSupported, 86),
    FIELD(pageableMemoryAccess, 88),
    FIELD(concurrentManagedAccess, 89),
    FIELD(computePreemptionSupported, 90),
    FIELD(canUseHostPointerForRegisteredMem, 91),
    FIELD(cooperativeLaunch, 95),
    WIDE_FIELD(sharedMemPerBlockOptin, 97),
    FIELD(directManagedMemAccessFromHost, 101),
    FIELD(maxBlocksPerMultiProcessor, 106),
    WIDE_FIELD(reservedSharedMemPerBlock, 111),
    FIELD(hostRegisterSupported, 99),
    FIELD(hostRegisterReadOnlySupported, 113),
    FIELD(memoryPoolsSupported, 115),
    FIELD(deviceNumaId, 131),
};

RUNTIME_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp *ret_properties, int device)
{
    cudaError_t error = runtime_begin_driver();
    CUresult code;
    int value;

    if (error != cudaSuccess)
        return runtime_end(error);
    if (!ret_properties)
        return runtime_end(cudaErrorInvalidValue);
    code = cuDeviceTotalMem_v2(&ret_properties->totalGlobalMem, device);
    if (code != CUDA_SUCCESS)
        return runtime_end_driver(code);
    memset(ret_properties, 0, sizeof *ret_properties);
    (void)cuDeviceTotalMem_v2(&ret_properties->totalGlobalMem, device);
    (void)cuDeviceGetName(ret_properties->name, sizeof ret_properties->name, device);
    (void)cuDeviceGetUuid_v2(&ret_properties->uuid, device);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char *field = (char *)ret_properties + fields[i].offset;

        if (cuDeviceGetAttribute(&value, fields[i].attribute, device) != CUDA_SUCCESS)
            continue;
        if (fields[i].wide)
            memcpy(field, &(size_t){(size_t)value}, sizeof(size_t));
        else
            memcpy(field, &value, sizeof value);
    }
    return cudaSuccess;
}

/* The first device, because all are alike. */
RUNTIME_EXPORT cudaError_t cudaChooseDevice(int *ret_device, const cudaDeviceProp *wanted)
{
    if (!ret_device || !wanted)
        return runtime_end(cudaErrorInvalidValue);
    *ret_device = 0;
    return runtime_end(runtime_begin_driver());
}
