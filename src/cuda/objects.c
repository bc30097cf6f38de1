#include "cuda/objects.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/driver_quirks.h"
#include "client/session.h"
#include "cuda/entries.h"
#include "cuda/front.h"
#include "cuda/function.h"
#include "cuda/issue.h"
#include "cuda/mark.h"
#include "cuda/own_stream.h"
#include "engine/graph.h"
#include "engine/handle_table.h"
#include "engine/runtime.h"

enum {
    ATTRIBUTE_THREADS = 1,
    ATTRIBUTE_BLOCK_X = 2,
    ATTRIBUTE_GRID_X = 5,
    ATTRIBUTE_MULTIPROCESSORS = 16,
    ATTRIBUTE_PCI_BUS = 33,
    ATTRIBUTE_PCI_DEVICE = 34,
    ATTRIBUTE_PCI_DOMAIN = 50,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED_OPT_IN = 97,
};

static void keep_stream(void *record)
{
    stream_keep(record);
}

void objects_init(void)
{
    handle_table_init(&cuda_front.objects.contexts, NULL);
    handle_table_init(&cuda_front.objects.streams, keep_stream);
    list_init(&cuda_front.objects.all);
    list_init(&cuda_front.objects.past);
    own_streams_init();
}

/* --- devices --- */

/* As in sm_90: 90. 0: the driver's answers name none. */
static int architecture_of(int major, int minor)
{
    return major > 0 && major < 1000 && minor >= 0 && minor < 10 ? 10 * major + minor : 0;
}

/* otherwise: what holds if the driver does not tell. */
static int attribute_of(CUdevice device, int attribute, int otherwise)
{
    int value = 0;
    CUresult code = CUDA_ERROR_UNKNOWN;

    for (int i = 0; i < GENUINE_ASKS && code != CUDA_SUCCESS; i++)
        code = cuda_front.genuine.cuDeviceGetAttribute(&value, attribute, device);
    return code == CUDA_SUCCESS ? value : otherwise;
}

/*
 * The limits of every device, from compute capability 3.0 on, hold for one that does not tell its
 * own ("Technical Specifications per Compute Capability" of the CUDA guide).
 */
static void read_limits(struct device_record *device)
{
    static const int grid[] = {INT_MAX, UINT16_MAX, UINT16_MAX}, block[] = {1024, 1024, 64};
    CUdevice number = device->device;

    for (int i = 0; i < 3; i++) {
        device->grid_limit[i] = attribute_of(number, ATTRIBUTE_GRID_X + i, grid[i]);
        device->block_limit[i] = attribute_of(number, ATTRIBUTE_BLOCK_X + i, block[i]);
    }
    device->threads_limit = attribute_of(number, ATTRIBUTE_THREADS, 1024);
    device->shared_limit = attribute_of(number, ATTRIBUTE_SHARED_OPT_IN, 0);
    device->multiprocessors = attribute_of(number, ATTRIBUTE_MULTIPROCESSORS, 0);
    device->architecture =
        architecture_of(attribute_of(number, ATTRIBUTE_MAJOR, 0), attribute_of(number, ATTRIBUTE_MINOR, 0));
}

/* By the numbers of its address. A GPU is its card's first function. False: they are not told. */
static bool name_by_numbers(struct device_record *device)
{
    int domain = attribute_of(device->device, ATTRIBUTE_PCI_DOMAIN, -1);
    int bus = attribute_of(device->device, ATTRIBUTE_PCI_BUS, -1);
    int slot = attribute_of(device->device, ATTRIBUTE_PCI_DEVICE, -1);

    if (domain < 0 || bus < 0 || slot < 0)
        return false;
    device_name_pci((unsigned)domain, (unsigned)bus, (unsigned)slot, 0, device->name);
    return true;
}

/*
 * The name that OpenCL's view of the same GPU has, too, and every other process. Under another name
 * the GPU would be granted twice.
 */
static void name_device(struct device_record *device)
{
    char id[32] = "";
    /* the last byte stays 0, whatever the driver writes */
    bool told = cuda_front.genuine.cuDeviceGetPCIBusId(id, sizeof id - 1, device->device) == CUDA_SUCCESS;

    if (told ? !device_name_bus_id(id, device->name) : !name_by_numbers(device))
        device_name_indexed("cuda", (unsigned)device->device, device->name);
    session_name_device(runtime_session(), (uintptr_t)device->device, device->name);
}

static bool is_cpu_device(const struct device_record *device)
{
    char name[64] = "";

    return cuda_front.genuine.cuDeviceGetName &&
           cuda_front.genuine.cuDeviceGetName(name, sizeof name, device->device) == CUDA_SUCCESS &&
           driver_quirks_have(driver_quirks_of(name, "", ""), QUIRK_THREADS_ON_CORES);
}

/* Under cuda_front.objects.lock. */
static struct device_record *find_device(CUdevice device)
{
    struct device_record *record;

    if (device < 0 || device >= DEVICE_MOST)
        return NULL;
    record = cuda_front.objects.devices[device];
    if (record)
        return record;
    record = calloc(1, sizeof *record);
    if (!record)
        return NULL;
    record->device = device;
    name_device(record);
    read_limits(record);
    engine_device_init(&record->base, &issue_ops, record->name, NULL);
    if (is_cpu_device(record))
        engine_device_on_cores(&record->base);
    cuda_front.objects.devices[device] = record;
    return record;
}

struct device_record *device_record_find(CUdevice device)
{
    struct device_record *record;

    pthread_mutex_lock(&cuda_front.objects.lock);
    record = find_device(device);
    pthread_mutex_unlock(&cuda_front.objects.lock);
    return record;
}

/* --- contexts --- */

static void init_stream(struct stream_record *stream, struct context_record *context, CUstream handle,
                        enum stream_kind kind, bool blocking)
{
    stream->context = context;
    stream->handle = handle;
    stream->kind = kind;
    stream->blocking = blocking;
    refs_init(&stream->refs);
    command_queue_init(&stream->queue, &context->device->base, true);
    if (atomic_load(&context->waits))
        stream_waits(stream);
}

static CUgreenCtx green_of(CUstream handle)
{
    CUgreenCtx green = NULL;

    return cuda_front.genuine.cuStreamGetGreenCtx &&
                   cuda_front.genuine.cuStreamGetGreenCtx(handle, &green) == CUDA_SUCCESS
               ? green
               : NULL;
}

/* Under cuda_front.objects.lock. */
static struct context_record *make_context(CUcontext handle)
{
    struct context_record *context = calloc(1, sizeof *context);
    struct context_visit visit;

    if (!context)
        return NULL;
    context_enter(handle, &visit);
    context->legacy.green = green_of(CU_STREAM_LEGACY);
    context_leave(&visit);
    context->handle = handle;
    context->device = find_device(context_device(handle));
    pthread_mutex_init(&context->lock, NULL);
    pthread_mutex_init(&context->marks_lock, NULL);
    list_init(&context->streams);
    list_init(&context->open_marks);
    if (!context->device || !handle_table_put(&cuda_front.objects.contexts, handle, context)) {
        free(context);
        return NULL;
    }
    engine_device_use(&context->device->base);
    init_stream(&context->legacy, context, CU_STREAM_LEGACY, STREAM_LEGACY, true);
    context->number = ++cuda_front.objects.n_made;
    list_append(&cuda_front.objects.all, &context->link);
    front_stop_first();
    return context;
}

struct context_record *context_find(CUcontext handle)
{
    struct context_record *context = handle_table_find(&cuda_front.objects.contexts, handle);

    if (context)
        return context;
    pthread_mutex_lock(&cuda_front.objects.lock);
    context = handle_table_find(&cuda_front.objects.contexts, handle);
    if (!context)
        context = make_context(handle);
    pthread_mutex_unlock(&cuda_front.objects.lock);
    return context;
}

static bool primary_is_active(CUdevice device)
{
    unsigned flags = 0;
    int active = 0;

    return cuda_front.genuine.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active;
}

CUcontext context_primary(CUdevice device)
{
    CUcontext context = NULL;

    if (!primary_is_active(device) ||
        cuda_front.genuine.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
        return NULL;
    (void)cuda_front.genuine.cuDevicePrimaryCtxRelease_v2(device);
    return context;
}

static _Thread_local struct {
    bool registered; /* the daemon knows the thread */
    struct last_context {
        CUcontext handle;
        struct context_record *record;
        unsigned forgotten;
    } last;
} objects_thread;

/* The daemon boosts the threads that issue work. */
static void register_thread(void)
{
    struct session *session;

    if (objects_thread.registered)
        return;
    objects_thread.registered = true;
    session = runtime_session();
    if (session)
        session_register_thread(session, gettid());
}

struct context_record *context_current(void)
{
    unsigned forgotten = atomic_load_explicit(&cuda_front.objects.forgotten, memory_order_acquire);
    struct last_context *last = &objects_thread.last;
    CUcontext handle = context_current_handle();

    if (!handle)
        return NULL;
    if (last->record && last->handle == handle && last->forgotten == forgotten)
        return last->record;
    last->record = context_find(handle);
    last->handle = handle;
    last->forgotten = forgotten;
    if (last->record)
        register_thread();
    return last->record;
}

/* --- streams --- */

void stream_keep(struct stream_record *stream)
{
    refs_keep(&stream->refs);
}

/* The last one takes it out of the context's list, where other threads may be looking. */
void stream_drop(struct stream_record *stream)
{
    bool last;

    if (!stream || refs_drop_but_last(&stream->refs))
        return;
    pthread_mutex_lock(&stream->context->lock);
    last = refs_drop(&stream->refs);
    if (last) {
        list_remove(&stream->link);
        atomic_fetch_sub(&stream->context->n_streams, 1);
    }
    pthread_mutex_unlock(&stream->context->lock);
    if (!last)
        return;
    mark_forget_stream(stream);
    free(stream);
}

struct stream_record *stream_new(struct context_record *context, CUstream handle, enum stream_kind kind,
                                 bool blocking)
{
    struct stream_record *stream = calloc(1, sizeof *stream);

    if (!stream)
        return NULL;
    init_stream(stream, context, handle, kind, blocking);
    stream->green = context->legacy.green;
    pthread_mutex_lock(&context->lock);
    list_append(&context->streams, &stream->link);
    atomic_fetch_add(&context->n_streams, 1);
    pthread_mutex_unlock(&context->lock);
    return stream;
}

/* A handle that is new to us. Under cuda_front.objects.lock. */
static struct stream_record *make_stream(CUstream handle, CUcontext owner, unsigned flags)
{
    struct context_record *context = handle_table_find(&cuda_front.objects.contexts, owner);
    CUgreenCtx green = green_of(handle);
    struct stream_record *stream;

    if (!context)
        context = make_context(owner);
    if (!context)
        return NULL;
    stream = stream_new(context, handle, STREAM_NAMED, !(flags & CU_STREAM_NON_BLOCKING));
    if (!stream)
        return NULL;
    pthread_mutex_lock(&context->lock); /* other threads may be looking at the context's streams */
    stream->green = green;
    pthread_mutex_unlock(&context->lock);
    stream_keep(stream); /* the caller's; the table has the first */
    stream->listed = true;
    if (handle_table_put(&cuda_front.objects.streams, handle, stream))
        return stream;
    stream_drop(stream);
    stream_drop(stream);
    return NULL;
}

void stream_made(CUstream handle, unsigned flags)
{
    CUcontext owner = context_current_handle();

    if (!owner)
        return;
    stream_forget(handle); /* the driver has ended it without our knowledge */
    pthread_mutex_lock(&cuda_front.objects.lock);
    stream_drop(make_stream(handle, owner, flags));
    pthread_mutex_unlock(&cuda_front.objects.lock);
}

/*
 * The streams that are new here are of green contexts, which do not block, or there was no memory
 * when they were made.
 */
static unsigned flags_of(CUstream handle)
{
    unsigned flags = 0;
    CUresult code = CUDA_ERROR_UNKNOWN;

    for (int i = 0; i < GENUINE_ASKS && code != CUDA_SUCCESS; i++)
        code = cuda_front.genuine.cuStreamGetFlags(handle, &flags);
    return code == CUDA_SUCCESS ? flags : CU_STREAM_NON_BLOCKING;
}

struct stream_record *stream_by_handle(CUstream handle, CUcontext *ret_owner)
{
    struct stream_record *stream = handle_table_find(&cuda_front.objects.streams, handle);
    CUcontext owner = NULL;
    CUresult code = CUDA_ERROR_UNKNOWN;

    if (stream)
        return stream;
    for (int i = 0; i < GENUINE_ASKS && cuda_front.genuine.cuStreamGetCtx && code != CUDA_SUCCESS; i++)
        code = cuda_front.genuine.cuStreamGetCtx(handle, &owner);
    if (code != CUDA_SUCCESS)
        return NULL;
    *ret_owner = owner;
    pthread_mutex_lock(&cuda_front.objects.lock);
    stream = handle_table_find(&cuda_front.objects.streams, handle);
    if (!stream)
        stream = make_stream(handle, owner, flags_of(handle));
    pthread_mutex_unlock(&cuda_front.objects.lock);
    return stream;
}

bool stream_doom(struct stream_record *stream)
{
    if (atomic_exchange(&stream->destroyed, true))
        return false;
    atomic_fetch_add(&cuda_front.objects.doomed, 1);
    return true;
}

void stream_forget(CUstream handle)
{
    struct stream_record *stream = handle_table_remove(&cuda_front.objects.streams, handle);

    if (stream) {
        stream->listed = false;
        capture_over(stream);
        if (atomic_load(&stream->destroyed))
            atomic_fetch_sub(&cuda_front.objects.doomed, 1);
    }
    stream_drop(stream);
}

/* Those that the table knows; those of threads end with their threads. */
static void forget_streams(struct context_record *context)
{
    CUstream handle;

    do {
        handle = NULL;
        pthread_mutex_lock(&context->lock);
        list_for_each(at, &context->streams)
        {
            struct stream_record *stream = list_entry(at, struct stream_record, link);

            capture_over(stream);
            if (stream->kind == STREAM_NAMED && stream->listed) {
                stream->listed = false;
                handle = stream->handle;
                break;
            }
        }
        pthread_mutex_unlock(&context->lock);
        if (handle)
            stream_forget(handle);
    } while (handle);
}

void context_forget(CUcontext handle)
{
    struct context_record *context = handle_table_remove(&cuda_front.objects.contexts, handle);

    if (!context)
        return;
    atomic_store(&context->gone, true);
    atomic_fetch_add(&cuda_front.objects.forgotten, 1);
    pthread_mutex_lock(&cuda_front.objects.lock);
    list_remove(&context->link);
    list_append(&cuda_front.objects.past, &context->link);
    pthread_mutex_unlock(&cuda_front.objects.lock);
    forget_streams(context);
    modules_forget_context(handle);
    mark_forget_context(context);
    /* The record itself stays: marks of other threads may still name it. Contexts are few. */
}

/* Under cuda_front.objects.lock. A record that is gone is, or is about to be, in another list. */
static struct list *place_behind(const struct context_record *context)
{
    struct list *at = cuda_front.objects.all.next;

    if (context && !atomic_load(&context->gone))
        return context->link.next;
    while (context && at != &cuda_front.objects.all &&
           list_entry(at, struct context_record, link)->number <= context->number)
        at = at->next;
    return at;
}

struct context_record *objects_next_context(const struct context_record *context)
{
    struct list *at;

    pthread_mutex_lock(&cuda_front.objects.lock);
    at = place_behind(context);
    pthread_mutex_unlock(&cuda_front.objects.lock);
    return at == &cuda_front.objects.all ? NULL : list_entry(at, struct context_record, link);
}
