/* Which stream a call is about (objects.h). */
#include "cuda/front.h"
#include "cuda/objects.h"
#include "cuda/own_stream.h"

/* Without memory for its record, what a context is given cannot be kept in order. */
static CUresult refusal(CUcontext owner)
{
    CUdevice device = context_device(owner);

    return device >= 0 && device < DEVICE_MOST ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static struct stream_record *find_named(CUstream handle, CUresult *ret_refused)
{
    CUcontext owner = NULL;
    struct stream_record *stream = stream_by_handle(handle, &owner);

    if (!stream && owner)
        *ret_refused = refusal(owner);
    return stream;
}

static struct stream_record *find_default(bool own, CUresult *ret_refused)
{
    struct context_record *context = context_current();
    struct stream_record *stream;
    CUcontext owner;

    if (!context) {
        owner = context_current_handle();
        if (owner)
            *ret_refused = refusal(owner);
        return NULL;
    }
    stream = own ? own_stream(context) : &context->legacy;
    if (!stream)
        *ret_refused = CUDA_ERROR_OUT_OF_MEMORY;
    else if (!own)
        stream_keep(stream);
    return stream;
}

struct stream_record *stream_find(CUstream handle, bool per_thread, CUresult *ret_refused)
{
    *ret_refused = CUDA_SUCCESS;
    if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD)
        return find_named(handle, ret_refused);
    return find_default(handle ? handle == CU_STREAM_PER_THREAD : per_thread, ret_refused);
}

struct stream_record *stream_of_call(struct call *call)
{
    const struct entry *entry = call->entry;
    uint64_t handle = entry->stream == NO_STREAM ? 0 : call->args[entry->stream];

    return stream_find((CUstream)handle, entry->form != FORM_PLAIN, &call->refused);
}

void stream_name(const struct stream_record *stream, struct call *call)
{
    if (call->entry->stream != NO_STREAM)
        call->args[call->entry->stream] = (uint64_t)stream->handle;
}

bool stream_is_doomed(const struct call *call)
{
    int argument = call->entry->stream;
    struct stream_record *stream;
    bool doomed;

    if (atomic_load_explicit(&cuda_front.objects.doomed, memory_order_relaxed) == 0 ||
        argument == NO_STREAM || call->args[argument] <= (uint64_t)CU_STREAM_PER_THREAD)
        return false;
    stream = handle_table_find(&cuda_front.objects.streams, (void *)call->args[argument]);
    doomed = stream && atomic_load(&stream->destroyed);
    stream_drop(stream);
    return doomed;
}
