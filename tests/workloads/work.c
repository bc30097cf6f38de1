/* Opening a work, running its jobs: ordinary host code of an OpenCL program. */
#include "backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static void must(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    fprintf(stderr, "workloads: %s: error %d\n", what, code);
    exit(3);
}

static void show_build_log(const struct work *work)
{
    static char log[1 << 16];

    clGetProgramBuildInfo(work->program, work->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "workloads: %s does not build:\n%s\n", work->workload->name, log);
    exit(3);
}

void backend_open(struct work *work, unsigned device)
{
    const struct workload *workload = work->workload;
    cl_platform_id platform;
    cl_device_id devices[WORK_DEVICES];
    cl_uint n;
    cl_int code;

    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, WORK_DEVICES, devices, &n), "clGetDeviceIDs");
    must(device < n && device < WORK_DEVICES ? CL_SUCCESS : CL_DEVICE_NOT_FOUND, "--device");
    work->device = devices[device];
    work->context = clCreateContext(NULL, 1, &work->device, NULL, NULL, &code);
    must(code, "clCreateContext");
    work->queue = clCreateCommandQueueWithProperties(work->context, work->device, NULL, &code);
    must(code, "clCreateCommandQueueWithProperties");
    work->program =
        clCreateProgramWithSource(work->context, 1, (const char *[]){workload->source}, NULL, &code);
    must(code, "clCreateProgramWithSource");
    if (clBuildProgram(work->program, 1, &work->device, "", NULL, NULL))
        show_build_log(work);
}

void backend_close(struct work *work)
{
    for (size_t i = 0; i < work->n_kernels; i++)
        clReleaseKernel(work->kernels[i].kernel);
    for (size_t i = 0; i < WORK_BUFFERS; i++)
        if (work->buffers[i].object)
            clReleaseMemObject(work->buffers[i].object);
    clReleaseProgram(work->program);
    clReleaseCommandQueue(work->queue);
    clReleaseContext(work->context);
}

static cl_mem_flags flags_for(const void *in, const void *out)
{
    return in && !out ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
}

void work_buffer(struct work *work, size_t index, const void *in, void *out, size_t bytes)
{
    cl_int code;
    cl_mem object = clCreateBuffer(work->context, flags_for(in, out), bytes, NULL, &code);

    must(code, "clCreateBuffer");
    work->buffers[index] = (struct work_buffer){.object = object, .in = in, .out = out, .bytes = bytes};
}

void work_image(struct work *work, size_t index, const void *in, void *out, size_t width, size_t height)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc description = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
    cl_int code;
    cl_mem object = clCreateImage(work->context, in ? CL_MEM_READ_ONLY : CL_MEM_WRITE_ONLY, &format,
                                  &description, NULL, &code);

    must(code, "clCreateImage");
    work->buffers[index] = (struct work_buffer){.object = object,
                                                .in = in,
                                                .out = out,
                                                .bytes = width * height * 4,
                                                .width = width,
                                                .height = height};
}

static cl_kernel kernel_named(struct work *work, const char *name)
{
    cl_int code;

    for (size_t i = 0; i < work->n_kernels; i++)
        if (!strcmp(work->kernels[i].name, name))
            return work->kernels[i].kernel;
    if (work->n_kernels == WORK_KERNELS) {
        fprintf(stderr, "workloads: %s has too many kernels\n", work->workload->name);
        exit(3);
    }
    work->kernels[work->n_kernels].name = name;
    work->kernels[work->n_kernels].kernel = clCreateKernel(work->program, name, &code);
    must(code, name);
    return work->kernels[work->n_kernels++].kernel;
}

static cl_int set_argument(struct work *work, cl_kernel kernel, cl_uint at,
                           const struct work_argument *argument)
{
    cl_int number = (cl_int)argument->number;

    switch (argument->kind) {
    case ARGUMENT_BUFFER:
        return clSetKernelArg(kernel, at, sizeof(cl_mem), &work->buffers[argument->number].object);
    case ARGUMENT_INT:
        return clSetKernelArg(kernel, at, sizeof number, &number);
    case ARGUMENT_FLOAT:
        return clSetKernelArg(kernel, at, sizeof argument->real, &argument->real);
    default:
        return clSetKernelArg(kernel, at, argument->number, NULL);
    }
}

void work_launch(struct work *work, const char *name, struct work_shape shape,
                 const struct work_argument *arguments, size_t n)
{
    cl_kernel kernel = kernel_named(work, name);

    for (size_t i = 0; i < n; i++)
        must(set_argument(work, kernel, (cl_uint)i, &arguments[i]), name);
    must(clEnqueueNDRangeKernel(work->queue, kernel, shape.dimensions, NULL, shape.global, shape.local, 0,
                                NULL, NULL),
         name);
    work->launches++;
}

void backend_finish(struct work *work)
{
    must(clFinish(work->queue), "clFinish");
}

/* A transfer in the midst of run() is not part of the kernels' time. */
static void transferred(struct work *work, double *stage_ms, baton_nsec began_at)
{
    if (!work->staged)
        return;
    backend_finish(work);
    *stage_ms += nsec_to_ms(clock_now() - began_at);
    work->kernel_ms -= nsec_to_ms(clock_now() - began_at);
}

static baton_nsec transfer_begins(struct work *work)
{
    if (work->staged)
        backend_finish(work);
    return clock_now();
}

void work_write(struct work *work, size_t index, const void *from, size_t bytes)
{
    baton_nsec at = transfer_begins(work);

    must(clEnqueueWriteBuffer(work->queue, work->buffers[index].object, CL_FALSE, 0, bytes, from, 0, NULL,
                              NULL),
         "clEnqueueWriteBuffer");
    transferred(work, &work->write_ms, at);
}

void work_read(struct work *work, size_t index, void *to, size_t bytes)
{
    baton_nsec at = transfer_begins(work);

    must(clEnqueueReadBuffer(work->queue, work->buffers[index].object, CL_TRUE, 0, bytes, to, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    transferred(work, &work->read_ms, at);
}

void work_copy(struct work *work, size_t from, size_t to, size_t bytes)
{
    must(clEnqueueCopyBuffer(work->queue, work->buffers[from].object, work->buffers[to].object, 0, 0, bytes,
                             0, NULL, NULL),
         "clEnqueueCopyBuffer");
}

void work_fill(struct work *work, size_t index, uint32_t word, size_t bytes)
{
    must(clEnqueueFillBuffer(work->queue, work->buffers[index].object, &word, sizeof word, 0, bytes, 0, NULL,
                             NULL),
         "clEnqueueFillBuffer");
}

void backend_write(struct work *work, const struct work_buffer *buffer)
{
    const size_t origin[3] = {0};
    const size_t region[3] = {buffer->width, buffer->height, 1};

    if (buffer->width)
        must(clEnqueueWriteImage(work->queue, buffer->object, CL_FALSE, origin, region, 0, 0, buffer->in, 0,
                                 NULL, NULL),
             "clEnqueueWriteImage");
    else
        must(clEnqueueWriteBuffer(work->queue, buffer->object, CL_FALSE, 0, buffer->bytes, buffer->in, 0,
                                  NULL, NULL),
             "clEnqueueWriteBuffer");
    work->bytes_in += buffer->bytes;
}

void backend_read(struct work *work, const struct work_buffer *buffer)
{
    const size_t origin[3] = {0};
    const size_t region[3] = {buffer->width, buffer->height, 1};

    if (buffer->width)
        must(clEnqueueReadImage(work->queue, buffer->object, CL_FALSE, origin, region, 0, 0, buffer->out, 0,
                                NULL, NULL),
             "clEnqueueReadImage");
    else
        must(clEnqueueReadBuffer(work->queue, buffer->object, CL_FALSE, 0, buffer->bytes, buffer->out, 0,
                                 NULL, NULL),
             "clEnqueueReadBuffer");
    work->bytes_out += buffer->bytes;
}
