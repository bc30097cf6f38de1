/*
 * A program that comes as SPIR-V, and what it computes. intermediate.sh checks how many pieces it
 * ran in, by the statistics that the layer writes at exit.
 *
 * usage: layer-intermediate MODULE.spv [anyway|extension]
 *
 * Ends with 77 where the device does not say that it takes SPIR-V, unless it is to be tried anyway.
 * extension: by the function of cl_khr_il_program, and with the calls of OpenCL 1.2.
 */
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GX = 6, GY = 4, GZ = 2, ITEMS = GX * GY * GZ };

typedef cl_program(CL_API_CALL *create_function)(cl_context, const void *, size_t, cl_int *);

static int passed, failed;

static void check(const char *sentence, int good)
{
    passed += good != 0;
    failed += good == 0;
    if (!good)
        printf("FAILED: %s\n", sentence);
}

/*
 * Everything that the kernel saw of its place in a launch of 6 x 4 x 2 items in groups of 2 x 2 x
 * 1.
 */
static int right_places(const cl_int *out, const size_t offset[3])
{
    static const cl_int global[3] = {GX, GY, GZ};
    static const cl_int local[3] = {2, 2, 1};

    for (cl_int i = 0; i < ITEMS; i++) {
        const cl_int at[3] = {i % GX, i / GX % GY, i / (GX * GY)};

        for (int d = 0; d < 3; d++)
            if (out[16 * i + d] != at[d] + (cl_int)offset[d] || out[16 * i + 3 + d] != at[d] / local[d] ||
                out[16 * i + 6 + d] != at[d] % local[d] || out[16 * i + 9 + d] != global[d] / local[d] ||
                out[16 * i + 12 + d] != global[d])
                return 0;
        if (out[16 * i + 15] != 3)
            return 0;
    }
    return 1;
}

static void run(cl_context context, cl_command_queue queue, cl_program program)
{
    static const size_t offset[3] = {5, 0, 9};
    static const size_t global[3] = {GX, GY, GZ};
    static const size_t local[3] = {2, 2, 1};
    static cl_int out[16 * ITEMS];
    cl_kernel kernel = clCreateKernel(program, "shape", NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof out, NULL, NULL);
    cl_uint n_args = 0;

    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof n_args, &n_args, NULL);
    check("the kernel has the arguments that it was written with", n_args == 1);
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer);
    for (int i = 0; i < 3; i++) {
        memset(out, 0xee, sizeof out);
        clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
        clEnqueueNDRangeKernel(queue, kernel, 3, offset, global, local, 0, NULL, NULL);
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
        check("every item sees the whole launch", right_places(out, offset));
    }
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
}

int main(int argc, char **argv)
{
    static unsigned char module[1 << 16];
    char versions[256] = "";
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_command_queue queue;
    cl_context context;
    cl_program program;
    size_t length;
    cl_int code;
    FILE *file;
    bool extension = argc > 2 && !strcmp(argv[2], "extension");
    create_function create = clCreateProgramWithIL;

    file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file || clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 77;
    clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof versions, versions, NULL);
    if (!strstr(versions, "SPIR-V") && argc < 3)
        return 77;
    length = fread(module, 1, sizeof module, file);
    (void)fclose(file);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = extension ? clCreateCommandQueue(context, device, 0, NULL)
                      : clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    if (extension)
        create = (create_function)(uintptr_t)clGetExtensionFunctionAddressForPlatform(
            platform, "clCreateProgramWithILKHR");
    if (!create)
        return 3;
    program = create(context, module, length, &code);
    check("the module is taken", program && code == CL_SUCCESS);
    check("it builds", program && clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS);
    if (program)
        run(context, queue, program);
    check("what is no module is refused", !create(context, "no module at all....", 20, &code));
    check("with the driver's code", code == CL_INVALID_VALUE);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
