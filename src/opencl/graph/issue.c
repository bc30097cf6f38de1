#include "opencl/graph/issue.h"

#include <stdlib.h>
#include <string.h>

#include "engine/policy.h"
#include "opencl/graph/launch.h"
#include "opencl/graph/map.h"
#include "opencl/layer.h"
#include "opencl/objects.h"

#define WAITS n, waits, event

static cl_int give_transfer(const struct opencl_command *c, cl_bool blocking, cl_uint n,
                            const cl_event *waits, cl_event *event)
{
    const struct command_transfer *t = &c->u.transfer;
    cl_command_queue queue = c->queue->handle;

    switch (c->kind) {
    case COMMAND_READ:
        return target.clEnqueueReadBuffer(queue, t->a, blocking, t->offset, t->size, t->host, WAITS);
    case COMMAND_WRITE:
        return target.clEnqueueWriteBuffer(queue, t->a, blocking, t->offset, t->size, t->host, WAITS);
    case COMMAND_COPY:
        return target.clEnqueueCopyBuffer(queue, t->a, t->b, t->offset, t->offset_b, t->size, WAITS);
    case COMMAND_FILL:
        return target.clEnqueueFillBuffer(queue, t->a, t->pattern, t->pattern_size, t->offset, t->size,
                                          WAITS);
    case COMMAND_READ_RECT:
        return target.clEnqueueReadBufferRect(queue, t->a, blocking, t->origin, t->origin_b, t->region,
                                              t->row, t->slice, t->row_b, t->slice_b, t->host, WAITS);
    case COMMAND_WRITE_RECT:
        return target.clEnqueueWriteBufferRect(queue, t->a, blocking, t->origin, t->origin_b, t->region,
                                               t->row, t->slice, t->row_b, t->slice_b, t->host, WAITS);
    case COMMAND_COPY_RECT:
        return target.clEnqueueCopyBufferRect(queue, t->a, t->b, t->origin, t->origin_b, t->region, t->row,
                                              t->slice, t->row_b, t->slice_b, WAITS);
    case COMMAND_READ_IMAGE:
        return target.clEnqueueReadImage(queue, t->a, blocking, t->origin, t->region, t->row, t->slice,
                                         t->host, WAITS);
    case COMMAND_WRITE_IMAGE:
        return target.clEnqueueWriteImage(queue, t->a, blocking, t->origin, t->region, t->row, t->slice,
                                          t->host, WAITS);
    case COMMAND_COPY_IMAGE:
        return target.clEnqueueCopyImage(queue, t->a, t->b, t->origin, t->origin_b, t->region, WAITS);
    case COMMAND_IMAGE_TO_BUFFER:
        return target.clEnqueueCopyImageToBuffer(queue, t->a, t->b, t->origin, t->region, t->offset, WAITS);
    case COMMAND_BUFFER_TO_IMAGE:
        return target.clEnqueueCopyBufferToImage(queue, t->a, t->b, t->offset, t->origin, t->region, WAITS);
    default:
        return target.clEnqueueFillImage(queue, t->a, t->pattern, t->origin, t->region, WAITS);
    }
}

static cl_int give_svm(const struct opencl_command *c, cl_bool blocking, cl_uint n, const cl_event *waits,
                       cl_event *event)
{
    const struct command_svm *s = &c->u.svm;
    cl_command_queue queue = c->queue->handle;

    switch (c->kind) {
    case COMMAND_SVM_MEMCPY:
        return target.clEnqueueSVMMemcpy(queue, blocking, s->to, s->from, s->size, WAITS);
    case COMMAND_SVM_FILL:
        return target.clEnqueueSVMMemFill(queue, s->to, s->pattern, s->pattern_size, s->size, WAITS);
    case COMMAND_SVM_MAP:
        return target.clEnqueueSVMMap(queue, blocking, s->flags, s->to, s->size, WAITS);
    case COMMAND_SVM_UNMAP:
        return target.clEnqueueSVMUnmap(queue, s->to, WAITS);
    case COMMAND_SVM_FREE:
        return target.clEnqueueSVMFree(queue, s->n, s->pointers, s->run, s->user, WAITS);
    default:
        return target.clEnqueueSVMMigrateMem(queue, s->n, (const void **)s->pointers, s->sizes, s->flags,
                                             WAITS);
    }
}

static cl_int give(const struct opencl_command *c, cl_bool blocking, cl_uint n, const cl_event *waits,
                   cl_event *event)
{
    const struct command_native *f = &c->u.native;
    const struct command_launch *l = &c->u.launch;
    cl_command_queue queue = c->queue->handle;

    if (c->kind >= COMMAND_READ && c->kind <= COMMAND_FILL_IMAGE)
        return give_transfer(c, blocking, n, waits, event);
    if (c->kind >= COMMAND_SVM_MEMCPY)
        return give_svm(c, blocking, n, waits, event);
    switch (c->kind) {
    case COMMAND_KERNEL:
        return target.clEnqueueNDRangeKernel(queue, l->kernel->handle, l->dim, l->offset, l->global,
                                             l->has_local ? l->local : NULL, WAITS);
    case COMMAND_TASK:
        return target.clEnqueueTask(queue, c->u.launch.kernel->handle, WAITS);
    case COMMAND_NATIVE:
        return target.clEnqueueNativeKernel(queue, f->run, f->args, f->size, f->n, f->mems, f->places, WAITS);
    case COMMAND_MIGRATE:
        return target.clEnqueueMigrateMemObjects(queue, c->u.migrate.n, c->u.migrate.mems, c->u.migrate.flags,
                                                 WAITS);
    case COMMAND_UNMAP:
        return target.clEnqueueUnmapMemObject(queue, c->u.map.mem, c->u.map.pointer, WAITS);
    case COMMAND_BARRIER:
        return target.clEnqueueBarrierWithWaitList(queue, WAITS);
    default:
        return target.clEnqueueMarkerWithWaitList(queue, WAITS);
    }
}

cl_int issue_whole(const struct opencl_command *c, cl_bool blocking, cl_uint n, const cl_event *waits,
                   cl_event *event)
{
    struct crossing *crossing = &c->queue->device->crossing;
    /* Whoever waits for the end of a command must not keep others from crossing alone: a callback may, which that end waits for. */
    bool outside = blocking && crossing->needed && !crossing->inside;
    cl_event own = NULL, *last = outside && !event ? &own : event;
    cl_int code;

    if (c->kind == COMMAND_KERNEL && launch_give_rewritten(c, n, waits, event))
        return CL_SUCCESS;
    crossing_begin(crossing, crossing_alone(c));
    code = give(c, blocking && !outside, n, waits, last);
    crossing_end(crossing);
    if (outside && code == CL_SUCCESS)
        code = target.clWaitForEvents(1, last);
    if (own)
        target.clReleaseEvent(own);
    return code;
}

size_t issue_bytes(const struct opencl_command *command)
{
    const struct command_transfer *t = &command->u.transfer;
    size_t element = 1;

    switch (command->kind) {
    case COMMAND_READ:
    case COMMAND_WRITE:
    case COMMAND_COPY:
    case COMMAND_FILL:
        return t->size;
    case COMMAND_SVM_MEMCPY:
    case COMMAND_SVM_FILL:
        return command->u.svm.size;
    case COMMAND_READ_IMAGE:
    case COMMAND_WRITE_IMAGE:
    case COMMAND_COPY_IMAGE:
    case COMMAND_IMAGE_TO_BUFFER:
    case COMMAND_FILL_IMAGE:
        target.clGetImageInfo(t->a, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
        return element * t->region[0] * t->region[1] * t->region[2];
    case COMMAND_BUFFER_TO_IMAGE:
        target.clGetImageInfo(t->b, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
        return element * t->region[0] * t->region[1] * t->region[2];
    case COMMAND_READ_RECT:
    case COMMAND_WRITE_RECT:
    case COMMAND_COPY_RECT:
        return t->region[0] * t->region[1] * t->region[2];
    default:
        return 0;
    }
}

/* GPES, Sec. V: 4 MB host to device, 512 KB device to host. Copies within the device are cut like those to it. */
enum { CHUNK_IN = 4 << 20, CHUNK_OUT = 512 << 10 };

/*
 * An array of one-dimensional images on the host, with a pitch for its slices: each is one row, so it is that pitch which tells them apart, but there are drivers
 * that go by the rows'. Such a copy is left whole.
 */
static bool pitch_is_doubtful(const struct opencl_command *command)
{
    cl_mem_object_type type = 0;

    if ((command->kind != COMMAND_READ_IMAGE && command->kind != COMMAND_WRITE_IMAGE) ||
        !command->u.transfer.slice)
        return false;
    target.clGetMemObjectInfo(command->u.transfer.a, CL_MEM_TYPE, sizeof type, &type, NULL);
    return type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
}

size_t issue_chunk(const struct opencl_command *command)
{
    const struct device_engine *engine = &command->queue->device->base.engines[command->base.engine];
    bool out = command->base.engine == ENGINE_COPY_OUT;
    int64_t planned;

    if (!policy_chunking() || pitch_is_doubtful(command))
        return SIZE_MAX;
    if (runtime.settings.chunk > 0)
        return (size_t)runtime.settings.chunk;
    planned = policy_chunk(out);
    if (planned > 0) /* two are in flight, and the plan counts them as one */
        return planned > 1 ? (size_t)planned / 2 : 1;
    /* What the bus moves in a certain time, once that is known: the time is what others wait for. */
    planned = atomic_load_explicit(&engine->bytes_per_ms, memory_order_relaxed) * engine_chunk_ns(engine) /
              NSEC_PER_MS;
    if (planned > 0)
        return planned > CHUNK_OUT ? (size_t)planned / CHUNK_OUT * CHUNK_OUT : CHUNK_OUT;
    return out ? CHUNK_OUT : CHUNK_IN;
}

/* --- chunks --- */

/* A transfer that is cut: what the driver is asked for, without what the graph keeps beside it. */
struct copy_cut {
    struct piece_cut base;
    struct opencl_command request; /* of the whole, with every pitch said */
    bool box;                      /* units are rows, of one slice at most in a piece; else bytes */
    size_t element;                /* bytes in it */
};

/* Rows [begin, end) of a box transfer, all of one slice. */
static void box_piece(const struct copy_cut *cut, size_t begin, size_t end, struct opencl_command *ret_piece)
{
    const struct command_transfer *whole = &cut->request.u.transfer;
    struct command_transfer *t = &ret_piece->u.transfer;
    size_t z = begin / whole->region[1], y = begin % whole->region[1];

    *ret_piece = cut->request;
    t->region[1] = end - begin;
    t->region[2] = 1;
    t->origin[1] += y;
    t->origin[2] += z;
    switch (ret_piece->kind) {
    case COMMAND_READ_RECT:
    case COMMAND_WRITE_RECT:
    case COMMAND_COPY_RECT:
    case COMMAND_COPY_IMAGE:
        t->origin_b[1] += y;
        t->origin_b[2] += z;
        break;
    case COMMAND_READ_IMAGE:
    case COMMAND_WRITE_IMAGE:
        t->host = (char *)t->host + z * t->slice + y * t->row;
        t->slice = 0; /* it is within one slice, and an image without slices has no pitch for them */
        break;
    case COMMAND_IMAGE_TO_BUFFER:
    case COMMAND_BUFFER_TO_IMAGE:
        t->offset += begin * cut->element * whole->region[0];
        break;
    default: /* fill image */
        break;
    }
}

/* Bytes [begin, end) of any other. */
static void linear_piece(const struct copy_cut *cut, size_t begin, size_t end,
                         struct opencl_command *ret_piece)
{
    struct command_transfer *t = &ret_piece->u.transfer;
    struct command_svm *svm = &ret_piece->u.svm;

    *ret_piece = cut->request;
    if (ret_piece->kind == COMMAND_SVM_MEMCPY || ret_piece->kind == COMMAND_SVM_FILL) {
        svm->to = (char *)svm->to + begin;
        if (ret_piece->kind == COMMAND_SVM_MEMCPY)
            svm->from = (const char *)svm->from + begin;
        svm->size = end - begin;
        return;
    }
    t->offset += begin;
    t->offset_b += begin;
    t->size = end - begin;
    if (t->host)
        t->host = (char *)t->host + begin;
}

/* Pitches that were left to the driver depend on the region; a piece has another region than the whole. */
static void fix_pitches(struct opencl_command *command, size_t element)
{
    struct command_transfer *t = &command->u.transfer;
    size_t width = t->region[0] * element;

    t->row = t->row ? t->row : width;
    t->slice = t->slice ? t->slice : t->row * t->region[1];
    t->row_b = t->row_b ? t->row_b : width;
    t->slice_b = t->slice_b ? t->slice_b : t->row_b * t->region[1];
}

static bool is_box(enum command_kind kind)
{
    return kind >= COMMAND_READ_RECT && kind <= COMMAND_FILL_IMAGE;
}

/* The units of the cut. */
static uint64_t plan_boxes(struct copy_cut *cut, size_t bytes, size_t chunk)
{
    const size_t *region = cut->request.u.transfer.region;
    size_t row;

    cut->box = true;
    cut->element = bytes / (region[0] * region[1] * region[2]);
    row = cut->element * region[0];
    fix_pitches(&cut->request, cut->element);
    cut->base.step = chunk / row ? chunk / row : 1;
    cut->base.unit_items = row;
    return (uint64_t)region[1] * region[2];
}

static uint64_t plan_linear(struct copy_cut *cut, size_t bytes, size_t chunk)
{
    const struct opencl_command *request = &cut->request;
    size_t pattern = request->kind == COMMAND_FILL       ? request->u.transfer.pattern_size
                     : request->kind == COMMAND_SVM_FILL ? request->u.svm.pattern_size
                                                         : 1;

    cut->base.step = chunk / pattern ? chunk / pattern * pattern : pattern;
    cut->base.unit_items = 1;
    return bytes;
}

static cl_int issue_chunks(struct piece_pipe *pipe, struct opencl_command *command, size_t chunk)
{
    struct copy_cut cut = {.base = {.counter = COUNTER_CHUNKS, .to_the_end = true},
                           .request = {.kind = command->kind,
                                       .type = command->type,
                                       .queue = command->queue,
                                       .context = command->context,
                                       .u = command->u}};
    size_t bytes = command->base.bytes;
    uint64_t n = is_box(command->kind) ? plan_boxes(&cut, bytes, chunk) : plan_linear(&cut, bytes, chunk);

    return pipe_run(pipe, &cut.base, (struct piece_source){.end = n});
}

static cl_int issue_chunk_range(const struct copy_cut *cut, uint64_t begin, uint64_t limit, uint64_t *ret_end,
                                cl_event *ret_event)
{
    struct opencl_command piece;
    uint64_t slice;

    if (cut->box) {
        slice = (begin / cut->request.u.transfer.region[1] + 1) * cut->request.u.transfer.region[1];
        limit = limit < slice ? limit : slice;
        box_piece(cut, begin, limit, &piece);
    } else {
        linear_piece(cut, begin, limit, &piece);
    }
    *ret_end = limit;
    return issue_whole(&piece, CL_FALSE, 0, NULL, ret_event);
}

/* --- for the engine --- */

static bool is_kernel(const struct command *command)
{
    return ((const struct opencl_command *)(const void *)command)->kind == COMMAND_KERNEL;
}

int issue_range(struct command *command, struct piece_cut *cut, uint64_t begin, uint64_t limit,
                uint64_t *ret_end, struct mark **ret_mark)
{
    cl_event event = NULL;
    cl_int code;

    if (is_kernel(command))
        code = launch_issue_range(opencl_command_of(command), (struct launch_cut *)(void *)cut,
                                  (uint32_t)begin, (uint32_t)limit, ret_end, &event);
    else
        code = issue_chunk_range((const struct copy_cut *)(void *)cut, begin, limit, ret_end, &event);
    *ret_mark = mark_of(event);
    return code;
}

uint64_t issue_bend_step(const struct command *base, const struct piece_cut *cut, uint64_t step, double fits,
                         uint64_t left)
{
    const struct opencl_command *command = (const struct opencl_command *)(const void *)base;
    const struct launch_cut *launch = (const struct launch_cut *)(const void *)cut;

    if (!is_kernel(base))
        return step;
    return variant_step(launch->variants, command->queue->device, launch, (uint32_t)step, fits,
                        (uint32_t)left);
}

static cl_int issue_transfer(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event)
{
    size_t bytes = command->base.bytes;
    size_t chunk = bytes ? issue_chunk(command) : SIZE_MAX;

    if (bytes)
        runtime_count(COUNTER_COPIES, 1);
    return bytes > chunk ? issue_chunks(pipe, command, chunk)
                         : issue_whole(command, CL_FALSE, 0, NULL, ret_event);
}

int issue_command(struct piece_pipe *pipe, struct command *base, struct mark **ret_mark)
{
    struct opencl_command *command = opencl_command_of(base);
    cl_event event = NULL;
    cl_int code;

    if (command->kind == COMMAND_MAP)
        code = map_issue(command, &event);
    else if (command->kind == COMMAND_UNMAP)
        code = map_issue_unmap(command, &event);
    else if (command->kind == COMMAND_KERNEL || command->kind == COMMAND_TASK)
        code = launch_issue(pipe, command, &event);
    else
        code = issue_transfer(pipe, command, &event);
    *ret_mark = mark_of(event);
    return code;
}
