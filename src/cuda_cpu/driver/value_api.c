/* Streams that write words and wait for them. */
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/stream.h"

static CUresult submit(const char *name, enum action_kind kind, CUstream handle,
                       const struct action_value *value)
{
    CUresult code = api_enter(name, API_CONTEXT);
    unsigned bytes = value->wide ? 8 : 4;
    struct memory_block block;
    struct stream *stream;
    struct action *action;

    if (code == CUDA_SUCCESS)
        code = stream_find_here(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    if (value->address % bytes || !memory_find(value->address, &block) || block.kind == MEMORY_ARRAY ||
        value->address + bytes > block.address + block.size)
        return CUDA_ERROR_INVALID_VALUE;
    action = action_new(kind);
    if (!action)
        return CUDA_ERROR_OUT_OF_MEMORY;
    action->u.value = *value;
    return stream_do(stream, action, false);
}

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
