/* The entry points that the layer overrides; everything else in the table stays the driver's. */
#ifndef OPENCL_ENTRY_H
#define OPENCL_ENTRY_H

#include <CL/cl_icd.h>

/* clang-format off */
#define ENTRY_POINTS(X) \
    X(clCreateContext) X(clCreateContextFromType) \
    X(clGetPlatformInfo) X(clGetDeviceInfo) \
    X(clCreateCommandQueue) X(clCreateCommandQueueWithProperties) X(clGetCommandQueueInfo) \
    X(clRetainCommandQueue) X(clReleaseCommandQueue) \
    X(clCreateBuffer) X(clCreateBufferWithProperties) X(clCreateSubBuffer) \
    X(clCreateImage) X(clCreateImageWithProperties) X(clCreateImage2D) X(clCreateImage3D) X(clCreatePipe) \
    X(clCreateFromGLBuffer) X(clCreateFromGLTexture) X(clCreateFromGLTexture2D) X(clCreateFromGLTexture3D) \
    X(clCreateFromGLRenderbuffer) X(clCreateFromEGLImageKHR) \
    X(clRetainMemObject) X(clReleaseMemObject) X(clGetMemObjectInfo) \
    X(clCreateSampler) X(clCreateSamplerWithProperties) X(clRetainSampler) X(clReleaseSampler) \
    X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clCreateProgramWithIL) \
    X(clSetProgramSpecializationConstant) \
    X(clCreateProgramWithBuiltInKernels) X(clBuildProgram) X(clCompileProgram) X(clLinkProgram) \
    X(clRetainProgram) X(clReleaseProgram) X(clGetProgramInfo) \
    X(clCreateKernel) X(clCreateKernelsInProgram) X(clCloneKernel) X(clRetainKernel) X(clReleaseKernel) \
    X(clSetKernelArg) X(clSetKernelArgSVMPointer) X(clSetKernelExecInfo) \
    X(clCreateUserEvent) X(clSetUserEventStatus) X(clSetEventCallback) X(clWaitForEvents) \
    X(clGetEventInfo) X(clGetEventProfilingInfo) X(clRetainEvent) X(clReleaseEvent) \
    X(clFlush) X(clFinish) \
    X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer) \
    X(clEnqueueReadBufferRect) X(clEnqueueWriteBufferRect) X(clEnqueueCopyBufferRect) \
    X(clEnqueueReadImage) X(clEnqueueWriteImage) X(clEnqueueCopyImage) X(clEnqueueCopyImageToBuffer) \
    X(clEnqueueCopyBufferToImage) X(clEnqueueFillImage) \
    X(clEnqueueMapBuffer) X(clEnqueueMapImage) X(clEnqueueUnmapMemObject) X(clEnqueueMigrateMemObjects) \
    X(clEnqueueNDRangeKernel) X(clEnqueueTask) X(clEnqueueNativeKernel) \
    X(clEnqueueMarker) X(clEnqueueBarrier) X(clEnqueueWaitForEvents) \
    X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) \
    X(clEnqueueSVMFree) X(clEnqueueSVMMemcpy) X(clEnqueueSVMMemFill) X(clEnqueueSVMMap) X(clEnqueueSVMUnmap) \
    X(clEnqueueSVMMigrateMem) \
    X(clEnqueueAcquireGLObjects) X(clEnqueueReleaseGLObjects) \
    X(clEnqueueAcquireEGLObjectsKHR) X(clEnqueueReleaseEGLObjectsKHR) \
    X(clGetExtensionFunctionAddress) X(clGetExtensionFunctionAddressForPlatform)
/* clang-format on */

#define ENTRY_DECLARE(name) extern __typeof__(*((cl_icd_dispatch *)0)->name) entry_##name;
ENTRY_POINTS(ENTRY_DECLARE)

#endif
