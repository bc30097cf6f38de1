/*
 * The OpenCL functions that the client library uses, found at run time. So a program that links
 * libbaton also starts without OpenCL, and tests can replace the functions by failing ones.
 */
#ifndef CLIENT_OPENCL_H
#define CLIENT_OPENCL_H

#include <CL/cl.h>

#define OPENCL_FUNCTIONS(F)                                                                                  \
    F(clGetPlatformIDs)                                                                                      \
    F(clGetPlatformInfo)                                                                                     \
    F(clGetDeviceIDs)                                                                                        \
    F(clGetDeviceInfo)                                                                                       \
    F(clCreateContext)                                                                                       \
    F(clRetainContext)                                                                                       \
    F(clReleaseContext)                                                                                      \
    F(clCreateCommandQueueWithProperties)                                                                    \
    F(clReleaseCommandQueue)                                                                                 \
    F(clCreateBuffer)                                                                                        \
    F(clRetainMemObject)                                                                                     \
    F(clReleaseMemObject)                                                                                    \
    F(clGetMemObjectInfo)                                                                                    \
    F(clEnqueueWriteBuffer)                                                                                  \
    F(clEnqueueReadBuffer)                                                                                   \
    F(clEnqueueCopyBuffer)                                                                                   \
    F(clEnqueueNDRangeKernel)                                                                                \
    F(clEnqueueMapBuffer)                                                                                    \
    F(clEnqueueUnmapMemObject)                                                                               \
    F(clFinish)                                                                                              \
    F(clWaitForEvents)                                                                                       \
    F(clReleaseEvent)                                                                                        \
    F(clCreateProgramWithSource)                                                                             \
    F(clBuildProgram)                                                                                        \
    F(clReleaseProgram)                                                                                      \
    F(clCreateKernel)                                                                                        \
    F(clCloneKernel)                                                                                         \
    F(clRetainKernel)                                                                                        \
    F(clReleaseKernel)                                                                                       \
    F(clSetKernelArg)

struct opencl {
#define OPENCL_MEMBER(name) __typeof__(&(name)) name;
    OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
};

/*
 * The loader's functions, found once. NULL if there is no loader or it lacks one of them. Never
 * unloaded.
 */
const struct opencl *opencl_get(void);

/* "CL_OUT_OF_RESOURCES", or "an unknown OpenCL error". */
const char *opencl_error_name(cl_int error);

#endif
