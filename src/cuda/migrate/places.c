/* The GPUs that a program may run on, with a context and streams of the front's own on each. */
#include "cuda/genuine.h"
#include "cuda/migrate/migrate_private.h"

enum { ATTRIBUTE_UNIFIED = 41, ATTRIBUTE_VIRTUAL = 102 };
enum { BLOCKING = 4 }; /* a context whose waits sleep: CU_CTX_SCHED_BLOCKING_SYNC */

static bool has(CUdevice device, int attribute)
{
    int value = 0;

    return cuda_front.genuine.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS && value;
}

/* Addresses must mean the same everywhere, and what is behind them must be replaceable. */
static bool has_calls(void)
{
    return cuda_front.genuine.cuMemAddressReserve && cuda_front.genuine.cuMemAddressFree &&
           cuda_front.genuine.cuMemCreate && cuda_front.genuine.cuMemRelease && cuda_front.genuine.cuMemMap &&
           cuda_front.genuine.cuMemUnmap && cuda_front.genuine.cuMemSetAccess &&
           cuda_front.genuine.cuMemGetAllocationGranularity && cuda_front.genuine.cuMemcpyPeerAsync &&
           cuda_front.genuine.cuCtxCreate_v2 && cuda_front.genuine.cuCtxSynchronize &&
           cuda_front.genuine.cuDeviceGetCount && cuda_front.genuine.cuFuncGetName;
}

/* The same code with the same limits: a launch that one takes, the other takes. */
static bool is_like(const struct device_record *a, const struct device_record *b)
{
    bool like = a->architecture == b->architecture && a->multiprocessors == b->multiprocessors &&
                a->threads_limit == b->threads_limit && a->shared_limit == b->shared_limit;

    for (int i = 0; i < 3; i++)
        like = like && a->grid_limit[i] == b->grid_limit[i] && a->block_limit[i] == b->block_limit[i];
    return like;
}

static bool is_usable(const struct device_record *device)
{
    return device && device->base.engines[ENGINE_EXECUTION].lease && has(device->device, ATTRIBUTE_UNIFIED) &&
           has(device->device, ATTRIBUTE_VIRTUAL);
}

unsigned places_find(CUcontext home)
{
    struct device_record *devices[DEVICE_MOST];
    struct context_record *context;
    int n = 0;

    if (!has_calls() || cuda_front.genuine.cuDeviceGetCount(&n) != CUDA_SUCCESS)
        return 0;
    n = n < DEVICE_MOST ? n : DEVICE_MOST;
    for (int i = 0; i < n; i++) /* in their order, which is that of the daemon then */
        devices[i] = device_record_find(i);
    context = context_find(home);
    if (!context || !is_usable(context->device))
        return 0;
    cuda_front.migrate.places[HOME] = (struct gpu_place){.device = context->device, .context = context};
    cuda_front.migrate.n_places = 1;
    for (int i = 0; i < n && cuda_front.migrate.n_places < PLACES; i++)
        if (devices[i] != context->device && is_usable(devices[i]) && is_like(devices[i], context->device))
            cuda_front.migrate.places[cuda_front.migrate.n_places++].device = devices[i];
    return cuda_front.migrate.n_places;
}

/* A context of its own: the program's view of the device's primary context stays as it is. */
static CUresult make_context(struct gpu_place *place)
{
    CUcontext handle = NULL, popped;
    CUresult code = cuda_front.genuine.cuCtxCreate_v2(&handle, BLOCKING, place->device->device);

    if (code != CUDA_SUCCESS)
        return code;
    (void)cuda_front.genuine.cuCtxPopCurrent_v2(&popped);
    place->context = context_find(handle);
    return place->context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The context is visited. */
static CUresult make_stream(struct gpu_place *place, int engine)
{
    CUstream handle = NULL;
    CUresult code = cuda_front.genuine.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING);

    if (code != CUDA_SUCCESS)
        return code;
    place->streams[engine] = stream_new(place->context, handle, STREAM_NAMED, false);
    return place->streams[engine] ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult place_ready(struct gpu_place *place)
{
    CUresult code = place->context ? CUDA_SUCCESS : make_context(place);
    struct context_visit visit;

    if (code != CUDA_SUCCESS)
        return code;
    context_visit_begin(place->context, &visit);
    for (int engine = 0; engine < ENGINE_N && code == CUDA_SUCCESS; engine++)
        if (!place->streams[engine])
            code = make_stream(place, engine);
    context_visit_end(&visit);
    return code;
}
