/*
 * An OpenCL program written for one device, as many ways to use its buffers as there are rules in
 * OpenCL. Prints one line per case, a name and a hash of the bytes. tests/spread/same_bytes.sh
 * compares the lines of one device with those of several. `cases NAME` runs one.
 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cl_context context;
cl_device_id device;
cl_command_queue queue;
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
    "    uint i = get_global_id(0); a[i] = b[i + half_n] * 5 + 1; }\n";

static const char source_groups[] =
    /*
     * As in a particle filter: the first group makes the table and the start from all weights,
     * others look at both.
     */
    "__kernel void weigh(__global float *weights, __global float *table, __global float *u, uint n) {\n"
    "    uint i = get_global_id(0); weights[i] = weights[i] / n;\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    if (i == 0) { table[0] = weights[0]; for (uint x = 1; x < n; x++) table[x] = weights[x] + table[x - "
    "1];\n"
    "        u[0] = table[n - 1] / n; }\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    float first = u[0];\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    if (i > 0) u[i] = first + i; }\n"
    "__kernel void chain(__global uint *a, uint n) {\n"
    "    uint i = get_global_id(0); a[i] = a[i] * 3 + a[(i + n - get_local_size(0)) % n]; }\n"
    "__kernel void follow(__global uint *out, __global const uint *in) {\n"
    "    uint i = get_global_id(0); out[i] = in[i] + 1; }\n"
    "__kernel void halves(__global uint *a) { a[get_global_id(0) % (get_global_size(0) / 2)] += 1; }\n"
    "__kernel void butterfly(__global uint *a, uint far) {\n"
    "    uint i = get_global_id(0), left = i / far * 2 * far + i % far; uint x = a[left], y = a[left + "
    "far];\n"
    "    a[left] = x + y; a[left + far] = x - y; }\n"
    "__kernel void column(__global uint *a, __global uint *out) {\n"
    "    uint x = get_global_id(0), y = get_global_id(1); if (y == 0) a[x] = x * 7 + 1;\n"
    "    out[y * get_global_size(0) + x] = a[x]; }\n"
    "__kernel void rows(__global uint *a, __global uint *out, uint n, uint m) {\n"
    "    uint i = get_global_id(0), at = i / n * m + i % n; if (i < n) a[at] = i * 5 + 1;\n"
    "    out[i] = a[at]; }\n"
    "__kernel void clamped(__global uint *a, __global uint *out) {\n"
    "    uint i = get_global_id(0); if (i < 64) a[min(i, 63u)] = i * 3 + 1; out[i] = a[min(i, 63u)]; }\n"
    "__kernel void shifted(__global uint *a, __global uint *out, uint h) {\n"
    "    uint i = get_global_id(0), x = a[i + h], y = a[i]; if (i < h) a[i + h] = x * 3 + 1;\n"
    "    if (y == 77) a[i] = 78; out[i] = y; }\n";

static const char source_images[] =
    "__kernel void picture(__read_only image2d_t image, sampler_t sampler, __global uint *out, uint w) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    out[y * w + x] = read_imageui(image, sampler, (int2)(x, y)).x * 3; }\n"
    "__kernel void paint(__write_only image2d_t image, __global const uint *in, uint w) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    write_imageui(image, (int2)(x, y), (uint4)(in[y * w + x] & 255, 0, 0, 0)); }\n"
    "__kernel void paint_some(__write_only image2d_t image, __global const uint *in, uint w) {\n"
    "    int x = get_global_id(0), y = get_global_id(1); uint v = in[y * w + x];\n"
    "    if (v % 3 == 0) write_imageui(image, (int2)(w - 1 - x, y ^ 1), (uint4)(v & 127, 0, 0, 0)); }\n"
    "__kernel void probe(__read_only image3d_t image, sampler_t sampler, __global float4 *out) {\n"
    "    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    int w = get_global_size(0), h = get_global_size(1), d = get_global_size(2);\n"
    "    out[(z * h + y) * w + x] = read_imagef(image, sampler, (float4)((x + 0.3f) / w, (y + 0.7f) / h, (z "
    "+ 0.5f) / d, 0)); }\n"
    "__kernel void leaf(__read_only image2d_array_t image, sampler_t sampler, __global float4 *out) {\n"
    "    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    int w = get_global_size(0), h = get_global_size(1);\n"
    "    out[(z * h + y) * w + x] = read_imagef(image, sampler, (float4)((x + 0.3f) / w, (y + 0.7f) / h, z, "
    "0)); }\n"
    "__kernel void print(__write_only image2d_array_t image, __global const float4 *in) {\n"
    "    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    int w = get_global_size(0), h = get_global_size(1);\n"
    "    if ((x + y) % 4) write_imagef(image, (int4)(x, y, z, 0), in[(z * h + y) * w + x] * 0.5f); }\n";

void check(cl_int code, const char *what)
{
    if (code != CL_SUCCESS) {
        printf("%s failed: %d\n", what, code);
        exit(1);
    }
}

uint32_t *values(size_t n, uint32_t seed)
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

void say(const char *name, const void *bytes, size_t n)
{
    printf("%s %016llx\n", name, (unsigned long long)hash(bytes, n));
    fflush(stdout);
}

cl_mem buffer(cl_mem_flags flags, size_t size, void *host)
{
    cl_int code;
    cl_mem mem = clCreateBuffer(context, flags, size, host, &code);

    check(code, "clCreateBuffer");
    return mem;
}

cl_mem filled(size_t n, uint32_t seed)
{
    uint32_t *list = values(n, seed);
    cl_mem mem = buffer(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n * 4, list);

    free(list);
    return mem;
}

cl_kernel kernel(const char *name)
{
    cl_int code;
    cl_kernel made = clCreateKernel(program, name, &code);

    check(code, name);
    return made;
}

void set(cl_kernel k, cl_uint index, size_t size, const void *value)
{
    check(clSetKernelArg(k, index, size, value), "clSetKernelArg");
}

void set_mem(cl_kernel k, cl_uint index, cl_mem mem)
{
    set(k, index, sizeof mem, &mem);
}

void set_uint(cl_kernel k, cl_uint index, cl_uint value)
{
    set(k, index, sizeof value, &value);
}

void run_on(cl_command_queue on, cl_kernel k, size_t n, cl_uint waits, const cl_event *list, cl_event *event)
{
    size_t local = LOCAL;

    check(clEnqueueNDRangeKernel(on, k, 1, NULL, &n, &local, waits, list, event), "clEnqueueNDRangeKernel");
}

void run(cl_kernel k, size_t n)
{
    run_on(queue, k, n, 0, NULL, NULL);
}

void say_mem(const char *name, cl_mem mem, size_t n)
{
    void *bytes = malloc(n);

    check(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, n, bytes, 0, NULL, NULL), "clEnqueueReadBuffer");
    say(name, bytes, n);
    free(bytes);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"own_writes", case_own_writes},
    {"in_place", case_in_place},
    {"scatter", case_scattered},
    {"partial", case_partial},
    {"dependent", case_dependent},
    {"reduction", case_reduction},
    {"sub_buffers", case_sub_buffers},
    {"maps", case_maps},
    {"host_pointers", case_host_pointers},
    {"fills", case_fills_and_copies},
    {"several_queues", case_several_queues},
    {"strided_writes", case_strided_writes},
    {"bytes", case_bytes},
    {"atomics", case_atomics},
    {"disagreement", case_disagreement},
    {"matrices", case_matrices},
    {"arguments", case_arguments},
    {"early_release", case_early_release},
    {"images", case_images},
    {"volumes", case_volumes},
    {"mapped_images", case_mapped_images},
    {"linked", case_linked},
    {"groups_meet", case_groups_meet},
    {"groups_apart", case_groups_apart},
    {"groups_shared", case_groups_shared},
};

int main(int argc, char **argv)
{
    const char *texts[] = {source, source_images, source_groups};
    cl_platform_id platform;
    cl_int code;

    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &code);
    check(code, "clCreateCommandQueue");
    program = clCreateProgramWithSource(context, 3, texts, NULL, &code);
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
