/* The calls of the runtime API that this library implements, as documented. */
#ifndef CUDA_CPU_RUNTIME_CALLS_H
#define CUDA_CPU_RUNTIME_CALLS_H

#include "cuda_abi/runtime_abi.h"

cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host);
char __cudaInitModule(void **handle);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *ret_grid, dim3 *ret_block, size_t *ret_shared, void *ret_stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                            void *thread, void *block, void *block_dim, void *grid_dim, int *warp);
void __cudaRegisterHostVar(void **handle, const char *device_name, char *host, size_t size);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external,
                              size_t size, int constant, int global);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global);
void __cudaUnregisterFatBinary(void **handle);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *ret_channel, cudaExtent *ret_extent,
                             unsigned int *ret_flags, cudaArray_t array);
cudaError_t cudaChooseDevice(int *ret_device, const cudaDeviceProp *wanted);
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *ret_object, const cudaResourceDesc *resource);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *ret_object, const cudaResourceDesc *resource,
                                    const cudaTextureDesc *asked, const CUDA_RESOURCE_VIEW_DESC *view);
cudaError_t cudaCtxResetPersistingL2Cache(void);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);
cudaError_t cudaDeviceCanAccessPeer(int *ret_can, int device, int peer);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceGetAttribute(int *ret_value, int attribute, int device);
cudaError_t cudaDeviceGetByPCIBusId(int *ret_device, const char *id);
cudaError_t cudaDeviceGetCacheConfig(int *ret_config);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret_pool, int device);
cudaError_t cudaDeviceGetLimit(size_t *ret_value, CUlimit limit);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *ret_pool, int device);
cudaError_t cudaDeviceGetP2PAttribute(int *ret_value, int attribute, int from, int to);
cudaError_t cudaDeviceGetPCIBusId(char *ret_id, int room, int device);
cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSetCacheConfig(int config);
cudaError_t cudaDeviceSetLimit(CUlimit limit, size_t value);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDriverGetVersion(int *ret_version);
cudaError_t cudaEventCreate(cudaEvent_t *ret_event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags);
cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned int flags);
cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream);
cudaError_t cudaFreeAsync_ptsz(void *pointer, cudaStream_t stream);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *ret_attributes, const void *host);
cudaError_t cudaFuncGetName(const char **ret_name, const void *host);
cudaError_t cudaFuncGetParamInfo(const void *host, size_t index, size_t *ret_offset, size_t *ret_size);
cudaError_t cudaFuncSetAttribute(const void *host, int attribute, int value);
cudaError_t cudaFuncSetCacheConfig(const void *host, int config);
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *ret_channel, cudaArray_t array);
cudaError_t cudaGetDevice(int *ret_device);
cudaError_t cudaGetDeviceCount(int *ret_count);
cudaError_t cudaGetDeviceFlags(unsigned int *ret_flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *ret_properties, int device);
cudaError_t cudaGetDriverEntryPoint(const char *name, void **ret_function, unsigned long long flags,
                                    CUdriverProcAddressQueryResult *ret_status);
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **ret_function, unsigned version,
                                             unsigned long long flags,
                                             CUdriverProcAddressQueryResult *ret_status);
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **ret_function, unsigned version,
                                                  unsigned long long flags,
                                                  CUdriverProcAddressQueryResult *ret_status);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *ret_function, const void *host);
cudaError_t cudaGetKernel(cudaKernel_t *ret_kernel, const void *host);
cudaError_t cudaGetLastError(void);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *ret_level, cudaMipmappedArray_t mipmap,
                                       unsigned int level);
cudaError_t cudaGetSymbolAddress(void **ret_address, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *ret_size, const void *symbol);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                       const cudaGraphNode_t *after, size_t n, cudaGraph_t child);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const CUgraphEdgeData *data, size_t n);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                  size_t n);
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                        const cudaGraphNode_t *after, size_t n, cudaEvent_t event);
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                      const cudaGraphNode_t *after, size_t n, cudaEvent_t event);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                 size_t n, const cudaHostNodeParams *about);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                   size_t n, const cudaKernelNodeParams *asked);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                     const cudaGraphNode_t *after, size_t n, void *to, const void *from,
                                     size_t size, cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                   size_t n, const cudaMemsetParams *asked);
cudaError_t cudaGraphClone(cudaGraph_t *ret_clone, cudaGraph_t graph);
cudaError_t cudaGraphCreate(cudaGraph_t *ret_graph, unsigned int flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *asked);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                CUgraphExecUpdateResultInfo *ret_info);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *ret_from, cudaGraphNode_t *ret_to,
                              CUgraphEdgeData *ret_data, size_t *n);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *ret_nodes, size_t *n);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *ret_nodes, size_t *n);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                                          unsigned long long flags);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *asked);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, CUgraphNodeType *ret_type);
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaHostAlloc(void **ret_pointer, size_t size, unsigned int flags);
cudaError_t cudaHostGetDevicePointer(void **ret_device, void *host, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int *ret_flags, void *host);
cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void *pointer);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                        size_t shared, cudaStream_t stream);
cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *function, dim3 grid, dim3 block, void **arguments,
                                             size_t shared, cudaStream_t stream);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t run, void *user);
cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t run, void *user);
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments);
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *function,
                                     void **arguments);
cudaError_t cudaLaunchKernel_ptsz(const void *function, dim3 grid, dim3 block, void **arguments,
                                  size_t shared, cudaStream_t stream);
cudaError_t cudaMalloc(void **ret_pointer, size_t size);
cudaError_t cudaMalloc3D(cudaPitchedPtr *ret_pointer, cudaExtent extent);
cudaError_t cudaMalloc3DArray(cudaArray_t *ret_array, const cudaChannelFormatDesc *channel, cudaExtent extent,
                              unsigned int flags);
cudaError_t cudaMallocArray(cudaArray_t *ret_array, const cudaChannelFormatDesc *channel, size_t width,
                            size_t height, unsigned int flags);
cudaError_t cudaMallocAsync(void **ret_pointer, size_t size, cudaStream_t stream);
cudaError_t cudaMallocAsync_ptsz(void **ret_pointer, size_t size, cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync(void **ret_pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync_ptsz(void **ret_pointer, size_t size, cudaMemPool_t pool,
                                         cudaStream_t stream);
cudaError_t cudaMallocHost(void **ret_pointer, size_t size);
cudaError_t cudaMallocManaged(void **ret_pointer, size_t size, unsigned int flags);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *ret_mipmap, const cudaChannelFormatDesc *channel,
                                     cudaExtent extent, unsigned int n_levels, unsigned int flags);
cudaError_t cudaMallocPitch(void **ret_pointer, size_t *ret_pitch, size_t width, size_t height);
cudaError_t cudaMemAdvise(const void *pointer, size_t size, int advice, CUmemLocation location);
cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *ret_pool, const CUmemPoolProps *about);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, CUmemPool_attribute attribute, void *ret_value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const CUmemAccessDesc *access, size_t n);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, CUmemPool_attribute attribute, void *value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t least);
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, CUmemLocation location, unsigned int flags,
                                 cudaStream_t stream);
cudaError_t cudaMemPrefetchAsync_ptsz(const void *pointer, size_t size, CUmemLocation location,
                                      unsigned int flags, cudaStream_t stream);
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync_ptsz(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                   size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y,
                                       size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                     size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2D_ptds(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *asked);
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *asked, cudaStream_t stream);
cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms *asked, cudaStream_t stream);
cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms *asked);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                                 cudaStream_t stream);
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
                                 cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void *to, const void *symbol, size_t size, size_t offset,
                                           cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyFromSymbol_ptds(void *to, const void *symbol, size_t size, size_t offset,
                                      cudaMemcpyKind kind);
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                                cudaStream_t stream);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
                               cudaMemcpyKind kind);
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *from, size_t size, size_t offset,
                                         cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *from, size_t size, size_t offset,
                                    cudaMemcpyKind kind);
cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemset(void *pointer, int value, size_t n);
cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream);
cudaError_t cudaMemset2DAsync_ptsz(void *pointer, size_t pitch, int value, size_t width, size_t height,
                                   cudaStream_t stream);
cudaError_t cudaMemset2D_ptds(void *pointer, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent);
cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream);
cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream);
cudaError_t cudaMemset3D_ptds(cudaPitchedPtr pointer, int value, cudaExtent extent);
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t n, cudaStream_t stream);
cudaError_t cudaMemsetAsync_ptsz(void *pointer, int value, size_t n, cudaStream_t stream);
cudaError_t cudaMemset_ptds(void *pointer, int value, size_t n);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *ret_dynamic, const void *host, int blocks,
                                                      int block);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, const void *host, int block,
                                                          size_t dynamic);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks, const void *host,
                                                                   int block, size_t dynamic,
                                                                   unsigned int flags);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *ret_attributes, const void *pointer);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
cudaError_t cudaRuntimeGetVersion(int *ret_version);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t run, void *user,
                                  unsigned int flags);
cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t run, void *user,
                                       unsigned int flags);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t size, unsigned int flags);
cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void *pointer, size_t size,
                                          unsigned int flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, CUstreamCaptureMode mode);
cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, CUstreamCaptureMode mode);
cudaError_t cudaStreamCreate(cudaStream_t *ret_stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret_stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret_graph);
cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t *ret_graph);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, CUstreamCaptureStatus *ret_status,
                                     unsigned long long *ret_id, cudaGraph_t *ret_graph,
                                     const cudaGraphNode_t **ret_after, const CUgraphEdgeData **ret_edges,
                                     size_t *ret_n);
cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, CUstreamCaptureStatus *ret_status,
                                          unsigned long long *ret_id, cudaGraph_t *ret_graph,
                                          const cudaGraphNode_t **ret_after,
                                          const CUgraphEdgeData **ret_edges, size_t *ret_n);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *ret_device);
cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t stream, int *ret_device);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *ret_flags);
cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned int *ret_flags);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *ret_id);
cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long *ret_id);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *ret_priority);
cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t stream, int *ret_priority);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, CUstreamCaptureStatus *ret_status);
cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, CUstreamCaptureStatus *ret_status);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
cudaError_t cudaThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);

cudaError_t cudaDeviceGraphMemTrim(int device);
cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *ret_resource, cudaSurfaceObject_t object);
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *ret_resource, cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *ret_view,
                                                 cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *ret_about, cudaTextureObject_t object);
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                     const cudaGraphNode_t *after, size_t n,
                                     CUDA_MEM_ALLOC_NODE_PARAMS *about);
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                    const cudaGraphNode_t *after, size_t n, void *address);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                   size_t n, const cudaMemcpy3DParms *asked);
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                             const cudaGraphNode_t *after, size_t n, void *to,
                                             const void *symbol, size_t size, size_t offset,
                                             cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                           const cudaGraphNode_t *after, size_t n, const void *symbol,
                                           const void *from, size_t size, size_t offset, cudaMemcpyKind kind);
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *ret_graph);
cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *ret_event);
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *ret_event);
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 cudaEvent_t event);
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *ret_flags);
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams *about);
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms *asked);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                               const void *from, size_t size, cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                       const void *symbol, size_t size, size_t offset,
                                                       cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     const void *symbol, const void *from, size_t size,
                                                     size_t offset, cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams *asked);
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams *ret_about);
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams *about);
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *about);
cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                                                CUDA_GRAPH_INSTANTIATE_PARAMS *about);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *ret_about);
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, CUDA_MEM_ALLOC_NODE_PARAMS *ret_about);
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *ret_address);
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *asked);
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t size,
                                           cudaMemcpyKind kind);
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams *ret_about);
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams *asked);
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *ret_node, cudaGraphNode_t origin, cudaGraph_t clone);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *ret_nodes,
                                         CUgraphEdgeData *ret_edges, size_t *n);
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *ret_nodes,
                                           CUgraphEdgeData *ret_edges, size_t *n);
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *ret_enabled);
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled);
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                        const cudaGraphNode_t *to, const CUgraphEdgeData *edges, size_t n);
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, CUfunction_attribute attribute, int value,
                                            int device);
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *ret_kernels, unsigned int room, CUlibrary library);
cudaError_t cudaLibraryGetGlobal(void **ret_address, size_t *ret_size, CUlibrary library, const char *name);
cudaError_t cudaLibraryGetKernel(cudaKernel_t *ret_kernel, CUlibrary library, const char *name);
cudaError_t cudaLibraryGetKernelCount(unsigned int *ret_n, CUlibrary library);
cudaError_t cudaLibraryGetManaged(void **ret_address, size_t *ret_size, CUlibrary library, const char *name);
cudaError_t cudaLibraryLoadData(CUlibrary *ret_library, const void *image, CUjit_option *jit,
                                void **jit_values, unsigned int n_jit, void *options, void **values,
                                unsigned int n);
cudaError_t cudaLibraryLoadFromFile(CUlibrary *ret_library, const char *path, CUjit_option *jit,
                                    void **jit_values, unsigned int n_jit, void *options, void **values,
                                    unsigned int n);
cudaError_t cudaLibraryUnload(CUlibrary library);
cudaError_t cudaMemPoolGetAccess(int *ret_flags, cudaMemPool_t pool, CUmemLocation *location);
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t *after, const CUgraphEdgeData *edges,
                                          size_t n, CUstreamCaptureMode mode);
cudaError_t cudaStreamBeginCaptureToGraph_ptsz(cudaStream_t stream, cudaGraph_t graph,
                                               const cudaGraphNode_t *after, const CUgraphEdgeData *edges,
                                               size_t n, CUstreamCaptureMode mode);
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from);
cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t to, cudaStream_t from);
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, CUlaunchAttributeID id,
                                   CUlaunchAttributeValue *ret_value);
cudaError_t cudaStreamGetAttribute_ptsz(cudaStream_t stream, CUlaunchAttributeID id,
                                        CUlaunchAttributeValue *ret_value);
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, CUlaunchAttributeID id,
                                   const CUlaunchAttributeValue *value);
cudaError_t cudaStreamSetAttribute_ptsz(cudaStream_t stream, CUlaunchAttributeID id,
                                        const CUlaunchAttributeValue *value);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                const CUgraphEdgeData *edges, size_t n, unsigned int flags);
cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                     const CUgraphEdgeData *edges, size_t n,
                                                     unsigned int flags);
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags);

#endif
