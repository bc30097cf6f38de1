/*
 * Green contexts: a part of a device's multiprocessors with streams of its own. A device here has
 * one multiprocessor, its core, so each green context has all of it. The streams of a green context
 * are streams of the device's primary context, marked as its own.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_cpu/driver/capture.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/event.h"
#include "cuda_cpu/driver/handles.h"

enum { GREEN_MAGIC = 0x4752454e };

/* What the padding of a resource holds. */
struct green_mark {
    unsigned magic;
    int device;
};

struct CUgreenCtx_st {
    CUcontext primary; /* retained */
    int device;
    unsigned long long id;
    struct work *gate; /* captures.lock; a reference to what new streams wait for, or NULL */
};

static CUdevResource resource_of(int device)
{
    CUdevResource resource = {.type = CU_DEV_RESOURCE_TYPE_SM,
                              .sm = {.smCount = 1, .minSmPartitionSize = 1, .smCoscheduledAlignment = 1}};
    struct green_mark mark = {GREEN_MAGIC, device};

    memcpy(resource._internal_padding, &mark, sizeof mark);
    return resource;
}

static bool is_resource(const CUdevResource *resource, int *ret_device)
{
    struct green_mark mark;

    memcpy(&mark, resource->_internal_padding, sizeof mark);
    *ret_device = mark.device;
    return resource->type == CU_DEV_RESOURCE_TYPE_SM && mark.magic == GREEN_MAGIC && mark.device >= 0 &&
           (unsigned)mark.device < driver.n_devices;
}

static CUresult tell_resource(int device, CUdevResource *ret_resource, int type)
{
    if (!ret_resource)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *ret_resource = resource_of(device);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *ret_resource, int type)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS && (device < 0 || (unsigned)device >= driver.n_devices))
        code = CUDA_ERROR_INVALID_DEVICE;
    return code == CUDA_SUCCESS ? tell_resource(device, ret_resource, type) : code;
}

DRIVER_EXPORT CUresult cuCtxGetDevResource(CUcontext context, CUdevResource *ret_resource, int type)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = context_choose(&context);
    return code == CUDA_SUCCESS ? tell_resource(context->work.device, ret_resource, type) : code;
}

/* One multiprocessor is one group; if more are asked for, it is the remainder. */
DRIVER_EXPORT CUresult cuDevSmResourceSplitByCount(CUdevResource *ret_groups, unsigned int *n_groups,
                                                   const CUdevResource *input, CUdevResource *ret_rest,
                                                   unsigned int flags, unsigned int least)
{
    CUresult code = api_enter(__func__, API_READY);
    unsigned made;
    int device;

    if (code != CUDA_SUCCESS)
        return code;
    if (!n_groups || !input || flags > 3 || (ret_groups && !*n_groups))
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_resource(input, &device))
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (least > input->sm.smCount)
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    made = input->sm.smCount ? 1 : 0;
    if (ret_groups && made)
        ret_groups[0] = *input;
    if (ret_rest) {
        *ret_rest = *input;
        ret_rest->sm.smCount -= made;
        if (!ret_rest->sm.smCount)
            ret_rest->type = CU_DEV_RESOURCE_TYPE_INVALID;
    }
    *n_groups = made;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDevResourceGenerateDesc(void **ret_descriptor, CUdevResource *resources,
                                                 unsigned int n)
{
    CUresult code = api_enter(__func__, API_READY);
    int device;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_descriptor || !resources || !n)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_resource(&resources[0], &device) || !resources[0].sm.smCount)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    if (n > 1) /* one multiprocessor cannot be two resources */
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    *ret_descriptor = &driver.green_descriptors[device];
    return CUDA_SUCCESS;
}

/* --- contexts --- */

DRIVER_EXPORT CUresult cuGreenCtxCreate(CUgreenCtx *ret_green, void *descriptor, CUdevice device,
                                        unsigned int flags)
{
    CUresult code = api_enter(__func__, API_READY);
    CUgreenCtx green;

    if (code != CUDA_SUCCESS)
        return code;
    if (device < 0 || (unsigned)device >= driver.n_devices)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!ret_green || descriptor != &driver.green_descriptors[device] || flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    green = calloc(1, sizeof *green);
    if (!green)
        return CUDA_ERROR_OUT_OF_MEMORY;
    code = cuDevicePrimaryCtxRetain(&green->primary, device);
    if (code == CUDA_SUCCESS && !handle_put(green, HANDLE_GREEN, NULL)) {
        (void)cuDevicePrimaryCtxRelease_v2(device);
        code = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (code != CUDA_SUCCESS) {
        free(green);
        return code;
    }
    green->device = device;
    pthread_mutex_lock(&driver.lock);
    green->id = ++driver.last_id;
    pthread_mutex_unlock(&driver.lock);
    *ret_green = green;
    return CUDA_SUCCESS;
}

static void leave_green(struct stream *stream, void *green)
{
    if (stream->green == green)
        stream->green = NULL;
}

DRIVER_EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
    CUresult code = api_enter(__func__, API_READY);
    int device;

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_remove(green, HANDLE_GREEN))
        return CUDA_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&driver.captures.lock);
    stream_each(leave_green, green);
    pthread_mutex_unlock(&driver.captures.lock);
    device = green->device;
    work_unref(green->gate);
    free(green);
    return cuDevicePrimaryCtxRelease_v2(device);
}

static CUresult check_green(const char *name, CUgreenCtx green)
{
    CUresult code = api_enter(name, API_READY);

    return code != CUDA_SUCCESS             ? code
           : handle_is(green, HANDLE_GREEN) ? CUDA_SUCCESS
                                            : CUDA_ERROR_INVALID_CONTEXT;
}

DRIVER_EXPORT CUresult cuCtxFromGreenCtx(CUcontext *ret_context, CUgreenCtx green)
{
    CUresult code = check_green(__func__, green);

    if (code == CUDA_SUCCESS && !ret_context)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_context = green->primary;
    return code;
}

DRIVER_EXPORT CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource *ret_resource, int type)
{
    CUresult code = check_green(__func__, green);

    return code == CUDA_SUCCESS ? tell_resource(green->device, ret_resource, type) : code;
}

DRIVER_EXPORT CUresult cuGreenCtxGetId(CUgreenCtx green, unsigned long long *ret_id)
{
    CUresult code = check_green(__func__, green);

    if (code == CUDA_SUCCESS && !ret_id)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_id = green->id;
    return code;
}

/* --- streams and events --- */

/* With captures.lock held: the stream waits for `gate`. */
static CUresult hold_back(struct stream *stream, struct work *gate)
{
    struct action *action;
    struct work *work;
    CUresult code = CUDA_SUCCESS;

    if (!gate || work_is_done(gate))
        return CUDA_SUCCESS;
    action = action_new(ACTION_AWAIT);
    work = action ? action_work(action, &stream->context->work) : NULL;
    if (!work || work_after(work, gate) < 0 || work_submit(work, stream->work) < 0)
        code = CUDA_ERROR_OUT_OF_MEMORY;
    work_unref(work);
    return code;
}

DRIVER_EXPORT CUresult cuGreenCtxStreamCreate(CUstream *ret_stream, CUgreenCtx green, unsigned int flags,
                                              int priority)
{
    CUresult code = check_green(__func__, green);
    struct stream *stream;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_stream || flags != CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    priority = priority > 0 ? 0 : priority < STREAM_MOST_URGENT ? STREAM_MOST_URGENT : priority;
    stream = stream_make(green->primary, NULL, flags, priority);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&driver.captures.lock);
    stream->green = green;
    code = hold_back(stream, green->gate);
    pthread_mutex_unlock(&driver.captures.lock);
    *ret_stream = stream->handle;
    return code;
}

DRIVER_EXPORT CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx *ret_green)
{
    CUresult code = api_enter(__func__, API_READY);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS && !ret_green)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = stream_named(handle, &stream);
    if (code == CUDA_SUCCESS)
        *ret_green = stream->green;
    return code;
}

/* What a walk over the streams of a green context does, and its result. */
struct green_walk {
    CUgreenCtx green;
    struct work *work; /* it waits for each stream, or each stream waits for it */
    bool captures;
    CUresult code;
};

static void look_for_captures(struct stream *stream, void *data)
{
    struct green_walk *walk = data;

    if (stream->green == walk->green && stream->capture) {
        walk->captures = true;
        stream->capture->invalid = true;
    }
}

static void wait_for_stream(struct stream *stream, void *data)
{
    struct green_walk *walk = data;
    struct work *tail;

    if (stream->green != walk->green)
        return;
    tail = work_stream_tail(stream->work);
    if (tail && work_after(walk->work, tail) < 0)
        walk->code = CUDA_ERROR_OUT_OF_MEMORY;
    work_unref(tail);
}

static void hold_stream_back(struct stream *stream, void *data)
{
    struct green_walk *walk = data;

    if (stream->green == walk->green && walk->code == CUDA_SUCCESS)
        walk->code = hold_back(stream, walk->work);
}

DRIVER_EXPORT CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event)
{
    struct green_walk walk = {.green = green, .code = check_green(__func__, green)};
    struct action *action;

    if (walk.code != CUDA_SUCCESS)
        return walk.code;
    if (!handle_is(event, HANDLE_EVENT) || event->context != green->primary)
        return CUDA_ERROR_INVALID_HANDLE;
    action = action_new(ACTION_RECORD);
    walk.work = action ? action_work(action, &green->primary->work) : NULL;
    if (!walk.work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&driver.captures.lock);
    stream_each(look_for_captures, &walk);
    if (!walk.captures)
        stream_each(wait_for_stream, &walk);
    pthread_mutex_unlock(&driver.captures.lock);
    if (walk.captures)
        walk.code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    else if (walk.code == CUDA_SUCCESS)
        walk.code = event_record_work(event, walk.work);
    work_unref(walk.work);
    return walk.code;
}

DRIVER_EXPORT CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event)
{
    struct green_walk walk = {.green = green, .code = check_green(__func__, green)};
    struct work *before = NULL;

    if (walk.code != CUDA_SUCCESS)
        return walk.code;
    if (!handle_is(event, HANDLE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    walk.work = event_latest(event);
    pthread_mutex_lock(&driver.captures.lock);
    stream_each(look_for_captures, &walk);
    if (walk.captures) {
        walk.code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    } else if (walk.work) {
        stream_each(hold_stream_back, &walk);
        before = green->gate;
        green->gate = work_ref(walk.work);
    }
    pthread_mutex_unlock(&driver.captures.lock);
    work_unref(before);
    work_unref(walk.work);
    return walk.code;
}
