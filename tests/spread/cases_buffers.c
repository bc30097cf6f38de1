/* Ways to use buffers between split launches. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

void case_own_writes(void)
{
    cl_mem in = filled(N, 1), out = filled(N, 2);
    cl_kernel k = kernel("scale");

    set_mem(k, 0, in);
    set_mem(k, 1, out);
    set_uint(k, 2, 5);
    run(k, N);
    run(k, N - LOCAL * 3); /* fewer items than elements */
    say_mem("own_writes", out, N * 4);
    clReleaseKernel(k);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

void case_in_place(void)
{
    cl_mem a = filled(N, 3);
    cl_kernel k = kernel("in_place");

    set_mem(k, 0, a);
    for (cl_uint i = 0; i < 5; i++) {
        set_uint(k, 1, i * 2 + 3);
        run(k, N);
    }
    say_mem("in_place", a, N * 4);
    clReleaseKernel(k);
    clReleaseMemObject(a);
}

void case_scattered(void)
{
    cl_mem in = filled(N, 4), out = filled(N, 5);
    cl_kernel k = kernel("scatter");

    set_mem(k, 0, in);
    set_mem(k, 1, out);
    set_uint(k, 2, N);
    run(k, N);
    say_mem("scatter", out, N * 4);
    set_uint(k, 2, N - 1); /* two items may meet; the last but one bytes stay */
    run(k, N / 2);
    say_mem("scatter twice", out, N * 4);
    clReleaseKernel(k);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

void case_partial(void)
{
    static const char *const names[] = {"partly", "own_partly"};

    for (int i = 0; i < 2; i++) {
        cl_mem in = filled(N, 6), out = filled(N, 7);
        cl_kernel k = kernel(names[i]);

        set_mem(k, 0, in);
        set_mem(k, 1, out);
        run(k, N);
        say_mem(names[i], out, N * 4);
        clReleaseKernel(k);
        clReleaseMemObject(in);
        clReleaseMemObject(out);
    }
}

void case_dependent(void)
{
    cl_mem a = filled(N, 8), b = filled(N, 9);
    cl_kernel k = kernel("stencil");

    set_uint(k, 2, N);
    for (int i = 0; i < 12; i++) {
        set_mem(k, 0, i % 2 ? b : a);
        set_mem(k, 1, i % 2 ? a : b);
        run(k, N);
    }
    say_mem("dependent a", a, N * 4);
    say_mem("dependent b", b, N * 4);
    clReleaseKernel(k);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
}

void case_reduction(void)
{
    cl_mem in = filled(N, 10), parts = filled(N / LOCAL, 11), out = filled(N / LOCAL / LOCAL + 1, 12);
    cl_kernel k = kernel("reduce");

    set_mem(k, 0, in);
    set_mem(k, 1, parts);
    set(k, 2, LOCAL * 4, NULL);
    run(k, N);
    set_mem(k, 0, parts);
    set_mem(k, 1, out);
    run(k, N / LOCAL);
    say_mem("reduction", out, N / LOCAL / LOCAL * 4);
    say_mem("reduction parts", parts, N / LOCAL * 4);
    clReleaseKernel(k);
    clReleaseMemObject(in);
    clReleaseMemObject(parts);
    clReleaseMemObject(out);
}

static cl_mem part_of(cl_mem root, size_t begin, size_t size)
{
    cl_buffer_region region = {begin, size};
    cl_int code;
    cl_mem part = clCreateSubBuffer(root, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);

    check(code, "clCreateSubBuffer");
    return part;
}

/* Overlapping parts of one buffer, used by kernels and transfers in turn. */
void case_sub_buffers(void)
{
    cl_mem root = filled(4 * N, 13);
    cl_mem low = part_of(root, 0, 2 * N * 4), high = part_of(root, N * 4, 3 * N * 4);
    cl_mem tail = part_of(root, 3 * N * 4, N * 4);
    cl_kernel scale = kernel("scale"), place = kernel("in_place"), scatter = kernel("scatter");
    uint32_t *some = values(N, 14);

    set_mem(scale, 0, low);
    set_mem(scale, 1, tail);
    set_uint(scale, 2, 9);
    run(scale, N); /* root[3N..4N) from root[0..N) */
    set_mem(place, 0, high);
    set_uint(place, 1, 3);
    run(place, 3 * N); /* over the tail as well */
    set_mem(scatter, 0, tail);
    set_mem(scatter, 1, low);
    set_uint(scatter, 2, 2 * N);
    run(scatter, N);
    check(clEnqueueWriteBuffer(queue, high, CL_FALSE, 100, N, some, 0, NULL, NULL), "clEnqueueWriteBuffer");
    set_mem(place, 0, low);
    run(place, 2 * N);
    say_mem("sub_buffers low", low, 2 * N * 4);
    clReleaseMemObject(low);
    set_mem(place, 0, root);
    run(place, 4 * N);
    say_mem("sub_buffers tail", tail, N * 4);
    say_mem("sub_buffers root", root, 4 * N * 4);
    clReleaseMemObject(root); /* its parts keep it */
    set_mem(place, 0, high);
    run(place, 3 * N);
    say_mem("sub_buffers high", high, 3 * N * 4);
    free(some);
    clReleaseKernel(scale);
    clReleaseKernel(place);
    clReleaseKernel(scatter);
    clReleaseMemObject(high);
    clReleaseMemObject(tail);
}

void case_maps(void)
{
    cl_mem a = filled(N, 15), b = filled(N, 16);
    cl_kernel k = kernel("scatter");
    cl_event mapped;
    cl_int code;
    uint32_t *p;

    set_mem(k, 0, a);
    set_mem(k, 1, b);
    set_uint(k, 2, N);
    for (uint32_t i = 0; i < 3; i++) {
        p = clEnqueueMapBuffer(queue, a, i != 1, CL_MAP_WRITE | CL_MAP_READ, 4096, N, 0, NULL, &mapped,
                               &code);
        check(code, "clEnqueueMapBuffer");
        clWaitForEvents(1, &mapped);
        clReleaseEvent(mapped);
        for (uint32_t j = 0; j < N / 4; j++)
            p[j] += i * j;
        check(clEnqueueUnmapMemObject(queue, a, p, 0, NULL, NULL), "clEnqueueUnmapMemObject");
        run(k, N);
        p = clEnqueueMapBuffer(queue, b, i == 1, CL_MAP_READ, 0, N * 4, 0, NULL, &mapped, &code);
        check(code, "clEnqueueMapBuffer");
        clWaitForEvents(1, &mapped);
        clReleaseEvent(mapped);
        say("maps", p, N * 4);
        check(clEnqueueUnmapMemObject(queue, b, p, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    }
    p = clEnqueueMapBuffer(queue, b, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, 1000, 0, NULL, NULL, &code);
    check(code, "clEnqueueMapBuffer");
    memset(p, 7, 1000);
    check(clEnqueueUnmapMemObject(queue, b, p, 0, NULL, NULL), "clEnqueueUnmapMemObject");
    run(k, N / 2);
    say_mem("maps invalidated", b, N * 4);
    clReleaseKernel(k);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
}

/* The program looks at its own memory, as many do, after mapping and also without. */
void case_host_pointers(void)
{
    uint32_t *a = aligned_alloc(4096, N * 4), *b = aligned_alloc(4096, N * 4), *first = values(N, 17);
    cl_mem in, out;
    cl_kernel k = kernel("scatter");

    memcpy(a, first, N * 4);
    memset(b, 1, N * 4);
    in = buffer(CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, N * 4, a);
    out = buffer(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, N * 4, b);
    set_mem(k, 0, in);
    set_mem(k, 1, out);
    set_uint(k, 2, N);
    for (int i = 0; i < 3; i++) {
        run(k, N);
        clFinish(queue);
        say("host_pointers", b, N * 4);
        a[i * 1000] ^= 77; /* not allowed without a map, and works on every CPU device */
    }
    run(k, N);
    say_mem("host_pointers read", out, N * 4);
    clReleaseKernel(k);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    free(a);
    free(b);
    free(first);
}

void case_fills_and_copies(void)
{
    cl_mem a = filled(N, 18), b = filled(N, 19), c = filled(N, 20);
    cl_kernel k = kernel("partly");
    cl_uint pattern[4] = {3, 6, 1, 2};
    size_t from[3] = {64, 3, 0}, to[3] = {0, 8, 0}, region[3] = {128, 16, 1};
    uint32_t host[64 * 16];

    set_mem(k, 0, a);
    set_mem(k, 1, b);
    run(k, N);
    check(clEnqueueCopyBuffer(queue, b, c, 4 * 1000, 4 * 17, 4 * 30000, 0, NULL, NULL),
          "clEnqueueCopyBuffer");
    check(clEnqueueFillBuffer(queue, a, pattern, sizeof pattern, 1024, 16384, 0, NULL, NULL),
          "clEnqueueFillBuffer");
    set_mem(k, 1, c);
    run(k, N);
    check(clEnqueueCopyBufferRect(queue, c, b, from, to, region, 512, 0, 512, 0, 0, NULL, NULL),
          "clEnqueueCopyBufferRect");
    run(k, N / 2);
    check(clEnqueueReadBufferRect(queue, c, CL_TRUE, to, to, (size_t[]){256, 8, 1}, 1024, 0, 256, 0, host, 0,
                                  NULL, NULL),
          "clEnqueueReadBufferRect");
    say("fills_and_copies rect", host + 8 * 64, 64 * 8 * 4);
    say_mem("fills_and_copies a", a, N * 4);
    say_mem("fills_and_copies b", b, N * 4);
    say_mem("fills_and_copies c", c, N * 4);
    check(clEnqueueWriteBufferRect(queue, b, CL_TRUE, to, to, (size_t[]){256, 8, 1}, 1024, 0, 256, 0, host, 0,
                                   NULL, NULL),
          "clEnqueueWriteBufferRect");
    set_mem(k, 0, b);
    run(k, N);
    check(clEnqueueMigrateMemObjects(queue, 1, &c, 0, 0, NULL, NULL), "clEnqueueMigrateMemObjects");
    say_mem("fills_and_copies again", c, N * 4);
    clReleaseKernel(k);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(c);
}

void case_several_queues(void)
{
    cl_int code;
    cl_command_queue other = clCreateCommandQueue(context, device, 0, &code);
    cl_command_queue free_order =
        clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    cl_mem a = filled(N, 21), b = filled(N, 22), c = filled(N, 23);
    cl_kernel scale = kernel("scale"), stencil = kernel("stencil");
    cl_event done[3];

    set_mem(scale, 0, a);
    set_mem(scale, 1, b);
    set_uint(scale, 2, 3);
    set_uint(stencil, 2, N);
    for (int i = 0; i < 4; i++) {
        run_on(queue, scale, N, 0, NULL, &done[0]);
        set_mem(stencil, 0, b);
        set_mem(stencil, 1, c);
        run_on(other, stencil, N, 1, &done[0], &done[1]);
        check(clEnqueueCopyBuffer(free_order, c, a, 0, 64, N * 2, 1, &done[1], &done[2]),
              "clEnqueueCopyBuffer");
        check(clEnqueueMarkerWithWaitList(queue, 1, &done[2], NULL), "clEnqueueMarkerWithWaitList");
        clWaitForEvents(1, &done[2]);
        for (int e = 0; e < 3; e++)
            clReleaseEvent(done[e]);
    }
    clFinish(other);
    clFinish(free_order ? free_order : other);
    say_mem("several_queues a", a, N * 4);
    say_mem("several_queues b", b, N * 4);
    say_mem("several_queues c", c, N * 4);
    clReleaseCommandQueue(other);
    if (free_order)
        clReleaseCommandQueue(free_order);
    clReleaseKernel(scale);
    clReleaseKernel(stencil);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(c);
}

static void write_apart(cl_mem mem, size_t size, size_t step, const uint32_t *from)
{
    for (size_t i = 0; i < 40; i++)
        check(clEnqueueWriteBuffer(queue, mem, CL_FALSE, i * step, size, from + i, 0, NULL, NULL),
              "clEnqueueWriteBuffer");
}

/* More separate writes than a record of valid ranges has room for; then a read, or a launch. */
static void read_and_run(size_t size, size_t step, uint32_t seed)
{
    cl_mem read = filled(N, seed), in = filled(N, seed), out = filled(N, seed + 1);
    uint32_t *some = values(N, seed + 2);
    cl_kernel k = kernel("scale");

    write_apart(read, size, step, some);
    say_mem("strided_writes", read, N * 4);
    write_apart(in, size, step, some);
    set_mem(k, 0, in);
    set_mem(k, 1, out);
    set_uint(k, 2, 5);
    run(k, N);
    say_mem("strided_writes launch", out, N * 4);
    write_apart(in, size, step, some + 1);
    say_mem("strided_writes again", in, N * 4);
    free(some);
    clReleaseKernel(k);
    clReleaseMemObject(read);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

void case_strided_writes(void)
{
    read_and_run(1024, 2048, 24); /* gaps as long as the writes */
    read_and_run(1024, 6144, 27); /* longer ones */
    read_and_run(2048, 3072, 30); /* shorter ones */
}
