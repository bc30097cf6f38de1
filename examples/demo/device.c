#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char DEVICE_TURN[] = "kernel void turn(global uint *word, uint steps)\n"
                           "{\n"
                           "    size_t i = get_global_id(0);\n"
                           "    uint w = word[i];\n"
                           "    for (uint s = 0; s < steps; s++)\n"
                           "        w = w * 1664525u + 1013904223u;\n"
                           "    word[i] = w;\n"
                           "}\n";

void device_must(cl_int code, const char *call)
{
    if (code == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", call, code);
    exit(3);
}

void device_open(struct device *device, const char *source)
{
    cl_platform_id platform;
    cl_int code;

    device_must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    device_must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device->id, NULL), "clGetDeviceIDs");
    device->context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
    device_must(code, "clCreateContext");
    device->queue = clCreateCommandQueueWithProperties(device->context, device->id, NULL, &code);
    device_must(code, "clCreateCommandQueueWithProperties");
    device->program = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
    device_must(code, "clCreateProgramWithSource");
    device_must(clBuildProgram(device->program, 1, &device->id, "", NULL, NULL), "clBuildProgram");
}

void device_close(struct device *device)
{
    clReleaseProgram(device->program);
    clReleaseCommandQueue(device->queue);
    clReleaseContext(device->context);
}

cl_kernel device_kernel(struct device *device, const char *name)
{
    cl_int code;
    cl_kernel kernel = clCreateKernel(device->program, name, &code);

    device_must(code, "clCreateKernel");
    return kernel;
}

cl_mem device_buffer(struct device *device, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);

    device_must(code, "clCreateBuffer");
    return buffer;
}
