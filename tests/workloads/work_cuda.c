/*
 * The same works over CUDA's driver API: ordinary host code of a CUDA program. Kernels:
 * cuda/NAME.ptx.
 */
#include "backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cuda_abi/driver_calls.h"

struct work_cuda {
    CUcontext context;
    CUstream stream;
    CUmodule module;
    CUdeviceptr addresses[WORK_BUFFERS]; /* 0: an image, or none */
    CUarray images[WORK_BUFFERS];
    CUsurfObject surfaces[WORK_BUFFERS];
};

static void must(CUresult code, const char *what)
{
    const char *name = "an unknown code";

    if (code == CUDA_SUCCESS)
        return;
    (void)cuGetErrorName(code, &name);
    fprintf(stderr, "workloads: %s: %s\n", what, name);
    exit(3);
}

void backend_open(struct work *work, unsigned device)
{
    struct work_cuda *cuda = check_array(sizeof *cuda);
    const char *folder = getenv("BATON_WORKLOADS_PTX");
    char path[1024];

    snprintf(path, sizeof path, "%s/%s.ptx", folder ? folder : WORKLOADS_PTX, work->workload->name);
    must(cuInit(0), "cuInit");
    must(cuCtxCreate_v2(&cuda->context, 0, (CUdevice)device), "cuCtxCreate");
    must(cuStreamCreate(&cuda->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    must(cuModuleLoad(&cuda->module, path), path);
    work->cuda = cuda;
}

void backend_close(struct work *work)
{
    must(cuCtxDestroy_v2(work->cuda->context), "cuCtxDestroy");
    free(work->cuda);
}

void work_buffer(struct work *work, size_t index, const void *in, void *out, size_t bytes)
{
    must(cuMemAlloc_v2(&work->cuda->addresses[index], bytes), "cuMemAlloc");
    work->buffers[index] = (struct work_buffer){.in = in, .out = out, .bytes = bytes};
}

void work_image(struct work *work, size_t index, const void *in, void *out, size_t width, size_t height)
{
    const CUDA_ARRAY3D_DESCRIPTOR about = {.Width = width,
                                           .Height = height,
                                           .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                           .NumChannels = 4,
                                           .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};

    must(cuArray3DCreate_v2(&work->cuda->images[index], &about), "cuArray3DCreate");
    resource.res.array.hArray = work->cuda->images[index];
    must(cuSurfObjectCreate(&work->cuda->surfaces[index], &resource), "cuSurfObjectCreate");
    work->buffers[index] = (struct work_buffer){
        .in = in, .out = out, .bytes = width * height * 4, .width = width, .height = height};
}

void work_launch(struct work *work, const char *name, struct work_shape shape,
                 const struct work_argument *arguments, size_t n)
{
    struct work_cuda *cuda = work->cuda;
    uint64_t values[16];
    void *parameters[16];
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared = 0;
    CUfunction function;

    must(n <= 16 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, name);
    for (size_t i = 0; i < n; i++) {
        const struct work_argument *argument = &arguments[i];

        values[i] = argument->number; /* an int's lower half is read, which comes first */
        parameters[i] = &values[i];
        if (argument->kind == ARGUMENT_BUFFER)
            values[i] = cuda->images[argument->number] ? cuda->surfaces[argument->number]
                                                       : cuda->addresses[argument->number];
        else if (argument->kind == ARGUMENT_FLOAT)
            memcpy(&values[i], &argument->real, sizeof argument->real);
        else if (argument->kind == ARGUMENT_LOCAL) { /* where it begins in the block's dynamic memory */
            values[i] = shared;
            shared += (unsigned)work_rounded(argument->number, 16);
        }
    }
    for (unsigned i = 0; i < shape.dimensions; i++) {
        block[i] = (unsigned)shape.local[i];
        grid[i] = (unsigned)(shape.global[i] / shape.local[i]);
    }
    must(cuModuleGetFunction(&function, cuda->module, name), name);
    must(cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
                        cuda->stream, parameters, NULL),
         name);
    work->launches++;
}

void backend_finish(struct work *work)
{
    must(cuStreamSynchronize(work->cuda->stream), "cuStreamSynchronize");
}

void work_write(struct work *work, size_t index, const void *from, size_t bytes)
{
    must(cuMemcpyHtoDAsync_v2(work->cuda->addresses[index], from, bytes, work->cuda->stream),
         "cuMemcpyHtoDAsync");
}

void work_read(struct work *work, size_t index, void *to, size_t bytes)
{
    must(cuMemcpyDtoHAsync_v2(to, work->cuda->addresses[index], bytes, work->cuda->stream),
         "cuMemcpyDtoHAsync");
    backend_finish(work);
}

void work_copy(struct work *work, size_t from, size_t to, size_t bytes)
{
    must(cuMemcpyDtoDAsync_v2(work->cuda->addresses[to], work->cuda->addresses[from], bytes,
                              work->cuda->stream),
         "cuMemcpyDtoDAsync");
}

void work_fill(struct work *work, size_t index, uint32_t word, size_t bytes)
{
    must(cuMemsetD32Async(work->cuda->addresses[index], word, bytes / 4, work->cuda->stream),
         "cuMemsetD32Async");
}

/* A plane of RGBA bytes between the host and an array. */
static CUDA_MEMCPY2D plane(const struct work *work, const struct work_buffer *buffer)
{
    return (CUDA_MEMCPY2D){.srcArray = work->cuda->images[buffer - work->buffers],
                           .dstArray = work->cuda->images[buffer - work->buffers],
                           .srcHost = buffer->in,
                           .dstHost = buffer->out,
                           .srcPitch = buffer->width * 4,
                           .dstPitch = buffer->width * 4,
                           .WidthInBytes = buffer->width * 4,
                           .Height = buffer->height};
}

void backend_write(struct work *work, const struct work_buffer *buffer)
{
    CUDA_MEMCPY2D copy = plane(work, buffer);

    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    if (buffer->width)
        must(cuMemcpy2DAsync_v2(&copy, work->cuda->stream), "cuMemcpy2DAsync");
    else
        work_write(work, (size_t)(buffer - work->buffers), buffer->in, buffer->bytes);
    work->bytes_in += buffer->bytes;
}

void backend_read(struct work *work, const struct work_buffer *buffer)
{
    CUDA_MEMCPY2D copy = plane(work, buffer);

    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    if (buffer->width)
        must(cuMemcpy2DAsync_v2(&copy, work->cuda->stream), "cuMemcpy2DAsync");
    else
        work_read(work, (size_t)(buffer - work->buffers), buffer->out, buffer->bytes);
    work->bytes_out += buffer->bytes;
}
