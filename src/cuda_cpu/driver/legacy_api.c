/*
 * Launches by the calls that precede cuLaunchKernel: the function keeps the shape of its blocks and
 * its parameters between calls. Also calls for tools that have no effect on this device.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/legacy_calls.h"
#include "cuda_cpu/driver/cuda_graph.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/module.h"
#include "cuda_cpu/launch.h"

/* With the lock held: the state of the function, made at its first use. */
static CUresult state_of(const char *name, CUfunction handle, struct function_legacy **ret_legacy)
{
    struct function *function = NULL;
    CUresult code = api_enter(name, API_CONTEXT);

    if (code == CUDA_SUCCESS)
        code = function_of_handle(handle, &function);
    if (code != CUDA_SUCCESS)
        return code;
    if (!function->legacy) {
        function->legacy = calloc(1, sizeof *function->legacy);
        if (!function->legacy)
            return CUDA_ERROR_OUT_OF_MEMORY;
        function->legacy->block[0] = function->legacy->block[1] = function->legacy->block[2] = 1;
    }
    *ret_legacy = function->legacy;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z)
{
    struct function_legacy *legacy;
    CUresult code;

    pthread_mutex_lock(&driver.legacy_lock);
    code = state_of(__func__, function, &legacy);
    if (code == CUDA_SUCCESS && (x <= 0 || y <= 0 || z <= 0))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) {
        legacy->block[0] = (unsigned)x;
        legacy->block[1] = (unsigned)y;
        legacy->block[2] = (unsigned)z;
    }
    pthread_mutex_unlock(&driver.legacy_lock);
    return code;
}

DRIVER_EXPORT CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes)
{
    struct function_legacy *legacy;
    CUresult code;

    pthread_mutex_lock(&driver.legacy_lock);
    code = state_of(__func__, function, &legacy);
    if (code == CUDA_SUCCESS)
        legacy->shared = bytes;
    pthread_mutex_unlock(&driver.legacy_lock);
    return code;
}

DRIVER_EXPORT CUresult cuParamSetSize(CUfunction function, unsigned int bytes)
{
    struct function_legacy *legacy;
    CUresult code;

    pthread_mutex_lock(&driver.legacy_lock);
    code = state_of(__func__, function, &legacy);
    if (code == CUDA_SUCCESS && bytes > sizeof legacy->parameters)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        legacy->bytes = bytes;
    pthread_mutex_unlock(&driver.legacy_lock);
    return code;
}

static CUresult set_parameter(const char *name, CUfunction function, int offset, const void *value,
                              size_t bytes)
{
    struct function_legacy *legacy;
    CUresult code;

    pthread_mutex_lock(&driver.legacy_lock);
    code = state_of(name, function, &legacy);
    if (code == CUDA_SUCCESS && (offset < 0 || !value || bytes > sizeof legacy->parameters ||
                                 (size_t)offset > sizeof legacy->parameters - bytes))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        memcpy(legacy->parameters + offset, value, bytes);
    pthread_mutex_unlock(&driver.legacy_lock);
    return code;
}

DRIVER_EXPORT CUresult cuParamSeti(CUfunction function, int offset, unsigned int value)
{
    return set_parameter(__func__, function, offset, &value, sizeof value);
}

DRIVER_EXPORT CUresult cuParamSetf(CUfunction function, int offset, float value)
{
    return set_parameter(__func__, function, offset, &value, sizeof value);
}

DRIVER_EXPORT CUresult cuParamSetv(CUfunction function, int offset, void *value, unsigned int bytes)
{
    return set_parameter(__func__, function, offset, value, bytes);
}

static CUresult launch(const char *name, CUfunction function, int width, int height, CUstream stream)
{
    struct function_legacy *legacy;
    struct function_legacy copy;
    size_t bytes;
    CUresult code;

    pthread_mutex_lock(&driver.legacy_lock);
    code = state_of(name, function, &legacy);
    if (code == CUDA_SUCCESS)
        copy = *legacy;
    pthread_mutex_unlock(&driver.legacy_lock);
    if (code != CUDA_SUCCESS)
        return code;
    if (width <= 0 || height <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    bytes = copy.bytes;
    return cuLaunchKernel(function, (unsigned)width, (unsigned)height, 1, copy.block[0], copy.block[1],
                          copy.block[2], copy.shared, stream, NULL,
                          (void *[]){CU_LAUNCH_PARAM_BUFFER_POINTER, copy.parameters,
                                     CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END});
}

DRIVER_EXPORT CUresult cuLaunch(CUfunction function)
{
    return launch(__func__, function, 1, 1, NULL);
}

DRIVER_EXPORT CUresult cuLaunchGrid(CUfunction function, int width, int height)
{
    return launch(__func__, function, width, height, NULL);
}

DRIVER_EXPORT CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream)
{
    return launch(__func__, function, width, height, stream);
}

/* --- tools --- */

DRIVER_EXPORT CUresult cuProfilerStart(void)
{
    return api_enter(__func__, API_CONTEXT);
}

DRIVER_EXPORT CUresult cuProfilerStop(void)
{
    return api_enter(__func__, API_CONTEXT);
}

static const char *type_name(CUgraphNodeType type)
{
    static const char *const names[] = {"kernel", "memcpy",     "memset",       "host", "graph",
                                        "empty",  "wait event", "event record", "",     "",
                                        "alloc",  "free",       "mem op"};

    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "";
}

DRIVER_EXPORT CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_READY);
    FILE *file;
    size_t n = 0;

    (void)flags;
    if (code != CUDA_SUCCESS)
        return code;
    if (!path || !handle_is(graph, HANDLE_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    file = fopen(path, "we");
    if (!file)
        return CUDA_ERROR_OPERATING_SYSTEM;
    fputs("digraph graph_0 {\n", file);
    list_for_each(at, &graph->nodes)
    {
        CUgraphNode node = list_entry(at, struct CUgraphNode_st, link);

        fprintf(file, "\"node_%p\" [label=\"%zu: %s\"];\n", (void *)node, n++, type_name(node->type));
        for (size_t i = 0; i < node->after.n; i++)
            fprintf(file, "\"node_%p\" -> \"node_%p\";\n", (void *)node->after.items[i], (void *)node);
    }
    fputs("}\n", file);
    return fclose(file) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
