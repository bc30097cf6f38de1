/* What a kernel can observe of its launch, in every shape; local memory; NULL local sizes. */
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
    cl_uint dim;
    size_t offset[3], global[3], local[3];
};

static void launch_shape(const struct world *world, const struct shape *shape, const char *state)
{
    size_t n = 1;
    cl_int *out, code;
    cl_event gate = NULL;
    cl_kernel kernel = make_kernel(world, "shape");
    cl_mem mem;
    char name[64];

    for (cl_uint d = 0; d < shape->dim; d++)
        n *= shape->global[d];
    out = calloc(16 * n, sizeof *out);
    mem = clCreateBuffer(world->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 16 * n * sizeof *out, out,
                         NULL);
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    if (!strcmp(state, "gated"))
        gate = clCreateUserEvent(world->context, NULL);
    code = clEnqueueNDRangeKernel(world->in_order, kernel, shape->dim, shape->offset, shape->global,
                                  shape->local, gate != NULL, gate ? &gate : NULL, NULL);
    if (gate)
        clSetUserEventStatus(gate, CL_COMPLETE);
    clEnqueueReadBuffer(world->in_order, mem, CL_TRUE, 0, 16 * n * sizeof *out, out, 0, NULL, NULL);
    (void)snprintf(name, sizeof name, "shape/%u/%zux%zux%zu/%s", shape->dim, shape->global[0],
                   shape->global[1], shape->global[2], state);
    line(name, "%d last group %d %d %d data %08x", code, out[16 * (n - 1) + 3], out[16 * (n - 1) + 4],
         out[16 * (n - 1) + 5], hash_bytes(0, out, 16 * n * sizeof *out));
    if (gate)
        clReleaseEvent(gate);
    clReleaseMemObject(mem);
    clReleaseKernel(kernel);
    free(out);
}

static void check_group_sum(const struct world *world)
{
    cl_int in[ITEMS], out[ITEMS] = {0}, code;
    cl_kernel kernel = make_kernel(world, "group_sum");
    size_t global = ITEMS, local = 16;
    cl_mem a, b;

    for (int i = 0; i < ITEMS; i++)
        in[i] = i * i;
    a = make_buffer(world, in);
    b = make_buffer(world, out);
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, local * sizeof(cl_int), NULL);
    clSetKernelArg(kernel, 2, sizeof b, &b);
    for (int round = 0; round < 3; round++) {
        code = clEnqueueNDRangeKernel(world->in_order, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
        clEnqueueReadBuffer(world->in_order, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
        line("group-sum", "%d %d %d data %08x", code, out[0], out[15], hash_bytes(0, out, sizeof out));
    }
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseKernel(kernel);
}

/* Many launches of one kernel with changing arguments, no waits between. */
static void check_stream(const struct world *world, size_t local)
{
    cl_int content[ITEMS] = {0};
    cl_kernel kernel = make_kernel(world, "scale");
    size_t global = ITEMS;
    cl_mem mem = make_buffer(world, content);

    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    for (cl_int i = 0; i < 300; i++) {
        cl_int factor = i % 7 - 3;
        clSetKernelArg(kernel, 1, sizeof factor, &factor);
        clEnqueueNDRangeKernel(world->in_order, kernel, 1, NULL, &global, local ? &local : NULL, 0, NULL,
                               NULL);
    }
    clEnqueueReadBuffer(world->in_order, mem, CL_TRUE, 0, sizeof content, content, 0, NULL, NULL);
    line("stream", "local %zu %d data %08x", local, content[0], hash_bytes(0, content, sizeof content));
    clReleaseMemObject(mem);
    clReleaseKernel(kernel);
}

void check_kernels(const struct world *world)
{
    static const struct shape shapes[] = {
        {1, {0}, {64, 0, 0}, {8, 0, 0}},
        {1, {100, 0, 0}, {64, 0, 0}, {4, 0, 0}},
        {1, {0}, {7, 0, 0}, {7, 0, 0}},
        {1, {0}, {12, 0, 0}, {1, 0, 0}},
        {2, {0}, {24, 12, 0}, {4, 3, 0}},
        {2, {5, 9, 0}, {16, 6, 0}, {8, 2, 0}},
        {3, {0}, {8, 6, 4}, {2, 3, 2}},
        {3, {1, 2, 3}, {6, 10, 4}, {3, 2, 1}},
        {1, {70000, 0, 0}, {64, 0, 0}, {8, 0, 0}},
        {2, {0}, {1, 33, 0}, {1, 1, 0}},
        {3, {0}, {4, 1, 9}, {4, 1, 1}},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        launch_shape(world, &shapes[i], "idle");
        launch_shape(world, &shapes[i], "gated");
    }
    check_group_sum(world);
    check_stream(world, 8);
    check_stream(world, 0);
    check_stream(world, 32);
}
