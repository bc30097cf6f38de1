/*
 * An OpenCL program written for one device, as many ways to use its buffers as there are rules in OpenCL. Prints one line per case, a name
 * and a hash of the bytes. tests/spread/same_bytes.sh compares the lines of one device with those of several. `cases NAME` runs one.
 */
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 16, LOCAL = 64 };

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program program;

static const char source[] =
    "__kernel void scale(__global const uint *in, __global uint *out, uint k) {\n"
    "    size_t i = get_global_id(0); out[i] = in[i] * k + 7; }\n"
    "__kernel void in_place(__global uint *a, uint k) { size_t i = get_global_id(0); a[i] = a[i] * k + 1; }\n"
    "__kernel void scatter(__global const uint *in, __global uint *out, uint n) {\n"
    "    uint i = get_global_id(0); out[(i * 40503u) % n] = in[i] ^ i; }\n"
    "__kernel void partly(__global const uint *in, __global uint *out) {\n"
    "    uint i = get_global_id(0); if (in[i] % 3 == 0) out[i ^ 5] = in[i]; }\n"
    "__kernel void own_partly(__global const uint *in, __global uint *out) {\n"
    "    uint i = get_global_id(0); if (in[i] % 3 == 0) out[i] = in[i]; }\n"
    "__kernel void stencil(__global const uint *in, __global uint *out, uint n) {\n"
    "    uint i = get_global_id(0); out[i] = in[i] + 3 * in[(i + 1) % n] + 5 * in[(i + n - 1) % n]; }\n"
    "__kernel void reduce(__global const uint *in, __global uint *out, __local uint *part) {\n"
    "    uint l = get_local_id(0); part[l] = in[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint s = get_local_size(0) / 2; s; s /= 2) { if (l < s) part[l] += part[l + s];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE); }\n"
    "    if (!l) out[get_group_id(0)] = part[0]; }\n"
    "__kernel void bytes(__global const uchar *in, __global uchar *out, uint n) {\n"
    "    uint i = get_global_id(0); out[(i * 40503u) % n] = in[i] * 3 + 1; }\n"
    "__kernel void histogram(__global const uint *in, __global uint *bins) {\n"
    "    atomic_add(&bins[in[get_global_id(0)] % 64], 1u); }\n"
    "__kernel void disagree(__global uint *out, __global const uint *in) {\n"
    "    uint i = get_global_id(0); out[1 + i] = in[i] + i; if (get_local_id(0) == 0) out[0] = i + 1; }\n"
    "__kernel void agree(__global uint *flag, __global const uint *in) {\n"
    "    if (in[get_global_id(0)] % 1000 == 1) *flag = 1; }\n"
    "__kernel void multiply(__global const float *a, __global const float *b, __global float *c, uint n) {\n"
    "    uint x = get_global_id(0), y = get_global_id(1); float sum = 0;\n"
    "    for (uint k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];\n"
    "    c[y * n + x] = sum; }\n"
    "__kernel void transpose(__global const uint *in, __global uint *out, uint n) {\n"
    "    __local uint tile[8][9]; uint x = get_global_id(0), y = get_global_id(1);\n"
    "    tile[get_local_id(1)][get_local_id(0)] = in[y * n + x];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    x = get_group_id(1) * 8 + get_local_id(0); y = get_group_id(0) * 8 + get_local_id(1);\n"
    "    out[y * n + x] = tile[get_local_id(0)][get_local_id(1)]; }\n"
    "__kernel void where(__global uint *out) {\n"
    "    size_t x = get_global_id(0), y = get_global_id(1);\n"
    "    size_t i = (y - get_global_offset(1)) * get_global_size(0) + x - get_global_offset(0);\n"
    "    out[i] = x * 1000 + y * 7 + get_group_id(0) * 3 + get_group_id(1) * 11 + get_num_groups(0); }\n"
    "struct pair { uint a, b; };\n"
    "__kernel void pairs(__global struct pair *out, struct pair k, __constant uint *table) {\n"
    "    size_t i = get_global_id(0); out[i].a = k.a * i + table[i % 16];\n"
    "    if (i % 2) out[i].b = k.b; }\n"
    "__kernel void alias(__global uint *a, __global const uint *b, uint half_n) {\n"
    "    uint i = get_global_id(0); a[i] = b[i + half_n] * 5 + 1; }\n"
    "__kernel void picture(__read_only image2d_t image, sampler_t sampler, __global uint *out, uint w) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    out[y * w + x] = read_imageui(image, sampler, (int2)(x, y)).x * 3; }\n"
    "__kernel void paint(__write_only image2d_t image, __global const uint *in, uint w) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    write_imageui(image, (int2)(x, y), (uint4)(in[y * w + x] & 255, 0, 0, 0)); }\n";

static void check(cl_int code, const char *what)
{
    if (code != CL_SUCCESS) {
        printf("%s failed: %d\n", what, code);
        exit(1);
    }
}

static uint32_t *values(size_t n, uint32_t seed)
{
    uint32_t *list = malloc(n * sizeof *list);

    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        list[i] = seed >> 8;
    }
    return list;
}

static uint64_t hash(const void *bytes, size_t n)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return h;
}

static void say(const char *name, const void *bytes, size_t n)
{
    printf("%s %016llx\n", name, (unsigned long long)hash(bytes, n));
    fflush(stdout);
}

static cl_mem buffer(cl_mem_flags flags, size_t size, void *host)
{
    cl_int code;
    cl_mem mem = clCreateBuffer(context, flags, size, host, &code);

    check(code, "clCreateBuffer");
    return mem;
}

static cl_mem filled(size_t n, uint32_t seed)
{
    uint32_t *list = values(n, seed);
    cl_mem mem = buffer(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n * 4, list);

    free(list);
    return mem;
}

static cl_kernel kernel(const char *name)
{
    cl_int code;
    cl_kernel made = clCreateKernel(program, name, &code);

    check(code, name);
    return made;
}

static void set(cl_kernel k, cl_uint index, size_t size, const void *value)
{
    check(clSetKernelArg(k, index, size, value), "clSetKernelArg");
}

static void set_mem(cl_kernel k, cl_uint index, cl_mem mem)
{
    set(k, index, sizeof mem, &mem);
}

static void set_uint(cl_kernel k, cl_uint index, cl_uint value)
{
    set(k, index, sizeof value, &value);
}

static void run_on(cl_command_queue on, cl_kernel k, size_t n, cl_uint waits, const cl_event *list,
                   cl_event *event)
{
    size_t local = LOCAL;

    check(clEnqueueNDRangeKernel(on, k, 1, NULL, &n, &local, waits, list, event), "clEnqueueNDRangeKernel");
}

static void run(cl_kernel k, size_t n)
{
    run_on(queue, k, n, 0, NULL, NULL);
}

static void say_mem(const char *name, cl_mem mem, size_t n)
{
    void *bytes = malloc(n);

    check(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, n, bytes, 0, NULL, NULL), "clEnqueueReadBuffer");
    say(name, bytes, n);
    free(bytes);
}

/* --- the cases --- */

static void own_writes(void)
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

static void in_place(void)
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

static void scattered(void)
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

static void partial(void)
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

static void dependent(void)
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

static void reduction(void)
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
static void sub_buffers(void)
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

static void maps(void)
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
static void host_pointers(void)
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

static void fills_and_copies(void)
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

static void several_queues(void)
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

static void bytes(void)
{
    cl_mem in = filled(N, 24), out = filled(N, 25);
    cl_kernel k = kernel("bytes");

    set_mem(k, 0, in);
    set_mem(k, 1, out);
    set_uint(k, 2, 4 * N);
    run(k, 4 * N);
    say_mem("bytes", out, N * 4);
    clReleaseKernel(k);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

static void atomics(void)
{
    cl_mem in = filled(N, 26), bins = filled(64, 27);
    cl_kernel k = kernel("histogram");

    set_mem(k, 0, in);
    set_mem(k, 1, bins);
    run(k, N);
    run(k, N);
    say_mem("atomics", bins, 64 * 4);
    clReleaseKernel(k);
    clReleaseMemObject(in);
    clReleaseMemObject(bins);
}

/* Groups of both shares write one element, differently: one device alone leaves the last group's value. */
static void disagreement(void)
{
    cl_mem out = filled(N + LOCAL, 28), in = filled(N, 29);
    cl_kernel k = kernel("disagree"), flag = kernel("agree");
    uint32_t *next = values(N, 30);

    set_mem(k, 0, out);
    set_mem(k, 1, in);
    for (int i = 0; i < 3; i++) {
        run(k, N);
        /* What it read is changed before anybody looks: a repetition must see the old bytes. */
        check(clEnqueueWriteBuffer(queue, in, CL_TRUE, 0, N * 4, next, 0, NULL, NULL),
              "clEnqueueWriteBuffer");
        say_mem("disagreement", out, (N + 1) * 4);
        next[i] ^= 99;
    }
    set_mem(flag, 0, out);
    set_mem(flag, 1, in);
    run(flag, N);
    say_mem("agreement", out, (N + 1) * 4);
    clReleaseKernel(k);
    clReleaseKernel(flag);
    clReleaseMemObject(out);
    clReleaseMemObject(in);
    free(next);
}

static void matrices(void)
{
    enum { M = 128 };
    size_t global[2] = {M, M}, local[2] = {8, 8}, offset[2] = {3, 5};
    cl_mem a = filled(M * M, 31), b = filled(M * M, 32), c = filled(M * M, 33);
    cl_kernel multiply = kernel("multiply"), transpose = kernel("transpose"), where = kernel("where");
    float *floats = malloc(M * M * sizeof *floats);

    for (int i = 0; i < M * M; i++)
        floats[i] = (float)(i % 97) / 3;
    check(clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, M * M * 4, floats, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    check(clEnqueueWriteBuffer(queue, b, CL_FALSE, 0, M * M * 4, floats, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
    set_mem(multiply, 0, a);
    set_mem(multiply, 1, b);
    set_mem(multiply, 2, c);
    set_uint(multiply, 3, M);
    check(clEnqueueNDRangeKernel(queue, multiply, 2, NULL, global, local, 0, NULL, NULL), "multiply");
    set_mem(transpose, 0, c);
    set_mem(transpose, 1, a);
    set_uint(transpose, 2, M);
    check(clEnqueueNDRangeKernel(queue, transpose, 2, NULL, global, local, 0, NULL, NULL), "transpose");
    say_mem("multiply", c, M * M * 4);
    say_mem("transpose", a, M * M * 4);
    set_mem(where, 0, b);
    check(clEnqueueNDRangeKernel(queue, where, 2, offset, global, local, 0, NULL, NULL), "where");
    say_mem("where", b, M * M * 4);
    free(floats);
    clReleaseKernel(multiply);
    clReleaseKernel(transpose);
    clReleaseKernel(where);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(c);
}

static void arguments(void)
{
    struct {
        cl_uint a, b;
    } k = {3, 5};
    cl_mem out = filled(2 * N, 34), table = filled(16, 35), both = filled(2 * N, 36);
    cl_kernel pairs = kernel("pairs"), alias = kernel("alias");
    size_t n = N;

    set_mem(pairs, 0, out);
    set(pairs, 1, sizeof k, &k);
    set_mem(pairs, 2, table);
    check(clEnqueueNDRangeKernel(queue, pairs, 1, NULL, &n, NULL, 0, NULL, NULL), "pairs");
    k.a = 99; /* taken over when it was set */
    say_mem("pairs", out, 2 * N * 4);
    set_mem(alias, 0, both);
    set_mem(alias, 1, both);
    set_uint(alias, 2, N);
    run(alias, N);
    say_mem("alias", both, 2 * N * 4);
    clReleaseKernel(pairs);
    clReleaseKernel(alias);
    clReleaseMemObject(out);
    clReleaseMemObject(table);
    clReleaseMemObject(both);
}

/* Everything is let go of before it has happened. */
static void early_release(void)
{
    uint32_t *bytes_read = malloc(N * 4), *more = values(N, 37);

    for (int i = 0; i < 3; i++) {
        cl_mem in = filled(N, 38 + (uint32_t)i), out = filled(N, 39), unseen = filled(N, 40);
        cl_kernel k = kernel("scatter");

        set_mem(k, 0, in);
        set_mem(k, 1, unseen); /* nobody ever reads this one */
        set_uint(k, 2, N);
        run(k, N);
        set_mem(k, 1, out);
        run(k, N);
        check(clEnqueueWriteBuffer(queue, in, CL_FALSE, 0, N * 4, more, 0, NULL, NULL),
              "clEnqueueWriteBuffer");
        check(clEnqueueReadBuffer(queue, out, CL_FALSE, 0, N * 4, bytes_read, 0, NULL, NULL),
              "clEnqueueReadBuffer");
        clReleaseKernel(k);
        clReleaseMemObject(unseen);
        clReleaseMemObject(in);
        clReleaseMemObject(out);
        clFinish(queue);
        say("early_release", bytes_read, N * 4);
    }
    free(bytes_read);
    free(more);
}

static void images(void)
{
    enum { W = 128 };
    cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = W};
    size_t global[2] = {W, W}, local[2] = {8, 8}, origin[3] = {0}, region[3] = {W, W, 1};
    cl_int code;
    cl_sampler sampler =
        clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &code);
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    cl_mem in = filled(W * W, 41), out = filled(W * W, 42);
    cl_kernel paint = kernel("paint"), picture = kernel("picture"), place = kernel("in_place");
    unsigned char pixels[W * W];

    check(code, "clCreateImage");
    set_mem(place, 0, in);
    set_uint(place, 1, 5);
    set_mem(paint, 0, image);
    set_mem(paint, 1, in);
    set_uint(paint, 2, W);
    set_mem(picture, 0, image);
    set(picture, 1, sizeof sampler, &sampler);
    set_mem(picture, 2, out);
    set_uint(picture, 3, W);
    for (int i = 0; i < 3; i++) {
        run(place, W * W);
        check(clEnqueueNDRangeKernel(queue, paint, 2, NULL, global, local, 0, NULL, NULL), "paint");
        check(clEnqueueNDRangeKernel(queue, picture, 2, NULL, global, local, 0, NULL, NULL), "picture");
        say_mem("images out", out, W * W * 4);
        check(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL),
              "clEnqueueReadImage");
        say("images", pixels, sizeof pixels);
        memset(pixels, i + 1, sizeof pixels / 2);
        check(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL),
              "clEnqueueWriteImage");
        check(clEnqueueNDRangeKernel(queue, picture, 2, NULL, global, local, 0, NULL, NULL), "picture");
        say_mem("images written", out, W * W * 4);
        check(clEnqueueCopyImageToBuffer(queue, image, in, origin, region, 0, 0, NULL, NULL),
              "image to buffer");
    }
    clReleaseKernel(paint);
    clReleaseKernel(picture);
    clReleaseKernel(place);
    clReleaseMemObject(image);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    clReleaseSampler(sampler);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"own_writes", own_writes},
    {"in_place", in_place},
    {"scatter", scattered},
    {"partial", partial},
    {"dependent", dependent},
    {"reduction", reduction},
    {"sub_buffers", sub_buffers},
    {"maps", maps},
    {"host_pointers", host_pointers},
    {"fills", fills_and_copies},
    {"several_queues", several_queues},
    {"bytes", bytes},
    {"atomics", atomics},
    {"disagreement", disagreement},
    {"matrices", matrices},
    {"arguments", arguments},
    {"early_release", early_release},
    {"images", images},
};

int main(int argc, char **argv)
{
    const char *text = source;
    cl_platform_id platform;
    cl_int code;

    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &code);
    check(code, "clCreateCommandQueue");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    check(code, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (argc < 2 || strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
