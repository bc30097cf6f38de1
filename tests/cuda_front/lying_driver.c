/*
 * A driver that answers CUDA_SUCCESS with values that no driver should give: the CPU device, with
 * the functions below in place of its own, which are compiled under the names true_cu*. BATON_LIE
 * names the lie; without it every answer is true.
 *
 *   bus-id       an address without an end
 *   parameters   parameters that begin or end beyond what a kernel may have
 *   no-end       every kernel has ever more parameters
 *   elapsed      times between events that are no numbers, or beyond all clocks
 *   attributes   attributes of devices and kernels that are negative
 *   siblings     handles of rewritten kernels that are NULL
 *   less         the sibling of a kernel allows blocks of 8 threads, and says so
 *   surprise     ... and does not say so
 *   clusters     kernels may have clusters, which a launch is made of; siblings, too
 *   stubborn     no attribute of a sibling can be set
 *   lazy         a rewritten library is taken, and refused when it is used
 *   refusal      a rewritten module is refused, and a log of no bytes was written
 *   streams      a copy to an array is slow, and does not wait for its end; to signal a semaphore
 *                is to write a word in the stream; shared events are opened by whole handles; to
 *                upload a graph is to write the stream's handle where the graph is
 *   nodes        a launch is refused if more events of nodes are destroyed than graphs launched
 */
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_cpu/driver/driver.h"

static bool lies_about(const char *what)
{
    const char *lie = getenv("BATON_LIE");

    return lie && strcmp(lie, what) == 0;
}

enum { LESS = 8 }; /* threads of a block */

static bool is_sibling(CUfunction function)
{
    const char *name;

    return cuFuncGetName(&name, function) == CUDA_SUCCESS && strstr(name, "_baton_piece");
}

#undef cuDeviceGetPCIBusId
CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device);
DRIVER_EXPORT CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
    CUresult result = true_cuDeviceGetPCIBusId(id, length, device);

    if (lies_about("bus-id"))
        memset(id, '0', (size_t)length);
    return result;
}

#undef cuFuncGetParamInfo
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size);
DRIVER_EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    static const size_t offsets[] = {SIZE_MAX, SIZE_MAX - 8, 0, (size_t)1 << 40};
    static const size_t sizes[] = {SIZE_MAX, 16, SIZE_MAX / 2, (size_t)1 << 40};
    CUresult result = true_cuFuncGetParamInfo(function, index, offset, size);

    if (lies_about("no-end"))
        *offset = 8 * index, *size = 8;
    else if (lies_about("parameters") && result == CUDA_SUCCESS)
        *offset = offsets[index % 4], *size = sizes[index % 4];
    return lies_about("no-end") ? CUDA_SUCCESS : result;
}

#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ret_ms, CUevent from, CUevent to);
DRIVER_EXPORT CUresult cuEventElapsedTime(float *ret_ms, CUevent from, CUevent to)
{
    static const float times[] = {NAN, INFINITY, -INFINITY, 1e38F, -1e38F, -1};
    static unsigned n;
    CUresult result = true_cuEventElapsedTime(ret_ms, from, to);

    if (lies_about("elapsed"))
        *ret_ms = times[n++ % 6];
    return result;
}

#undef cuDeviceGetAttribute
CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice device);
DRIVER_EXPORT CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult result = true_cuDeviceGetAttribute(ret_value, attribute, device);

    if (lies_about("attributes"))
        *ret_value = INT_MIN;
    return result;
}

#undef cuFuncGetAttribute
CUresult cuFuncGetAttribute(int *ret_value, CUfunction_attribute attribute, CUfunction function);
DRIVER_EXPORT CUresult cuFuncGetAttribute(int *ret_value, CUfunction_attribute attribute, CUfunction function)
{
    CUresult result = true_cuFuncGetAttribute(ret_value, attribute, function);

    if (lies_about("attributes"))
        *ret_value = INT_MIN;
    if (lies_about("less") && attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK && is_sibling(function))
        *ret_value = LESS;
    return result;
}

static struct {
    CUfunction function;
    int width;
} clusters[64]; /* of one thread's program */

static int *cluster_of(CUfunction function)
{
    size_t i = 0;

    while (i < sizeof clusters / sizeof clusters[0] - 1 && clusters[i].function &&
           clusters[i].function != function)
        i++;
    clusters[i].function = function;
    return &clusters[i].width;
}

#undef cuFuncSetAttribute
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
DRIVER_EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    if (lies_about("stubborn") && is_sibling(function))
        return CUDA_ERROR_INVALID_VALUE;
    if (!lies_about("clusters") || attribute != CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)
        return true_cuFuncSetAttribute(function, attribute, value);
    *cluster_of(function) = value;
    return CUDA_SUCCESS;
}

#undef cuLaunchKernel
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void **params, void **extra);
DRIVER_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                      CUstream stream, void **params, void **extra)
{
    if (lies_about("clusters") && *cluster_of(function) && grid_x % (unsigned)*cluster_of(function) != 0)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if ((lies_about("less") || lies_about("surprise")) && block_x * block_y * block_z > LESS &&
        is_sibling(function))
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return true_cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                               params, extra);
}

#undef cuModuleGetFunction
CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name);
DRIVER_EXPORT CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name)
{
    CUresult result = true_cuModuleGetFunction(ret_function, module, name);

    if (lies_about("siblings") && strstr(name, "_baton_piece"))
        *ret_function = NULL;
    return result;
}

static CUlibrary lazy; /* the newest that was rewritten */

static bool is_rewritten(const void *image)
{
    return memcmp(image, "\177ELF", 4) != 0 && strstr(image, "_baton_piece") != NULL;
}

#undef cuLibraryLoadData
CUresult cuLibraryLoadData(CUlibrary *ret_library, const void *image, CUjit_option *options, void **values,
                           unsigned n, void *library_options, void **library_values, unsigned n_library);
DRIVER_EXPORT CUresult cuLibraryLoadData(CUlibrary *ret_library, const void *image, CUjit_option *options,
                                         void **values, unsigned n, void *library_options,
                                         void **library_values, unsigned n_library)
{
    CUresult result = true_cuLibraryLoadData(ret_library, image, options, values, n, library_options,
                                             library_values, n_library);

    if (result == CUDA_SUCCESS)
        lazy = lies_about("lazy") && is_rewritten(image) ? *ret_library : NULL;
    return result;
}

#undef cuLibraryGetModule
CUresult cuLibraryGetModule(CUmodule *ret_module, CUlibrary library);
DRIVER_EXPORT CUresult cuLibraryGetModule(CUmodule *ret_module, CUlibrary library)
{
    return lazy && library == lazy ? CUDA_ERROR_INVALID_PTX : true_cuLibraryGetModule(ret_module, library);
}

#undef cuLibraryGetKernel
CUresult cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name);
DRIVER_EXPORT CUresult cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name)
{
    return lazy && library == lazy ? CUDA_ERROR_INVALID_PTX
                                   : true_cuLibraryGetKernel(ret_kernel, library, name);
}

#undef cuModuleLoadDataEx
CUresult cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned n, CUjit_option *options,
                            void **values);
DRIVER_EXPORT CUresult cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned n,
                                          CUjit_option *options, void **values)
{
    if (!lies_about("refusal"))
        return true_cuModuleLoadDataEx(ret_module, image, n, options, values);
    for (unsigned i = 0; i < n; i++) {
        if (options[i] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            continue;
        if (!values[i])
            return CUDA_ERROR_INVALID_VALUE;
        if (is_rewritten(image))
            values[i] = NULL;
    }
    return is_rewritten(image) ? CUDA_ERROR_INVALID_PTX
                               : true_cuModuleLoadDataEx(ret_module, image, n, options, values);
}

static void be_slow(void *unused)
{
    (void)unused;
    (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

#undef cuMemcpyDtoA_v2_ptds
CUresult cuMemcpyDtoA_v2_ptds(CUarray to, size_t offset, CUdeviceptr from, size_t size);
DRIVER_EXPORT CUresult cuMemcpyDtoA_v2_ptds(CUarray to, size_t offset, CUdeviceptr from, size_t size)
{
    CUDA_MEMCPY3D about = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = from,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = to,
                           .dstXInBytes = offset,
                           .WidthInBytes = size,
                           .Height = 1,
                           .Depth = 1};
    CUresult result;

    if (!lies_about("streams"))
        return true_cuMemcpyDtoA_v2_ptds(to, offset, from, size);
    result = cuLaunchHostFunc(CU_STREAM_PER_THREAD, be_slow, NULL);
    return result == CUDA_SUCCESS ? cuMemcpy3DAsync_v2(&about, CU_STREAM_PER_THREAD) : result;
}

/* A semaphore is the address of a word. */
CUresult cuSignalExternalSemaphoresAsync_ptsz(const CUdeviceptr *words, const void *params, unsigned n,
                                              CUstream stream);
DRIVER_EXPORT CUresult cuSignalExternalSemaphoresAsync_ptsz(const CUdeviceptr *words, const void *params,
                                                            unsigned n, CUstream stream)
{
    (void)params;
    (void)n;
    return cuStreamWriteValue32_v2(stream ? stream : CU_STREAM_PER_THREAD, words[0], 1, 0);
}

#undef cuGraphUpload
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream);
DRIVER_EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    if (!lies_about("streams"))
        return true_cuGraphUpload(exec, stream);
    memcpy(exec, &stream, sizeof stream);
    return CUDA_SUCCESS;
}

#undef cuIpcOpenEventHandle
CUresult cuIpcOpenEventHandle(CUevent *ret_event, CUipcEventHandle handle);
DRIVER_EXPORT CUresult cuIpcOpenEventHandle(CUevent *ret_event, CUipcEventHandle handle)
{
    if (!lies_about("streams"))
        return true_cuIpcOpenEventHandle(ret_event, handle);
    for (size_t i = 0; i < sizeof handle; i++)
        if (((const char *)&handle)[i] != 'h')
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* Events that captures have made nodes of; each graph has one, which ends behind its launch. */
static CUevent node_events[8];
static unsigned n_node_events;
static atomic_uint n_ended, n_launched;

static void note_node(CUevent event, unsigned flags)
{
    if (lies_about("nodes") && flags == CU_EVENT_WAIT_EXTERNAL && n_node_events < 8)
        node_events[n_node_events++] = event;
}

#undef cuStreamWaitEvent
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
DRIVER_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    note_node(event, flags);
    return true_cuStreamWaitEvent(stream, event, flags);
}

#undef cuEventRecordWithFlags
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags);
DRIVER_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    note_node(event, flags);
    return true_cuEventRecordWithFlags(event, stream, flags);
}

#undef cuEventDestroy_v2
CUresult cuEventDestroy_v2(CUevent event);
DRIVER_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    for (unsigned i = 0; i < n_node_events; i++)
        if (node_events[i] == event)
            atomic_fetch_add(&n_ended, 1);
    return true_cuEventDestroy_v2(event);
}

#undef cuGraphLaunch
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
DRIVER_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    if (atomic_load(&n_ended) > atomic_fetch_add(&n_launched, 1))
        return CUDA_ERROR_INVALID_HANDLE;
    return true_cuGraphLaunch(exec, stream);
}
