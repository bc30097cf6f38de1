/* Copies and fills. A call without a stream argument is synchronous, as far as CUDA says so. */
#include <stdio.h>
#include <string.h>

#include "cuda/cut.h"
#include "cuda/front.h"
#include "cuda/submit.h"
#include "cuda/validate.h"
#include "engine/runtime.h"

enum { STAGED = 64 << 10 }; /* bytes of pageable memory that a driver takes over before the call returns */

static enum engine_kind engine_for(enum cuda_direction direction)
{
    return direction == COPY_IN ? ENGINE_COPY_IN : direction == COPY_OUT ? ENGINE_COPY_OUT : ENGINE_EXECUTION;
}

static bool is_synchronous(const struct call *call)
{
    return call->entry->stream == NO_STREAM;
}

/*
 * May the host look at the memory without a further call? Then a synchronous call returns only when
 * its work is done ("API synchronization behavior" of the driver's manual). Else fills and copies
 * within the device may still run.
 */
static bool host_sees(CUdeviceptr address)
{
    return !validate_is_device(address) || validate_managed(address);
}

/*
 * A synchronous call on the thread's own default stream names no stream, so its asynchronous twin
 * is called on the stream that stands in. The twin's arguments are the same, and the stream is the
 * last.
 */
static int twin_of(const struct entry *entry)
{
    static const char *const suffixes[] = {"Async_v2", "Async"};
    const char *base = strcmp(entry->base, "cuMemcpy2DUnaligned") == 0 ? "cuMemcpy2D" : entry->base;
    char name[64];

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        int index;

        (void)snprintf(name, sizeof name, "%s%s", base, suffixes[i]);
        index = entry_find(name);
        if (index != ENTRY_NONE && entry_at((unsigned)index)->treatment == TREATMENT_ROUTE)
            return index;
    }
    return ENTRY_NONE;
}

/* False: the driver's own answer is due. */
static bool draft_copy(struct call *call, struct cuda_command *ret_draft)
{
    struct stream_record *stream = stream_of_call(call);
    int twin;

    if (!stream)
        return false;
    submit_draft(ret_draft, call, stream);
    if (call->entry->form != FORM_PTDS || ret_draft->captured)
        return true;
    twin = twin_of(call->entry);
    if (twin == ENTRY_NONE || !front_genuine((unsigned)twin)) {
        stream_await(stream); /* rare copies between arrays: the thread's own stream is idle otherwise */
        (void)cuda_front.genuine.cuStreamSynchronize(stream->handle);
        ret_draft->at_once = true;
        return true;
    }
    ret_draft->call.entry = entry_at((unsigned)twin);
    ret_draft->call.genuine = front_genuine((unsigned)twin);
    stream_name(stream, &ret_draft->call);
    ret_draft->synchronise = true;
    return true;
}

/*
 * An asynchronous copy of pageable memory: a small one to the device is taken over; any other is
 * complete when the call returns.
 */
static CUresult submit_pageable(struct cuda_command *draft, const void *host, int argument)
{
    struct submit_copied copied = {host, draft->u.copy.size, argument};

    if (draft->u.copy.direction == COPY_IN && draft->u.copy.size <= STAGED && host)
        return submit(draft, false, &copied);
    return submit(draft, true, NULL);
}

static CUresult copy(struct call *call, enum cuda_direction direction, CUdeviceptr to, CUdeviceptr from)
{
    const void *host = (const void *)(direction == COPY_IN ? from : to);
    struct cuda_command draft;

    if (!draft_copy(call, &draft))
        return call_invoke(call);
    draft.kind = COMMAND_COPY;
    draft.base.engine = engine_for(direction);
    draft.base.leased = true;
    draft.u.copy = (struct command_copy){direction, to, from, (size_t)call->args[2]};
    draft.base.bytes = draft.u.copy.size;
    if (is_synchronous(call)) {
        draft.synchronise =
            draft.synchronise && (direction != COPY_WITHIN || host_sees(to) || host_sees(from));
        draft.over_on_return = direction != COPY_WITHIN;
        return submit(&draft, true, NULL);
    }
    if (direction == COPY_WITHIN || validate_known(host))
        return submit(&draft, false, NULL);
    draft.over_on_return = direction == COPY_OUT;
    return submit_pageable(&draft, host, direction == COPY_IN ? 1 : 0);
}

CUresult route_copy_in(struct call *call)
{
    return copy(call, COPY_IN, call->args[0], call->args[1]);
}

CUresult route_copy_out(struct call *call)
{
    return copy(call, COPY_OUT, call->args[0], call->args[1]);
}

CUresult route_copy_within(struct call *call)
{
    return copy(call, COPY_WITHIN, call->args[0], call->args[1]);
}

/* Between two host ranges a copy is the driver's own business: it goes as it is. */
static CUresult copy_whole(struct call *call, enum engine_kind engine, size_t bytes, bool waits);

CUresult route_copy_unified(struct call *call)
{
    bool to = validate_is_device(call->args[0]), from = validate_is_device(call->args[1]);

    if (!to && !from)
        return copy_whole(call, ENGINE_COPY_IN, (size_t)call->args[2], true);
    return copy(call, to && from ? COPY_WITHIN : to ? COPY_IN : COPY_OUT, call->args[0], call->args[1]);
}

/* A copy that is not cut, from the calling thread: `waits`: host memory may be pageable. */
static CUresult copy_whole(struct call *call, enum engine_kind engine, size_t bytes, bool waits)
{
    struct cuda_command draft;

    if (!draft_copy(call, &draft))
        return call_invoke(call);
    draft.base.engine = engine;
    draft.base.leased = true;
    draft.base.bytes = bytes;
    draft.at_once = draft.at_once || waits;
    return submit(&draft, is_synchronous(call), NULL);
}

/*
 * A synchronous copy between contexts comes behind all work of both, which the driver must have
 * for that. On a thread's own default stream the asynchronous twin is called, for which the driver
 * does not wait.
 */
static void await_both(const struct call *call, CUcontext to, CUcontext from)
{
    CUcontext contexts[] = {to, from};
    struct context_visit visit;

    for (int i = 0; is_synchronous(call) && i < 2; i++) {
        struct context_record *context =
            contexts[i] ? handle_table_find(&cuda_front.objects.contexts, contexts[i]) : NULL;

        if (!context)
            continue;
        context_await(context);
        if (call->entry->form == FORM_PTDS && !front_captures()) {
            context_visit_begin(context, &visit);
            (void)cuda_front.genuine.cuCtxSynchronize(); /* a failure is told to the copy as well */
            context_visit_end(&visit);
        }
    }
}

/* (to, its context, from, its context, size) */
CUresult route_copy_peer(struct call *call)
{
    await_both(call, (CUcontext)call->args[1], (CUcontext)call->args[3]);
    return copy_whole(call, ENGINE_COPY_OUT, (size_t)call->args[4], true);
}

CUresult route_copy_to_array(struct call *call)
{
    return copy_whole(call, ENGINE_COPY_IN, (size_t)call->args[3], true);
}

CUresult route_copy_from_array(struct call *call)
{
    return copy_whole(call, ENGINE_COPY_OUT, (size_t)call->args[3], true);
}

/*
 * These have no asynchronous twin. On a thread's own default stream the driver need not wait for
 * them. What follows goes to the stream that stands in, so their end is waited for here.
 */
CUresult route_copy_arrays(struct call *call)
{
    size_t bytes = (size_t)call->args[call->entry->arguments - 1];
    CUresult code = copy_whole(call, ENGINE_EXECUTION, bytes, true);
    struct stream_record *stream;

    if (code != CUDA_SUCCESS || call->entry->form != FORM_PTDS)
        return code;
    stream = stream_of_call(call);
    if (stream && !stream_captures(stream))
        code = cuda_front.genuine.cuStreamSynchronize(CU_STREAM_PER_THREAD);
    stream_drop(stream);
    return code;
}

static enum engine_kind engine_between(CUmemorytype to, CUmemorytype from)
{
    if (from == CU_MEMORYTYPE_HOST)
        return ENGINE_COPY_IN;
    return to == CU_MEMORYTYPE_HOST ? ENGINE_COPY_OUT : ENGINE_EXECUTION;
}

/* --- rows --- */

/* One side of a copy of rows: where its first row begins, and bytes between rows and planes. */
struct side {
    CUmemorytype type;
    CUdeviceptr begin;
    size_t pitch, plane;
};

static struct side side_of(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch,
                           size_t height)
{
    return (struct side){type, type == CU_MEMORYTYPE_HOST ? (CUdeviceptr)host : device, pitch,
                         pitch * height};
}

/* Moves the side to its first row. False: what the driver makes of it is not certain. */
static bool side_starts(struct side *side, const size_t at[3], const struct command_rows *rows)
{
    size_t span = rows->width + at[0];

    if (!side->begin || span < rows->width || side->pitch < span ||
        ((rows->depth > 1 || at[2]) && side->plane / side->pitch < rows->height + at[1]))
        return false;
    side->begin += at[2] * side->plane + at[1] * side->pitch + at[0];
    return side->type == CU_MEMORYTYPE_HOST ||
           (side->type == CU_MEMORYTYPE_DEVICE &&
            validate_device_range(side->begin, (rows->depth - 1) * side->plane +
                                                   (rows->height - 1) * side->pitch + rows->width));
}

/* Host and device, both linear, and more than a chunk: the draft becomes one of rows. */
static bool take_rows(struct cuda_command *draft, struct side to, const size_t to_at[3], struct side from,
                      const size_t from_at[3], const size_t extent[3])
{
    struct command_rows rows = {
        .out = to.type == CU_MEMORYTYPE_HOST, .width = extent[0], .height = extent[1], .depth = extent[2]};

    if (draft->captured || draft->at_once || !cuda_front.genuine.cuMemcpy2DAsync_v2 ||
        draft->base.engine == ENGINE_EXECUTION ||
        (to.type == CU_MEMORYTYPE_HOST) == (from.type == CU_MEMORYTYPE_HOST) || !rows.width || !rows.height ||
        !rows.depth)
        return false;
    command_resolve(&draft->base);
    if (draft->base.bytes <= cut_chunk(draft) || !side_starts(&to, to_at, &rows) ||
        !side_starts(&from, from_at, &rows))
        return false;
    rows.to = to.begin;
    rows.to_pitch = to.pitch;
    rows.to_plane = to.plane;
    rows.from = from.begin;
    rows.from_pitch = from.pitch;
    rows.from_plane = from.plane;
    draft->u.rows = rows;
    if (!cut_wants_rows(draft))
        return false;
    draft->kind = COMMAND_ROWS;
    draft->valid = true;
    return true;
}

/* A copy that is cut is complete when the call returns, unless the host's memory is pinned. */
static CUresult submit_rows(struct call *call, struct cuda_command *draft, const struct submit_copied *copied)
{
    const struct command_rows *rows = &draft->u.rows;
    bool waits = is_synchronous(call) || !validate_known((const void *)(rows->out ? rows->to : rows->from));

    return submit(draft, waits, copied);
}

CUresult route_copy_2d(struct call *call)
{
    const CUDA_MEMCPY2D *about = (const CUDA_MEMCPY2D *)call->args[0];
    struct submit_copied copied = {about, sizeof *about, 0};
    struct cuda_command draft;

    if (!about || !draft_copy(call, &draft))
        return call_invoke(call);
    draft.base.engine = engine_between(about->dstMemoryType, about->srcMemoryType);
    draft.base.leased = true;
    draft.base.bytes = about->WidthInBytes * about->Height;
    if (take_rows(&draft, side_of(about->dstMemoryType, about->dstHost, about->dstDevice, about->dstPitch, 0),
                  (const size_t[3]){about->dstXInBytes, about->dstY},
                  side_of(about->srcMemoryType, about->srcHost, about->srcDevice, about->srcPitch, 0),
                  (const size_t[3]){about->srcXInBytes, about->srcY},
                  (const size_t[3]){about->WidthInBytes, about->Height, 1}))
        return submit_rows(call, &draft, &copied);
    draft.valid = !is_synchronous(call) && !stream_unhindered(draft.stream) && validate_copy_2d(about);
    return submit(&draft, is_synchronous(call), &copied);
}

/* Where one side of such a copy begins, if it is linear memory; 0: an array. */
static CUdeviceptr side_begin(CUmemorytype type, const void *host, CUdeviceptr device, size_t offset)
{
    if (type == CU_MEMORYTYPE_HOST)
        return host ? (CUdeviceptr)host + offset : 0;
    return type != CU_MEMORYTYPE_ARRAY && device ? device + offset : 0;
}

/*
 * A copy of one row is a linear one, as the runtime library likes to say it: then it is cut as
 * such.
 */
static CUresult copy_row(struct call *call, const CUDA_MEMCPY3D *about, CUdeviceptr to, CUdeviceptr from)
{
    static const int indices[3][2][2] = {
        {{ENTRY_cuMemcpyHtoD_v2, ENTRY_cuMemcpyHtoD_v2_ptds},
         {ENTRY_cuMemcpyHtoDAsync_v2, ENTRY_cuMemcpyHtoDAsync_v2_ptsz}},
        {{ENTRY_cuMemcpyDtoH_v2, ENTRY_cuMemcpyDtoH_v2_ptds},
         {ENTRY_cuMemcpyDtoHAsync_v2, ENTRY_cuMemcpyDtoHAsync_v2_ptsz}},
        {{ENTRY_cuMemcpyDtoD_v2, ENTRY_cuMemcpyDtoD_v2_ptds},
         {ENTRY_cuMemcpyDtoDAsync_v2, ENTRY_cuMemcpyDtoDAsync_v2_ptsz}},
    };
    bool to_host = about->dstMemoryType == CU_MEMORYTYPE_HOST;
    enum cuda_direction direction = about->srcMemoryType == CU_MEMORYTYPE_HOST ? COPY_IN
                                    : to_host                                  ? COPY_OUT
                                                                               : COPY_WITHIN;
    unsigned index = (unsigned)indices[direction][!is_synchronous(call)][call->entry->form != FORM_PLAIN];
    struct call linear = {.entry = entry_at(index), .genuine = front_genuine(index)};

    linear.args[0] = to;
    linear.args[1] = from;
    linear.args[2] = about->WidthInBytes;
    linear.args[3] = is_synchronous(call) ? 0 : call->args[1];
    return copy(&linear, direction, to, from);
}

/* Is it one row between linear memory, not both of the host? */
static bool is_row(const CUDA_MEMCPY3D *about)
{
    return about->Height == 1 && about->Depth == 1 && about->WidthInBytes > 0 &&
           about->srcMemoryType != CU_MEMORYTYPE_UNIFIED && about->dstMemoryType != CU_MEMORYTYPE_UNIFIED &&
           !(about->srcMemoryType == CU_MEMORYTYPE_HOST && about->dstMemoryType == CU_MEMORYTYPE_HOST) &&
           about->srcY == 0 && about->srcZ == 0 && about->dstY == 0 && about->dstZ == 0;
}

/* In chunks of rows, or whole from the calling thread. */
static CUresult copy_3d(struct call *call, const CUDA_MEMCPY3D *about)
{
    struct submit_copied copied = {about, sizeof *about, 0};
    struct cuda_command draft;

    if (!draft_copy(call, &draft))
        return call_invoke(call);
    draft.base.engine = engine_between(about->dstMemoryType, about->srcMemoryType);
    draft.base.leased = true;
    draft.base.bytes = about->WidthInBytes * about->Height * about->Depth;
    if (take_rows(&draft,
                  side_of(about->dstMemoryType, about->dstHost, about->dstDevice, about->dstPitch,
                          about->dstHeight),
                  (const size_t[3]){about->dstXInBytes, about->dstY, about->dstZ},
                  side_of(about->srcMemoryType, about->srcHost, about->srcDevice, about->srcPitch,
                          about->srcHeight),
                  (const size_t[3]){about->srcXInBytes, about->srcY, about->srcZ},
                  (const size_t[3]){about->WidthInBytes, about->Height, about->Depth}))
        return submit_rows(call, &draft, &copied);
    draft.at_once = true;
    return submit(&draft, is_synchronous(call), NULL);
}

CUresult route_copy_3d(struct call *call)
{
    const CUDA_MEMCPY3D *about = (const CUDA_MEMCPY3D *)call->args[0];
    CUdeviceptr to, from;

    if (!about)
        return call_invoke(call);
    to = side_begin(about->dstMemoryType, about->dstHost, about->dstDevice, about->dstXInBytes);
    from = side_begin(about->srcMemoryType, about->srcHost, about->srcDevice, about->srcXInBytes);
    if (is_row(about) && to && from && !front_captures())
        return copy_row(call, about, to, from);
    return copy_3d(call, about);
}

CUresult route_copy_3d_peer(struct call *call)
{
    const CUDA_MEMCPY3D_PEER *about = (const CUDA_MEMCPY3D_PEER *)call->args[0];

    if (!about)
        return call_invoke(call);
    await_both(call, about->dstContext, about->srcContext);
    return copy_whole(call, engine_between(about->dstMemoryType, about->srcMemoryType),
                      about->WidthInBytes * about->Height * about->Depth, true);
}

/* --- fills --- */

/* A fill of memory that the host sees is done when the synchronous call returns. */
static CUresult submit_set(struct call *call, struct cuda_command *draft)
{
    bool waits = is_synchronous(call) && host_sees(call->args[0]);

    draft->synchronise = draft->synchronise && waits;
    return submit(draft, waits, NULL);
}

/*
 * address, value, n: the bytes of an element are in the name, which only decides how far it
 * reaches.
 */
CUresult route_set(struct call *call)
{
    const char *digits = call->entry->symbol + sizeof "cuMemsetD" - 1;
    size_t element = digits[0] == '8' ? 1 : digits[0] == '1' ? 2 : 4;
    size_t bytes = (size_t)call->args[2] * element;
    struct cuda_command draft;

    if (!draft_copy(call, &draft))
        return call_invoke(call);
    draft.base.engine = ENGINE_EXECUTION;
    draft.base.leased = true;
    draft.base.bytes = bytes;
    draft.valid = call->args[0] % element == 0 && bytes > 0 && !stream_unhindered(draft.stream) &&
                  validate_device_range(call->args[0], bytes);
    return submit_set(call, &draft);
}

/* address, pitch, value, width, height: the width counts elements. */
CUresult route_set_2d(struct call *call)
{
    const char *digits = call->entry->symbol + sizeof "cuMemsetD2D" - 1;
    size_t element = digits[0] == '8' ? 1 : digits[0] == '1' ? 2 : 4;
    size_t pitch = (size_t)call->args[1], width = (size_t)call->args[3] * element;
    size_t height = (size_t)call->args[4];
    struct cuda_command draft;

    if (!draft_copy(call, &draft))
        return call_invoke(call);
    draft.base.engine = ENGINE_EXECUTION;
    draft.base.leased = true;
    draft.base.bytes = width * height;
    draft.valid = call->args[0] % element == 0 && pitch % element == 0 && width > 0 && height > 0 &&
                  width <= pitch && !stream_unhindered(draft.stream) &&
                  validate_device_range(call->args[0], (height - 1) * pitch + width);
    return submit_set(call, &draft);
}

CUresult route_prefetch(struct call *call)
{
    return copy_whole(call, ENGINE_COPY_IN, (size_t)call->args[1], true);
}
