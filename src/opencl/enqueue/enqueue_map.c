/* Map and unmap (graph/deferred_map.h). */
#include "base/clock.h"
#include "engine/direct.h"
#include "engine/inferred_job.h"
#include "opencl/enqueue/enqueue.h"
#include "opencl/graph/opencl_validate.h"
#include "opencl/graph/adopt.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/graph/deferred_map.h"
#include "opencl/spread/spread.h"

static void *answer(void *pointer, cl_int code, cl_int *ret_code)
{
    if (ret_code)
        *ret_code = code;
    return code == CL_SUCCESS ? pointer : NULL;
}

/* A map that goes to the driver from the calling thread. */
struct map_call {
    struct opencl_command draft;
    struct map_record about; /* what draft says of the map */
    cl_bool blocking;
    struct issue_blocking issue;
    cl_event *event; /* the program's; NULL: it wants none */
    cl_event mark;   /* of a map that is in flight when the call returns */
    baton_nsec begin_at;
};

static void prepare(struct map_call *call, const struct mem_record *mem)
{
    call->draft.u.map.record = &call->about;
    command_prepare(&call->draft);
    call->draft.base.bytes = mem ? mem->size : 0;
    call->draft.base.predicted =
        call->blocking ? ENGINE_ALONE
                       : engine_predict_copy(&call->draft.queue->device->base.engines[ENGINE_COPY_OUT],
                                             call->draft.base.bytes);
}

/*
 * For a map that the driver may run at once, or whose caller waits for it anyway. True: the engine
 * has been entered, and the list has been waited for. Only a bad list goes on to the driver, which
 * reports the error.
 */
static bool at_once(struct map_call *call, cl_uint *n, const cl_event **waits)
{
    struct opencl_command *draft = &call->draft;
    struct queue_record *queue = draft->queue;

    if (validate_waits(queue, *n, *waits) != CL_SUCCESS)
        return atomic_load(&queue->base.n_unissued) == 0 && direct_enter(&draft->base, call->blocking);
    if (!submit_unhindered(queue, *n, *waits)) {
        if (!call->blocking || !submit_drain(queue, *n, *waits))
            return false;
    }
    if (!submit_alone(draft, call->blocking) || !spread_admits(draft, call->blocking))
        return false;
    if (!direct_enter(&draft->base, call->blocking)) {
        spread_over(draft);
        return false;
    }
    *n = 0;
    *waits = NULL;
    inferred_job_begins();
    return true;
}

/* Before the driver's call, which gets .issue.blocking and .issue.event. */
static void before(struct map_call *call)
{
    cl_event *wanted = call->event || call->blocking ? call->event : &call->mark;

    call->begin_at = clock_now();
    issue_blocking_begin(&call->issue, call->draft.queue, call->blocking, wanted);
}

/* A map that does not block may still run: it keeps the engine until its event is over. */
static void after(struct map_call *call, struct mem_record *mem, cl_int code, void *pointer)
{
    struct command *base = &call->draft.base;

    if (call->blocking && recorder_on() && code == CL_SUCCESS)
        recorder_copy(ENGINE_COPY_OUT, base->bytes, call->begin_at, clock_now());
    if (code != CL_SUCCESS) {
        direct_leave(base);
    } else if (call->blocking) {
        direct_over(base, call->begin_at, false);
    } else {
        if (call->event) {
            call->mark = *call->event;
            front.target.clRetainEvent(call->mark);
        }
        if (recorder_on())
            recorder_direct(base, call->begin_at, mark_of(call->mark));
        direct_in_flight(base, mark_of(call->mark));
    }
    if (code == CL_SUCCESS && mem)
        map_note(mem, pointer, call->about.flags);
    spread_over(&call->draft);
    if (call->blocking)
        inferred_job_waited();
}

static cl_int validate_access(cl_mem mem, cl_map_flags flags)
{
    if (flags & CL_MAP_WRITE_INVALIDATE_REGION && flags & (CL_MAP_READ | CL_MAP_WRITE))
        return CL_INVALID_VALUE;
    return validate_host_access(mem, flags & CL_MAP_READ,
                                flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
               ? CL_SUCCESS
               : CL_INVALID_OPERATION;
}

/* Puts the deferred map into the graph. Takes over the record. */
static void *defer(struct queue_record *queue, struct mem_record *mem, struct map_record *record,
                   cl_command_type type, cl_bool blocking, cl_uint n, const cl_event *waits, cl_event *event,
                   cl_int *ret_code)
{
    struct opencl_command draft = {
        .kind = COMMAND_MAP, .type = type, .queue = queue, .u.map = {.record = record, .mem = mem->handle}};
    void *pointer = record ? record->pointer : NULL;
    cl_int code = CL_OUT_OF_HOST_MEMORY;

    if (record) {
        command_prepare(&draft);
        code = submit_queued(&draft, blocking, n, waits, event);
    }
    if (record && code != CL_SUCCESS)
        map_free(map_take(mem, pointer));
    return answer(pointer, code, ret_code);
}

CL_API_ENTRY void *CL_API_CALL entry_clEnqueueMapBuffer(cl_command_queue handle, cl_mem buffer,
                                                        cl_bool blocking, cl_map_flags flags, size_t offset,
                                                        size_t size, cl_uint n, const cl_event *waits,
                                                        cl_event *event, cl_int *ret_code)
{
    struct queue_record *queue = runtime_off() ? NULL : queue_find(handle);
    struct mem_record *mem = queue ? mem_find(buffer) : NULL;
    struct map_call call = {.draft = {.kind = COMMAND_MAP, .queue = queue, .u.map.mem = buffer},
                            .about = {.flags = flags, .size = SIZE_MAX},
                            .blocking = blocking,
                            .event = event};
    cl_int code = CL_SUCCESS;
    void *pointer;

    if (queue_lost(handle))
        return answer(NULL, CL_OUT_OF_RESOURCES, ret_code);
    if (!queue)
        return front.target.clEnqueueMapBuffer(handle, buffer, blocking, flags, offset, size, n, waits, event,
                                               ret_code);
    prepare(&call, mem);
    if (at_once(&call, &n, &waits)) {
        before(&call);
        pointer = front.target.clEnqueueMapBuffer(handle, buffer, call.issue.blocking, flags, offset, size, n,
                                                  waits, call.issue.event, &code);
        code = issue_blocking_end(&call.issue, queue, code);
        after(&call, mem, code, pointer);
        pointer = answer(pointer, code, ret_code);
    } else if ((code = validate_mem(queue, buffer, false)) || (code = validate_waits(queue, n, waits)) ||
               (code = validate_range(buffer, offset, size) ? CL_SUCCESS : CL_INVALID_VALUE) ||
               (code = validate_access(buffer, flags))) {
        pointer = answer(NULL, code, ret_code);
    } else {
        pointer = defer(queue, mem, map_defer_buffer(mem, flags, offset, size), CL_COMMAND_MAP_BUFFER,
                        blocking, n, waits, event, ret_code);
    }
    if (mem)
        mem_unref(mem);
    queue_unref(queue);
    return pointer;
}

CL_API_ENTRY void *CL_API_CALL entry_clEnqueueMapImage(cl_command_queue handle, cl_mem image,
                                                       cl_bool blocking, cl_map_flags flags,
                                                       const size_t *origin, const size_t *region,
                                                       size_t *ret_row, size_t *ret_slice, cl_uint n,
                                                       const cl_event *waits, cl_event *event,
                                                       cl_int *ret_code)
{
    struct queue_record *queue = runtime_off() ? NULL : queue_find(handle);
    struct mem_record *mem = queue ? mem_find(image) : NULL;
    struct map_call call = {.draft = {.kind = COMMAND_MAP, .queue = queue, .u.map.mem = image},
                            .about = {.flags = flags, .size = SIZE_MAX},
                            .blocking = blocking,
                            .event = event};
    struct map_record *record;
    cl_int code = CL_SUCCESS;
    void *pointer;

    if (queue_lost(handle))
        return answer(NULL, CL_OUT_OF_RESOURCES, ret_code);
    if (!queue)
        return front.target.clEnqueueMapImage(handle, image, blocking, flags, origin, region, ret_row,
                                              ret_slice, n, waits, event, ret_code);
    prepare(&call, mem);
    if (at_once(&call, &n, &waits)) {
        before(&call);
        pointer = front.target.clEnqueueMapImage(handle, image, call.issue.blocking, flags, origin, region,
                                                 ret_row, ret_slice, n, waits, call.issue.event, &code);
        code = issue_blocking_end(&call.issue, queue, code);
        after(&call, mem, code, pointer);
        pointer = answer(pointer, code, ret_code);
    } else if ((code = validate_mem(queue, image, true)) || (code = validate_waits(queue, n, waits)) ||
               (code = ret_row ? validate_region(image, origin, region) : CL_INVALID_VALUE) ||
               (code = validate_access(image, flags))) {
        pointer = answer(NULL, code, ret_code);
    } else {
        record = map_defer_image(mem, flags, origin, region);
        if (record) {
            *ret_row = record->row;
            if (ret_slice)
                *ret_slice = record->slice;
        }
        pointer = defer(queue, mem, record, CL_COMMAND_MAP_IMAGE, blocking, n, waits, event, ret_code);
    }
    if (mem)
        mem_unref(mem);
    queue_unref(queue);
    return pointer;
}

/*
 * The unmap of a map that the driver made for reading, or of a map unknown to the layer, copies
 * nothing. So it needs no engine. False: commands are queued before it.
 */
static bool unmap_at_once(struct opencl_command *draft, cl_uint n, const cl_event *waits, cl_event *event,
                          cl_int *ret_code)
{
    bool valid = validate_waits(draft->queue, n, waits) == CL_SUCCESS;

    if (!submit_unhindered(draft->queue, n, waits) || !spread_admits(draft, CL_FALSE))
        return false;
    /*
     * Waits that are over are not passed on: the layer's record of one may be complete a moment
     * before the driver's handle is.
     */
    *ret_code = issue_whole(draft, CL_FALSE, valid ? 0 : n, valid ? NULL : waits, event);
    spread_over(draft);
    return true;
}

static cl_int unmap_queued(struct opencl_command *draft, const struct mem_record *mem,
                           struct map_record *record, cl_uint n, const cl_event *waits, cl_event *event)
{
    cl_int code = validate_waits(draft->queue, n, waits);

    if (code != CL_SUCCESS)
        return code;
    if (!record)
        return CL_INVALID_VALUE;
    if (mem->context != draft->queue->context)
        return CL_INVALID_CONTEXT;
    draft->u.map.record = record;
    command_prepare(draft);
    return submit_queued(draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueUnmapMemObject(cl_command_queue handle, cl_mem object,
                                                              void *pointer, cl_uint n, const cl_event *waits,
                                                              cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_UNMAP, .u.map = {.mem = object, .pointer = pointer}};
    struct mem_record *mem;
    struct map_record *record;
    bool taken_over = false;
    cl_int code;

    ENQUEUE_BEGIN(handle, front.target.clEnqueueUnmapMemObject(handle, object, pointer, n, waits, event));
    mem = mem_find(object);
    ENQUEUE_REQUIRE(mem, CL_INVALID_MEM_OBJECT,
                    front.target.clEnqueueUnmapMemObject(handle, object, pointer, n, waits, event));
    record = map_take(mem, pointer);
    draft.queue = queue;
    if (record && record->direct && map_writes(record) && mem->context == queue->context) {
        code = submit_command(&draft, CL_FALSE, n, waits, event);
    } else if ((record && !record->direct) || !unmap_at_once(&draft, n, waits, event, &code)) {
        code = unmap_queued(&draft, mem, record, n, waits, event);
        taken_over = code == CL_SUCCESS;
    }
    if (code != CL_SUCCESS && record)
        map_put_back(mem, record);
    else if (!taken_over)
        map_free(record);
    mem_unref(mem);
    queue_unref(queue);
    return code;
}
