#include "cuda/cut.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/function.h"
#include "cuda/front.h"
#include "engine/meter.h"
#include "engine/policy.h"
#include "engine/runtime.h"

/* A launch in pieces, and what the driver is called with for each. */
struct launch_cut {
    struct piece_cut base; /* the first member */
    struct ptx_piece piece;
    void **params; /* the program's, and the descriptor's behind them; NULL: a buffer */
    void *buffer;
    size_t buffer_size;
    bool refused; /* by the driver, at the first piece: nothing has run */
};

/* --- decisions --- */

static uint64_t launch_blocks(const struct command_launch *launch)
{
    return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

static const char *apart(const struct command_launch *launch)
{
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];

    return launch->function && launch->function->piece ? function_apart(launch->function, threads) : NULL;
}

/* Blocks of the smallest piece: as many as the program asks for, or as fill the device. */
static uint64_t least_blocks(const struct cuda_command *command)
{
    int units = command->stream->context->device->multiprocessors;

    if (runtime.settings.slice > 0)
        return (uint64_t)runtime.settings.slice;
    return units > 0 ? (uint64_t)units : 1;
}

enum session_counter cut_why_whole(const struct cuda_command *command)
{
    const struct command_launch *launch = &command->u.launch;
    const struct function_record *function = launch->function;
    const struct policy *policy = &command->base.policy;
    int64_t predicted;

    if (!policy->slicing)
        return COUNTER_UNSLICED_OFF;
    if (!function)
        return COUNTER_UNSLICED_OTHER;
    if (launch->whole || (!launch->buffer && !function->params_known))
        return COUNTER_UNSLICED_CONSTRUCT;
    if (!function->piece)
        return function->whole;
    if (apart(launch))
        return COUNTER_UNSLICED_CONSTRUCT;
    predicted = meter_predict(&function->meter, command->base.items);
    if (runtime.settings.slice <= 0 && predicted >= 0 && predicted <= pipe_piece_ns(policy))
        return COUNTER_UNSLICED_SMALL;
    if (launch_blocks(launch) <= least_blocks(command))
        return predicted > pipe_piece_ns(policy) ? COUNTER_UNSLICED_FEW : COUNTER_UNSLICED_SMALL;
    return COUNTER_PIECES;
}

void cut_count_whole(const struct cuda_command *command, enum session_counter why)
{
    const struct command_launch *launch = &command->u.launch;

    function_count_whole(launch->function, why, why == COUNTER_UNSLICED_CONSTRUCT ? apart(launch) : NULL);
}

bool cut_wants_launch(const struct cuda_command *command)
{
    return cut_why_whole(command) == COUNTER_PIECES;
}

size_t cut_chunk(const struct cuda_command *command)
{
    if (command->base.engine == ENGINE_EXECUTION || !command->base.policy.chunking)
        return SIZE_MAX;
    return command_chunk_bytes(&command->base);
}

/* --- launches --- */

/* The program's arguments and room for the descriptor. False: no memory. */
static bool extend_arguments(struct launch_cut *cut, const struct command_launch *launch)
{
    const struct function_record *function = launch->function;

    if (launch->buffer) {
        size_t size = function->piece_offset + sizeof cut->piece;

        cut->buffer = calloc(1, size);
        if (!cut->buffer)
            return false;
        memcpy(cut->buffer, launch->buffer,
               launch->buffer_size < function->piece_offset ? launch->buffer_size : function->piece_offset);
        cut->buffer_size = size;
        return true;
    }
    cut->params = malloc((function->n_own + 1) * sizeof *cut->params);
    if (!cut->params)
        return false;
    if (function->n_own)
        memcpy(cut->params, launch->params, function->n_own * sizeof *cut->params);
    cut->params[function->n_own] = &cut->piece;
    return true;
}

CUresult cut_launch(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut)
{
    const struct command_launch *launch = &command->u.launch;
    struct launch_cut cut = {.base = {.counter = COUNTER_PIECES}};
    enum session_counter why = cut_why_whole(command);
    uint32_t blocks;
    int code;

    runtime_count(COUNTER_KERNEL_LAUNCHES, 1);
    if (why == COUNTER_PIECES && (launch->function->n_own != launch->function->n_params ||
                                  ptx_piece_of_grid(launch->grid, &cut.piece, &blocks) != 0))
        why = COUNTER_UNSLICED_SHAPE;
    if (why == COUNTER_PIECES && !extend_arguments(&cut, launch))
        why = COUNTER_UNSLICED_OTHER;
    if (why != COUNTER_PIECES) {
        cut_count_whole(command, why);
        return call_invoke(&command->call);
    }
    cut.base.by_time = runtime.settings.slice <= 0;
    cut.base.step = cut.base.least = least_blocks(command);
    cut.base.unit_items = command->base.items / blocks;
    code = pipe_run(pipe, &cut.base, (struct piece_source){.end = blocks});
    free(cut.params);
    free(cut.buffer);
    *ret_cut = !cut.refused;
    if (!cut.refused)
        return (CUresult)-code;
    function_count_whole(launch->function, COUNTER_UNSLICED_CONSTRUCT, "the driver refuses its pieces");
    return call_invoke(&command->call);
}

CUresult cut_launch_range(struct cuda_command *command, struct piece_cut *base, uint64_t begin,
                          uint64_t limit)
{
    struct launch_cut *cut = (struct launch_cut *)(void *)base;
    const struct command_launch *launch = &command->u.launch;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, cut->buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &cut->buffer_size, CU_LAUNCH_PARAM_END};
    CUresult code;

    cut->piece.first = (uint32_t)begin;
    if (cut->buffer)
        memcpy((char *)cut->buffer + launch->function->piece_offset, &cut->piece, sizeof cut->piece);
    code = cuda_front.genuine.cuLaunchKernel(launch->piece, (unsigned)(limit - begin), 1, 1, launch->block[0],
                                             launch->block[1], launch->block[2], launch->shared,
                                             command->on->handle, cut->params, cut->buffer ? extra : NULL);
    cut->refused = code != CUDA_SUCCESS && begin == 0;
    return code;
}

/* --- copies --- */

bool cut_wants_copy(const struct cuda_command *command)
{
    return command->u.copy.size > cut_chunk(command);
}

CUresult cut_copy_range(struct cuda_command *command, struct piece_cut *cut, uint64_t begin, uint64_t limit)
{
    const struct command_copy *copy = &command->u.copy;
    CUstream stream = command->on->handle;
    size_t size = (size_t)(limit - begin);

    (void)cut;
    if (copy->direction == COPY_IN)
        return cuda_front.genuine.cuMemcpyHtoDAsync_v2(copy->to + begin, (const void *)(copy->from + begin),
                                                       size, stream);
    if (copy->direction == COPY_OUT)
        return cuda_front.genuine.cuMemcpyDtoHAsync_v2((void *)(copy->to + begin), copy->from + begin, size,
                                                       stream);
    return cuda_front.genuine.cuMemcpyDtoDAsync_v2(copy->to + begin, copy->from + begin, size, stream);
}

CUresult cut_copy(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut)
{
    struct piece_cut cut = {.counter = COUNTER_CHUNKS, .to_the_end = true, .unit_items = 1};
    size_t size = command->u.copy.size;

    runtime_count(COUNTER_COPIES, 1);
    cut.step = cut.least = cut_chunk(command);
    if (size <= cut.step)
        return call_invoke(&command->call);
    *ret_cut = true;
    return (CUresult)-pipe_run(pipe, &cut, (struct piece_source){.end = size});
}

bool cut_wants_rows(const struct cuda_command *command)
{
    const struct command_rows *rows = &command->u.rows;

    return rows->height * rows->depth > 1 && command->base.bytes > cut_chunk(command);
}

/* Whole rows; a chunk that reaches over the end of a plane takes several calls. */
CUresult cut_rows_range(struct cuda_command *command, struct piece_cut *cut, uint64_t begin, uint64_t limit)
{
    const struct command_rows *rows = &command->u.rows;
    CUresult code = CUDA_SUCCESS;

    (void)cut;
    while (begin < limit && code == CUDA_SUCCESS) {
        size_t z = begin / rows->height, y = begin % rows->height;
        size_t n = limit - begin < rows->height - y ? limit - begin : rows->height - y;
        CUdeviceptr to = rows->to + z * rows->to_plane + y * rows->to_pitch;
        CUdeviceptr from = rows->from + z * rows->from_plane + y * rows->from_pitch;
        CUDA_MEMCPY2D copy = {.srcMemoryType = rows->out ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
                              .dstMemoryType = rows->out ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                              .srcPitch = rows->from_pitch,
                              .dstPitch = rows->to_pitch,
                              .WidthInBytes = rows->width,
                              .Height = n};

        if (rows->out) {
            copy.srcDevice = from;
            copy.dstHost = (void *)to;
        } else {
            copy.srcHost = (const void *)from;
            copy.dstDevice = to;
        }
        code = cuda_front.genuine.cuMemcpy2DAsync_v2(&copy, command->on->handle);
        begin += n;
    }
    return code;
}

CUresult cut_rows(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut)
{
    const struct command_rows *rows = &command->u.rows;
    struct piece_cut cut = {.counter = COUNTER_CHUNKS, .to_the_end = true, .unit_items = rows->width};

    runtime_count(COUNTER_COPIES, 1);
    if (!cut_wants_rows(command))
        return call_invoke(&command->call);
    cut.step = cut_chunk(command) / rows->width;
    cut.step = cut.least = cut.step ? cut.step : 1;
    *ret_cut = true;
    return (CUresult)-pipe_run(pipe, &cut, (struct piece_source){.end = rows->height * rows->depth});
}
