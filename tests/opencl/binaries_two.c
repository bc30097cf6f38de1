/*
 * A context of two devices, and a binary for each, of which Baton knows one: with --binaries refuse
 * the statuses tell which.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 1 << 16 };

int main(void)
{
    static unsigned char known[MOST], other[MOST], stranger[MOST];
    const char *text = "kernel void empty(void) {}\n";
    unsigned char *out[2] = {known, other};
    const unsigned char *in[2] = {known, stranger};
    size_t sizes[2] = {0};
    cl_int statuses[2] = {1, 1}, code = CL_SUCCESS;
    cl_platform_id platform;
    cl_device_id devices[2];
    cl_context context;
    cl_program program, loaded;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL))
        return 3;
    context = clCreateContext(NULL, 2, devices, NULL, NULL, NULL);
    program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    if (clBuildProgram(program, 0, NULL, "", NULL, NULL) ||
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL) ||
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof out, out, NULL))
        return 3;
    memcpy(stranger, known, sizes[0]);
    stranger[sizes[0]] = '\n'; /* the fake driver's binaries are texts: one more line is another binary */
    sizes[1] = sizes[0] + 1;
    loaded = clCreateProgramWithBinary(context, 2, devices, sizes, in, statuses, &code);
    printf("%d %d %d %s\n", statuses[0], statuses[1], code, loaded ? "loaded" : "none");
    clReleaseProgram(program);
    clReleaseContext(context);
    return !(statuses[0] == CL_SUCCESS && statuses[1] == CL_INVALID_BINARY && code == CL_INVALID_BINARY &&
             !loaded);
}
