/*
 * A write that is under way while a launch on two devices gets a copy of the same buffer, of which
 * it uses another part. After the write's event, every device has what was written. On the fake
 * driver, which begins the write late.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4096, BYTES = N * sizeof(cl_int) };

static const char source[] = "kernel void add(global const int *a, global const int *b, global int *c)\n"
                             "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n";

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static cl_mem new_buffer(size_t size)
{
    static cl_int zeros[2 * N];

    return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, zeros, NULL);
}

static cl_event add(cl_mem a, cl_mem b, cl_mem to, cl_uint n_waits, const cl_event *waits)
{
    cl_kernel kernel = clCreateKernel(program, "add", NULL);
    const size_t global = N, local = 4;
    cl_event event = NULL;

    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof to, &to);
    if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, n_waits, waits, &event))
        exit(2);
    clReleaseKernel(kernel);
    return event;
}

static cl_mem second_half(cl_mem root)
{
    cl_buffer_region region = {BYTES, BYTES};

    return clCreateSubBuffer(root, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
}

/* How many elements are not what the write and the launch behind it make of them. */
static int wrong_elements(cl_mem mem)
{
    cl_int values[N];
    int wrong = 0;

    clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    for (cl_int i = 0; i < N; i++)
        wrong += values[i] != 2 * (i + 1);
    return wrong;
}

int main(void)
{
    const char *text = source;
    cl_mem both, half, first, second;
    cl_event written, unordered, last;
    cl_int values[N], wrong;
    cl_platform_id platform;
    cl_device_id device;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("no OpenCL device\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    both = new_buffer(2 * BYTES);
    half = second_half(both);
    first = new_buffer(BYTES);
    second = new_buffer(BYTES);
    for (cl_int i = 0; i < N; i++)
        values[i] = i + 1;
    clEnqueueWriteBuffer(queue, half, CL_FALSE, 0, BYTES, values, 0, NULL, &written);
    unordered = add(both, both, first, 0, NULL);
    last = add(half, half, second, 1, &written);
    clWaitForEvents(1, &unordered);
    clWaitForEvents(1, &last);
    wrong = wrong_elements(second);
    if (wrong)
        printf("FAILED: a launch behind a late write has its bytes on both devices (%d wrong)\n", wrong);
    clReleaseEvent(written);
    clReleaseEvent(unordered);
    clReleaseEvent(last);
    clReleaseMemObject(half);
    clReleaseMemObject(both);
    clReleaseMemObject(first);
    clReleaseMemObject(second);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", !wrong, wrong != 0);
    return wrong != 0;
}
