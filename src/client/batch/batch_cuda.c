/*
 * Batches on CUDA devices, through the driver API. Every function visits the device's context: it
 * makes the context current to the calling thread and restores what was current before.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/batch/batch_api.h"
#include "model/topology.h"

#define MAX_PARAMETER_BYTES 32764 /* of a kernel, in CUDA 12.1 and later */

struct cuda_device {
    const struct cuda_driver *cu;
    void (*pass)(bool on); /* or NULL */
    CUcontext context;
    CUdevice device;
    bool retained;             /* the primary context, by us */
    unsigned long long life;   /* cuCtxGetId(); 0: unknown */
    CUstream in, out, execute; /* owned; they do not wait for the default stream */
    pthread_mutex_t lock;      /* guards what follows */
    struct {
        const struct cuda_device *target; /* copies to its memory are prepared */
        bool enabled_here;                /* peer access, to be disabled by us */
    } peers[TOPOLOGY_MAX_NODES];
    size_t n_peers;
};

struct cuda_kernel {
    CUfunction function; /* or a CUkernel */
    unsigned grid[3], block[3], shared_bytes;
    void **parameters; /* owned, with the bytes that they point to */
};

/* --- contexts --- */

struct visit {
    struct cuda_device *device;
    bool pushed;
};

static void visit_end(const struct visit *visit)
{
    const struct cuda_driver *cu = visit->device->cu;
    CUcontext left = NULL;

    /* A driver that refuses to pop may have popped nevertheless: then another context is current. */
    if (visit->pushed && cu->cuCtxPopCurrent_v2(&left) != CUDA_SUCCESS &&
        cu->cuCtxGetCurrent(&left) == CUDA_SUCCESS && left == visit->device->context)
        (void)cu->cuCtxPopCurrent_v2(&left);
    if (visit->device->pass)
        visit->device->pass(false);
}

/* The handle of a context that was destroyed may be that of a new one by now. */
static CUresult check_life(const struct cuda_device *device)
{
    unsigned long long life = 0;
    CUresult code = device->life ? device->cu->cuCtxGetId(device->context, &life) : CUDA_SUCCESS;

    return code == CUDA_SUCCESS && life != device->life ? CUDA_ERROR_CONTEXT_IS_DESTROYED : code;
}

/* 0: the context is current to this thread until visit_end(). */
static CUresult visit_begin(struct cuda_device *device, struct visit *ret_visit)
{
    struct visit visit = {.device = device};
    CUcontext current = NULL;
    CUresult code;

    if (device->pass)
        device->pass(true);
    code = check_life(device);
    if (code == CUDA_SUCCESS)
        code = device->cu->cuCtxGetCurrent(&current);
    if (code == CUDA_SUCCESS && current != device->context) {
        code = device->cu->cuCtxPushCurrent_v2(device->context);
        visit.pushed = code == CUDA_SUCCESS;
    }
    if (code == CUDA_SUCCESS)
        *ret_visit = visit;
    else if (device->pass)
        device->pass(false);
    return code;
}

/* --- opening and closing --- */

static void disconnect(void *data)
{
    struct cuda_device *device = data;
    struct visit visit;

    if (device->n_peers == 0 || visit_begin(device, &visit) != CUDA_SUCCESS)
        return;
    for (size_t p = 0; p < device->n_peers; p++) {
        if (device->peers[p].enabled_here && check_life(device->peers[p].target) == CUDA_SUCCESS)
            (void)device->cu->cuCtxDisablePeerAccess(device->peers[p].target->context);
    }
    device->n_peers = 0;
    visit_end(&visit);
}

/* A context that is gone has taken its streams with it. */
static void close_device(void *data)
{
    struct cuda_device *device = data;
    const CUstream streams[] = {device->in, device->out, device->execute};
    struct visit visit;

    if (visit_begin(device, &visit) == CUDA_SUCCESS) {
        for (size_t s = 0; s < 3; s++) {
            if (streams[s])
                (void)device->cu->cuStreamDestroy_v2(streams[s]);
        }
        visit_end(&visit);
    }
    if (device->retained) {
        if (device->pass)
            device->pass(true);
        (void)device->cu->cuDevicePrimaryCtxRelease_v2(device->device);
        if (device->pass)
            device->pass(false);
    }
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
    struct visit visit;
    CUresult code;

    if (!device)
        return -ENOMEM;
    (void)pthread_mutex_init(&device->lock, NULL);
    device->cu = libraries->cuda;
    device->pass = libraries->cuda_pass;
    if (device->pass)
        device->pass(true);
    code = open_context(device, gpu);
    if (device->pass)
        device->pass(false);
    if (code == CUDA_SUCCESS && (code = visit_begin(device, &visit)) == CUDA_SUCCESS) {
        code = open_streams(device);
        visit_end(&visit);
    }
    if (code == CUDA_SUCCESS) {
        *ret_device = device;
        return 0;
    }
    (void)snprintf(message, size, "no CUDA streams: %s (%d)", cuda_driver_error_name((int)code), (int)code);
    close_device(device);
    return code == CUDA_ERROR_INVALID_CONTEXT || code == CUDA_ERROR_INVALID_DEVICE ? -EINVAL : -ENODEV;
}

static void device_name(const void *data, char ret_name[DEVICE_NAME_SIZE])
{
    const struct cuda_device *device = data;
    char id[32] = "";

    if (device->cu->cuDeviceGetPCIBusId(id, sizeof id, device->device) != CUDA_SUCCESS ||
        !device_name_bus_id(id, ret_name))
        device_name_indexed("cuda", (unsigned)device->device, ret_name);
}

/* --- planning --- */

/*
 * Gives copies from the one a direct way to the other's memory. Without it the driver stages them in
 * host memory, so a refusal is no error. Within a visit of the source, under its lock.
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
    struct visit visit;
    bool known = source->context == target->context || source->device == target->device;

    pthread_mutex_lock(&source->lock);
    for (size_t p = 0; p < source->n_peers && !known; p++)
        known = source->peers[p].target == target;
    if (!known && visit_begin(source, &visit) == CUDA_SUCCESS) {
        enable_peer(source, target);
        visit_end(&visit);
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
    struct visit visit;
    const char *wrong;

    if (first < place->address || last < first)
        return "is not memory of a CUDA device";
    if (visit_begin(device, &visit) != CUDA_SUCCESS)
        return "is in a CUDA context that is not valid any more";
    wrong = check_address(device, first);
    if (!wrong && last != first)
        wrong = check_address(device, last);
    visit_end(&visit);
    return wrong;
}

static void drop(void *data, const struct baton_place *place)
{
    (void)data;
    (void)place;
}

static void kernel_free(void *data, void *kernel_data)
{
    struct cuda_kernel *kernel = kernel_data;

    (void)data;
    if (!kernel)
        return;
    free(kernel->parameters);
    free(kernel);
}

/* The driver's size of a parameter; 0: there is no such parameter. */
static CUresult size_of_parameter(const struct cuda_driver *cu, CUfunction function, size_t index,
                                  size_t *ret_size)
{
    size_t offset;
    CUresult code = cu->cuFuncGetParamInfo(function, index, &offset, ret_size);

    if (code == CUDA_ERROR_INVALID_HANDLE && cu->cuKernelGetParamInfo)
        code = cu->cuKernelGetParamInfo((CUkernel)(void *)function, index, &offset, ret_size);
    if (code == CUDA_ERROR_INVALID_VALUE) {
        *ret_size = 0;
        code = CUDA_SUCCESS;
    }
    return code;
}

/*
 * The driver reads as many parameters as the kernel has, of the sizes that the kernel has. Drivers
 * older than CUDA 12.4 cannot be asked.
 */
static const char *check_parameters(struct cuda_device *device, const struct baton_kernel *given)
{
    CUresult code = CUDA_SUCCESS;
    const char *wrong = NULL;
    struct visit visit;

    if (!device->cu->cuFuncGetParamInfo)
        return NULL;
    if (visit_begin(device, &visit) != CUDA_SUCCESS)
        return "its CUDA context is not valid any more";
    for (size_t a = 0; a <= given->n_args && !wrong && code == CUDA_SUCCESS; a++) {
        size_t size = 0;

        code = size_of_parameter(device->cu, given->function, a, &size);
        if (code == CUDA_SUCCESS && size != (a < given->n_args ? given->args[a].size : 0))
            wrong =
                "an argument of its kernel is not valid: number and sizes must be those of the parameters";
    }
    visit_end(&visit);
    return code == CUDA_SUCCESS ? wrong : "its kernel is not valid";
}

static const char *fill_sizes(const struct baton_kernel *given, struct cuda_kernel *kernel)
{
    for (cl_uint d = 0; d < 3; d++) {
        bool counts = d < given->dimensions;

        if (counts && (given->grid[d] == 0 || given->grid[d] > UINT_MAX || given->block[d] == 0 ||
                       given->block[d] > UINT_MAX))
            return "a CUDA kernel needs a grid and a block";
        kernel->grid[d] = counts ? (unsigned)given->grid[d] : 1;
        kernel->block[d] = counts ? (unsigned)given->block[d] : 1;
    }
    return NULL;
}

static size_t aligned(size_t size)
{
    const size_t align = _Alignof(max_align_t);

    return (size + align - 1) / align * align;
}

/* One block of memory: the pointers, then the values, each aligned as any type needs it. */
static const char *fill_parameters(const struct baton_kernel *given, struct cuda_kernel *kernel)
{
    size_t pointers = aligned(given->n_args * sizeof(void *));
    size_t total = 0;
    unsigned char *values;

    if (given->n_args > MAX_PARAMETER_BYTES)
        return "an argument of its kernel is not valid: there are too many";
    for (size_t a = 0; a < given->n_args; a++) {
        if (!given->args[a].value || given->args[a].size == 0 || given->args[a].size > MAX_PARAMETER_BYTES)
            return "an argument of its kernel is not valid: a CUDA parameter has a size and a value";
        total += aligned(given->args[a].size);
    }
    values = calloc(1, pointers + total + 1);
    if (!values)
        return "no memory for its kernel";
    kernel->parameters = (void **)(void *)values;
    values += pointers;
    for (size_t a = 0; a < given->n_args; a++) {
        kernel->parameters[a] = memcpy(values, given->args[a].value, given->args[a].size);
        values += aligned(given->args[a].size);
    }
    return NULL;
}

static const char *kernel_new(void *data, const struct baton_kernel *given, void **ret_kernel)
{
    struct cuda_kernel *kernel = calloc(1, sizeof *kernel);
    const char *wrong;

    if (!kernel)
        return "no memory for its kernel";
    kernel->function = given->function;
    kernel->shared_bytes = given->shared_bytes;
    wrong = fill_sizes(given, kernel);
    if (!wrong)
        wrong = fill_parameters(given, kernel);
    if (!wrong)
        wrong = check_parameters(data, given);
    if (wrong)
        kernel_free(data, kernel);
    else
        *ret_kernel = kernel;
    return wrong;
}

/* --- running --- */

/*
 * Waits for the command, if the driver has taken it. A wait that fails is repeated once: after it
 * the program may free the memory that the command uses.
 */
static int finish(const struct visit *visit, CUstream stream, CUresult code)
{
    const struct cuda_driver *cu = visit->device->cu;

    if (code == CUDA_SUCCESS) {
        code = cu->cuStreamSynchronize(stream);
        if (code != CUDA_SUCCESS)
            (void)cu->cuStreamSynchronize(stream);
    }
    visit_end(visit);
    return (int)code;
}

static int write_host(void *data, const struct baton_place *to, const void *from, size_t length)
{
    struct cuda_device *device = data;
    struct visit visit;
    CUresult code = visit_begin(device, &visit);

    if (code != CUDA_SUCCESS)
        return (int)code;
    code = device->cu->cuMemcpyHtoDAsync_v2(to->address + to->offset, from, length, device->in);
    return finish(&visit, device->in, code);
}

static int read_host(void *data, const struct baton_place *from, void *to, size_t length)
{
    struct cuda_device *device = data;
    struct visit visit;
    CUresult code = visit_begin(device, &visit);

    if (code != CUDA_SUCCESS)
        return (int)code;
    code = device->cu->cuMemcpyDtoHAsync_v2(to, from->address + from->offset, length, device->out);
    return finish(&visit, device->out, code);
}

/* The source pushes: a copy between devices occupies its engine for copies out. */
static int copy(void *source_data, const struct baton_place *from, void *target_data,
                const struct baton_place *to, size_t length)
{
    struct cuda_device *source = source_data;
    const struct cuda_device *target = target_data;
    CUdeviceptr begin = from->address + from->offset;
    CUdeviceptr end = to->address + to->offset;
    struct visit visit;
    CUresult code = visit_begin(source, &visit);

    if (code == CUDA_SUCCESS && check_life(target) != CUDA_SUCCESS) {
        visit_end(&visit);
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

/* One between two contexts is a copy out of the source. */
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
    struct visit visit;
    CUresult code = visit_begin(device, &visit);

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
    struct visit visit;
    void *host = NULL;

    *ret_handle = NULL;
    if (visit_begin(device, &visit) != CUDA_SUCCESS)
        return NULL;
    if (device->cu->cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
        host = NULL;
    visit_end(&visit);
    return host;
}

static void host_free(void *data, void *host, void *handle)
{
    struct cuda_device *device = data;
    struct visit visit;

    (void)handle;
    if (visit_begin(device, &visit) != CUDA_SUCCESS)
        return;
    (void)device->cu->cuMemFreeHost(host);
    visit_end(&visit);
}

const struct batch_api batch_cuda = {
    .error_name = cuda_driver_error_name,
    .close = close_device,
    .device_name = device_name,
    .connect = connect,
    .disconnect = disconnect,
    .hold = hold,
    .drop = drop,
    .kernel_new = kernel_new,
    .kernel_free = kernel_free,
    .write = write_host,
    .read = read_host,
    .copy = copy,
    .copy_executes = copy_executes,
    .launch = launch,
    .host_alloc = host_alloc,
    .host_free = host_free,
};
