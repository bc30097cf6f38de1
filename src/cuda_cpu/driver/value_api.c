/* Stream operations that write words in memory and wait for them. */
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/stream.h"

enum { MOST_OPERATIONS = 256 }; /* of a batch, as documented */

static CUresult check(const struct action_value *value)
{
    unsigned bytes = value->wide ? 8 : 4;
    struct memory_block block;

    return value->address % bytes || !memory_block_at(value->address, &block) || block.kind == MEMORY_ARRAY ||
                   value->address + bytes > block.address + block.size
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

static CUresult hand_over(struct stream *stream, enum action_kind kind, const struct action_value *value)
{
    struct action *action = action_new(kind);

    if (!action)
        return CUDA_ERROR_OUT_OF_MEMORY;
    action->u.value = *value;
    return stream_do(stream, action, false);
}

static CUresult submit(const char *name, enum action_kind kind, CUstream handle,
                       const struct action_value *value)
{
    CUresult code = api_enter(name, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = stream_named_here(handle, &stream);
    if (code == CUDA_SUCCESS)
        code = check(value);
    return code == CUDA_SUCCESS ? hand_over(stream, kind, value) : code;
}

/* --- several at once --- */

static bool is_wide(unsigned operation)
{
    return operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

static bool is_wait(unsigned operation)
{
    return operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

/* A barrier or a flush does nothing: every operation here is complete before the next begins. */
static bool is_nothing(unsigned operation)
{
    return operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES || operation == CU_STREAM_MEM_OP_BARRIER;
}

static struct action_value value_of(const CUstreamBatchMemOpParams *asked)
{
    bool wide = is_wide(asked->operation);

    return (struct action_value){asked->waitValue.address,
                                 wide ? asked->waitValue.value64 : asked->waitValue.value, wide,
                                 asked->waitValue.flags};
}

/* Checks the whole batch before any of it is submitted. */
static CUresult check_batch(const CUstreamBatchMemOpParams batch[], unsigned n)
{
    CUresult code = CUDA_SUCCESS;

    for (unsigned i = 0; i < n && code == CUDA_SUCCESS; i++) {
        struct action_value value = value_of(&batch[i]);

        if (batch[i].operation < 1 || batch[i].operation > CU_STREAM_MEM_OP_BARRIER)
            code = CUDA_ERROR_INVALID_VALUE;
        else if (!is_nothing(batch[i].operation))
            code = check(&value);
    }
    return code;
}

DRIVER_EXPORT CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned int n, CUstreamBatchMemOpParams *batch,
                                             unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = stream_named_here(handle, &stream);
    if (code == CUDA_SUCCESS && (flags || !batch || n > MOST_OPERATIONS))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = check_batch(batch, n);
    for (unsigned i = 0; i < n && code == CUDA_SUCCESS; i++) {
        struct action_value value = value_of(&batch[i]);

        if (!is_nothing(batch[i].operation))
            code = hand_over(stream, is_wait(batch[i].operation) ? ACTION_WAIT_VALUE : ACTION_WRITE_VALUE,
                             &value);
    }
    return code;
}

DRIVER_EXPORT CUresult cuStreamBatchMemOp(CUstream handle, unsigned int n, CUstreamBatchMemOpParams *batch,
                                          unsigned int flags)
{
    return cuStreamBatchMemOp_v2(handle, n, batch, flags);
}

DRIVER_EXPORT CUresult cuStreamBatchMemOp_v2_ptsz(CUstream handle, unsigned int n,
                                                  CUstreamBatchMemOpParams *batch, unsigned int flags)
{
    return cuStreamBatchMemOp_v2(handle ? handle : CU_STREAM_PER_THREAD, n, batch, flags);
}

DRIVER_EXPORT CUresult cuStreamBatchMemOp_ptsz(CUstream handle, unsigned int n,
                                               CUstreamBatchMemOpParams *batch, unsigned int flags)
{
    return cuStreamBatchMemOp_v2(handle ? handle : CU_STREAM_PER_THREAD, n, batch, flags);
}

/* --- one --- */

#define VALUE_CALL(name, value_type, is_wide, kind)                                                          \
    DRIVER_EXPORT CUresult name(CUstream stream, CUdeviceptr address, value_type value, unsigned int flags)  \
    {                                                                                                        \
        return submit(__func__, kind, stream, &(struct action_value){address, value, is_wide, flags});       \
    }

VALUE_CALL(cuStreamWriteValue32_v2, uint32_t, false, ACTION_WRITE_VALUE)
VALUE_CALL(cuStreamWriteValue64_v2, uint64_t, true, ACTION_WRITE_VALUE)
VALUE_CALL(cuStreamWaitValue32_v2, uint32_t, false, ACTION_WAIT_VALUE)
VALUE_CALL(cuStreamWaitValue64_v2, uint64_t, true, ACTION_WAIT_VALUE)
VALUE_CALL(cuStreamWriteValue32, uint32_t, false, ACTION_WRITE_VALUE)
VALUE_CALL(cuStreamWriteValue64, uint64_t, true, ACTION_WRITE_VALUE)
VALUE_CALL(cuStreamWaitValue32, uint32_t, false, ACTION_WAIT_VALUE)
VALUE_CALL(cuStreamWaitValue64, uint64_t, true, ACTION_WAIT_VALUE)
