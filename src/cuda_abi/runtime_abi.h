/*
 * The binary interface of CUDA's runtime API (libcudart.so.13) as far as Baton implements it,
 * written from the documented interface. Handles are those of the driver API; error codes with the
 * same number mean the same. driver_abi.h explains why the names are CUDA's.
 */
#ifndef CUDA_ABI_RUNTIME_ABI_H
#define CUDA_ABI_RUNTIME_ABI_H

#include "cuda_abi/graph_abi.h"

/* clang-format off */
#define CUDA_ABI_ERRORS(X) \
    X(cudaSuccess, 0, "no error") \
    X(cudaErrorInvalidValue, 1, "invalid argument") \
    X(cudaErrorMemoryAllocation, 2, "out of memory") \
    X(cudaErrorInitializationError, 3, "initialization error") \
    X(cudaErrorCudartUnloading, 4, "driver shutting down") \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument") \
    X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument") \
    X(cudaErrorInvalidSymbol, 13, "invalid device symbol") \
    X(cudaErrorInvalidHostPointer, 16, "invalid host pointer") \
    X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer") \
    X(cudaErrorInvalidTexture, 18, "invalid texture reference") \
    X(cudaErrorInvalidChannelDescriptor, 20, "invalid channel descriptor") \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") \
    X(cudaErrorInvalidFilterSetting, 26, "invalid filter mode setting") \
    X(cudaErrorInvalidNormSetting, 27, "invalid norm setting") \
    X(cudaErrorStubLibrary, 34, "CUDA driver is a stub library") \
    X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version") \
    X(cudaErrorInvalidSurface, 37, "invalid surface reference") \
    X(cudaErrorDevicesUnavailable, 46, "all CUDA-capable devices are busy or unavailable") \
    X(cudaErrorMissingConfiguration, 52, "__global__ function call is not configured") \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function") \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected") \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal") \
    X(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid") \
    X(cudaErrorDeviceUninitialized, 201, "invalid device context") \
    X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device") \
    X(cudaErrorUnsupportedLimit, 215, "limit is not supported on this architecture") \
    X(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices") \
    X(cudaErrorInvalidPtx, 218, "a PTX JIT compilation failed") \
    X(cudaErrorJitCompilerNotFound, 221, "PTX JIT compiler library not found") \
    X(cudaErrorUnsupportedPtxVersion, 222, "the provided PTX was compiled with an unsupported toolchain.") \
    X(cudaErrorFileNotFound, 301, "file not found") \
    X(cudaErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS") \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle") \
    X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state") \
    X(cudaErrorSymbolNotFound, 500, "named symbol not found") \
    X(cudaErrorNotReady, 600, "device not ready") \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered") \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch") \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated") \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled") \
    X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled") \
    X(cudaErrorSetOnActiveProcess, 708, "cannot set while device is active in this process") \
    X(cudaErrorContextIsDestroyed, 709, "context is destroyed") \
    X(cudaErrorAssert, 710, "device-side assert triggered") \
    X(cudaErrorHostMemoryAlreadyRegistered, 712, \
      "part or all of the requested memory range is already mapped") \
    X(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region") \
    X(cudaErrorHardwareStackError, 714, "hardware stack error") \
    X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered") \
    X(cudaErrorMisalignedAddress, 716, "misaligned address") \
    X(cudaErrorInvalidAddressSpace, 717, "operation not supported on global/shared address space") \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure") \
    X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch") \
    X(cudaErrorNotPermitted, 800, "operation not permitted") \
    X(cudaErrorNotSupported, 801, "operation not supported") \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
    X(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture") \
    X(cudaErrorStreamCaptureMerge, 902, "operation would result in a merge of separate capture sequences") \
    X(cudaErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began") \
    X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work") \
    X(cudaErrorStreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream") \
    X(cudaErrorStreamCaptureImplicit, 906, \
      "operation would make the legacy stream depend on a capturing blocking stream") \
    X(cudaErrorCapturedEvent, 907, \
      "operation not permitted on an event last recorded in a capturing stream") \
    X(cudaErrorStreamCaptureWrongThread, 908, \
      "attempt to terminate a thread-local capture sequence from another thread") \
    X(cudaErrorGraphExecUpdateFailure, 910, \
      "the graph update was not performed because it included changes which violated constraints " \
      "specific to instantiated graph update") \
    X(cudaErrorUnknown, 999, "unknown error")
/* clang-format on */

typedef enum cudaError {
#define CUDA_ABI_ERROR(name, value, text) name = value,
    CUDA_ABI_ERRORS(CUDA_ABI_ERROR)
#undef CUDA_ABI_ERROR
} cudaError_t;

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUarray cudaArray_t;
typedef CUmipmappedArray cudaMipmappedArray_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUkernel cudaKernel_t;
typedef CUlibrary cudaLibrary_t;
typedef CUfunction cudaFunction_t;
typedef CUtexObject cudaTextureObject_t;
typedef CUsurfObject cudaSurfaceObject_t;
typedef CUhostFn cudaHostFn_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *user);

typedef struct dim3 {
    unsigned int x, y, z;
} dim3;

typedef enum {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault,
} cudaMemcpyKind;

typedef enum {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged,
} cudaMemoryType;

typedef struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
} cudaPitchedPtr;

typedef struct cudaExtent {
    size_t width, height, depth;
} cudaExtent;

typedef struct cudaPos {
    size_t x, y, z;
} cudaPos;

typedef struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
} cudaMemcpy3DParms;

typedef struct cudaMemcpy3DPeerParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    int srcDevice;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    int dstDevice;
    cudaExtent extent;
} cudaMemcpy3DPeerParms;

typedef struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
    long reserved[8];
} cudaPointerAttributes;

typedef struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
    int preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight;
    int requiredClusterDepth, clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed;
    int reserved[16];
} cudaFuncAttributes;

typedef enum {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone,
} cudaChannelFormatKind;

typedef struct cudaChannelFormatDesc {
    int x, y, z, w;
    cudaChannelFormatKind f;
} cudaChannelFormatDesc;

typedef struct cudaResourceDesc {
    CUresourcetype resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
        struct {
            int reserved[32];
        } reserved;
    } res;
    unsigned int flags;
} cudaResourceDesc;

typedef struct cudaTextureDesc {
    CUaddress_mode addressMode[3];
    CUfilter_mode filterMode;
    int readMode; /* 0: as it is, 1: integers as floats in [0, 1] or [-1, 1] */
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy;
    CUfilter_mode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
} cudaTextureDesc;

typedef struct cudaLaunchConfig_st {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    CUlaunchAttribute *attrs;
    unsigned int numAttrs;
} cudaLaunchConfig_t;

typedef struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned int sharedMemBytes;
    void **kernelParams, **extra;
} cudaKernelNodeParams;

typedef struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned int value, elementSize;
    size_t width, height;
} cudaMemsetParams;

typedef CUDA_HOST_NODE_PARAMS cudaHostNodeParams;

typedef struct cudaDeviceProp {
    char name[256];
    CUuuid uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int multiProcessorCount, integrated, canMapHostMemory;
    int maxTexture1D, maxTexture1DMipmap, maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3];
    int maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2];
    int maxTexture2DLayered[3], maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3];
    int maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID,
        hostNativeAtomicSupported;
    int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem, cooperativeLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned int gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned int memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    int deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
    unsigned int gpuPciDeviceID, gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported;
    int reserved[56];
} cudaDeviceProp;

#endif
