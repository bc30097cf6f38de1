/*
 * Calls of the driver API about virtual memory, memory and events that processes share, ranges and
 * batches: see driver_calls.h.
 */
#ifndef CUDA_ABI_MEMORY_CALLS_H
#define CUDA_ABI_MEMORY_CALLS_H

#include "cuda_abi/memory_abi.h"

CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t size, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr address, size_t size);
CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t size, const CUmemAllocationProp *about,
                     unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr address, size_t size);
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t n);
CUresult cuMemGetAccess(unsigned long long *ret_flags, const CUmemLocation *location, CUdeviceptr address);
CUresult cuMemExportToShareableHandle(void *ret_shareable, CUmemGenericAllocationHandle handle, int type,
                                      unsigned long long flags);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret_handle, void *shareable, int type);
CUresult cuMemGetAllocationGranularity(size_t *ret_granularity, const CUmemAllocationProp *about, int which);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret_about,
                                                CUmemGenericAllocationHandle handle);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle, void *address);

CUresult cuIpcGetMemHandle(CUipcMemHandle *ret_handle, CUdeviceptr address);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret_address, CUipcMemHandle handle, unsigned int flags);
CUresult cuIpcOpenMemHandle(CUdeviceptr *ret_address, CUipcMemHandle handle, unsigned int flags);
CUresult cuIpcCloseMemHandle(CUdeviceptr address);
CUresult cuIpcGetEventHandle(CUipcEventHandle *ret_handle, CUevent event);
CUresult cuIpcOpenEventHandle(CUevent *ret_event, CUipcEventHandle handle);

CUresult cuMemPoolExportToShareableHandle(void *ret_shareable, CUmemoryPool pool, int type,
                                          unsigned long long flags);
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *ret_pool, void *shareable, int type,
                                            unsigned long long flags);
CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *ret_data, CUdeviceptr address);
CUresult cuMemPoolImportPointer(CUdeviceptr *ret_address, CUmemoryPool pool, CUmemPoolPtrExportData *data);

CUresult cuMemGetDefaultMemPool(CUmemoryPool *ret_pool, CUmemLocation *location, int type);
CUresult cuMemGetMemPool(CUmemoryPool *ret_pool, CUmemLocation *location, int type);
CUresult cuMemSetMemPool(CUmemLocation *location, int type, CUmemoryPool pool);
CUresult cuCtxRecordEvent(CUcontext context, CUevent event);
CUresult cuCtxWaitEvent(CUcontext context, CUevent event);
CUresult cuCtxAttach(CUcontext *ret_context, unsigned int flags);
CUresult cuCtxDetach(CUcontext context);

CUresult cuMemRangeGetAttribute(void *ret_data, size_t size, int attribute, CUdeviceptr address,
                                size_t count);
CUresult cuMemRangeGetAttributes(void **ret_data, size_t *sizes, int *attributes, size_t n,
                                 CUdeviceptr address, size_t count);
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void *ret_value);
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, int attribute, void *value);

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n,
                               CUmemcpyAttributes *attributes, size_t *first_of, size_t n_attributes,
                               CUstream stream);
CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n,
                            CUmemcpyAttributes *attributes, size_t *first_of, size_t n_attributes,
                            size_t *ret_failed, CUstream stream);
CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n,
                                    CUmemcpyAttributes *attributes, size_t *first_of, size_t n_attributes,
                                    CUstream stream);
CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n,
                                 CUmemcpyAttributes *attributes, size_t *first_of, size_t n_attributes,
                                 size_t *ret_failed, CUstream stream);
CUresult cuMemcpy3DBatchAsync_v2(size_t n, CUDA_MEMCPY3D_BATCH_OP *copies, unsigned long long flags,
                                 CUstream stream);
CUresult cuMemcpy3DBatchAsync(size_t n, CUDA_MEMCPY3D_BATCH_OP *copies, size_t *ret_failed,
                              unsigned long long flags, CUstream stream);
CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t n, CUDA_MEMCPY3D_BATCH_OP *copies, unsigned long long flags,
                                      CUstream stream);
CUresult cuMemcpy3DBatchAsync_ptsz(size_t n, CUDA_MEMCPY3D_BATCH_OP *copies, size_t *ret_failed,
                                   unsigned long long flags, CUstream stream);
CUresult cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t n, CUmemLocation *locations,
                                 size_t *first_of, size_t n_locations, unsigned long long flags,
                                 CUstream stream);
CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                      CUmemLocation *locations, size_t *first_of, size_t n_locations,
                                      unsigned long long flags, CUstream stream);
CUresult cuMemDiscardBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t n, unsigned long long flags,
                                CUstream stream);
CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                     unsigned long long flags, CUstream stream);
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                           CUmemLocation *locations, size_t *first_of, size_t n_locations,
                                           unsigned long long flags, CUstream stream);
CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                                CUmemLocation *locations, size_t *first_of,
                                                size_t n_locations, unsigned long long flags,
                                                CUstream stream);

/* A descriptor is a CUdevResourceDesc. */
CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *ret_resource, int type);
CUresult cuCtxGetDevResource(CUcontext context, CUdevResource *ret_resource, int type);
CUresult cuDevSmResourceSplitByCount(CUdevResource *ret_groups, unsigned int *n_groups,
                                     const CUdevResource *input, CUdevResource *ret_rest, unsigned int flags,
                                     unsigned int least);
CUresult cuDevResourceGenerateDesc(void **ret_descriptor, CUdevResource *resources, unsigned int n);
CUresult cuGreenCtxCreate(CUgreenCtx *ret_green, void *descriptor, CUdevice device, unsigned int flags);
CUresult cuGreenCtxDestroy(CUgreenCtx green);
CUresult cuCtxFromGreenCtx(CUcontext *ret_context, CUgreenCtx green);
CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource *ret_resource, int type);
CUresult cuGreenCtxGetId(CUgreenCtx green, unsigned long long *ret_id);
CUresult cuGreenCtxStreamCreate(CUstream *ret_stream, CUgreenCtx green, unsigned int flags, int priority);
CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx *ret_green);
CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event);
CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event);

#endif
