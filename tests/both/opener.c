/*
 * A program that opens devices, and copies four words to and from each that it was given. Prints a
 * line of each device: `device N: CODE`.
 *
 *   opener WAY FIRST N [FILE]   WAY: opencl, type (OpenCL, all devices in one context), cuda,
 *                               primary or green; N devices from number FIRST on
 *
 * With FILE: FILE.ready appears after the last device. The program goes on, with a copy on each
 * open device every millisecond, until FILE is gone. Ends with 0 if all devices were opened, 4 if
 * some were not available, and 3 after any other code.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <CL/cl.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"

enum {
    MOST = 16,
    BYTES = 16,
    SM_RESOURCE = 1,
    GREEN_FLAG = 1,
    DEVICE_UNAVAILABLE = 46,
    REFUSED = 4,
    WRONG = 3
};

static struct place {
    bool open;
    cl_command_queue queue;
    cl_mem buffer;
    CUcontext context;
    CUdeviceptr memory;
} places[MOST];

static void must(long code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "%s: error %ld\n", what, code);
    exit(WRONG);
}

static void copy(const struct place *place)
{
    uint32_t in[4] = {1, 2, 3, 4}, out[4] = {0};

    if (place->queue) {
        must(clEnqueueWriteBuffer(place->queue, place->buffer, CL_TRUE, 0, BYTES, in, 0, NULL, NULL),
             "write");
        must(clEnqueueReadBuffer(place->queue, place->buffer, CL_TRUE, 0, BYTES, out, 0, NULL, NULL), "read");
    } else {
        must(cuCtxSetCurrent(place->context), "cuCtxSetCurrent");
        must(cuMemcpyHtoD_v2(place->memory, in, BYTES), "cuMemcpyHtoD");
        must(cuMemcpyDtoH_v2(out, place->memory, BYTES), "cuMemcpyDtoH");
    }
    must(memcmp(in, out, BYTES), "the words came back");
}

/* --- OpenCL --- */

static void use_opencl(struct place *place, cl_context context, cl_device_id device)
{
    cl_int code;

    place->queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    must(code, "clCreateCommandQueueWithProperties");
    place->buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    must(code, "clCreateBuffer");
    place->open = true;
}

static int open_opencl(int number, bool by_type)
{
    cl_platform_id platform;
    cl_device_id devices[MOST];
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, 0, 0};
    cl_context context;
    cl_uint n = 0;
    cl_int code;

    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &n), "clGetDeviceIDs");
    must(number >= (int)n, "so many devices");
    properties[1] = (cl_context_properties)platform;
    context = by_type ? clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &code)
                      : clCreateContext(properties, 1, &devices[number], NULL, NULL, &code);
    must((context != NULL) != (code == CL_SUCCESS), "a context or a code");
    if (context)
        use_opencl(&places[number], context, devices[number]);
    return code;
}

/* --- CUDA --- */

static CUresult make_green(int device, CUcontext *ret_context)
{
    CUdevResource all;
    CUgreenCtx green;
    void *descriptor;
    CUresult code;

    must(cuDeviceGetDevResource(device, &all, SM_RESOURCE), "cuDeviceGetDevResource");
    must(cuDevResourceGenerateDesc(&descriptor, &all, 1), "cuDevResourceGenerateDesc");
    code = cuGreenCtxCreate(&green, descriptor, device, GREEN_FLAG);
    if (code == CUDA_SUCCESS)
        must(cuCtxFromGreenCtx(ret_context, green), "cuCtxFromGreenCtx");
    return code;
}

static int open_cuda(int device, const char *way)
{
    struct place *place = &places[device];
    CUresult code;

    must(cuInit(0), "cuInit");
    if (!strcmp(way, "green"))
        code = make_green(device, &place->context);
    else if (!strcmp(way, "primary"))
        code = cuDevicePrimaryCtxRetain(&place->context, device);
    else
        code = cuCtxCreate_v2(&place->context, 0, device);
    if (code != CUDA_SUCCESS)
        return code;
    must(cuCtxSetCurrent(place->context), "cuCtxSetCurrent");
    must(cuMemAlloc_v2(&place->memory, BYTES), "cuMemAlloc");
    place->open = true;
    return code;
}

static void stay(const char *path)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    char ready[4096];
    FILE *file;

    (void)snprintf(ready, sizeof ready, "%s.ready", path);
    file = fopen(ready, "w");
    must(!file || fclose(file) != 0, ready);
    while (access(path, F_OK) == 0) {
        for (int i = 0; i < MOST; i++)
            if (places[i].open)
                copy(&places[i]);
        (void)nanosleep(&moment, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 3 ? argv[1] : "";
    int first = argc > 3 ? atoi(argv[2]) : 0, n = argc > 3 ? atoi(argv[3]) : 0, status = 0;

    if (n < 1 || first < 0 || first + n > MOST)
        return 2;
    for (int i = first; i < first + n; i++) {
        bool opencl = !strcmp(way, "opencl") || !strcmp(way, "type");
        int code = opencl ? open_opencl(i, !strcmp(way, "type")) : open_cuda(i, way);

        printf("device %d: %d\n", i, code);
        if (code == 0)
            copy(&places[i]);
        else if (status != WRONG)
            status = code == (opencl ? CL_DEVICE_NOT_AVAILABLE : DEVICE_UNAVAILABLE) ? REFUSED : WRONG;
    }
    (void)fflush(stdout);
    if (argc > 4)
        stay(argv[4]);
    return status;
}
