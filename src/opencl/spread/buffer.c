#include "opencl/spread/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/graph/kernel_launch.h"
#include "engine/policy.h"
#include "opencl/layer.h"
#include "opencl/opencl_driver.h"
#include "opencl/spread/further_device.h"
#include "opencl/spread/spread_placement.h"

/*
 * Bytes of one transfer between two checks whether another client wants the engine (GPES, Sec. V).
 */
#define CHUNK ((size_t)4 << 20)

/* Buffers that the host must not read cannot be copied by the layer. */
#define CLOSED_FLAGS ((cl_mem_flags)(CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY))

static void enlist(struct spread_buffer *buffer)
{
    struct spread_state *spread = &front.spread;

    pthread_mutex_lock(&spread->buffers_lock);
    buffer->next = spread->buffers;
    spread->buffers = buffer;
    pthread_mutex_unlock(&spread->buffers_lock);
}

static void delist(struct spread_buffer *buffer)
{
    struct spread_state *spread = &front.spread;
    struct spread_buffer **at = &spread->buffers;

    pthread_mutex_lock(&spread->buffers_lock);
    while (*at && *at != buffer)
        at = &(*at)->next;
    if (*at)
        *at = buffer->next;
    pthread_mutex_unlock(&spread->buffers_lock);
}

struct spread_buffer *buffer_of(struct mem_record *root)
{
    struct spread_buffer *buffer = atomic_load(&root->spread);
    cl_bool svm = CL_FALSE;

    if (buffer || atomic_load(&root->pinned) || root->flags & CLOSED_FLAGS || !root->size)
        return atomic_load(&root->pinned) ? NULL : buffer;
    front.target.clGetMemObjectInfo(root->handle, CL_MEM_USES_SVM_POINTER, sizeof svm, &svm, NULL);
    if (svm)
        return NULL;
    buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return NULL;
    buffer->root = root;
    buffer->image = root->image ? image_describe(root->handle) : NULL;
    if (root->image && !buffer->image) {
        free(buffer);
        return NULL;
    }
    coherence_init(&buffer->coherence, buffer->image ? buffer->image->bytes : root->size);
    atomic_fetch_add(&front.spread.n_buffers, 1);
    enlist(buffer);
    atomic_store(&root->spread, buffer);
    return buffer;
}

void buffer_done(struct spread_buffer *buffer)
{
    delist(buffer);
    for (int place = PLACE_DEVICE; place < PLACE_MAX; place++)
        if (buffer->copies[place])
            front.target.clReleaseMemObject(buffer->copies[place]);
    if (buffer->saver)
        front.target.clReleaseCommandQueue(buffer->saver);
    free(buffer->host);
    free(buffer->image);
    free(buffer);
    atomic_fetch_sub(&front.spread.n_buffers, 1);
}

struct range buffer_range(const struct spread_buffer *buffer, struct range range)
{
    return buffer->image ? (struct range){0, buffer->coherence.size} : range;
}

bool buffer_is_open(const struct spread_buffer *buffer)
{
    return buffer->root->flags & CL_MEM_USE_HOST_PTR || atomic_load(&buffer->root->n_mapped) > 0;
}

cl_int buffer_room(struct spread_buffer *buffer, int place)
{
    cl_int code = CL_SUCCESS;

    if (place == PLACE_HOME || buffer->copies[place])
        return CL_SUCCESS;
    if (place == PLACE_HOST) {
        if (!buffer->host)
            buffer->host = aligned_alloc(4096, (buffer->coherence.size + 4095) / 4096 * 4096);
        return buffer->host ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    if (buffer->image)
        buffer->copies[place] =
            image_create(buffer->image, device_at(place)->context, buffer->root->flags, &code);
    else
        buffer->copies[place] = front.target.clCreateBuffer(device_at(place)->context, CL_MEM_READ_WRITE,
                                                            buffer->root->size, NULL, &code);
    return buffer->copies[place] ? CL_SUCCESS : code;
}

/* The queue, buffer and engines of a place. */
static const struct queue_record *queue_of(int place, const struct queue_record *home)
{
    return place == PLACE_HOME ? home : &device_at(place)->copies;
}

static cl_mem handle_at(const struct spread_buffer *buffer, int place)
{
    return place == PLACE_HOME ? buffer->root->handle : buffer->copies[place];
}

/*
 * One chunk between a device's copy and memory of the host, on the engine for that direction.
 * ret_event: the event with its times, which the caller releases; NULL: not wanted.
 */
static cl_int transfer(struct spread_buffer *buffer, int place, bool out, struct range part, void *memory,
                       const struct queue_record *home, cl_event *ret_event)
{
    const struct queue_record *queue = queue_of(place, home);
    enum engine_kind kind = out ? ENGINE_COPY_OUT : ENGINE_COPY_IN;
    struct device_engine *engine = engine_device_for(&queue->device->base, kind);
    struct issue_blocking call;
    cl_mem mem = handle_at(buffer, place);
    baton_nsec begin_at;
    cl_int code;

    engine_enter_alone(engine);
    begin_at = clock_now();
    issue_blocking_begin(&call, queue, CL_TRUE, ret_event);
    if (out)
        code = front.target.clEnqueueReadBuffer(queue->handle, mem, call.blocking, part.begin,
                                                range_length(part), memory, 0, NULL, call.event);
    else
        code = front.target.clEnqueueWriteBuffer(queue->handle, mem, call.blocking, part.begin,
                                                 range_length(part), memory, 0, NULL, call.event);
    code = issue_blocking_end(&call, queue, code);
    engine_report(engine_of_kind(engine, kind), begin_at, clock_now(), NULL);
    engine_exit(engine, kind, ENGINE_ALONE);
    return code;
}

static bool goes_directly(const struct spread_buffer *buffer, int from, int to)
{
    return policy_peer_copies() && !buffer->image && device_share_context(from, to);
}

/*
 * Bytes of one engine hold. A peer copy is cut like a copy in, as its analysis assumes. Between two
 * devices through the host: the smaller of both directions.
 */
static size_t chunk_of(int from, int to)
{
    int64_t in = policy_chunk(false), out = policy_chunk(true);
    bool comes_in = from == PLACE_HOST || (policy_peer_copies() && device_share_context(from, to));
    int64_t planned = comes_in || (to != PLACE_HOST && in < out) ? in : out;

    if (!policy_chunking())
        return SIZE_MAX;
    return planned ? (size_t)planned : CHUNK;
}

/* Reads pixels, whose layout depends on the driver, as packed bytes. */
static unsigned char *read_pixels(struct spread_buffer *buffer, int place, const struct queue_record *home,
                                  cl_int *ret_code)
{
    unsigned char *pixels = malloc(buffer->image->bytes);

    *ret_code = !pixels ? CL_OUT_OF_HOST_MEMORY
                        : image_transfer(buffer->image, queue_of(place, home), handle_at(buffer, place), true,
                                         pixels, chunk_of(place, PLACE_HOST));
    if (*ret_code == CL_SUCCESS)
        return pixels;
    free(pixels);
    return NULL;
}

const unsigned char *buffer_map(struct spread_buffer *buffer, int place, struct range range,
                                const struct queue_record *home, cl_int *ret_code)
{
    const struct queue_record *queue = queue_of(place, home);
    struct device_engine *engine = engine_device_for(&queue->device->base, ENGINE_COPY_OUT);
    struct issue_blocking call;
    baton_nsec begin_at;
    void *pointer;

    if (buffer->image)
        return read_pixels(buffer, place, home, ret_code);
    engine_enter_alone(engine);
    begin_at = clock_now();
    issue_blocking_begin(&call, queue, CL_TRUE, NULL);
    pointer =
        front.target.clEnqueueMapBuffer(queue->handle, handle_at(buffer, place), call.blocking, CL_MAP_READ,
                                        range.begin, range_length(range), 0, NULL, call.event, ret_code);
    *ret_code = issue_blocking_end(&call, queue, *ret_code);
    engine_report(engine_of_kind(engine, ENGINE_COPY_OUT), begin_at, clock_now(), NULL);
    engine_exit(engine, ENGINE_COPY_OUT, ENGINE_ALONE);
    return *ret_code == CL_SUCCESS ? pointer : NULL;
}

void buffer_unmap(struct spread_buffer *buffer, int place, const unsigned char *pointer,
                  const struct queue_record *home)
{
    const struct queue_record *queue = queue_of(place, home);
    cl_event event = NULL;
    cl_int code;

    if (!pointer)
        return;
    if (buffer->image) {
        free((void *)(uintptr_t)pointer);
        return;
    }
    quirks_call_begin(queue, false);
    code = front.target.clEnqueueUnmapMemObject(queue->handle, handle_at(buffer, place),
                                                (void *)(uintptr_t)pointer, 0, NULL, &event);
    quirks_call_end(queue);
    if (code == CL_SUCCESS) {
        front.target.clWaitForEvents(1, &event);
        front.target.clReleaseEvent(event);
    }
}

/*
 * One chunk from device to device by the driver (migration `p2p`). A hold of the other device's
 * copy engine is also one of this device's: batond requests both together.
 */
static cl_int copy_directly(struct spread_buffer *buffer, int from, int to, struct range part)
{
    const struct queue_record *queue = &device_at(to)->copies;
    struct device_engine *engine = engine_device_for(&device_at(from)->record->base, ENGINE_COPY_OUT);
    cl_event event = NULL;
    baton_nsec begin_at;
    cl_int code, status = CL_COMPLETE;

    engine_enter_alone(engine);
    begin_at = clock_now();
    quirks_call_begin(queue, true); /* the driver may migrate the source by itself */
    code = front.target.clEnqueueCopyBuffer(queue->handle, buffer->copies[from], buffer->copies[to],
                                            part.begin, part.begin, range_length(part), 0, NULL, &event);
    quirks_call_end(queue);
    if (code == CL_SUCCESS) {
        code = front.target.clWaitForEvents(1, &event);
        front.target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        front.target.clReleaseEvent(event);
    }
    engine_report(engine_of_kind(engine, ENGINE_COPY_OUT), begin_at, clock_now(), NULL);
    engine_exit(engine, ENGINE_COPY_OUT, ENGINE_ALONE);
    return status < 0 ? status : code;
}

/* bytes: the range's bytes in host memory; NULL: from device to device. */
static cl_int move_chunk(struct spread_buffer *buffer, int from, int to, struct range part,
                         unsigned char *bytes, const struct queue_record *home)
{
    const unsigned char *pointer;
    cl_int code;

    if (bytes)
        return to == PLACE_HOST ? transfer(buffer, from, true, part, bytes, home, NULL)
                                : transfer(buffer, to, false, part, bytes, home, NULL);
    if (goes_directly(buffer, from, to))
        return copy_directly(buffer, from, to, part);
    /*
     * Map at the source, write to the target: a driver that shares memory with the host copies only
     * once.
     */
    pointer = buffer_map(buffer, from, part, home, &code);
    if (!pointer)
        return code;
    code = transfer(buffer, to, false, part, (void *)(uintptr_t)pointer, home, NULL);
    buffer_unmap(buffer, from, pointer, home);
    return code;
}

/* Moves all of an image; bytes as above. */
static cl_int move_image(struct spread_buffer *buffer, int from, int to, unsigned char *bytes,
                         const struct queue_record *home)
{
    unsigned char *own = NULL;
    cl_int code = CL_SUCCESS;

    if (to == PLACE_HOST)
        return image_transfer(buffer->image, queue_of(from, home), handle_at(buffer, from), true, bytes,
                              chunk_of(from, PLACE_HOST));
    if (!bytes)
        bytes = own = read_pixels(buffer, from, home, &code);
    if (code == CL_SUCCESS)
        code = image_transfer(buffer->image, queue_of(to, home), handle_at(buffer, to), false, bytes,
                              chunk_of(PLACE_HOST, to));
    free(own);
    return code;
}

static cl_int move(struct spread_buffer *buffer, int from, int to, struct range range, unsigned char *bytes,
                   const struct queue_record *home)
{
    size_t chunk = chunk_of(from, to);
    baton_nsec begin_at = clock_now(), took;
    cl_int code = CL_SUCCESS;

    if (buffer->image)
        code = move_image(buffer, from, to, bytes, home);
    for (size_t at = range.begin; !buffer->image && at < range.end && code == CL_SUCCESS;) {
        struct range part = {at, range.end - at > chunk ? at + chunk : range.end};

        code = move_chunk(buffer, from, to, part, bytes ? bytes + (at - range.begin) : NULL, home);
        at = part.end;
    }
    took = clock_now() - begin_at;
    runtime_count(COUNTER_MOVED_BYTES, range_length(range));
    runtime_count(COUNTER_MOVED_NS, (uint64_t)took);
    if (code != CL_SUCCESS)
        return code;
    growth_add(&front.spread.costs.move, range_length(range), (double)took);
    spread_placement_moved(home->device, from, to, range_length(range), took);
    return CL_SUCCESS;
}

cl_int buffer_move(struct spread_buffer *buffer, int from, int to, struct range range,
                   const struct queue_record *home)
{
    bool by_host = from == PLACE_HOST || to == PLACE_HOST;

    return move(buffer, from, to, range, by_host ? buffer->host + range.begin : NULL, home);
}

cl_int buffer_fill_home(struct spread_buffer *buffer, struct range range, const unsigned char *bytes,
                        const struct queue_record *home)
{
    return move(buffer, PLACE_HOST, PLACE_HOME, range, (unsigned char *)(uintptr_t)bytes, home);
}

static cl_int stream(struct spread_buffer *buffer, int place, bool out, struct range range,
                     unsigned char *bytes, const struct queue_record *home, struct command *ret_times)
{
    cl_event first = NULL, last = NULL;
    cl_int code = CL_SUCCESS;
    size_t chunk = out ? chunk_of(place, PLACE_HOST) : chunk_of(PLACE_HOST, place), size;

    for (size_t at = range.begin; at < range.end && code == CL_SUCCESS; at += size) {
        cl_event event = NULL;

        size = range.end - at < chunk ? range.end - at : chunk;
        code = transfer(buffer, place, out, (struct range){at, at + size}, bytes + (at - range.begin), home,
                        &event);
        if (last && last != first)
            front.target.clReleaseEvent(last);
        last = event;
        first = first ? first : event;
    }
    if (code == CL_SUCCESS && last) {
        *ret_times =
            (struct command){.ops = &opencl_driver, .first_mark = mark_of(first), .last_mark = mark_of(last)};
        pipe_mark_times(ret_times);
        ret_times->first_mark = ret_times->last_mark = NULL;
    }
    if (last && last != first)
        front.target.clReleaseEvent(last);
    if (first)
        front.target.clReleaseEvent(first);
    return code;
}

cl_int buffer_upload(struct spread_buffer *buffer, int place, struct range range, const void *bytes,
                     struct command *ret_times)
{
    return stream(buffer, place, false, range, (unsigned char *)(uintptr_t)bytes, NULL, ret_times);
}

cl_int buffer_download(struct spread_buffer *buffer, int place, struct range range, void *bytes,
                       const struct queue_record *home, struct command *ret_times)
{
    return stream(buffer, place, true, range, bytes, home, ret_times);
}

void buffer_shadow(struct spread_buffer *buffer, struct range range, const void *bytes)
{
    if (buffer->image || buffer_room(buffer, PLACE_HOST) != CL_SUCCESS)
        return;
    memcpy(buffer->host + range.begin, bytes, range_length(range));
    coherence_copied(&buffer->coherence, PLACE_HOST, range);
}

size_t buffer_list(cl_mem ret_handles[], size_t room)
{
    struct spread_state *spread = &front.spread;
    size_t n = 0;

    pthread_mutex_lock(&spread->buffers_lock);
    for (struct spread_buffer *buffer = spread->buffers; buffer && n < room; buffer = buffer->next)
        ret_handles[n++] = buffer->root->handle;
    pthread_mutex_unlock(&spread->buffers_lock);
    return n;
}

/*
 * The analysis of `ondemand` counts two copies: off the other device in chunks of one size, then
 * onto this device in chunks of another.
 */
static bool is_staged(const struct spread_buffer *buffer, int from, int to)
{
    return policy_exact() && from != PLACE_HOST && to != PLACE_HOST && !buffer->image &&
           !goes_directly(buffer, from, to);
}

cl_int buffer_make_valid(struct spread_buffer *buffer, int place, struct range range,
                         const struct queue_record *home)
{
    size_t missing = buffer_missing(buffer, place, range), left;
    struct range part;
    cl_int code = buffer_room(buffer, place);
    int from;

    while (code == CL_SUCCESS &&
           (from = coherence_next_copy(&buffer->coherence, place, range, &part)) != PLACE_NONE) {
        if (is_staged(buffer, from, place)) {
            code = buffer_room(buffer, PLACE_HOST);
            code = code == CL_SUCCESS ? buffer_move(buffer, from, PLACE_HOST, part, home) : code;
            if (code == CL_SUCCESS)
                coherence_copied(&buffer->coherence, PLACE_HOST, part);
            from = PLACE_HOST;
        }
        if (code == CL_SUCCESS)
            code = buffer_move(buffer, from, place, part, home);
        if (code == CL_SUCCESS)
            coherence_copied(&buffer->coherence, place, part);
        left = buffer_missing(buffer, place, range);
        if (code == CL_SUCCESS && left >= missing) /* the record has no room for the part */
            code = CL_OUT_OF_RESOURCES;
        missing = left;
    }
    return code;
}

cl_int buffer_bring_home(struct spread_buffer *buffer, const struct queue_record *queue)
{
    struct range whole = {0, buffer->coherence.size};
    cl_int code = buffer_make_valid(buffer, PLACE_HOME, whole, queue);

    if (code == CL_SUCCESS)
        coherence_written(&buffer->coherence, PLACE_HOME, whole);
    return code;
}

size_t buffer_missing(const struct spread_buffer *buffer, int place, struct range range)
{
    size_t bytes = 0;

    while (range_length(range)) {
        struct range part = ranges_first_missing(&buffer->coherence.valid[place], range);

        bytes += range_length(part);
        range.begin = part.end;
    }
    return bytes;
}
