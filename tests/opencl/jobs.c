/*
 * Explicit jobs (include/baton/job.h) of a program under the layer: libbaton speaks to the layer's
 * session, and only its words count.
 */
#include <CL/cl.h>
#include <stdio.h>

#include "baton/job.h"

static int passed, failed;

static void check(const char *sentence, int good)
{
    passed += good != 0;
    failed += good == 0;
    if (!good)
        printf("FAILED: %s\n", sentence);
}

int main(void)
{
    const char *source = "kernel void scale(global int *a, int factor)\n"
                         "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n";
    enum { JOBS = 7, LAUNCHES = 3, N = 64 };
    struct baton_job_report report = {.size = sizeof report};
    size_t global = N, local = 4;
    cl_int values[N] = {0}, factor = 1, code = 0;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 77;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    code |= clBuildProgram(program, 0, NULL, "", NULL, NULL);
    kernel = clCreateKernel(program, "scale", NULL);
    mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
    code |= clSetKernelArg(kernel, 0, sizeof mem, &mem) | clSetKernelArg(kernel, 1, sizeof factor, &factor);
    for (int job = 0; job < JOBS; job++) {
        code |= baton_job_begin();
        for (int i = 0; i < LAUNCHES; i++) { /* three times idle: three jobs, if they were inferred */
            code |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
            code |= clFinish(queue);
        }
        code |= clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
        code |= baton_job_end();
    }
    code |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL); /* outside */
    code |= clFinish(queue);
    check("every call succeeds", code == 0);
    check("the results are right", values[0] == JOBS * LAUNCHES && values[N - 1] == JOBS * LAUNCHES);
    check("the report is given", baton_job_report(&report) == 0);
    check("the jobs are those that the program said", report.jobs == JOBS);
    check("what ran in them is counted: the layer's session is the one that answers",
          report.compute_occupying_sum > 0);
    check("copies are counted apart", report.copy_occupying_sum > 0);
    check("pending is what was not occupied",
          report.pending_sum <= report.response_sum && report.response_max >= report.response_p50);
    clReleaseMemObject(mem);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
