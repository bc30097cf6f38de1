/* Calls that take their place in a stream and occupy no engine. */
#include <stdlib.h>
#include <string.h>

#include "cuda/frees.h"
#include "cuda/front.h"
#include "cuda/submit.h"
#include "cuda/validate.h"
#include "cuda_abi/graph_abi.h"

/* False: the driver's own answer is due. */
static bool draft_call(struct call *call, struct cuda_command *ret_draft)
{
    struct stream_record *stream = stream_of_call(call);

    if (stream)
        submit_draft(ret_draft, call, stream);
    return stream != NULL;
}

CUresult route_free_async(struct call *call)
{
    struct cuda_command draft;

    if (!draft_call(call, &draft))
        return call_invoke(call);
    if (!draft.captured && !front_is_whole() && !stream_unhindered(draft.stream)) {
        draft.kind = COMMAND_FREE;
        draft.valid = validate_device_range(call->args[0], 1);
        if (draft.valid && !frees_hold(call->args[0])) {
            stream_drop(draft.stream);
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return submit(&draft, false, NULL);
}

/* Memory that is about to be freed in stream order cannot be freed at once. */
CUresult route_free(struct call *call)
{
    if (frees_held(call->args[0]))
        return CUDA_ERROR_INVALID_VALUE;
    objects_drain();
    return call_invoke(call);
}

/* cuStreamAttachMemAsync(stream, address, size, flags) */
CUresult route_attach(struct call *call)
{
    unsigned flags = (unsigned)call->args[3];
    struct cuda_command draft;

    if (!draft_call(call, &draft))
        return call_invoke(call);
    draft.valid = call->args[2] == 0 && validate_managed(call->args[1]) &&
                  (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
                   (flags == CU_MEM_ATTACH_SINGLE && draft.stream->kind == STREAM_NAMED));
    return submit(&draft, false, NULL);
}

/*
 * Bytes of the word that a call of one word is about: its name ends in 32 or 64, or these and _v2.
 */
static size_t word_of(const struct call *call)
{
    return strstr(call->entry->base, "64") ? 8 : 4;
}

/* cuStreamWriteValue(stream, address, value, flags) */
CUresult route_write_value(struct call *call)
{
    struct cuda_command draft;

    if (!draft_call(call, &draft))
        return call_invoke(call);
    draft.valid = (unsigned)call->args[3] == 0 && validate_word(call->args[1], word_of(call));
    return submit(&draft, false, NULL);
}

/* A callback is told the stream as the program named it. */
struct told_callback {
    CUstreamCallback run;
    CUstream stream;
    void *user;
};

static void tell(CUstream stream, CUresult status, void *user)
{
    struct told_callback told = *(struct told_callback *)user;

    (void)stream;
    free(user);
    told.run(told.stream, status, told.user);
}

static bool wrap_callback(const struct call *call, struct cuda_command *draft)
{
    struct told_callback *told = malloc(sizeof *told);

    if (!told)
        return false;
    told->run = (CUstreamCallback)call->args[1];
    told->stream = (CUstream)call->args[0];
    told->user = (void *)call->args[2];
    draft->call.args[1] = (uint64_t)tell;
    draft->call.args[2] = (uint64_t)told;
    return true;
}

/* Behind it the stream waits until the host, or another process, has acted. */
CUresult route_fenced(struct call *call)
{
    struct cuda_command draft;

    if (!draft_call(call, &draft))
        return call_invoke(call);
    /*
     * cuLaunchHostFunc(stream, function, user), cuStreamAddCallback(stream, function, user, flags)
     */
    draft.valid = call->entry->arguments == 3 ||
                  (call->entry->base[sizeof "cuStream" - 1] == 'A' && (unsigned)call->args[3] == 0);
    draft.valid = draft.valid && call->args[1];
    if (call->entry->arguments == 4)
        draft.kind = COMMAND_CALLBACK;
    if (call->entry->arguments == 4 && draft.valid && !draft.captured &&
        draft.call.args[0] != call->args[0] && !wrap_callback(call, &draft))
        draft.valid = false;
    return submit_fenced(&draft, NULL);
}

/* cuStreamWaitValue(stream, address, value, flags) */
CUresult route_wait_value(struct call *call)
{
    struct cuda_command draft;

    if (!draft_call(call, &draft))
        return call_invoke(call);
    draft.valid =
        (unsigned)call->args[3] <= CU_STREAM_WAIT_VALUE_NOR && validate_word(call->args[1], word_of(call));
    return submit_fenced(&draft, NULL);
}

static bool is_valid_op(const CUstreamBatchMemOpParams *op)
{
    const CUstreamMemOpWaitValueParams *about = &op->waitValue; /* both kinds have one layout */

    switch (op->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return about->flags <= CU_STREAM_WAIT_VALUE_NOR &&
               validate_word(about->address, op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ? 8 : 4);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return about->flags == 0 &&
               validate_word(about->address, op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 ? 8 : 4);
    default:
        return false;
    }
}

enum { MOST_OPS = 256 };

/* cuStreamBatchMemOp(stream, n, array, flags) */
CUresult route_batch_mem_op(struct call *call)
{
    const CUstreamBatchMemOpParams *ops = (const CUstreamBatchMemOpParams *)call->args[2];
    unsigned n = (unsigned)call->args[1];
    struct submit_copied copied = {ops, n * sizeof *ops, 2};
    struct cuda_command draft;

    if (!draft_call(call, &draft))
        return call_invoke(call);
    draft.valid = ops && n > 0 && n <= MOST_OPS && (unsigned)call->args[3] == 0;
    for (unsigned i = 0; draft.valid && i < n; i++)
        draft.valid = is_valid_op(&ops[i]);
    return submit_fenced(&draft, draft.valid ? &copied : NULL);
}

/*
 * Memory in stream order. The address must be said now. Earlier than what is held back is early
 * enough; only if memory is short, what is held back may be about to free some.
 */
CUresult route_alloc_async(struct call *call)
{
    struct stream_record *stream = stream_of_call(call);
    CUresult code;

    if (stream && !stream_captures(stream))
        stream_name(stream, call);
    code = call_invoke(call);
    if (stream && code == CUDA_ERROR_OUT_OF_MEMORY && !stream_unhindered(stream)) {
        objects_drain();
        code = call_invoke(call);
    }
    stream_drop(stream);
    return code;
}
