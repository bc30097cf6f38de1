/*
 * The gate of a batcher in a process with a session. The engines of a batch become the leases of
 * one group. The daemon adds the buses, because it knows the bus of each device.
 */
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

static size_t engines_of(const struct baton_batcher *batcher, const struct gate_request *request,
                         struct join_engine ret_engines[])
{
    static const enum engine_kind kinds[] = {[GATE_EXECUTION] = ENGINE_EXECUTION,
                                             [GATE_COPY_IN] = ENGINE_COPY_IN,
                                             [GATE_COPY_OUT] = ENGINE_COPY_OUT};
    size_t n = 0;

    for (size_t e = 0; e < request->n_engines; e++) {
        for (size_t g = 0; g < batcher->n_gpus; g++) {
            const struct batcher_gpu *gpu = &batcher->gpus[g];

            if (batcher->topology.nodes[gpu->node].device != request->engines[e].device)
                continue;
            name_of(batcher->cl, gpu->device, ret_engines[n].device);
            ret_engines[n++].engine = kinds[request->engines[e].engine];
            break;
        }
    }
    return n;
}

static int take(void *context, const struct gate_request *request)
{
    struct baton_batcher *batcher = context;
    struct join_engine engines[sizeof request->engines / sizeof request->engines[0]];
    size_t n = engines_of(batcher, request, engines);
    int result = n ? join_find()->group_take(engines, n) : JOIN_PASSED;

    if (result == 0)
        (void)atomic_fetch_add(&batcher->granted, 1);
    return result < 0 ? result : 0;
}

static void release(void *context, const struct gate_request *request)
{
    const struct baton_batcher *batcher = context;
    struct join_engine engines[sizeof request->engines / sizeof request->engines[0]];
    size_t n = engines_of(batcher, request, engines);

    if (n)
        join_find()->group_release(engines, n);
}

void batcher_open_gate(struct baton_batcher *batcher)
{
    if (!join_find())
        return;
    batcher->own_gate = (struct batch_gate){take, release, batcher};
    batcher_set_gate(batcher, &batcher->own_gate);
}

size_t batcher_granted(const struct baton_batcher *batcher)
{
    return atomic_load(&batcher->granted);
}
