/*
 * The forms of calls for programs with one default stream per thread (nvcc --default-stream
 * per-thread). There a NULL stream means the calling thread's; all else is the same.
 */
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/driver.h"

static CUstream own(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

DRIVER_EXPORT CUresult cuEventRecord_ptsz(CUevent event, CUstream handle)
{
    return cuEventRecord(event, own(handle));
}

DRIVER_EXPORT CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream handle, unsigned int flags)
{
    return cuEventRecordWithFlags(event, own(handle), flags);
}

DRIVER_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream handle)
{
    return cuGraphLaunch(exec, own(handle));
}

DRIVER_EXPORT CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream handle)
{
    return cuGraphUpload(exec, own(handle));
}

DRIVER_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x,
                                                      unsigned int grid_y, unsigned int grid_z,
                                                      unsigned int block_x, unsigned int block_y,
                                                      unsigned int block_z, unsigned int shared,
                                                      CUstream stream, void **parameters)
{
    return cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                     own(stream), parameters);
}

DRIVER_EXPORT CUresult cuLaunchHostFunc_ptsz(CUstream handle, CUhostFn run, void *user)
{
    return cuLaunchHostFunc(own(handle), run, user);
}

DRIVER_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                           unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                           unsigned int block_z, unsigned int shared, CUstream stream,
                                           void **parameters, void **extra)
{
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, own(stream),
                          parameters, extra);
}

DRIVER_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function,
                                             void **parameters, void **extra)
{
    CUlaunchConfig own_config;

    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    own_config = *config;
    own_config.hStream = own(config->hStream);
    return cuLaunchKernelEx(&own_config, function, parameters, extra);
}

DRIVER_EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr *ret_address, size_t size, CUstream stream)
{
    return cuMemAllocAsync(ret_address, size, own(stream));
}

DRIVER_EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ret_address, size_t size, CUmemoryPool pool,
                                                    CUstream stream)
{
    return cuMemAllocFromPoolAsync(ret_address, size, pool, own(stream));
}

DRIVER_EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream handle)
{
    return cuMemFreeAsync(address, own(handle));
}

DRIVER_EXPORT CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t size, CUdevice device,
                                               CUstream handle)
{
    return cuMemPrefetchAsync(address, size, device, own(handle));
}

DRIVER_EXPORT CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t size, CUmemLocation location,
                                                  unsigned int flags, CUstream handle)
{
    return cuMemPrefetchAsync_v2(address, size, location, flags, own(handle));
}

DRIVER_EXPORT CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return cuMemcpy2DAsync_v2(copy, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    return cuMemcpy3DAsync_v2(copy, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    return cuMemcpy3DPeerAsync(copy, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    return cuMemcpyAsync(to, from, size, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpyAtoHAsync_v2_ptsz(void *to, CUarray from, size_t offset, size_t size,
                                                 CUstream stream)
{
    return cuMemcpyAtoHAsync_v2(to, from, offset, size, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t size,
                                                 CUstream stream)
{
    return cuMemcpyDtoDAsync_v2(to, from, size, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpyDtoHAsync_v2_ptsz(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    return cuMemcpyDtoHAsync_v2(to, from, size, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray to, size_t offset, const void *from, size_t size,
                                                 CUstream stream)
{
    return cuMemcpyHtoAAsync_v2(to, offset, from, size, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void *from, size_t size,
                                                 CUstream stream)
{
    return cuMemcpyHtoDAsync_v2(to, from, size, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                              CUcontext from_context, size_t size, CUstream stream)
{
    return cuMemcpyPeerAsync(to, to_context, from, from_context, size, own(stream));
}

DRIVER_EXPORT CUresult cuMemsetD16Async_ptsz(CUdeviceptr address, unsigned short value, size_t n,
                                             CUstream stream)
{
    return cuMemsetD16Async(address, value, n, own(stream));
}

DRIVER_EXPORT CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr address, size_t pitch, unsigned short value,
                                               size_t width, size_t height, CUstream stream)
{
    return cuMemsetD2D16Async(address, pitch, value, width, height, own(stream));
}

DRIVER_EXPORT CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr address, size_t pitch, unsigned int value,
                                               size_t width, size_t height, CUstream stream)
{
    return cuMemsetD2D32Async(address, pitch, value, width, height, own(stream));
}

DRIVER_EXPORT CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr address, size_t pitch, unsigned char value,
                                              size_t width, size_t height, CUstream stream)
{
    return cuMemsetD2D8Async(address, pitch, value, width, height, own(stream));
}

DRIVER_EXPORT CUresult cuMemsetD32Async_ptsz(CUdeviceptr address, unsigned int value, size_t n,
                                             CUstream stream)
{
    return cuMemsetD32Async(address, value, n, own(stream));
}

DRIVER_EXPORT CUresult cuMemsetD8Async_ptsz(CUdeviceptr address, unsigned char value, size_t n,
                                            CUstream stream)
{
    return cuMemsetD8Async(address, value, n, own(stream));
}

DRIVER_EXPORT CUresult cuStreamAddCallback_ptsz(CUstream handle, CUstreamCallback run, void *user,
                                                unsigned int flags)
{
    return cuStreamAddCallback(own(handle), run, user, flags);
}

DRIVER_EXPORT CUresult cuStreamAttachMemAsync_ptsz(CUstream handle, CUdeviceptr address, size_t size,
                                                   unsigned int flags)
{
    return cuStreamAttachMemAsync(own(handle), address, size, flags);
}

DRIVER_EXPORT CUresult cuStreamBeginCapture_v2_ptsz(CUstream handle, CUstreamCaptureMode mode)
{
    return cuStreamBeginCapture_v2(own(handle), mode);
}

DRIVER_EXPORT CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream handle, CUgraph graph,
                                                        const CUgraphNode *after,
                                                        const CUgraphEdgeData *edges, size_t n,
                                                        CUstreamCaptureMode mode)
{
    return cuStreamBeginCaptureToGraph(own(handle), graph, after, edges, n, mode);
}

DRIVER_EXPORT CUresult cuStreamEndCapture_ptsz(CUstream handle, CUgraph *ret_graph)
{
    return cuStreamEndCapture(own(handle), ret_graph);
}

DRIVER_EXPORT CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream handle, CUstreamCaptureStatus *ret_status,
                                                      unsigned long long *ret_id, CUgraph *ret_graph,
                                                      const CUgraphNode **ret_after, size_t *ret_n)
{
    return cuStreamGetCaptureInfo_v2(own(handle), ret_status, ret_id, ret_graph, ret_after, ret_n);
}

DRIVER_EXPORT CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream handle, CUstreamCaptureStatus *ret_status,
                                                      unsigned long long *ret_id, CUgraph *ret_graph,
                                                      const CUgraphNode **ret_after,
                                                      const CUgraphEdgeData **ret_edges, size_t *ret_n)
{
    return cuStreamGetCaptureInfo_v3(own(handle), ret_status, ret_id, ret_graph, ret_after, ret_edges, ret_n);
}

DRIVER_EXPORT CUresult cuStreamGetCtx_ptsz(CUstream handle, CUcontext *ret_context)
{
    return cuStreamGetCtx(own(handle), ret_context);
}

DRIVER_EXPORT CUresult cuStreamGetCtx_v2_ptsz(CUstream handle, CUcontext *ret_context, void **ret_green)
{
    return cuStreamGetCtx_v2(own(handle), ret_context, ret_green);
}

DRIVER_EXPORT CUresult cuStreamGetDevice_ptsz(CUstream handle, CUdevice *ret_device)
{
    return cuStreamGetDevice(own(handle), ret_device);
}

DRIVER_EXPORT CUresult cuStreamGetFlags_ptsz(CUstream handle, unsigned int *ret_flags)
{
    return cuStreamGetFlags(own(handle), ret_flags);
}

DRIVER_EXPORT CUresult cuStreamGetId_ptsz(CUstream handle, unsigned long long *ret_id)
{
    return cuStreamGetId(own(handle), ret_id);
}

DRIVER_EXPORT CUresult cuStreamGetPriority_ptsz(CUstream handle, int *ret_priority)
{
    return cuStreamGetPriority(own(handle), ret_priority);
}

DRIVER_EXPORT CUresult cuStreamIsCapturing_ptsz(CUstream handle, CUstreamCaptureStatus *ret_status)
{
    return cuStreamIsCapturing(own(handle), ret_status);
}

DRIVER_EXPORT CUresult cuStreamQuery_ptsz(CUstream handle)
{
    return cuStreamQuery(own(handle));
}

DRIVER_EXPORT CUresult cuStreamSynchronize_ptsz(CUstream handle)
{
    return cuStreamSynchronize(own(handle));
}

DRIVER_EXPORT CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream handle, CUgraphNode *nodes, size_t n,
                                                              unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies(own(handle), nodes, n, flags);
}

DRIVER_EXPORT CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream handle, CUgraphNode *nodes,
                                                                 const CUgraphEdgeData *edges, size_t n,
                                                                 unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies_v2(own(handle), nodes, edges, n, flags);
}

DRIVER_EXPORT CUresult cuStreamWaitEvent_ptsz(CUstream handle, CUevent event, unsigned int flags)
{
    return cuStreamWaitEvent(own(handle), event, flags);
}

DRIVER_EXPORT CUresult cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                                unsigned int flags)
{
    return cuStreamWaitValue32(own(stream), address, value, flags);
}

DRIVER_EXPORT CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                                   unsigned int flags)
{
    return cuStreamWaitValue32_v2(own(stream), address, value, flags);
}

DRIVER_EXPORT CUresult cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                                unsigned int flags)
{
    return cuStreamWaitValue64(own(stream), address, value, flags);
}

DRIVER_EXPORT CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                                   unsigned int flags)
{
    return cuStreamWaitValue64_v2(own(stream), address, value, flags);
}

DRIVER_EXPORT CUresult cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                                 unsigned int flags)
{
    return cuStreamWriteValue32(own(stream), address, value, flags);
}

DRIVER_EXPORT CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                                    unsigned int flags)
{
    return cuStreamWriteValue32_v2(own(stream), address, value, flags);
}

DRIVER_EXPORT CUresult cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                                 unsigned int flags)
{
    return cuStreamWriteValue64(own(stream), address, value, flags);
}

DRIVER_EXPORT CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                                    unsigned int flags)
{
    return cuStreamWriteValue64_v2(own(stream), address, value, flags);
}
