/* section_gpu.h on the fake OpenCL driver. */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "section_gpu.h"

#define LOCAL   16u
#define BUFFERS 4u

static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffer, state[BUFFERS];
static cl_uint bytes[1 << 16];
static cl_uint known[1 << 16]; /* what the state must be */
static size_t state_words;     /* of one buffer */
static unsigned n_states, next_state;

static void must(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    (void)fprintf(stderr, "%s: %d\n", what, code);
    exit(2);
}

void section_launch(size_t groups)
{
    size_t global = groups * LOCAL, local = LOCAL;

    if (n_states) {
        cl_uint *its = known + next_state * state_words;

        for (size_t i = 0; i < global; i++)
            its[i] = its[i] * 3 + 1;
        must(clSetKernelArg(kernel, 0, sizeof state[0], &state[next_state]), "argument");
        next_state = (next_state + 1) % n_states;
    }
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "launch");
    must(clFinish(queue), "finish");
}

static void set_up_state(cl_context context)
{
    cl_uint factor = 3;
    cl_int code;

    for (unsigned i = 0; i < n_states; i++) {
        size_t size = state_words * sizeof *known;

        state[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &code);
        must(code, "state");
        must(clEnqueueWriteBuffer(queue, state[i], CL_TRUE, 0, size, known + i * state_words, 0, NULL, NULL),
             "first state");
    }
    must(clSetKernelArg(kernel, 1, sizeof factor, &factor), "argument");
}

void section_check_state(void)
{
    static cl_uint found[1 << 16];

    for (unsigned i = 0; i < n_states; i++)
        must(clEnqueueReadBuffer(queue, state[i], CL_TRUE, 0, state_words * sizeof *known,
                                 found + i * state_words, 0, NULL, NULL),
             "last state");
    if (memcmp(found, known, n_states * state_words * sizeof *known) == 0)
        return;
    (void)fprintf(stderr, "the state is not what the jobs computed\n");
    exit(3);
}

void section_set_up(size_t words, unsigned n_buffers)
{
    const char *texts[] = {"kernel void empty(void) { }\n",
                           "kernel void scale(global uint *a, uint factor) "
                           "{ a[get_global_id(0)] = a[get_global_id(0)] * factor + 1; }\n"};
    const char *text = texts[words != 0];
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_int code;

    if (words * n_buffers > sizeof known / sizeof *known || n_buffers > BUFFERS)
        exit(2);
    state_words = words;
    n_states = words ? n_buffers : 0;
    must(clGetPlatformIDs(1, &platform, NULL), "platform");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "context");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    must(code, "queue");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    must(code, "program");
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    kernel = clCreateKernel(program, n_states ? "scale" : "empty", &code);
    must(code, "kernel");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof bytes, NULL, &code);
    must(code, "buffer");
    if (n_states)
        set_up_state(context);
}

static size_t fitting(size_t size)
{
    return size && size < sizeof bytes ? size : sizeof bytes;
}

void section_copy_in(size_t size)
{
    must(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, fitting(size), bytes, 0, NULL, NULL), "write");
}

void section_copy_out(size_t size)
{
    must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, fitting(size), bytes, 0, NULL, NULL), "read");
}
