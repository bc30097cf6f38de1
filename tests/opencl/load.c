/*
 * A load for tests: launches the kernel `scale` again and again for a time and prints `N launches,
 * max X ms, wrong W`. Every result is checked. With a depth, so many launches are under way at any
 * time; with a fifth argument of 1 the data go to the host and back after each; of 2, write, launch
 * and read are one job of which only the last byte is waited for; of 3, the data go to the device
 * once, at the beginning. SECONDS may be a number of launches instead: 20x. With an instant
 * (CLOCK_MONOTONIC, milliseconds) the time is counted from there, and of what is launched before
 * and after only the results. usage: load SECONDS GROUPS PAUSE_MS [DEPTH [COPIES [BEGIN_MS]]]
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOCAL = 4 };

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The end of a launch: CL_COMPLETE (0), or the error that only its event tells. Releases it. */
static cl_int how_it_ended(cl_event *event)
{
    cl_int status = CL_SUCCESS;

    if (!*event)
        return CL_SUCCESS;
    clGetEventInfo(*event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    clReleaseEvent(*event);
    *event = NULL;
    return status;
}

int main(int argc, char **argv)
{
    const char *source = "kernel void scale(global int *a, int factor)\n"
                         "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n";
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1, pause = argc > 3 ? strtod(argv[3], NULL) : 0,
           max = 0, from = argc > 6 ? strtod(argv[6], NULL) : 0, end;
    cl_int most = argc > 1 && strchr(argv[1], 'x') ? (cl_int)seconds : 0; /* launches; 0: as the time says */
    size_t global = (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) * LOCAL, local = LOCAL;
    static cl_int values[1 << 16];
    cl_int factor = 1, code = CL_SUCCESS, n = 0, counted = 0, wrong = 0;
    size_t depth = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;
    unsigned long copies = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
    static cl_event ring[64];
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem;

    if (depth < 1 || depth > 64 || global > sizeof values / sizeof values[0] ||
        clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 3;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    if (code || clBuildProgram(program, 0, NULL, "", NULL, NULL))
        return 3;
    kernel = clCreateKernel(program, "scale", &code);
    mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, global * sizeof *values, values,
                         &code);
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    if (copies == 3)
        code |= clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, global * sizeof *values, values, 0, NULL, NULL);
    for (end = (from > 0 ? from : now_ms()) + seconds * 1e3; most ? n < most : now_ms() < end; n++) {
        double begin = now_ms(), length;
        cl_event *oldest = &ring[(size_t)n % depth];
        if (copies == 2) {
            code |=
                clEnqueueWriteBuffer(queue, mem, CL_FALSE, 0, global * sizeof *values, values, 0, NULL, NULL);
            code |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
            code |=
                clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, global * sizeof *values, values, 0, NULL, NULL);
        } else if (depth == 1) {
            code |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, oldest);
            code |= clFinish(queue);
            code |= how_it_ended(oldest);
        } else {
            if (*oldest) {
                code |= clWaitForEvents(1, oldest);
                code |= clReleaseEvent(*oldest);
            }
            code |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, oldest);
            code |= clFlush(queue);
        }
        if (copies == 1) {
            code |=
                clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, global * sizeof *values, values, 0, NULL, NULL);
            code |=
                clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, global * sizeof *values, values, 0, NULL, NULL);
        }
        length = now_ms() - begin;
        counted += begin + length >= from && begin + length < end;
        max = n > 0 && length > max ? length : max; /* the first one waits for the rewriting */
        if (pause > 0)
            nanosleep(&(struct timespec){0, (long)(pause * 1e6)}, NULL);
    }
    code |= clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, global * sizeof *values, values, 0, NULL, NULL);
    for (size_t i = 0; depth > 1 && i < depth; i++)
        if (ring[i])
            code |= clReleaseEvent(ring[i]);
    for (size_t i = 0; i < global; i++)
        wrong += values[i] != n; /* each launch adds one, once */
    if (from > 0)
        n = counted;
    printf("%d launches, max %.1f ms, wrong %d, code %d\n", n, max, wrong, code);
    clReleaseMemObject(mem);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return wrong || code;
}
