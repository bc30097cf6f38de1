/*
 * Maps return a pointer before the command runs; what is behind it must be right when the event
 * says so.
 */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

static cl_uint map_count(cl_mem mem)
{
    cl_uint n = 99;

    clGetMemObjectInfo(mem, CL_MEM_MAP_COUNT, sizeof n, &n, NULL);
    return n;
}

static void write_behind_gate(const struct world *world, cl_map_flags flags, const char *name)
{
    struct things t;
    cl_event gate = clCreateUserEvent(world->context, NULL), mapped = NULL;
    cl_int pattern = 77, code = 99, *pointer;
    cl_uint n;

    things_make(world, &t);
    clEnqueueFillBuffer(world->in_order, t.a, &pattern, 4, 0, 512, 1, &gate, NULL);
    pointer = clEnqueueMapBuffer(world->in_order, t.a, CL_FALSE, flags, 256, 512, 0, NULL, &mapped, &code);
    n = map_count(t.a);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clWaitForEvents(1, &mapped);
    line(name, "%d mapped %u first %d last %d", code, n, flags & CL_MAP_READ ? pointer[0] : 0,
         flags & CL_MAP_READ ? pointer[127] : 0);
    for (int i = 0; i < 128 && !(flags == CL_MAP_READ); i++)
        pointer[i] = i - 5;
    code = clEnqueueUnmapMemObject(world->in_order, t.a, pointer, 0, NULL, NULL);
    clFinish(world->in_order);
    line(name, "unmap %d mapped %u data %08x", code, map_count(t.a), things_hash(world, &t));
    clReleaseEvent(gate);
    clReleaseEvent(mapped);
    things_free(world, &t);
}

static void host_pointer(const struct world *world)
{
    static cl_int host[ITEMS] __attribute__((aligned(4096)));
    cl_event gate = clCreateUserEvent(world->context, NULL), mapped = NULL;
    cl_mem mem =
        clCreateBuffer(world->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof host, host, NULL);
    cl_int pattern = 5, code = 99, *pointer, out[ITEMS] = {0};

    clEnqueueFillBuffer(world->in_order, mem, &pattern, 4, 0, sizeof host, 1, &gate, NULL);
    pointer = clEnqueueMapBuffer(world->in_order, mem, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 64, 64, 0, NULL,
                                 &mapped, &code);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clWaitForEvents(1, &mapped);
    line("map/use-host-ptr", "%d %s value %d", code, pointer == host + 16 ? "inside" : "elsewhere",
         pointer[0]);
    pointer[1] = 6;
    clEnqueueUnmapMemObject(world->in_order, mem, pointer, 0, NULL, NULL);
    clEnqueueReadBuffer(world->in_order, mem, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
    line("map/use-host-ptr", "data %08x", hash_bytes(0, out, sizeof out));
    clReleaseEvent(gate);
    clReleaseEvent(mapped);
    clReleaseMemObject(mem);
}

/* Map and unmap in one gated stretch, between two kernels. */
static void between_kernels(const struct world *world)
{
    struct things t;
    size_t global = ITEMS, local = 8;
    cl_event gate = clCreateUserEvent(world->context, NULL), unmapped = NULL;
    cl_int factor = 2, code = 99;
    void *pointer;

    things_make(world, &t);
    clSetKernelArg(t.scale, 0, sizeof t.a, &t.a);
    clSetKernelArg(t.scale, 1, sizeof factor, &factor);
    clEnqueueNDRangeKernel(world->in_order, t.scale, 1, NULL, &global, &local, 1, &gate, NULL);
    pointer = clEnqueueMapBuffer(world->in_order, t.a, CL_FALSE, CL_MAP_READ, 0, 1024, 0, NULL, NULL, &code);
    clEnqueueUnmapMemObject(world->in_order, t.a, pointer, 0, NULL, &unmapped);
    clEnqueueNDRangeKernel(world->in_order, t.scale, 1, NULL, &global, &local, 0, NULL, NULL);
    clSetUserEventStatus(gate, CL_COMPLETE);
    line("map/between-kernels", "%d wait %d mapped %u data %08x", code, clWaitForEvents(1, &unmapped),
         map_count(t.a), things_hash(world, &t));
    clReleaseEvent(gate);
    clReleaseEvent(unmapped);
    things_free(world, &t);
}

static void image_behind_gate(const struct world *world)
{
    static const size_t origin[3] = {2, 2, 0}, region[3] = {4, 5, 1};
    struct things t;
    cl_event gate = clCreateUserEvent(world->context, NULL), mapped = NULL;
    cl_uint color[4] = {1, 2, 3, 4};
    unsigned char *pointer;
    size_t row = 0, slice = 77;
    cl_int code = 99;
    uint32_t hash = 0;

    things_make(world, &t);
    clEnqueueFillImage(world->in_order, t.image, color, origin, region, 1, &gate, NULL);
    pointer = clEnqueueMapImage(world->in_order, t.image, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, origin,
                                region, &row, &slice, 0, NULL, &mapped, &code);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clWaitForEvents(1, &mapped);
    for (size_t y = 0; y < region[1]; y++) {
        hash = hash_bytes(hash, pointer + y * row, region[0] * PIXEL);
        pointer[y * row] = (unsigned char)(100 + y);
    }
    clEnqueueUnmapMemObject(world->in_order, t.image, pointer, 0, NULL, NULL);
    line("map/image", "%d pitch %s seen %08x data %08x", code, row >= region[0] * PIXEL ? "wide" : "narrow",
         hash, things_hash(world, &t));
    clReleaseEvent(gate);
    clReleaseEvent(mapped);
    things_free(world, &t);
}

/* A map that waits for a failure fails, also where its caller waits. PoCL 3.1 hangs. */
static void behind_failure(const struct world *world)
{
    cl_event bad = clCreateUserEvent(world->context, NULL), event = NULL;
    struct things t;
    cl_int code = 99;
    cl_uint n = 99;
    void *pointer;

    clSetUserEventStatus(bad, -5);
    if (!world->pocl) {
        things_make(world, &t);
        pointer =
            clEnqueueMapBuffer(world->in_order, t.a, CL_TRUE, CL_MAP_READ, 0, 64, 1, &bad, &event, &code);
        clGetMemObjectInfo(t.a, CL_MEM_MAP_COUNT, sizeof n, &n, NULL);
        line("map/behind-failure", "%d %s status %d maps %u", code, pointer ? "mapped" : "nothing",
             event ? event_status(event) : 99, n);
        if (event)
            clReleaseEvent(event);
        things_free(world, &t);
    }
    clReleaseEvent(bad);
}

/* The case a known layer gets wrong: map right after a kernel, nothing else in between. */
static void after_kernel(const struct world *world)
{
    struct things t;
    size_t global = ITEMS, local = 4;
    cl_int factor = 3, code = 99, wrong = 0;

    things_make(world, &t);
    clSetKernelArg(t.scale, 0, sizeof t.a, &t.a);
    clSetKernelArg(t.scale, 1, sizeof factor, &factor);
    for (int round = 0; round < 50; round++) {
        cl_int *pointer, zero = 0;
        clEnqueueFillBuffer(world->in_order, t.a, &zero, 4, 0, 1024, 0, NULL, NULL);
        clEnqueueNDRangeKernel(world->in_order, t.scale, 1, NULL, &global, &local, 0, NULL, NULL);
        pointer =
            clEnqueueMapBuffer(world->in_order, t.a, CL_TRUE, CL_MAP_READ, 0, 1024, 0, NULL, NULL, &code);
        for (int i = 0; i < ITEMS; i++)
            wrong += pointer[i] != 1;
        clEnqueueUnmapMemObject(world->in_order, t.a, pointer, 0, NULL, NULL);
    }
    line("map/after-kernel", "%d wrong %d", code, wrong);
    things_free(world, &t);
}

void check_maps(const struct world *world)
{
    write_behind_gate(world, CL_MAP_READ, "map/read");
    write_behind_gate(world, CL_MAP_WRITE | CL_MAP_READ, "map/write");
    write_behind_gate(world, CL_MAP_WRITE_INVALIDATE_REGION, "map/invalidate");
    host_pointer(world);
    between_kernels(world);
    image_behind_gate(world);
    behind_failure(world);
    after_kernel(world);
}
