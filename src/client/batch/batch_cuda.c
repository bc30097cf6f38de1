/*
 * Batches on CUDA devices, through the driver API. Every function visits the device's context: it
 * makes the context current to the calling thread and restores what was current before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/batch/batch_cuda.h"

/* --- contexts --- */

void cuda_visit_end(const struct cuda_visit *visit)
{
    const struct cuda_driver *cu = visit->device->cu;
    CUcontext left = NULL;

    /*
     * A driver that refuses to pop may have popped all the same. Then another context is current.
     */
    if (visit->pushed && cu->cuCtxPopCurrent_v2(&left) != CUDA_SUCCESS &&
        cu->cuCtxGetCurrent(&left) == CUDA_SUCCESS && left == visit->device->context)
        (void)cu->cuCtxPopCurrent_v2(&left);
}

/* After a context was destroyed, a new one may have its handle. */
static CUresult check_life(const struct cuda_device *device)
{
    unsigned long long life = 0;
    CUresult code = device->life ? device->cu->cuCtxGetId(device->context, &life) : CUDA_SUCCESS;

    return code == CUDA_SUCCESS && life != device->life ? CUDA_ERROR_CONTEXT_IS_DESTROYED : code;
}

CUresult cuda_visit_begin(struct cuda_device *device, struct cuda_visit *ret_visit)
{
    struct cuda_visit visit = {.device = device};
    CUcontext current = NULL;
    CUresult code;

    code = check_life(device);
    if (code == CUDA_SUCCESS)
        code = device->cu->cuCtxGetCurrent(&current);
    if (code == CUDA_SUCCESS && current != device->context) {
        code = device->cu->cuCtxPushCurrent_v2(device->context);
        visit.pushed = code == CUDA_SUCCESS;
    }
    if (code == CUDA_SUCCESS)
        *ret_visit = visit;
    return code;
}

/* --- opening and closing --- */

static void disconnect(void *data)
{
    struct cuda_device *device = data;
    struct cuda_visit visit;

    if (device->n_peers == 0 || cuda_visit_begin(device, &visit) != CUDA_SUCCESS)
        return;
    for (size_t p = 0; p < device->n_peers; p++) {
        if (device->peers[p].enabled_here && check_life(device->peers[p].target) == CUDA_SUCCESS)
            (void)device->cu->cuCtxDisablePeerAccess(device->peers[p].target->context);
    }
    device->n_peers = 0;
    cuda_visit_end(&visit);
}

/* A context that is gone has taken its streams with it. */
static void close_device(void *data)
{
    struct cuda_device *device = data;
    const CUstream streams[] = {device->in, device->out, device->execute};
    struct cuda_visit visit;

    if (cuda_visit_begin(device, &visit) == CUDA_SUCCESS) {
        for (size_t s = 0; s < 3; s++) {
            if (streams[s])
                (void)device->cu->cuStreamDestroy_v2(streams[s]);
        }
        cuda_visit_end(&visit);
    }
    if (device->retained)
        (void)device->cu->cuDevicePrimaryCtxRelease_v2(device->device);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

/* Finds or retains the context. */
static CUresult open_context(struct cuda_device *device, const struct baton_cuda_gpu *gpu)
{
    CUresult code = device->cu->cuInit(0);

    device->context = gpu->context;
    device->device = gpu->device;
    if (code == CUDA_SUCCESS && !gpu->context) {
        code = device->cu->cuDevicePrimaryCtxRetain(&device->context, gpu->device);
        device->retained = code == CUDA_SUCCESS;
    }
    if (code == CUDA_SUCCESS && device->cu->cuCtxGetId) {
        code = device->cu->cuCtxGetId(device->context, &device->life);
        if (code != CUDA_SUCCESS)
            device->life = 0;
    }
    return code;
}

/* Within a visit. */
static CUresult open_streams(struct cuda_device *device)
{
    CUstream *streams[] = {&device->in, &device->out, &device->execute};
    CUresult code = device->cu->cuCtxGetDevice(&device->device);

    for (size_t s = 0; s < 3 && code == CUDA_SUCCESS; s++) {
        code = device->cu->cuStreamCreate(streams[s], CU_STREAM_NON_BLOCKING);
        if (code != CUDA_SUCCESS)
            *streams[s] = NULL;
    }
    return code;
}

int batch_cuda_open(const struct batch_libraries *libraries, const struct baton_cuda_gpu *gpu,
                    void **ret_device, char *message, size_t size)
{
    struct cuda_device *device = calloc(1, sizeof *device);
    struct cuda_visit visit;
    CUresult code;

    if (!device)
        return -ENOMEM;
    (void)pthread_mutex_init(&device->lock, NULL);
    device->cu = libraries->cuda;
    code = open_context(device, gpu);
    if (code == CUDA_SUCCESS && (code = cuda_visit_begin(device, &visit)) == CUDA_SUCCESS) {
        code = open_streams(device);
        cuda_visit_end(&visit);
    }
    if (code == CUDA_SUCCESS) {
        *ret_device = device;
        return 0;
    }
    (void)snprintf(message, size, "no CUDA streams: %s (%d)", cuda_driver_error_name((int)code), (int)code);
    close_device(device);
    return code == CUDA_ERROR_INVALID_CONTEXT || code == CUDA_ERROR_INVALID_DEVICE ? -EINVAL : -ENODEV;
}

static uintptr_t device_name(const void *data, char ret_name[DEVICE_NAME_SIZE])
{
    const struct cuda_device *device = data;
    char id[32] = "";

    if (device->cu->cuDeviceGetPCIBusId(id, sizeof id - 1, device->device) != CUDA_SUCCESS ||
        !device_name_bus_id(id, ret_name))
        device_name_indexed("cuda", (unsigned)device->device, ret_name);
    return (uintptr_t)device->device;
}

/* --- planning --- */

/*
 * Gives copies from the source direct access to the target's memory. Without it the driver stages
 * them in host memory, so a refusal is no error. Within a visit of the source, under its lock.
 */
static void enable_peer(struct cuda_device *source, const struct cuda_device *target)
{
    int can = 0;
    CUresult code = source->cu->cuDeviceCanAccessPeer(&can, source->device, target->device);

    source->peers[source->n_peers].target = target;
    source->peers[source->n_peers++].enabled_here =
        code == CUDA_SUCCESS && can && source->cu->cuCtxEnablePeerAccess(target->context, 0) == CUDA_SUCCESS;
}

static bool connect(void *source_data, void *target_data)
{
    struct cuda_device *source = source_data;
    const struct cuda_device *target = target_data;
    struct cuda_visit visit;
    bool known = source->context == target->context || source->device == target->device;

    pthread_mutex_lock(&source->lock);
    for (size_t p = 0; p < source->n_peers && !known; p++)
        known = source->peers[p].target == target;
    if (!known && cuda_visit_begin(source, &visit) == CUDA_SUCCESS) {
        enable_peer(source, target);
        cuda_visit_end(&visit);
    }
    pthread_mutex_unlock(&source->lock);
    return true;
}

/* NULL: the address is in the device's memory, or in memory that moves between devices. */
static const char *check_address(const struct cuda_device *device, CUdeviceptr address)
{
    const struct cuda_driver *cu = device->cu;
    unsigned managed = 0;
    unsigned type = 0;
    int ordinal = -1;

    if (cu->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS ||
        type != CU_MEMORYTYPE_DEVICE)
        return "is not memory of a CUDA device";
    if (cu->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS &&
        managed)
        return NULL;
    if (cu->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != CUDA_SUCCESS ||
        ordinal != device->device)
        return "is not memory of its GPU";
    return NULL;
}

static const char *hold(void *data, const struct baton_place *place, size_t bytes)
{
    struct cuda_device *device = data;
    CUdeviceptr first = place->address + place->offset;
    CUdeviceptr last = first + bytes - 1;
    struct cuda_visit visit;
    const char *wrong;

    if (first < place->address || last < first)
        return "is not memory of a CUDA device";
    if (cuda_visit_begin(device, &visit) != CUDA_SUCCESS)
        return "is in a CUDA context that has become invalid";
    wrong = check_address(device, first);
    if (!wrong && last != first)
        wrong = check_address(device, last);
    cuda_visit_end(&visit);
    return wrong;
}

static void drop(void *data, const struct baton_place *place)
{
    (void)data;
    (void)place;
}

/* --- running --- */

/*
 * Waits for the command, if the driver has taken it. If that fails, waits for the whole context,
 * because the program may free the memory of the command after this returns.
 */
static int finish(const struct cuda_visit *visit, CUstream stream, CUresult code)
{
    const struct cuda_driver *cu = visit->device->cu;

    if (code == CUDA_SUCCESS) {
        code = cu->cuStreamSynchronize(stream);
        if (code != CUDA_SUCCESS)
            (void)cu->cuCtxSynchronize();
    }
    cuda_visit_end(visit);
    return (int)code;
}

static int write_host(void *data, const struct baton_place *to, const void *from, size_t length)
{
    struct cuda_device *device = data;
    struct cuda_visit visit;
    CUresult code = cuda_visit_begin(device, &visit);

    if (code != CUDA_SUCCESS)
        return (int)code;
    code = device->cu->cuMemcpyHtoDAsync_v2(to->address + to->offset, from, length, device->in);
    return finish(&visit, device->in, code);
}

static int read_host(void *data, const struct baton_place *from, void *to, size_t length)
{
    struct cuda_device *device = data;
    struct cuda_visit visit;
    CUresult code = cuda_visit_begin(device, &visit);

    if (code != CUDA_SUCCESS)
        return (int)code;
    code = device->cu->cuMemcpyDtoHAsync_v2(to, from->address + from->offset, length, device->out);
    return finish(&visit, device->out, code);
}

/* The source pushes: a copy between devices occupies the source's engine for copies out. */
static int copy(void *source_data, const struct baton_place *from, void *target_data,
                const struct baton_place *to, size_t length)
{
    struct cuda_device *source = source_data;
    const struct cuda_device *target = target_data;
    CUdeviceptr begin = from->address + from->offset;
    CUdeviceptr end = to->address + to->offset;
    struct cuda_visit visit;
    CUresult code = cuda_visit_begin(source, &visit);

    if (code == CUDA_SUCCESS && check_life(target) != CUDA_SUCCESS) {
        cuda_visit_end(&visit);
        code = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    if (code != CUDA_SUCCESS)
        return (int)code;
    if (source->context == target->context)
        code = source->cu->cuMemcpyDtoDAsync_v2(end, begin, length, source->out);
    else
        code =
            source->cu->cuMemcpyPeerAsync(end, target->context, begin, source->context, length, source->out);
    return finish(&visit, source->out, code);
}

/* A copy between two contexts is a copy out of the source, and does not execute. */
static bool copy_executes(const void *source, const void *target)
{
    return ((const struct cuda_device *)source)->context == ((const struct cuda_device *)target)->context;
}

static int launch(void *data, void *kernel_data)
{
    struct cuda_device *device = data;
    const struct cuda_kernel *kernel = kernel_data;
    const unsigned *grid = kernel->grid;
    const unsigned *block = kernel->block;
    struct cuda_visit visit;
    CUresult code = cuda_visit_begin(device, &visit);

    if (code != CUDA_SUCCESS)
        return (int)code;
    code =
        device->cu->cuLaunchKernel(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                   kernel->shared_bytes, device->execute, kernel->parameters, NULL);
    return finish(&visit, device->execute, code);
}

/* --- pinned memory --- */

static void *host_alloc(void *data, size_t bytes, void **ret_handle)
{
    struct cuda_device *device = data;
    struct cuda_visit visit;
    void *host = NULL;

    *ret_handle = NULL;
    if (cuda_visit_begin(device, &visit) != CUDA_SUCCESS)
        return NULL;
    if (device->cu->cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
        host = NULL;
    cuda_visit_end(&visit);
    return host;
}

static void host_free(void *data, void *host, void *handle)
{
    struct cuda_device *device = data;
    struct cuda_visit visit;

    (void)handle;
    if (cuda_visit_begin(device, &visit) != CUDA_SUCCESS)
        return;
    (void)device->cu->cuMemFreeHost(host);
    cuda_visit_end(&visit);
}

const struct batch_api batch_cuda = {
    .error_name = cuda_driver_error_name,
    .close = close_device,
    .device_name = device_name,
    .connect = connect,
    .disconnect = disconnect,
    .hold = hold,
    .drop = drop,
    .kernel_new = cuda_kernel_new,
    .kernel_free = cuda_kernel_free,
    .write = write_host,
    .read = read_host,
    .copy = copy,
    .copy_executes = copy_executes,
    .launch = launch,
    .host_alloc = host_alloc,
    .host_free = host_free,
};
