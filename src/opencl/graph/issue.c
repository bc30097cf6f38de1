#include "opencl/graph/issue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/lease.h"
#include "opencl/graph/launch.h"
#include "opencl/layer.h"
#include "opencl/graph/map.h"
#include "opencl/objects.h"
#include "opencl/graph/recorder.h"
#include "opencl/graph/widening.h"
#include "opencl/spread/spread.h"

#define WAITS n, waits, event

#define RUN_SLACK_NS (100 * NSEC_PER_US) /* commands that follow each other closer than this are one run */

static cl_int give_transfer(const struct command *c, cl_bool blocking, cl_uint n, const cl_event *waits,
                            cl_event *event)
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

static cl_int give_svm(const struct command *c, cl_bool blocking, cl_uint n, const cl_event *waits,
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

static cl_int give(const struct command *c, cl_bool blocking, cl_uint n, const cl_event *waits,
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

cl_int issue_whole(const struct command *c, cl_bool blocking, cl_uint n, const cl_event *waits,
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

/* --- pieces --- */

static cl_ulong time_of(cl_event event, cl_profiling_info name)
{
    cl_ulong at = 0;

    if (target.clGetEventProfilingInfo(event, name, sizeof at, &at, NULL) != CL_SUCCESS)
        return 0;
    return at;
}

/* Pieces of an out-of-order queue may run in any order: the first need not begin first, nor the last end last. */
static void widen(struct command *command, cl_ulong start, cl_ulong end)
{
    if (start && (!command->begun || start < command->begun))
        command->begun = start;
    if (end > command->ended)
        command->ended = end;
}

/* The same for a piece that is over now, which also belongs to the run since the engine was last given away. */
static void widen_run(struct command *command, cl_ulong start, cl_ulong end)
{
    widen(command, start, end);
    if (!start || start < command->reported)
        return;
    command->run_pieces++;
    if (!command->resumed || start < command->resumed)
        command->resumed = start;
}

void issue_pipe_begin(struct issue_pipe *pipe, struct engine *engine, struct command *command)
{
    *pipe = (struct issue_pipe){.engine = engine, .command = command};
}

/* A piece is over: its failure is the command's, its length teaches the next. */
static void end_piece(struct issue_pipe *pipe, cl_event *event, size_t items)
{
    struct command *command = pipe->command;
    cl_int status = CL_COMPLETE;
    cl_ulong start, end;

    if (!*event)
        return;
    target.clWaitForEvents(1, event);
    target.clGetEventInfo(*event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (status < 0)
        command->piece_status = status;
    start = time_of(*event, CL_PROFILING_COMMAND_START);
    end = time_of(*event, CL_PROFILING_COMMAND_END);
    widen_run(command, start, end);
    if (items && start && end >= start) {
        if (command->kind == COMMAND_KERNEL)
            launch_measured(command->u.launch.kernel, items, (int64_t)(end - start));
        else /* chunk by chunk: the whole also counts the time in which others were given way */
            issue_learn(pipe->engine, items, (int64_t)(end - start));
    }
    if (recorder_on && end >= start)
        recorder_piece(command, (int64_t)(end - start));
    widening_over(*event);
    target.clReleaseEvent(*event);
    *event = NULL;
}

void issue_pipe_report(struct issue_pipe *pipe)
{
    struct command *command = pipe->command;

    if (command->driver_event) {
        target.clWaitForEvents(1, &command->driver_event);
        widen_run(command, time_of(command->driver_event, CL_PROFILING_COMMAND_START),
                  time_of(command->driver_event, CL_PROFILING_COMMAND_END));
    }
    issue_report_run(pipe->engine, command);
}

void issue_pipe_turn(struct issue_pipe *pipe)
{
    end_piece(pipe, &pipe->last, pipe->last_items);
    if (pipe->command->leased && engine_border_asked(pipe->engine)) {
        issue_pipe_report(pipe);
        engine_give_way(pipe->engine);
    }
}

void issue_pipe_add(struct issue_pipe *pipe, cl_event event, size_t items)
{
    struct command *command = pipe->command;

    if (!command->first_event) {
        command->first_event = event;
        target.clRetainEvent(event);
    }
    pipe->last = command->driver_event;
    pipe->last_items = pipe->items;
    command->driver_event = event;
    pipe->items = items;
}

void issue_pipe_finish(struct issue_pipe *pipe)
{
    /* Who waits for the end anyway does not wait for the last but one: a driver that has somebody to wake between two pieces pauses. */
    if (pipe->command->waited_for)
        target.clWaitForEvents(1, &pipe->command->driver_event);
    end_piece(pipe, &pipe->last, pipe->last_items);
}

void issue_pipe_abandon(struct issue_pipe *pipe)
{
    end_piece(pipe, &pipe->last, 0);
    end_piece(pipe, &pipe->command->driver_event, 0);
}

size_t issue_bytes(const struct command *command)
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
static bool pitch_is_doubtful(const struct command *command)
{
    cl_mem_object_type type = 0;

    if ((command->kind != COMMAND_READ_IMAGE && command->kind != COMMAND_WRITE_IMAGE) ||
        !command->u.transfer.slice)
        return false;
    target.clGetMemObjectInfo(command->u.transfer.a, CL_MEM_TYPE, sizeof type, &type, NULL);
    return type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
}

size_t issue_chunk(const struct command *command)
{
    const struct engine *engine = &command->queue->device->engines[command->engine];
    int64_t planned;

    if (!layer_chunking() || pitch_is_doubtful(command))
        return SIZE_MAX;
    if (settings.chunk > 0)
        return (size_t)settings.chunk;
    planned = layer_chunk(command->engine == ENGINE_COPY_OUT);
    if (planned > 0) /* two are in flight, and the plan counts them as one */
        return planned > 1 ? (size_t)planned / 2 : 1;
    /* What the bus moves in a certain time, once that is known: the time is what others wait for. */
    planned = atomic_load_explicit(&engine->bytes_per_ms, memory_order_relaxed) * engine_chunk_ns(engine) /
              NSEC_PER_MS;
    if (planned > 0)
        return planned > CHUNK_OUT ? (size_t)planned / CHUNK_OUT * CHUNK_OUT : CHUNK_OUT;
    return command->engine == ENGINE_COPY_OUT ? CHUNK_OUT : CHUNK_IN;
}

void issue_learn(struct engine *engine, size_t bytes, int64_t ns)
{
    long long old = atomic_load_explicit(&engine->bytes_per_ms, memory_order_relaxed), fresh;

    if (bytes < CHUNK_OUT || ns <= 0 || engine->kind == ENGINE_EXECUTION)
        return;
    fresh = (long long)((double)bytes * (double)NSEC_PER_MS / (double)ns);
    /* By a quarter at most: a single slow chunk is the machine, three in a row are the bus. */
    if (fresh < old)
        fresh = fresh > old / 4 * 3 ? fresh : old / 4 * 3;
    else if (old)
        fresh = (old * 3 + fresh) / 4;
    atomic_store_explicit(&engine->bytes_per_ms, fresh, memory_order_relaxed);
}

int64_t issue_predict(const struct engine *engine, size_t bytes)
{
    int64_t per_ms = atomic_load_explicit(&engine->bytes_per_ms, memory_order_relaxed);

    return (int64_t)((double)bytes / (double)(per_ms > 0 ? per_ms : 4000000) * 1e6);
}

/* One row range of a box transfer: rows [y, y + rows) of slice z. */
static void box_piece(const struct command *whole, size_t element, size_t z, size_t y, size_t rows,
                      struct command *ret_piece)
{
    struct command_transfer *t = &ret_piece->u.transfer;
    size_t done_rows = z * whole->u.transfer.region[1] + y, width = element * whole->u.transfer.region[0];

    *ret_piece = *whole;
    t->region[1] = rows;
    t->region[2] = 1;
    switch (whole->kind) {
    case COMMAND_READ_RECT:
    case COMMAND_WRITE_RECT:
    case COMMAND_COPY_RECT:
        t->origin[1] += y;
        t->origin[2] += z;
        t->origin_b[1] += y;
        t->origin_b[2] += z;
        break;
    case COMMAND_READ_IMAGE:
    case COMMAND_WRITE_IMAGE:
        t->origin[1] += y;
        t->origin[2] += z;
        t->host = (char *)t->host + z * t->slice + y * t->row;
        t->slice = 0; /* it is within one slice, and an image without slices has no pitch for them */
        break;
    case COMMAND_COPY_IMAGE:
        t->origin[1] += y;
        t->origin[2] += z;
        t->origin_b[1] += y;
        t->origin_b[2] += z;
        break;
    case COMMAND_IMAGE_TO_BUFFER:
    case COMMAND_BUFFER_TO_IMAGE:
        t->origin[1] += y;
        t->origin[2] += z;
        t->offset += done_rows * width;
        break;
    default: /* fill image */
        t->origin[1] += y;
        t->origin[2] += z;
    }
}

/* Pitches that were left to the driver depend on the region; a piece has another region than the whole. */
static void fix_pitches(struct command *command, size_t element)
{
    struct command_transfer *t = &command->u.transfer;
    size_t width = t->region[0] * element;

    t->row = t->row ? t->row : width;
    t->slice = t->slice ? t->slice : t->row * t->region[1];
    t->row_b = t->row_b ? t->row_b : width;
    t->slice_b = t->slice_b ? t->slice_b : t->row_b * t->region[1];
}

/* What the driver is asked for, without what the graph keeps beside it: that changes meanwhile, under its lock. */
static struct command request_of(const struct command *command)
{
    return (struct command){.kind = command->kind,
                            .type = command->type,
                            .engine = command->engine,
                            .queue = command->queue,
                            .context = command->context,
                            .u = command->u};
}

static cl_int issue_boxes(struct issue_pipe *pipe, struct command *command, size_t chunk)
{
    struct command piece, whole = request_of(command);
    size_t total = issue_bytes(command);
    const size_t *region = whole.u.transfer.region;
    size_t element = total / (region[0] * region[1] * region[2]);
    size_t rows = chunk / (element * region[0]);
    cl_event event;
    cl_int code;

    rows = rows ? rows : 1;
    fix_pitches(&whole, element);
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y += rows) {
            box_piece(&whole, element, z, y, rows < region[1] - y ? rows : region[1] - y, &piece);
            issue_pipe_turn(pipe);
            code = issue_whole(&piece, CL_FALSE, 0, NULL, &event);
            if (code != CL_SUCCESS)
                return code;
            issue_pipe_add(pipe, event, element * region[0] * piece.u.transfer.region[1]);
            launch_count(COUNTER_CHUNKS, 1);
        }
    return CL_SUCCESS;
}

static cl_int issue_linear(struct issue_pipe *pipe, struct command *command, size_t chunk)
{
    bool svm = command->kind == COMMAND_SVM_MEMCPY || command->kind == COMMAND_SVM_FILL;
    size_t pattern = svm ? command->u.svm.pattern_size : command->u.transfer.pattern_size;
    size_t total = issue_bytes(command), size;
    struct command piece;
    cl_event event;
    cl_int code;

    if (command->kind == COMMAND_FILL || command->kind == COMMAND_SVM_FILL)
        chunk = chunk / pattern ? chunk / pattern * pattern : pattern;
    for (size_t done = 0; done < total; done += size) {
        size = chunk < total - done ? chunk : total - done;
        piece = request_of(command);
        if (svm) {
            piece.u.svm.to = (char *)piece.u.svm.to + done;
            if (command->kind == COMMAND_SVM_MEMCPY)
                piece.u.svm.from = (const char *)piece.u.svm.from + done;
            piece.u.svm.size = size;
        } else {
            piece.u.transfer.offset += done;
            piece.u.transfer.offset_b += done;
            piece.u.transfer.size = size;
            if (piece.u.transfer.host)
                piece.u.transfer.host = (char *)piece.u.transfer.host + done;
        }
        issue_pipe_turn(pipe);
        code = issue_whole(&piece, CL_FALSE, 0, NULL, &event);
        if (code != CL_SUCCESS)
            return code;
        issue_pipe_add(pipe, event, size);
        launch_count(COUNTER_CHUNKS, 1);
    }
    return CL_SUCCESS;
}

static bool is_box(enum command_kind kind)
{
    return kind >= COMMAND_READ_RECT && kind <= COMMAND_FILL_IMAGE;
}

cl_int issue_command(struct engine *engine, struct command *command)
{
    struct issue_pipe pipe;
    size_t bytes, chunk;
    cl_int code;

    issue_pipe_begin(&pipe, engine, command);
    if (command->kind == COMMAND_MAP)
        return map_issue(command, &command->driver_event);
    if (command->kind == COMMAND_UNMAP)
        return map_issue_unmap(command, &command->driver_event);
    if (command->kind == COMMAND_KERNEL || command->kind == COMMAND_TASK) {
        code = launch_issue(&pipe, command);
    } else {
        bytes = issue_bytes(command);
        chunk = bytes ? issue_chunk(command) : SIZE_MAX;
        if (bytes)
            launch_count(COUNTER_COPIES, 1);
        if (bytes > chunk)
            code = is_box(command->kind) ? issue_boxes(&pipe, command, chunk)
                                         : issue_linear(&pipe, command, chunk);
        else
            code = issue_whole(command, CL_FALSE, 0, NULL, &command->driver_event);
    }
    if (code != CL_SUCCESS)
        issue_pipe_abandon(&pipe);
    else
        issue_pipe_finish(&pipe);
    return code;
}

/* --- times --- */

static struct lease_work work_of(const struct command *command)
{
    bool kernel = command->kind == COMMAND_KERNEL || command->kind == COMMAND_TASK;

    return (struct lease_work){.kernel = kernel ? command->u.launch.kernel->name : NULL,
                               .size = kernel ? launch_items(&command->u.launch) : issue_bytes(command),
                               .pieces = command->run_pieces ? command->run_pieces : 1};
}

void issue_report(struct engine *engine, baton_nsec begin_at, baton_nsec end_at)
{
    if (engine->lease)
        lease_ran(engine->lease, begin_at, end_at);
}

void issue_report_draft(struct engine *engine, const struct command *draft, baton_nsec begin_at,
                        baton_nsec end_at)
{
    struct lease_work work = work_of(draft);

    if (engine->lease)
        lease_ran_as(engine->lease, begin_at, end_at, &work);
}

/* Tells the trace, in our clock. */
static void report(struct engine *engine, cl_ulong start, cl_ulong end, const struct lease_work *work)
{
    baton_nsec end_at;

    if (!engine->lease || end < start)
        return;
    end_at = device_clock_end(&engine->device->clock, end, clock_now());
    lease_ran_as(engine->lease, end_at - (baton_nsec)(end - start), end_at, work);
}

void issue_report_run(struct engine *engine, struct command *command)
{
    struct lease_work work = work_of(command);

    if (command->resumed)
        report(engine, command->resumed, command->ended, &work);
    command->resumed = 0;
    command->run_pieces = 0;
    command->reported = command->ended;
}

/* Several commands in one run have a kernel's name only if it is the same for all. */
static struct lease_work work_of_flights(unsigned n, const struct engine_flight flights[])
{
    struct lease_work work = {.kernel = flights[0].kernel ? flights[0].kernel->name : NULL, .pieces = n};

    for (unsigned i = 0; i < n; i++) {
        work.size += flights[i].items;
        if (flights[i].kernel != flights[0].kernel)
            work.kernel = NULL;
    }
    return work;
}

void issue_measure_run(struct engine *engine, unsigned n, const struct engine_flight flights[])
{
    const struct engine_flight *last = &flights[n - 1];
    cl_ulong first_start = time_of(flights[0].event, CL_PROFILING_COMMAND_START);
    cl_ulong start = n > 1 ? time_of(last->event, CL_PROFILING_COMMAND_START) : first_start;
    cl_ulong end = time_of(last->event, CL_PROFILING_COMMAND_END);
    struct lease_work work;
    int64_t expected = 0;

    if (!first_start || !start || start < first_start || end < start)
        return;
    if (last->kernel) {
        launch_measured(last->kernel, last->items, (int64_t)(end - start));
        spread_ran_alone(last->kernel, last->items, (int64_t)(end - start));
    }
    for (unsigned i = 0; i < n; i++)
        expected += flights[i].predicted;
    if ((int64_t)(end - first_start) <= 2 * expected + RUN_SLACK_NS) {
        work = work_of_flights(n, flights);
        report(engine, first_start, end, &work);
        return;
    }
    for (unsigned i = 0; i < n; i++) { /* with pauses in between: each by itself */
        work = work_of_flights(1, &flights[i]);
        report(engine, time_of(flights[i].event, CL_PROFILING_COMMAND_START),
               time_of(flights[i].event, CL_PROFILING_COMMAND_END), &work);
    }
}

void issue_event_times(struct command *command)
{
    cl_event first = command->first_event ? command->first_event : command->driver_event;

    command->times[0] = time_of(first, CL_PROFILING_COMMAND_QUEUED);
    command->times[1] = time_of(first, CL_PROFILING_COMMAND_SUBMIT);
    widen(command, time_of(first, CL_PROFILING_COMMAND_START), time_of(first, CL_PROFILING_COMMAND_END));
    widen_run(command, time_of(command->driver_event, CL_PROFILING_COMMAND_START),
              time_of(command->driver_event, CL_PROFILING_COMMAND_END));
    command->times[2] = command->begun;
    command->times[3] = command->ended + (cl_ulong)command->lag;
    command->timed = command->times[0] && command->times[3] >= command->times[2];
}

void issue_read_times(struct engine *engine, struct command *command)
{
    baton_nsec waited = command->issued_at - command->queued_at;

    issue_event_times(command);
    if (!command->timed)
        return;
    if (recorder_on)
        recorder_queued(command);
    if (command->leased)
        issue_report_run(engine, command);
    if (!command->first_event)
        issue_learn(engine, issue_bytes(command), (int64_t)(command->times[3] - command->times[2]));
    if (command->kind == COMMAND_KERNEL && command->leased)
        spread_ran_alone(command->u.launch.kernel, launch_items(&command->u.launch),
                         (int64_t)(command->times[3] - command->times[2]));
    if (command->kind == COMMAND_KERNEL && !command->first_event)
        launch_measured(command->u.launch.kernel, launch_items(&command->u.launch),
                        (int64_t)(command->times[3] - command->times[2]));
    /* It was queued with us before the driver saw it. */
    if (waited > 0 && command->times[0] > (cl_ulong)waited)
        command->times[0] -= (cl_ulong)waited;
    target.clGetEventInfo(command->driver_event, CL_EVENT_COMMAND_TYPE, sizeof command->type, &command->type,
                          NULL);
}
