/*
 * What a program says with clSetKernelExecInfo belongs to the launches that follow, as its
 * arguments do. It belongs to a launch that still waits when the program says something else, and
 * to launches of a clone. On the fake driver, whose launches fail without their two pointers.
 */
#include <CL/cl.h>
#include <stdio.h>

static const char source[] = "kernel void scale(global int *a, int factor)\n"
                             "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n";

static int passed, failed;

static void check(const char *sentence, int good)
{
    passed += good != 0;
    failed += good == 0;
    if (!good)
        printf("FAILED: %s\n", sentence);
}

static cl_int status_of(cl_event event)
{
    cl_int status = 99;

    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    clReleaseEvent(event);
    return status;
}

int main(void)
{
    const char *text = source;
    const size_t global = 64, local = 4;
    const cl_int factor = 2;
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_event gate, first = NULL, second = NULL, cloned = NULL;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel, clone;
    cl_mem buffer;
    void *pointers[2];

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("no OpenCL device\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    kernel = clCreateKernel(program, "scale", NULL);
    buffer = clCreateBuffer(context, 0, 1024, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    for (int i = 0; i < 2; i++)
        pointers[i] = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
    gate = clCreateUserEvent(context, NULL);

    clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof pointers, pointers);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 1, &gate, &first);
    clone = clCloneKernel(kernel, NULL);
    clEnqueueNDRangeKernel(queue, clone, 1, NULL, &global, &local, 1, &gate, &cloned);
    clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof pointers[0], pointers);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 1, &gate, &second);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clFinish(queue);
    check("a launch has the pointers that were named when it was enqueued", status_of(first) == CL_COMPLETE);
    check("a clone's launch has those of its origin", status_of(cloned) == CL_COMPLETE);
    check("what was said later is for later launches", status_of(second) < 0);

    for (int i = 0; i < 2; i++)
        clSVMFree(context, pointers[i]);
    clReleaseEvent(gate);
    clReleaseKernel(clone);
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
