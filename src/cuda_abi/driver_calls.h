/*
 * The calls of the driver API that Baton implements or makes, as documented. Names that are in
 * names.def and not here exist too, but nothing in Baton calls them.
 */
#ifndef CUDA_ABI_DRIVER_CALLS_H
#define CUDA_ABI_DRIVER_CALLS_H

#include "cuda_abi/graph_abi.h"

CUresult cuArray3DCreate_v2(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *about);
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *ret_about, CUarray array);
CUresult cuArrayCreate_v2(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR *about);
CUresult cuArrayDestroy(CUarray array);
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *ret_about, CUarray array);
CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext *ret_context, void *params, int n_params, unsigned int flags,
                        CUdevice device);
CUresult cuCtxCreate_v4(CUcontext *ret_context, void *params, unsigned int flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxDisablePeerAccess(CUcontext peer);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *ret_version);
CUresult cuCtxGetCacheConfig(int *ret_config);
CUresult cuCtxGetSharedMemConfig(int *ret_config);
CUresult cuCtxGetCurrent(CUcontext *ret_context);
CUresult cuCtxGetDevice(CUdevice *ret_device);
CUresult cuCtxGetDevice_v2(CUdevice *ret_device, CUcontext context);
CUresult cuCtxGetFlags(unsigned int *ret_flags);
CUresult cuCtxGetId(CUcontext context, unsigned long long *ret_id);
CUresult cuCtxGetLimit(size_t *ret_value, CUlimit limit);
CUresult cuCtxGetStreamPriorityRange(int *ret_least, int *ret_greatest);
CUresult cuCtxPopCurrent_v2(CUcontext *ret_context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxResetPersistingL2Cache(void);
CUresult cuCtxSetCacheConfig(int config);
CUresult cuCtxSetSharedMemConfig(int config);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSetFlags(unsigned int flags);
CUresult cuCtxSetLimit(CUlimit limit, size_t value);
CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize_v2(CUcontext context);
CUresult cuDeviceCanAccessPeer(int *ret_can, CUdevice device, CUdevice peer);
CUresult cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice device);
CUresult cuDeviceGet(CUdevice *ret_device, int ordinal);
CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDeviceGetByPCIBusId(CUdevice *ret_device, const char *id);
CUresult cuDeviceGetCount(int *ret_count);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *ret_pool, CUdevice device);
CUresult cuDeviceGetExecAffinitySupport(int *ret_can, int type, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *ret_pool, CUdevice device);
CUresult cuDeviceGetName(char *ret_name, int room, CUdevice device);
CUresult cuDeviceGetP2PAttribute(int *ret_value, int attribute, CUdevice from, CUdevice to);
CUresult cuDeviceGetPCIBusId(char *ret_id, int room, CUdevice device);
CUresult cuDeviceGetProperties(CUdevprop *ret_properties, CUdevice device);
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *ret_width, CUarray_format format, unsigned channels,
                                            CUdevice device);
CUresult cuDeviceGetUuid(CUuuid *ret_uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid *ret_uuid, CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *ret_flags, int *ret_active);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice device);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult cuDeviceTotalMem_v2(size_t *ret_bytes, CUdevice device);
CUresult cuDriverGetVersion(int *version);
CUresult cuEventCreate(CUevent *ret_event, unsigned int flags);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventElapsedTime(float *ret_ms, CUevent begin, CUevent end);
CUresult cuEventElapsedTime_v2(float *ret_ms, CUevent begin, CUevent end);
CUresult cuEventQuery(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream handle);
CUresult cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned int flags);
CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream handle, unsigned int flags);
CUresult cuEventRecord_ptsz(CUevent event, CUstream handle);
CUresult cuEventSynchronize(CUevent event);
CUresult cuFuncGetAttribute(int *ret_value, CUfunction_attribute attribute, CUfunction handle);
CUresult cuFuncGetModule(CUmodule *ret_module, CUfunction handle);
CUresult cuFuncGetName(const char **ret_name, CUfunction handle);
CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *ret_offset, size_t *ret_size);
CUresult cuFuncIsLoaded(int *ret_state, CUfunction handle);
CUresult cuFuncLoad(CUfunction handle);
CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value);
CUresult cuFuncSetCacheConfig(CUfunction handle, int config);
CUresult cuFuncSetSharedMemConfig(CUfunction handle, int config);
CUresult cuGetErrorName(CUresult error, const char **ret_name);
CUresult cuGetErrorString(CUresult error, const char **ret_text);
CUresult cuGetExportTable(const void **ret_table, const CUuuid *id);
CUresult cuGetProcAddress(const char *name, void **ret_address, int version, uint64_t flags);
CUresult cuGetProcAddress_v2(const char *name, void **ret_address, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *ret_status);
CUresult cuGraphAddChildGraphNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                                  CUgraph child);
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n);
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *data, size_t n);
CUresult cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n);
CUresult cuGraphAddEventRecordNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                                   CUevent event);
CUresult cuGraphAddEventWaitNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                                 CUevent event);
CUresult cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                            const CUDA_HOST_NODE_PARAMS *about);
CUresult cuGraphAddKernelNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                              const CUDA_KERNEL_NODE_PARAMS *about);
CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                                 const CUDA_KERNEL_NODE_PARAMS *about);
CUresult cuGraphAddBatchMemOpNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *about);
CUresult cuGraphAddMemAllocNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                                CUDA_MEM_ALLOC_NODE_PARAMS *about);
CUresult cuGraphAddMemFreeNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                               CUdeviceptr address);
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *ret_about);
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *ret_address);
CUresult cuGraphAddNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                        CUgraphNodeParams *about);
CUresult cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *about);
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *about);
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *about);
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child);
CUresult cuDeviceGraphMemTrim(CUdevice device);
CUresult cuStreamBatchMemOp(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *batch,
                            unsigned int flags);
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *batch,
                               unsigned int flags);
CUresult cuStreamBatchMemOp_ptsz(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *batch,
                                 unsigned int flags);
CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *batch,
                                    unsigned int flags);
CUresult cuStreamSetAttribute(CUstream stream, CUlaunchAttributeID id, const CUlaunchAttributeValue *value);
CUresult cuStreamGetAttribute(CUstream stream, CUlaunchAttributeID id, CUlaunchAttributeValue *ret_value);
CUresult cuStreamCopyAttributes(CUstream to, CUstream from);
CUresult cuStreamSetAttribute_ptsz(CUstream stream, CUlaunchAttributeID id,
                                   const CUlaunchAttributeValue *value);
CUresult cuStreamGetAttribute_ptsz(CUstream stream, CUlaunchAttributeID id,
                                   CUlaunchAttributeValue *ret_value);
CUresult cuStreamCopyAttributes_ptsz(CUstream to, CUstream from);
CUresult cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                              const CUDA_MEMCPY3D *about, CUcontext context);
CUresult cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after, size_t n,
                              const CUDA_MEMSET_NODE_PARAMS *about, CUcontext context);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *ret_graph);
CUresult cuGraphClone(CUgraph *ret_clone, CUgraph graph);
CUresult cuGraphCreate(CUgraph *ret_graph, unsigned int flags);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuGraphDestroyNode(CUgraphNode node);
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *ret_event);
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event);
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *ret_event);
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event);
CUresult cuGraphExecDestroy(CUgraphExec exec);
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult cuGraphExecGetFlags(CUgraphExec exec, uint64_t *ret_flags);
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *about);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS *about);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *about);
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *about,
                                        CUcontext context);
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *about, CUcontext context);
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *ret_info);
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *ret_from, CUgraphNode *ret_to, size_t *n);
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *ret_from, CUgraphNode *ret_to,
                            CUgraphEdgeData *ret_data, size_t *n);
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *ret_nodes, size_t *n);
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *ret_nodes, size_t *n);
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *ret_about);
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *about);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph graph, unsigned long long flags);
CUresult cuGraphInstantiateWithParams(CUgraphExec *ret_exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *about);
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *ret_exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *about);
CUresult cuGraphInstantiate_v2(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_node, char *log,
                               size_t log_size);
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret_about);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret_about);
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *about);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *about);
CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle);
CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream handle);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *ret_about);
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *about);
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *ret_about);
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *about);
CUresult cuGraphNodeFindInClone(CUgraphNode *ret_node, CUgraphNode origin, CUgraph clone);
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *ret_nodes, size_t *n);
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *ret_nodes, CUgraphEdgeData *ret_data,
                                       size_t *n);
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *ret_nodes, size_t *n);
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *ret_nodes, CUgraphEdgeData *ret_data,
                                         size_t *n);
CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *ret_enabled);
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *ret_type);
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled);
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n);
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *data, size_t n);
CUresult cuGraphUpload(CUgraphExec exec, CUstream handle);
CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream handle);
CUresult cuInit(unsigned int flags);
CUresult cuKernelGetAttribute(int *ret_value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device);
CUresult cuKernelGetFunction(CUfunction *ret_function, CUkernel kernel);
CUresult cuKernelGetLibrary(CUlibrary *ret_library, CUkernel kernel);
CUresult cuKernelGetName(const char **ret_name, CUkernel kernel);
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *ret_offset, size_t *ret_size);
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device);
CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device);
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared, CUstream stream,
                                   void **parameters);
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                        unsigned int block_z, unsigned int shared, CUstream stream,
                                        void **parameters);
CUresult cuLaunchHostFunc(CUstream handle, CUhostFn run, void *user);
CUresult cuLaunchHostFunc_ptsz(CUstream handle, CUhostFn run, void *user);
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream stream, void **parameters, void **extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra);
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **parameters,
                               void **extra);
CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                             unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                             unsigned int block_z, unsigned int shared, CUstream stream, void **parameters,
                             void **extra);
CUresult cuLibraryEnumerateKernels(CUkernel *ret_kernels, unsigned int room, CUlibrary library);
CUresult cuLibraryGetGlobal(CUdeviceptr *ret_address, size_t *ret_size, CUlibrary library, const char *name);
CUresult cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name);
CUresult cuLibraryGetKernelCount(unsigned int *ret_count, CUlibrary library);
CUresult cuLibraryGetManaged(CUdeviceptr *ret_address, size_t *ret_size, CUlibrary library, const char *name);
CUresult cuLibraryGetModule(CUmodule *ret_module, CUlibrary library);
CUresult cuLibraryLoadData(CUlibrary *ret_library, const void *image, CUjit_option *jit, void **jit_values,
                           unsigned int n_jit, void *library_options, void **library_values,
                           unsigned int n_library);
CUresult cuLibraryLoadFromFile(CUlibrary *ret_library, const char *path, CUjit_option *jit, void **jit_values,
                               unsigned int n_jit, void *library_options, void **library_values,
                               unsigned int n_library);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                          unsigned int n, CUjit_option *options, void **values);
CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int n,
                          CUjit_option *options, void **values);
CUresult cuLinkComplete(CUlinkState state, void **ret_image, size_t *ret_size);
CUresult cuLinkCreate_v2(unsigned int n, CUjit_option *options, void **values, CUlinkState *ret_state);
CUresult cuLinkDestroy(CUlinkState state);
CUresult cuMemAdvise(CUdeviceptr address, size_t size, int advice, CUdevice device);
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, int advice, CUmemLocation location);
CUresult cuMemAllocAsync(CUdeviceptr *ret_address, size_t size, CUstream stream);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *ret_address, size_t size, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ret_address, size_t size, CUmemoryPool pool, CUstream stream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ret_address, size_t size, CUmemoryPool pool,
                                      CUstream stream);
CUresult cuMemAllocHost_v2(void **ret_host, size_t size);
CUresult cuMemAllocManaged(CUdeviceptr *ret_address, size_t size, unsigned int flags);
CUresult cuMemAllocPitch_v2(CUdeviceptr *ret_address, size_t *ret_pitch, size_t width, size_t height,
                            unsigned int element);
CUresult cuMemAlloc_v2(CUdeviceptr *ret_address, size_t size);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream handle);
CUresult cuMemFreeHost(void *host);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_size, CUdeviceptr address);
CUresult cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total);
CUresult cuMemHostAlloc(void **ret_host, size_t size, unsigned int flags);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ret_address, void *host, unsigned int flags);
CUresult cuMemHostGetFlags(unsigned int *ret_flags, void *host);
CUresult cuMemHostRegister_v2(void *host, size_t size, unsigned int flags);
CUresult cuMemHostUnregister(void *host);
CUresult cuMemPoolCreate(CUmemoryPool *ret_pool, const CUmemPoolProps *about);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolGetAccess(int *ret_flags, CUmemoryPool pool, CUmemLocation *location);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *ret_value);
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t n);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t least);
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream handle);
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t size, CUdevice device, CUstream handle);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, CUmemLocation location, unsigned int flags,
                               CUstream handle);
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t size, CUmemLocation location,
                                    unsigned int flags, CUstream handle);
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy);
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *copy);
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy);
CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *copy);
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size);
CUresult cuMemcpyAtoA_v2_ptds(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size);
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t size);
CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr to, CUarray from, size_t offset, size_t size);
CUresult cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t size, CUstream stream);
CUresult cuMemcpyAtoHAsync_v2_ptsz(void *to, CUarray from, size_t offset, size_t size, CUstream stream);
CUresult cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t size);
CUresult cuMemcpyAtoH_v2_ptds(void *to, CUarray from, size_t offset, size_t size);
CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t size);
CUresult cuMemcpyDtoA_v2_ptds(CUarray to, size_t offset, CUdeviceptr from, size_t size);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size);
CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t size);
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2_ptsz(void *to, CUdeviceptr from, size_t size, CUstream stream);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size);
CUresult cuMemcpyDtoH_v2_ptds(void *to, CUdeviceptr from, size_t size);
CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t size, CUstream stream);
CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray to, size_t offset, const void *from, size_t size, CUstream stream);
CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t size);
CUresult cuMemcpyHtoA_v2_ptds(CUarray to, size_t offset, const void *from, size_t size);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream);
CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void *from, size_t size, CUstream stream);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size);
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void *from, size_t size);
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      size_t size);
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t size, CUstream stream);
CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                CUcontext from_context, size_t size, CUstream stream);
CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t size);
CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t size);
CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t n, CUstream stream);
CUresult cuMemsetD16Async_ptsz(CUdeviceptr address, unsigned short value, size_t n, CUstream stream);
CUresult cuMemsetD16_v2(CUdeviceptr address, unsigned short value, size_t n);
CUresult cuMemsetD16_v2_ptds(CUdeviceptr address, unsigned short value, size_t n);
CUresult cuMemsetD2D16Async(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream);
CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                                 size_t height, CUstream stream);
CUresult cuMemsetD2D16_v2(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                          size_t height);
CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                               size_t height);
CUresult cuMemsetD2D32Async(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                            size_t height, CUstream stream);
CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                                 size_t height, CUstream stream);
CUresult cuMemsetD2D32_v2(CUdeviceptr address, size_t pitch, unsigned int value, size_t width, size_t height);
CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                               size_t height);
CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream);
CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                                size_t height, CUstream stream);
CUresult cuMemsetD2D8_v2(CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height);
CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                              size_t height);
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned int value, size_t n, CUstream stream);
CUresult cuMemsetD32Async_ptsz(CUdeviceptr address, unsigned int value, size_t n, CUstream stream);
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned int value, size_t n);
CUresult cuMemsetD32_v2_ptds(CUdeviceptr address, unsigned int value, size_t n);
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t n, CUstream stream);
CUresult cuMemsetD8Async_ptsz(CUdeviceptr address, unsigned char value, size_t n, CUstream stream);
CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t n);
CUresult cuMemsetD8_v2_ptds(CUdeviceptr address, unsigned char value, size_t n);
CUresult cuMipmappedArrayCreate(CUmipmappedArray *ret_mipmap, const CUDA_ARRAY3D_DESCRIPTOR *about,
                                unsigned int n_levels);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmap);
CUresult cuMipmappedArrayGetLevel(CUarray *ret_level, CUmipmappedArray mipmap, unsigned int level);
CUresult cuModuleEnumerateFunctions(CUfunction *ret_functions, unsigned int room, CUmodule module);
CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name);
CUresult cuModuleGetFunctionCount(unsigned int *ret_count, CUmodule module);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret_address, size_t *ret_size, CUmodule module, const char *name);
CUresult cuModuleGetLoadingMode(int *ret_mode);
CUresult cuModuleLoad(CUmodule *ret_module, const char *path);
CUresult cuModuleLoadData(CUmodule *ret_module, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned int n, CUjit_option *options,
                            void **values);
CUresult cuModuleLoadFatBinary(CUmodule *ret_module, const void *image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *ret_dynamic, CUfunction handle, int blocks,
                                                 int block);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, CUfunction function, int block,
                                                     size_t dynamic);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks, CUfunction handle, int block,
                                                              size_t dynamic, unsigned int flags);
CUresult cuOccupancyMaxPotentialBlockSize(int *ret_grid, int *ret_block, CUfunction function,
                                          CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit);
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *ret_grid, int *ret_block, CUfunction handle,
                                                   CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit,
                                                   unsigned int flags);
CUresult cuPointerGetAttribute(void *ret_data, CUpointer_attribute attribute, CUdeviceptr pointer);
CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **ret_data,
                                CUdeviceptr pointer);
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr pointer);
CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback run, void *user, unsigned int flags);
CUresult cuStreamAddCallback_ptsz(CUstream handle, CUstreamCallback run, void *user, unsigned int flags);
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t size, unsigned int flags);
CUresult cuStreamAttachMemAsync_ptsz(CUstream handle, CUdeviceptr address, size_t size, unsigned int flags);
CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode *after,
                                     const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode);
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream handle, CUgraph graph, const CUgraphNode *after,
                                          const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode);
CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode);
CUresult cuStreamBeginCapture_v2_ptsz(CUstream handle, CUstreamCaptureMode mode);
CUresult cuStreamCreate(CUstream *ret_stream, unsigned int flags);
CUresult cuStreamCreateWithPriority(CUstream *ret_stream, unsigned int flags, int priority);
CUresult cuStreamDestroy_v2(CUstream handle);
CUresult cuStreamEndCapture(CUstream handle, CUgraph *ret_graph);
CUresult cuStreamEndCapture_ptsz(CUstream handle, CUgraph *ret_graph);
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *ret_status,
                                   unsigned long long *ret_id, CUgraph *ret_graph,
                                   const CUgraphNode **ret_after, size_t *ret_n);
CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream handle, CUstreamCaptureStatus *ret_status,
                                        unsigned long long *ret_id, CUgraph *ret_graph,
                                        const CUgraphNode **ret_after, size_t *ret_n);
CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *ret_status,
                                   unsigned long long *ret_id, CUgraph *ret_graph,
                                   const CUgraphNode **ret_after, const CUgraphEdgeData **ret_edges,
                                   size_t *ret_n);
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream handle, CUstreamCaptureStatus *ret_status,
                                        unsigned long long *ret_id, CUgraph *ret_graph,
                                        const CUgraphNode **ret_after, const CUgraphEdgeData **ret_edges,
                                        size_t *ret_n);
CUresult cuStreamGetCtx(CUstream handle, CUcontext *ret_context);
CUresult cuStreamGetCtx_ptsz(CUstream handle, CUcontext *ret_context);
/* ret_green: a CUgreenCtx */
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *ret_context, void **ret_green);
CUresult cuStreamGetCtx_v2_ptsz(CUstream handle, CUcontext *ret_context, void **ret_green);
CUresult cuStreamGetDevice(CUstream handle, CUdevice *ret_device);
CUresult cuStreamGetDevice_ptsz(CUstream handle, CUdevice *ret_device);
CUresult cuStreamGetFlags(CUstream handle, unsigned int *ret_flags);
CUresult cuStreamGetFlags_ptsz(CUstream handle, unsigned int *ret_flags);
CUresult cuStreamGetId(CUstream handle, unsigned long long *ret_id);
CUresult cuStreamGetId_ptsz(CUstream handle, unsigned long long *ret_id);
CUresult cuStreamGetPriority(CUstream handle, int *ret_priority);
CUresult cuStreamGetPriority_ptsz(CUstream handle, int *ret_priority);
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *ret_status);
CUresult cuStreamIsCapturing_ptsz(CUstream handle, CUstreamCaptureStatus *ret_status);
CUresult cuStreamQuery(CUstream handle);
CUresult cuStreamQuery_ptsz(CUstream handle);
CUresult cuStreamSynchronize(CUstream handle);
CUresult cuStreamSynchronize_ptsz(CUstream handle);
CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode *nodes, size_t n, unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream handle, CUgraphNode *nodes, size_t n,
                                                unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
                                              const CUgraphEdgeData *edges, size_t n, unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream handle, CUgraphNode *nodes,
                                                   const CUgraphEdgeData *edges, size_t n,
                                                   unsigned int flags);
CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags);
CUresult cuStreamWaitEvent_ptsz(CUstream handle, CUevent event, unsigned int flags);
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags);
CUresult cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags);
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags);
CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                     unsigned int flags);
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags);
CUresult cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags);
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags);
CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                     unsigned int flags);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags);
CUresult cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags);
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags);
CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                      unsigned int flags);
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags);
CUresult cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags);
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags);
CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                      unsigned int flags);
CUresult cuSurfObjectCreate(CUsurfObject *ret_object, const CUDA_RESOURCE_DESC *resource);
CUresult cuSurfObjectDestroy(CUsurfObject handle);
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *ret_resource, CUsurfObject handle);
CUresult cuTexObjectCreate(CUtexObject *ret_object, const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *about, const CUDA_RESOURCE_VIEW_DESC *view);
CUresult cuTexObjectDestroy(CUtexObject handle);
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *ret_resource, CUtexObject handle);
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *ret_view, CUtexObject handle);
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *ret_about, CUtexObject handle);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);

#endif
