/*
 * State on a GPU from job to job: buffers that kernels, writes, copies and fills change in random
 * order, one job each, and what every one of them must hold by a computation on the host. Prints
 * the number of jobs, without the first tenth, and what they took; ends with 1 at the first byte
 * that differs.
 *
 *     migrate JOBS SEED
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"

#define WORDS   4096u
#define BUFFERS 3u

static const char source[] = "kernel void stir(global uint *state, global const uint *other, uint salt) {\n"
                             "    size_t i = get_global_id(0);\n"
                             "    state[i] = (state[i] ^ salt) * 2654435761u + (other[i] >> 3) + (uint)i;\n"
                             "}\n";

static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffers[BUFFERS];
static cl_uint known[BUFFERS][WORDS];
static cl_uint scratch[WORDS];

static void must(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    (void)fprintf(stderr, "%s: %d\n", what, code);
    exit(2);
}

static void set_up(void)
{
    const char *text = source;
    cl_platform_id platform;
    cl_device_id device;
    cl_program program;
    cl_int code;

    must(clGetPlatformIDs(1, &platform, NULL), "platform");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "context");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    must(code, "queue");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    must(code, "program");
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    kernel = clCreateKernel(program, "stir", &code);
    must(code, "kernel");
    for (unsigned i = 0; i < BUFFERS; i++) {
        buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof known[i], NULL, &code);
        must(code, "buffer");
        must(clEnqueueWriteBuffer(queue, buffers[i], CL_TRUE, 0, sizeof known[i], known[i], 0, NULL, NULL),
             "first write");
    }
}

static void stir(unsigned a, unsigned b, cl_uint salt)
{
    size_t global = WORDS, local = 64;

    must(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[a]), "argument");
    must(clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffers[b]), "argument");
    must(clSetKernelArg(kernel, 2, sizeof salt, &salt), "argument");
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "launch");
    for (cl_uint i = 0; i < WORDS; i++)
        known[a][i] = (known[a][i] ^ salt) * 2654435761u + (known[b][i] >> 3) + i;
}

static void check(unsigned a, unsigned from, unsigned n, unsigned job)
{
    must(clEnqueueReadBuffer(queue, buffers[a], CL_TRUE, from * sizeof(cl_uint), n * sizeof(cl_uint), scratch,
                             0, NULL, NULL),
         "read");
    if (memcmp(scratch, &known[a][from], n * sizeof(cl_uint)) == 0)
        return;
    (void)printf("job %u: buffer %u differs between %u and %u\n", job, a, from, from + n);
    exit(1);
}

static void one_job(struct random_state *random, unsigned job)
{
    unsigned a = (unsigned)random_below(random, BUFFERS);
    unsigned b = (a + 1 + (unsigned)random_below(random, BUFFERS - 1)) % BUFFERS;
    unsigned from = (unsigned)random_below(random, WORDS);
    unsigned n = 1 + (unsigned)random_below(random, WORDS - from);
    cl_uint salt = (cl_uint)random_u64(random);

    stir(a, b, salt);
    switch (random_below(random, 8)) {
    case 0:
        for (unsigned i = 0; i < n; i++)
            scratch[i] = known[b][from + i] = salt + i;
        must(clEnqueueWriteBuffer(queue, buffers[b], CL_TRUE, from * sizeof(cl_uint), n * sizeof(cl_uint),
                                  scratch, 0, NULL, NULL),
             "write");
        break;
    case 1:
        must(clEnqueueCopyBuffer(queue, buffers[a], buffers[b], from * sizeof(cl_uint),
                                 from * sizeof(cl_uint), n * sizeof(cl_uint), 0, NULL, NULL),
             "copy");
        memcpy(&known[b][from], &known[a][from], n * sizeof(cl_uint));
        break;
    case 2:
        check(a, from, n, job);
        break;
    default: /* the state stays where it is */
        break;
    }
    must(clFinish(queue), "finish");
}

int main(int argc, char **argv)
{
    unsigned jobs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100;
    struct random_state random;
    baton_nsec began, took;

    random_init(&random, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, 0);
    for (unsigned a = 0; a < BUFFERS; a++) {
        for (unsigned i = 0; i < WORDS; i++)
            known[a][i] = (cl_uint)random_u64(&random);
    }
    set_up();
    began = clock_now();
    for (unsigned job = 0; job < jobs; job++) {
        if (job == jobs / 10) /* kernels are built, buffers are where they are used */
            began = clock_now();
        one_job(&random, job);
    }
    took = clock_now() - began;
    for (unsigned a = 0; a < BUFFERS; a++)
        check(a, 0, WORDS, jobs);
    (void)printf("%u jobs in %lld ns\n", jobs - jobs / 10, (long long)took);
    return 0;
}
