#include "cuda_cpu/driver/graph_memory.h"

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/capture.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/memory.h"

enum { ALIGNMENT = 512 };

struct action *graph_memory_allocate(int device, size_t size, CUresult *ret_code)
{
    struct memory_block block = {
        .size = size, .kind = MEMORY_GRAPH, .device = device, .context = context_of_thread()};
    struct action *action;

    *ret_code = CUDA_ERROR_INVALID_VALUE;
    if (!size)
        return NULL;
    *ret_code = CUDA_ERROR_OUT_OF_MEMORY;
    if (memory_allocate(&block, ALIGNMENT) != 0)
        return NULL;
    action = action_new(ACTION_ALLOCATED);
    if (!action) {
        memory_end_graph(block.address, block.id);
        return NULL;
    }
    action->u.memory.address = block.address;
    action->u.memory.size = size;
    action->u.memory.id = block.id;
    *ret_code = CUDA_SUCCESS;
    return action;
}

struct action *graph_memory_free(CUdeviceptr address, CUresult *ret_code)
{
    struct memory_block block;
    struct action *action;

    *ret_code = CUDA_ERROR_INVALID_VALUE;
    if (!memory_block_at(address, &block) || block.address != address || block.kind != MEMORY_GRAPH)
        return NULL;
    action = action_new(ACTION_FREED);
    *ret_code = action ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (action)
        action->u.memory.address = address;
    return action;
}

static CUresult capture(struct stream *stream, struct action *action)
{
    CUresult code;

    pthread_mutex_lock(&driver.captures.lock);
    if (stream->capture) {
        stream->capture->graph->has_memory = true;
        code = capture_add(stream, capture_type(action), action);
    } else {
        action_unref(action);
        code = CUDA_ERROR_ILLEGAL_STATE;
    }
    pthread_mutex_unlock(&driver.captures.lock);
    return code;
}

CUresult graph_memory_capture(struct stream *stream, int device, size_t size, CUdeviceptr *ret_address)
{
    CUresult code;
    struct action *action = graph_memory_allocate(device, size, &code);
    CUdeviceptr address = action ? action->u.memory.address : 0;

    if (action)
        code = capture(stream, action);
    if (code == CUDA_SUCCESS)
        *ret_address = address;
    return code;
}

CUresult graph_memory_capture_free(struct stream *stream, CUdeviceptr address)
{
    CUresult code;
    struct action *action = graph_memory_free(address, &code);

    return action ? capture(stream, action) : code;
}

static bool is_freed(const struct CUgraphExec_st *exec, uint64_t address)
{
    for (size_t i = 0; i < exec->n_nodes; i++)
        if (exec->nodes[i].type == CU_GRAPH_NODE_TYPE_MEM_FREE &&
            exec->nodes[i].action->u.memory.address == address)
            return true;
    return false;
}

CUresult graph_memory_launch(CUgraphExec exec)
{
    for (size_t i = 0; i < exec->n_nodes && exec->has_memory; i++) {
        const struct exec_node *node = &exec->nodes[i];
        uint64_t address = node->action->u.memory.address;

        /*
         * Memory that the graph frees itself is live only within a launch: it counts in the
         * high-water mark only.
         */
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && !memory_set_live(address, true) &&
            !is_freed(exec, address))
            return CUDA_ERROR_INVALID_VALUE;
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
            (void)memory_set_live(address, false);
    }
    return CUDA_SUCCESS;
}

/* --- calls --- */

DRIVER_EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *ret_about)
{
    CUresult code = api_enter(__func__, API_READY);
    struct memory_block block;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_about || !handle_is(node, HANDLE_NODE) || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
        !memory_block_at(node->action->u.memory.address, &block))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_about = (CUDA_MEM_ALLOC_NODE_PARAMS){.poolProps = {.allocType = 1, .location = {1, block.device}},
                                              .bytesize = block.size,
                                              .dptr = block.address};
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *ret_address)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_address || !handle_is(node, HANDLE_NODE) || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_address = node->action->u.memory.address;
    return CUDA_SUCCESS;
}

/* Memory of a graph is returned with the graph, so there is nothing to trim. */
DRIVER_EXPORT CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    return device >= 0 && (unsigned)device < driver.n_devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
