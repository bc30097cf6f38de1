/* Launches: checks, packing of parameters, submission to a stream. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/launch_action.h"
#include "cuda_cpu/driver/stream.h"
#include "cuda_cpu/launch.h"

static CUresult check_shape(const struct launch_request *request, const struct function *function)
{
    const struct image_entry *entry = function->entry;
    const unsigned *grid = request->grid, *block = request->block, *required = entry->required_threads;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

    if (!grid[0] || !grid[1] || !grid[2] || grid[0] > INT_MAX || grid[1] > 65535 || grid[2] > 65535 ||
        !block[0] || !block[1] || !block[2] || block[0] > LAUNCH_MOST_THREADS ||
        block[1] > LAUNCH_MOST_THREADS || block[2] > 64 || threads > LAUNCH_MOST_THREADS)
        return CUDA_ERROR_INVALID_VALUE;
    if (required[0] && (block[0] != required[0] || block[1] != required[1] || block[2] != required[2]))
        return CUDA_ERROR_INVALID_VALUE;
    if (entry->max_threads && threads > entry->max_threads)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (request->shared > (unsigned)(function->most_dynamic > 0 ? function->most_dynamic : 0))
        return CUDA_ERROR_INVALID_VALUE;
    if (request->cooperative && (uint64_t)grid[0] * grid[1] * grid[2] > LAUNCH_MOST_RESIDENT / threads)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return CUDA_SUCCESS;
}

/* The buffer that `extra` describes; its size must be that of the parameters. */
static CUresult read_extra(void **extra, const void **ret_buffer, size_t *ret_size)
{
    *ret_buffer = NULL;
    *ret_size = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *ret_buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *ret_size = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult pack(const struct launch_request *request, const struct image_entry *entry, char *packed)
{
    const void *buffer;
    size_t size;
    CUresult code;

    if (request->parameters && request->extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (request->extra) {
        code = read_extra(request->extra, &buffer, &size);
        if (code != CUDA_SUCCESS)
            return code;
        if ((size && !buffer) || size < entry->parameter_bytes)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(packed, buffer, entry->parameter_bytes);
        return CUDA_SUCCESS;
    }
    if (!request->parameters)
        return entry->n_parameters ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    for (size_t i = 0; i < entry->n_parameters; i++) {
        if (!request->parameters[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(packed + entry->parameters[i].offset, request->parameters[i], entry->parameters[i].size);
    }
    return CUDA_SUCCESS;
}

struct action *launch_action(const struct launch_request *request, struct function *function,
                             CUresult *ret_code)
{
    const struct image_entry *entry = function->entry;
    struct action *action;
    struct action_launch *launch;

    *ret_code = check_shape(request, function);
    if (*ret_code != CUDA_SUCCESS)
        return NULL;
    action = action_new(ACTION_LAUNCH);
    if (!action) {
        *ret_code = CUDA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    launch = &action->u.launch;
    *launch = (struct action_launch){.function = function,
                                     .module = module_ref(function->module),
                                     .shared = request->shared,
                                     .cooperative = request->cooperative};
    memcpy(launch->grid, request->grid, sizeof launch->grid);
    memcpy(launch->block, request->block, sizeof launch->block);
    launch->parameters = calloc(1, entry->parameter_bytes + 16);
    launch->pointers = calloc(entry->n_parameters + 1, sizeof(void *));
    *ret_code = launch->parameters && launch->pointers ? pack(request, entry, launch->parameters)
                                                       : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < entry->n_parameters && launch->pointers; i++)
        launch->pointers[i] = (char *)launch->parameters + entry->parameters[i].offset;
    if (*ret_code == CUDA_SUCCESS)
        return action;
    action_unref(action);
    return NULL;
}

static CUresult launch(const char *name, CUfunction handle, const struct launch_request *request, CUstream on)
{
    CUresult code = api_enter(name, API_CONTEXT);
    struct function *function = NULL;
    struct stream *stream = NULL;
    struct action *action;

    if (code == CUDA_SUCCESS)
        code = function_of_handle(handle, &function);
    if (code == CUDA_SUCCESS)
        code = stream_named_here(on, &stream);
    if (code == CUDA_SUCCESS && function->module->context != stream->context)
        code = CUDA_ERROR_INVALID_HANDLE;
    if (code != CUDA_SUCCESS)
        return code;
    action = launch_action(request, function, &code);
    return action ? stream_do(stream, action, false) : code;
}

DRIVER_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                      unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                      unsigned int block_z, unsigned int shared, CUstream stream,
                                      void **parameters, void **extra)
{
    const struct launch_request request = {.grid = {grid_x, grid_y, grid_z},
                                           .block = {block_x, block_y, block_z},
                                           .shared = shared,
                                           .parameters = parameters,
                                           .extra = extra};

    return launch(__func__, function, &request, stream);
}

DRIVER_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
                                                 unsigned int grid_y, unsigned int grid_z,
                                                 unsigned int block_x, unsigned int block_y,
                                                 unsigned int block_z, unsigned int shared, CUstream stream,
                                                 void **parameters)
{
    const struct launch_request request = {.grid = {grid_x, grid_y, grid_z},
                                           .block = {block_x, block_y, block_z},
                                           .shared = shared,
                                           .parameters = parameters,
                                           .cooperative = true};

    return launch(__func__, function, &request, stream);
}

/* Attributes that change what a launch does, rather than how fast it runs. */
static CUresult read_attributes(const CUlaunchConfig *config, struct launch_request *request)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];

        switch (attribute->id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            request->cooperative = attribute->value.cooperative != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            if (attribute->value.clusterDim.x * attribute->value.clusterDim.y *
                    attribute->value.clusterDim.z !=
                1)
                return CUDA_ERROR_NOT_SUPPORTED;
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
            return CUDA_ERROR_NOT_SUPPORTED;
        default: /* hints, without effect here */
            break;
        }
    }
    return CUDA_SUCCESS;
}

/* Events that are recorded once all blocks have begun: behind the launch is late enough. */
static CUresult record_events(const CUlaunchConfig *config)
{
    CUresult code = CUDA_SUCCESS;

    for (unsigned i = 0; i < config->numAttrs && code == CUDA_SUCCESS; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            code = cuEventRecordWithFlags(config->attrs[i].value.launchCompletionEvent.event, config->hStream,
                                          (unsigned)config->attrs[i].value.launchCompletionEvent.flags);
    return code;
}

DRIVER_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                                        void **extra)
{
    struct launch_request request;
    CUresult code;

    if (!config || (config->numAttrs && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    request = (struct launch_request){.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                                      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                                      .shared = config->sharedMemBytes,
                                      .parameters = parameters,
                                      .extra = extra};
    code = read_attributes(config, &request);
    if (code == CUDA_SUCCESS)
        code = launch(__func__, function, &request, config->hStream);
    return code == CUDA_SUCCESS ? record_events(config) : code;
}
