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

double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void sleep_until_ms(double instant)
{
    struct timespec until = {.tv_sec = (time_t)(instant / 1e3)};

    until.tv_nsec = (long)((instant - (double)until.tv_sec * 1e3) * 1e6);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

uint32_t turned(uint32_t word, uint32_t steps)
{
    uint32_t factor = 1664525U;
    uint32_t summand = 1013904223U;

    /* Squaring: the map w -> factor * w + summand, applied 2^k times, is such a map again. */
    for (; steps; steps >>= 1) {
        if (steps & 1)
            word = word * factor + summand;
        summand *= factor + 1;
        factor *= factor;
    }
    return word;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double quantile(double *values, size_t n, double fraction)
{
    size_t index = (size_t)(fraction * (double)n);

    qsort(values, n, sizeof *values, compare);
    return values[index < n ? index : n - 1];
}

double option(int argc, char **argv, const char *name, double otherwise)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0) {
            char *end = NULL;
            double value = i + 1 < argc ? strtod(argv[i + 1], &end) : 0;
            if (i + 1 == argc || end == argv[i + 1] || *end || !(value >= 0)) {
                fprintf(stderr, "%s: --%s: expected a number\n", argv[0], name);
                exit(2);
            }
            return value;
        }
    return otherwise;
}

bool flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            return true;
    return false;
}
