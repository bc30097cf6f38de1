/*
 * Launches the kernel `scale` of a source file a few times: usage: reasons FILE.cl GLOBAL LOCAL (0:
 * none given). For reasons.sh.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096, LAUNCHES = 3 };

int main(int argc, char **argv)
{
    static char text[1 << 16];
    static cl_int values[MOST];
    const char *source = text;
    FILE *file = argc > 3 ? fopen(argv[1], "r") : NULL;
    size_t global = file ? strtoul(argv[2], NULL, 10) : 0, local = file ? strtoul(argv[3], NULL, 10) : 0;
    cl_int code = CL_SUCCESS, wrong = 0;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem;

    if (!file || global > MOST || !fread(text, 1, sizeof text - 1, file) || fclose(file) ||
        clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 3;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    if (code || clBuildProgram(program, 0, NULL, "", NULL, NULL))
        return 3;
    kernel = clCreateKernel(program, "scale", &code);
    mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values, &code);
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof(cl_int), &(cl_int){1});
    for (int i = 0; i < LAUNCHES; i++) {
        code |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, local ? &local : NULL, 0, NULL, NULL);
        code |= clFinish(queue);
    }
    code |= clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    for (size_t i = 0; i < global; i++)
        wrong += values[i] != LAUNCHES;
    clReleaseMemObject(mem);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d wrong, code %d\n", wrong, code);
    return wrong || code;
}
