/*
 * A map that takes long, blocking or not, and after each its unmap. On the fake driver. The
 * statistics that the layer writes at exit say how long the device's copies took.
 * usage: slow-map blocking|later
 */
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 4096 };

int main(int argc, char **argv)
{
    cl_bool blocking = argc > 1 && !strcmp(argv[1], "blocking");
    cl_platform_id platform;
    cl_command_queue queue;
    cl_context context;
    cl_device_id device;
    cl_int code = CL_SUCCESS;
    cl_mem buffer;
    void *bytes;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("no OpenCL device\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    buffer = clCreateBuffer(context, 0, BYTES, NULL, NULL);
    bytes = clEnqueueMapBuffer(queue, buffer, blocking, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &code);
    if (!bytes || clFinish(queue) || clEnqueueUnmapMemObject(queue, buffer, bytes, 0, NULL, NULL) ||
        clFinish(queue))
        return 1;
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
