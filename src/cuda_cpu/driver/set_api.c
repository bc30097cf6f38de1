/* cuMemset*: one function for all element sizes and shapes. */
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/stream.h"

static CUresult set(const char *name, const struct action_set *asked, CUstream handle, bool wait)
{
    CUresult code = api_enter(name, API_CONTEXT);
    uint64_t row, bytes;
    struct stream *stream = NULL;
    struct action *action;

    if (code == CUDA_SUCCESS)
        code = stream_named_here(handle, &stream);
    if (code != CUDA_SUCCESS || !asked->width || !asked->height)
        return code;
    if (__builtin_mul_overflow(asked->width, asked->element, &row) || asked->address % asked->element ||
        (asked->height > 1 && (asked->pitch < row || asked->pitch % asked->element)) ||
        __builtin_mul_overflow(asked->pitch, asked->height - 1, &bytes) ||
        __builtin_add_overflow(bytes, row, &bytes) || !memory_holds(asked->address, bytes) ||
        !memory_takes(asked->address, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    action = action_new(ACTION_SET);
    if (!action)
        return CUDA_ERROR_OUT_OF_MEMORY;
    action->u.set = *asked;
    return stream_do(stream, action, wait);
}

#define SET_1D(name, type, bytes)                                                                            \
    DRIVER_EXPORT CUresult name##_v2(CUdeviceptr address, type value, size_t n)                              \
    {                                                                                                        \
        return set(__func__, &(struct action_set){address, 0, n, 1, value, bytes}, NULL, true);              \
    }                                                                                                        \
    DRIVER_EXPORT CUresult name##_v2_ptds(CUdeviceptr address, type value, size_t n)                         \
    {                                                                                                        \
        return set(__func__, &(struct action_set){address, 0, n, 1, value, bytes}, CU_STREAM_PER_THREAD,     \
                   true);                                                                                    \
    }                                                                                                        \
    DRIVER_EXPORT CUresult name##Async(CUdeviceptr address, type value, size_t n, CUstream stream)           \
    {                                                                                                        \
        return set(__func__, &(struct action_set){address, 0, n, 1, value, bytes}, stream, false);           \
    }

#define SET_2D(name, type, bytes)                                                                            \
    DRIVER_EXPORT CUresult name##_v2(CUdeviceptr address, size_t pitch, type value, size_t width,            \
                                     size_t height)                                                          \
    {                                                                                                        \
        return set(__func__, &(struct action_set){address, pitch, width, height, value, bytes}, NULL, true); \
    }                                                                                                        \
    DRIVER_EXPORT CUresult name##_v2_ptds(CUdeviceptr address, size_t pitch, type value, size_t width,       \
                                          size_t height)                                                     \
    {                                                                                                        \
        return set(__func__, &(struct action_set){address, pitch, width, height, value, bytes},              \
                   CU_STREAM_PER_THREAD, true);                                                              \
    }                                                                                                        \
    DRIVER_EXPORT CUresult name##Async(CUdeviceptr address, size_t pitch, type value, size_t width,          \
                                       size_t height, CUstream stream)                                       \
    {                                                                                                        \
        return set(__func__, &(struct action_set){address, pitch, width, height, value, bytes}, stream,      \
                   false);                                                                                   \
    }

SET_1D(cuMemsetD8, unsigned char, 1)
SET_1D(cuMemsetD16, unsigned short, 2)
SET_1D(cuMemsetD32, unsigned int, 4)
SET_2D(cuMemsetD2D8, unsigned char, 1)
SET_2D(cuMemsetD2D16, unsigned short, 2)
SET_2D(cuMemsetD2D32, unsigned int, 4)
