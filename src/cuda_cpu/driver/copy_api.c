/* cuMemcpy*: every form describes its copy (copy.h) and names its stream. */
#include <string.h>

#include "cuda_cpu/driver/copy.h"
#include "cuda_abi/driver_calls.h"

static CUresult submit(const char *name, const CUDA_MEMCPY3D *copy, CUstream handle, bool wait)
{
    CUresult code = api_enter(name, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = stream_named_here(handle, &stream);
    return code == CUDA_SUCCESS ? copy_submit(copy, stream, wait) : code;
}

/* --- between addresses --- */

static CUDA_MEMCPY3D line(CUmemorytype to_type, uint64_t to, CUmemorytype from_type, uint64_t from,
                          size_t size)
{
    CUDA_MEMCPY3D copy = copy_line(to, from, size);

    copy.srcMemoryType = from_type;
    copy.srcHost = (const void *)(uintptr_t)from;
    copy.dstMemoryType = to_type;
    copy.dstHost = (void *)(uintptr_t)to;
    return copy;
}

/* The forms of one copy: legacy and per-thread default stream, and asynchronous. */
#define COPY_FORMS(sync, sync_ptds, async, to_type, to_c, from_type, from_c)                                 \
    DRIVER_EXPORT CUresult sync(to_c to, from_c from, size_t size)                                           \
    {                                                                                                        \
        CUDA_MEMCPY3D copy = line(to_type, (uintptr_t)to, from_type, (uintptr_t)from, size);                 \
        return submit(__func__, &copy, NULL, true);                                                          \
    }                                                                                                        \
    DRIVER_EXPORT CUresult sync_ptds(to_c to, from_c from, size_t size)                                      \
    {                                                                                                        \
        CUDA_MEMCPY3D copy = line(to_type, (uintptr_t)to, from_type, (uintptr_t)from, size);                 \
        return submit(__func__, &copy, CU_STREAM_PER_THREAD, true);                                          \
    }                                                                                                        \
    DRIVER_EXPORT CUresult async(to_c to, from_c from, size_t size, CUstream stream)                         \
    {                                                                                                        \
        CUDA_MEMCPY3D copy = line(to_type, (uintptr_t)to, from_type, (uintptr_t)from, size);                 \
        return submit(__func__, &copy, stream, false);                                                       \
    }

COPY_FORMS(cuMemcpy, cuMemcpy_ptds, cuMemcpyAsync, CU_MEMORYTYPE_UNIFIED, CUdeviceptr, CU_MEMORYTYPE_UNIFIED,
           CUdeviceptr)
COPY_FORMS(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, cuMemcpyHtoDAsync_v2, CU_MEMORYTYPE_DEVICE, CUdeviceptr,
           CU_MEMORYTYPE_HOST, const void *)
COPY_FORMS(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, cuMemcpyDtoHAsync_v2, CU_MEMORYTYPE_HOST, void *,
           CU_MEMORYTYPE_DEVICE, CUdeviceptr)
COPY_FORMS(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, cuMemcpyDtoDAsync_v2, CU_MEMORYTYPE_DEVICE, CUdeviceptr,
           CU_MEMORYTYPE_DEVICE, CUdeviceptr)

/* --- arrays: a row of bytes from an offset --- */

static CUDA_MEMCPY3D from_array(CUarray array, size_t offset, CUDA_MEMCPY3D copy)
{
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.srcXInBytes = offset;
    return copy;
}

static CUDA_MEMCPY3D to_array(CUarray array, size_t offset, CUDA_MEMCPY3D copy)
{
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.dstXInBytes = offset;
    return copy;
}

#define ARRAY_FORMS(name, ptds, parameters, made)                                                            \
    DRIVER_EXPORT CUresult name parameters                                                                   \
    {                                                                                                        \
        CUDA_MEMCPY3D copy = made;                                                                           \
        return submit(__func__, &copy, NULL, true);                                                          \
    }                                                                                                        \
    DRIVER_EXPORT CUresult ptds parameters                                                                   \
    {                                                                                                        \
        CUDA_MEMCPY3D copy = made;                                                                           \
        return submit(__func__, &copy, CU_STREAM_PER_THREAD, true);                                          \
    }

ARRAY_FORMS(cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds, (void *to, CUarray from, size_t offset, size_t size),
            from_array(from, offset, copy_line((uintptr_t)to, 0, size)))
ARRAY_FORMS(cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds, (CUarray to, size_t offset, const void *from, size_t size),
            to_array(to, offset, copy_line(0, (uintptr_t)from, size)))
ARRAY_FORMS(cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds, (CUdeviceptr to, CUarray from, size_t offset, size_t size),
            from_array(from, offset, copy_line(to, 0, size)))
ARRAY_FORMS(cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds, (CUarray to, size_t offset, CUdeviceptr from, size_t size),
            to_array(to, offset, copy_line(0, from, size)))
ARRAY_FORMS(cuMemcpyAtoA_v2, cuMemcpyAtoA_v2_ptds,
            (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size),
            to_array(to, to_offset, from_array(from, from_offset, copy_line(0, 0, size))))

DRIVER_EXPORT CUresult cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t size,
                                            CUstream stream)
{
    CUDA_MEMCPY3D copy = from_array(from, offset, copy_line((uintptr_t)to, 0, size));

    return submit(__func__, &copy, stream, false);
}

DRIVER_EXPORT CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t size,
                                            CUstream stream)
{
    CUDA_MEMCPY3D copy = to_array(to, offset, copy_line(0, (uintptr_t)from, size));

    return submit(__func__, &copy, stream, false);
}

/* --- two and three dimensions --- */

static CUDA_MEMCPY3D plane(const CUDA_MEMCPY2D *flat)
{
    return (CUDA_MEMCPY3D){.srcXInBytes = flat->srcXInBytes,
                           .srcY = flat->srcY,
                           .srcMemoryType = flat->srcMemoryType,
                           .srcHost = flat->srcHost,
                           .srcDevice = flat->srcDevice,
                           .srcArray = flat->srcArray,
                           .srcPitch = flat->srcPitch,
                           .dstXInBytes = flat->dstXInBytes,
                           .dstY = flat->dstY,
                           .dstMemoryType = flat->dstMemoryType,
                           .dstHost = flat->dstHost,
                           .dstDevice = flat->dstDevice,
                           .dstArray = flat->dstArray,
                           .dstPitch = flat->dstPitch,
                           .WidthInBytes = flat->WidthInBytes,
                           .Height = flat->Height,
                           .Depth = 1};
}

static CUresult submit_2d(const char *name, const CUDA_MEMCPY2D *flat, CUstream stream, bool wait)
{
    CUDA_MEMCPY3D copy;

    if (!flat)
        return CUDA_ERROR_INVALID_VALUE;
    copy = plane(flat);
    return submit(name, &copy, stream, wait);
}

DRIVER_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    return submit_2d(__func__, copy, NULL, true);
}

DRIVER_EXPORT CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *copy)
{
    return submit_2d(__func__, copy, CU_STREAM_PER_THREAD, true);
}

DRIVER_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
    return submit_2d(__func__, copy, NULL, true);
}

DRIVER_EXPORT CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *copy)
{
    return submit_2d(__func__, copy, CU_STREAM_PER_THREAD, true);
}

DRIVER_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return submit_2d(__func__, copy, stream, false);
}

DRIVER_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
    return copy ? submit(__func__, copy, NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *copy)
{
    return copy ? submit(__func__, copy, CU_STREAM_PER_THREAD, true) : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    return copy ? submit(__func__, copy, stream, false) : CUDA_ERROR_INVALID_VALUE;
}

/* --- between devices: all of them share one space --- */

/* A synchronous copy comes behind all work of both contexts, whatever its stream. */
static CUresult await_both(CUcontext to, CUcontext from)
{
    CUresult code = context_is(to) ? work_wait_context(&to->work) : CUDA_SUCCESS;

    return code == CUDA_SUCCESS && context_is(from) ? work_wait_context(&from->work) : code;
}

static CUresult submit_peer(const char *name, CUcontext to_context, CUcontext from_context, CUdeviceptr to,
                            CUdeviceptr from, size_t size, CUstream stream, bool wait)
{
    CUDA_MEMCPY3D copy = line(CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_DEVICE, from, size);
    CUresult code;

    if (!context_is(to_context) || !context_is(from_context))
        return CUDA_ERROR_INVALID_CONTEXT;
    code = wait ? await_both(to_context, from_context) : CUDA_SUCCESS;
    return code == CUDA_SUCCESS ? submit(name, &copy, stream, wait) : code;
}

DRIVER_EXPORT CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                    CUcontext from_context, size_t size)
{
    return submit_peer(__func__, to_context, from_context, to, from, size, NULL, true);
}

DRIVER_EXPORT CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                         CUcontext from_context, size_t size)
{
    return submit_peer(__func__, to_context, from_context, to, from, size, CU_STREAM_PER_THREAD, true);
}

DRIVER_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                         CUcontext from_context, size_t size, CUstream stream)
{
    return submit_peer(__func__, to_context, from_context, to, from, size, stream, false);
}

/* The two structs differ only in the names of reserved words. */
static CUresult submit_peer_3d(const char *name, const CUDA_MEMCPY3D_PEER *peer, CUstream stream, bool wait)
{
    CUDA_MEMCPY3D copy;
    CUresult code;

    _Static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER), "one layout");
    if (!peer)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&copy, peer, sizeof copy);
    copy.reserved0 = copy.reserved1 = NULL;
    code = wait ? await_both(peer->dstContext, peer->srcContext) : CUDA_SUCCESS;
    return code == CUDA_SUCCESS ? submit(name, &copy, stream, wait) : code;
}

DRIVER_EXPORT CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy)
{
    return submit_peer_3d(__func__, copy, NULL, true);
}

DRIVER_EXPORT CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *copy)
{
    return submit_peer_3d(__func__, copy, CU_STREAM_PER_THREAD, true);
}

DRIVER_EXPORT CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    return submit_peer_3d(__func__, copy, stream, false);
}
