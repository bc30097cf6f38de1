/*
 * A program whose kernel is wrong on purpose. Work-groups add to one element without an atomic
 * operation. Every item of the last group writes one element behind the buffer. An argument is set
 * that the kernel does not have. Oclgrind must report all three, of the original kernels and of the
 * rewritten ones.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUPS = 8, LOCAL = 4, N = GROUPS * LOCAL };

static const char source[] =
    "kernel void race(global int *shared) { shared[0] = get_global_id(0); }\n"
    "kernel void beyond(global int *out)\n"
    "{ size_t i = get_global_id(0); out[i + (get_group_id(0) == 7 ? 4 : 0)] = i; }\n";

static void need(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, code);
    exit(2);
}

int main(void)
{
    static const char *const names[] = {"race", "beyond"};
    const size_t n = N, local = LOCAL;
    const char *text = source;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_mem buffer;
    cl_int code;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    need(code, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &code);
    need(code, "clCreateCommandQueue");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    need(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL, &code);
    for (int i = 0; i < 2; i++) {
        cl_kernel kernel = clCreateKernel(program, names[i], &code);

        need(code, "clCreateKernel");
        need(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
        if (clSetKernelArg(kernel, 7, sizeof buffer, &buffer) == CL_SUCCESS)
            return 1;
        need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, &local, 0, NULL, NULL), "launch");
        need(clFinish(queue), "clFinish");
        clReleaseKernel(kernel);
    }
    clReleaseMemObject(buffer);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
