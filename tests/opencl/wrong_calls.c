/*
 * Calls with parameters that OpenCL forbids, while commands are queued, so that the layer judges
 * them. With several devices, so that the layer looks at their memory objects first.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 4096 };

static int passed, failed;

static void check(const char *sentence, int good)
{
    passed += good != 0;
    failed += good == 0;
    if (!good)
        printf("FAILED: %s\n", sentence);
}

static void CL_CALLBACK nothing(void *data)
{
    (void)data;
}

static cl_context context;
static cl_command_queue queue;
static cl_mem buffer;

/* A launch on two devices makes the buffer a shared one. */
static void share(cl_device_id device)
{
    const char *text = "kernel void scale(global int *a, int factor)\n"
                       "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n";
    const size_t global = BYTES / sizeof(cl_int), local = 4;
    const cl_int factor = 2;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    cl_kernel kernel;

    clBuildProgram(program, 1, &device, "", NULL, NULL);
    kernel = clCreateKernel(program, "scale", NULL);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    clFinish(queue);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

static void lists_without_list(void)
{
    char bytes[8] = "";

    check("a migration of objects without a list",
          clEnqueueMigrateMemObjects(queue, 1, NULL, 0, 0, NULL, NULL) == CL_INVALID_VALUE);
    check("a native kernel with objects without a list",
          clEnqueueNativeKernel(queue, nothing, bytes, sizeof bytes, 1, NULL, NULL, 0, NULL, NULL) ==
              CL_INVALID_VALUE);
}

static void queued_forms(void)
{
    const size_t far[3] = {0, (size_t)1 << 60, 0}, none[3] = {0}, rows[3] = {1, 2, 1},
                 wide[3] = {(size_t)1 << 62, 8, 1};
    cl_event gate = clCreateUserEvent(context, NULL);
    const void *place = &buffer;
    char bytes[BYTES];
    cl_int code = 0;

    clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, BYTES, bytes, 1, &gate, NULL);
    check("a native kernel with objects and no arguments",
          clEnqueueNativeKernel(queue, nothing, NULL, 0, 1, &buffer, &place, 0, NULL, NULL) ==
              CL_INVALID_VALUE);
    check("a map that reads what it invalidates",
          !clEnqueueMapBuffer(queue, buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 0, BYTES,
                              0, NULL, NULL, &code) &&
              code == CL_INVALID_VALUE);
    check("a copy of rows beyond what a size can say",
          clEnqueueCopyBufferRect(queue, buffer, buffer, far, none, rows, 16, 0, 16, 0, 0, NULL, NULL) ==
              CL_INVALID_VALUE);
    check("a box whose size wraps", clEnqueueReadBufferRect(queue, buffer, CL_FALSE, none, none, wide, 0, 0,
                                                            0, 0, bytes, 0, NULL, NULL) == CL_INVALID_VALUE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clFinish(queue);
    clReleaseEvent(gate);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    char zeros[BYTES];

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("no OpenCL device\n");
        return 77;
    }
    memset(zeros, 0, sizeof zeros);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, zeros, NULL);
    share(device);
    queued_forms();
    lists_without_list();
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
