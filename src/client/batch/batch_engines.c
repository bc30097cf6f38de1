#include "client/batch/batch_engines.h"

#include <CL/cl_ext.h>

#include "client/batch/batcher.h"
#include "client/join.h"

static unsigned index_of(const struct opencl *cl, cl_platform_id platform, cl_device_id device)
{
    cl_device_id list[64];
    cl_uint n = 0;

    if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 64, list, &n) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < n && i < 64; i++) {
        if (list[i] == device)
            return i;
    }
    return 0;
}

/*
 * The stable name (wire/device_name.h), as the layer and the daemon compute it. Sub-devices share
 * their root's engines.
 */
static void name_of(const struct opencl *cl, cl_device_id device, char ret_name[DEVICE_NAME_SIZE])
{
    cl_device_pci_bus_info_khr pci;
    cl_platform_id platform = NULL;
    cl_device_id parent = NULL;
    char text[256] = "";

    while (cl->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) == CL_SUCCESS &&
           parent)
        device = parent;
    if (cl->clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof pci, &pci, NULL) == CL_SUCCESS) {
        device_name_pci(pci.pci_domain, pci.pci_bus, pci.pci_device, pci.pci_function, ret_name);
        return;
    }
    (void)cl->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    (void)cl->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text, text, NULL);
    text[sizeof text - 1] = 0;
    device_name_indexed(text, index_of(cl, platform, device), ret_name);
}

enum { MOST_ENGINES = ENGINE_N * 64 };

/* The batcher's GPU that has this index among the machine's OpenCL devices; NULL: none. */
static const struct batcher_gpu *gpu_of(const struct baton_batcher *batcher, int device)
{
    for (size_t g = 0; g < batcher->n_gpus; g++) {
        if (batcher->topology.nodes[batcher->gpus[g].node].device == device)
            return &batcher->gpus[g];
    }
    return NULL;
}

/* Which engines of which nodes the plan uses. */
static void mark_used(const struct batch *plan, bool ret_used[TOPOLOGY_MAX_NODES][ENGINE_N])
{
    for (size_t i = 0; i < plan->n; i++) {
        const struct batch_flow *flow = &plan->flows[i];

        if (flow->gpu >= 0)
            ret_used[flow->gpu][ENGINE_EXECUTION] = true;
        for (size_t e = 0; e < flow->n_engines; e++)
            ret_used[flow->engines[e] / 2][flow->engines[e] % 2 ? ENGINE_COPY_OUT : ENGINE_COPY_IN] = true;
    }
}

/* Every engine of the plan once. */
static size_t engines_of(const struct baton_batch *batch, struct lease_group_engine ret_engines[MOST_ENGINES])
{
    const struct topology *topology = batch->plan.topology;
    bool used[TOPOLOGY_MAX_NODES][ENGINE_N] = {{false}};
    size_t n = 0;

    mark_used(&batch->plan, used);
    for (size_t node = 0; node < topology->n_nodes; node++) {
        const struct batcher_gpu *gpu = gpu_of(batch->batcher, topology->nodes[node].device);

        for (int kind = 0; gpu && kind < ENGINE_N; kind++) {
            if (!used[node][kind] || n == MOST_ENGINES)
                continue;
            name_of(batch->cl, gpu->device, ret_engines[n].device);
            ret_engines[n++].engine = (enum engine_kind)kind;
        }
    }
    return n;
}

int batch_take_engines(struct baton_batch *batch)
{
    struct baton_batcher *batcher = batch->batcher;
    struct lease_group_engine engines[MOST_ENGINES];
    size_t n = batcher->hooks ? engines_of(batch, engines) : 0;
    int result = n ? batcher->hooks->group_take(engines, n, &batch->group) : LEASE_GROUP_PASSED;

    if (result == 0)
        (void)atomic_fetch_add(&batcher->granted, 1);
    return result < 0 ? result : 0;
}

void batch_end_engines(struct baton_batch *batch)
{
    if (batch->batcher->hooks)
        batch->batcher->hooks->group_end(&batch->group);
}

void batcher_use(struct baton_batcher *batcher, const struct join_hooks *hooks)
{
    batcher->hooks = hooks;
}

size_t batcher_granted(const struct baton_batcher *batcher)
{
    return atomic_load(&batcher->granted);
}
