/*
 * One kernel again and again, as a program written for one device does it: write the input, launch,
 * read the result. Prints the medians over the second half of the rounds, in ms: write, kernel,
 * read, all three; and a hash of the last result. With FILE it goes on until that is gone.
 * usage: spread-load KIND MIB ROUNDS [FILE]
 */
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { LOCAL = 64, MAX_ROUNDS = 1000 };

static const char source[] =
    "__kernel void horner(__global const float *in, __global float *out, uint n) {\n"
    "    size_t i = get_global_id(0); float x = in[i], y = 0;\n"
    "    for (uint k = 0; k < n; k++) y = y * x + 0.25f;\n"
    "    out[i] = y; }\n"
    "__kernel void scatter(__global const float *in, __global float *out, uint n) {\n"
    "    uint i = get_global_id(0), size = get_global_size(0); float x = in[i], y = 0;\n"
    "    for (uint k = 0; k < n; k++) y = y * x + 0.25f;\n"
    "    out[(i * 40503u) & (size - 1)] = y; }\n"
    "__kernel void multiply(__global const float *a, __global float *c, uint n) {\n"
    "    uint x = get_global_id(0), y = get_global_id(1); float sum = 0;\n"
    "    for (uint k = 0; k < n; k++) sum += a[y * n + k] * a[k * n + x];\n"
    "    c[y * n + x] = sum; }\n"
    "__kernel void add(__global const float *in, __global float *out, uint n) {\n"
    "    size_t i = get_global_id(0); out[i] = in[i] + n; }\n"
    "__kernel void stencil(__global const float *in, __global float *out, uint n) {\n"
    "    uint i = get_global_id(0), m = get_global_size(0) - 1;\n"
    "    out[i] = in[i] + in[(i + 1) & m] + in[(i + n) & m]; }\n"
    "__kernel void transpose(__global const float *in, __global float *out, uint n) {\n"
    "    uint x = get_global_id(0), y = get_global_id(1); out[x * n + y] = in[y * n + x]; }\n";

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *list, size_t n)
{
    qsort(list + n / 2, n - n / 2, sizeof *list, by_value);
    return list[n / 2 + (n - n / 2) / 2];
}

static void need(cl_int code, const char *what)
{
    if (code != CL_SUCCESS) {
        (void)fprintf(stderr, "spread-load: %s: %d\n", what, code);
        exit(3);
    }
}

struct load {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem in, out;
    float *bytes, *result;
    size_t size, global[2], local[2];
    cl_uint dim;
};

static void prepare(struct load *load, const char *kind, size_t mib)
{
    const char *text = source;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    size_t n = (mib << 20) / sizeof(float), side = 1;
    cl_uint parameter = 3;
    cl_int code;

    while (4 * side * side <= n)
        side *= 2;
    need(clGetPlatformIDs(1, &platform, NULL), "platform");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    need(code, "context");
    load->queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    need(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    load->kernel = clCreateKernel(program, kind, &code);
    need(code, kind);
    load->dim = strcmp(kind, "multiply") == 0 || strcmp(kind, "transpose") == 0 ? 2 : 1;
    load->size = n * sizeof(float);
    load->global[0] = load->dim == 2 ? side : n;
    load->global[1] = side;
    load->local[0] = load->dim == 2 ? 8 : LOCAL;
    load->local[1] = 8;
    if (load->dim == 2)
        parameter = (cl_uint)side;
    else if (strcmp(kind, "horner") == 0 || strcmp(kind, "scatter") == 0)
        parameter = 400;
    load->bytes = malloc(load->size);
    load->result = malloc(load->size);
    for (size_t i = 0; i < n; i++)
        load->bytes[i] = (float)(i % 1000) / 1001;
    load->in = clCreateBuffer(context, CL_MEM_READ_WRITE, load->size, NULL, &code);
    load->out = clCreateBuffer(context, CL_MEM_READ_WRITE, load->size, NULL, &code);
    need(code, "buffer");
    clSetKernelArg(load->kernel, 0, sizeof(cl_mem), &load->in);
    clSetKernelArg(load->kernel, 1, sizeof(cl_mem), &load->out);
    clSetKernelArg(load->kernel, 2, sizeof parameter, &parameter);
}

int main(int argc, char **argv)
{
    static double write[MAX_ROUNDS], kernel[MAX_ROUNDS], read[MAX_ROUNDS], all[MAX_ROUNDS];
    size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 20;
    struct load load = {0};
    uint64_t hash = 14695981039346656037u;

    if (argc < 3 || rounds < 2 || rounds > MAX_ROUNDS)
        return 2;
    prepare(&load, argv[1], strtoul(argv[2], NULL, 10));
    for (size_t n = 0; n < rounds || (argc > 4 && access(argv[4], F_OK) == 0); n++) {
        size_t r = n % rounds;
        baton_nsec at[4];

        load.bytes[r] += 1;
        at[0] = clock_now();
        need(clEnqueueWriteBuffer(load.queue, load.in, CL_TRUE, 0, load.size, load.bytes, 0, NULL, NULL),
             "write");
        at[1] = clock_now();
        need(clEnqueueNDRangeKernel(load.queue, load.kernel, load.dim, NULL, load.global, load.local, 0, NULL,
                                    NULL),
             "launch");
        need(clFinish(load.queue), "finish");
        at[2] = clock_now();
        need(clEnqueueReadBuffer(load.queue, load.out, CL_TRUE, 0, load.size, load.result, 0, NULL, NULL),
             "read");
        at[3] = clock_now();
        write[r] = nsec_to_ms(at[1] - at[0]);
        kernel[r] = nsec_to_ms(at[2] - at[1]);
        read[r] = nsec_to_ms(at[3] - at[2]);
        all[r] = nsec_to_ms(at[3] - at[0]);
    }
    for (size_t i = 0; i < load.size; i++)
        hash = (hash ^ ((unsigned char *)load.result)[i]) * 1099511628211u;
    printf("%.3f %.3f %.3f %.3f %016llx\n", median(write, rounds), median(kernel, rounds),
           median(read, rounds), median(all, rounds), (unsigned long long)hash);
    free(load.bytes);
    free(load.result);
    return 0;
}
