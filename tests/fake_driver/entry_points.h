/* The entry points that the fake driver has; all others are NULL in its table. */
#ifndef ENTRY_POINTS_H
#define ENTRY_POINTS_H

/* clang-format off */
#define FAKE_ENTRY_POINTS(X) \
    X(clBuildProgram) X(clCloneKernel) X(clCompileProgram) X(clCreateBuffer) \
    X(clCreateBufferWithProperties) X(clCreateCommandQueue) \
    X(clCreateCommandQueueWithProperties) X(clCreateContext) X(clCreateContextFromType) \
    X(clCreateFromGLBuffer) X(clCreateImage) X(clCreateImageWithProperties) X(clCreateKernel) \
    X(clCreateKernelsInProgram) X(clCreateProgramWithBinary) X(clCreateProgramWithIL) \
    X(clCreateProgramWithSource) X(clCreateSampler) X(clCreateSamplerWithProperties) \
    X(clCreateSubBuffer) X(clCreateUserEvent) X(clEnqueueAcquireGLObjects) X(clEnqueueBarrier) \
    X(clEnqueueBarrierWithWaitList) X(clEnqueueCopyBuffer) X(clEnqueueCopyBufferRect) \
    X(clEnqueueCopyBufferToImage) X(clEnqueueCopyImage) X(clEnqueueCopyImageToBuffer) \
    X(clEnqueueFillBuffer) X(clEnqueueFillImage) X(clEnqueueMapBuffer) X(clEnqueueMapImage) \
    X(clEnqueueMarker) X(clEnqueueMarkerWithWaitList) X(clEnqueueMigrateMemObjects) \
    X(clEnqueueNDRangeKernel) X(clEnqueueNativeKernel) X(clEnqueueReadBuffer) \
    X(clEnqueueReadBufferRect) X(clEnqueueReadImage) X(clEnqueueReleaseGLObjects) \
    X(clEnqueueSVMFree) X(clEnqueueSVMMap) X(clEnqueueSVMMemFill) X(clEnqueueSVMMemcpy) \
    X(clEnqueueSVMMigrateMem) X(clEnqueueSVMUnmap) X(clEnqueueTask) X(clEnqueueUnmapMemObject) \
    X(clEnqueueWaitForEvents) X(clEnqueueWriteBuffer) X(clEnqueueWriteBufferRect) \
    X(clEnqueueWriteImage) X(clFinish) X(clFlush) X(clGetCommandQueueInfo) X(clGetContextInfo) \
    X(clGetDeviceAndHostTimer) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clGetEventInfo) \
    X(clGetEventProfilingInfo) X(clGetExtensionFunctionAddress) \
    X(clGetExtensionFunctionAddressForPlatform) X(clGetHostTimer) X(clGetImageInfo) \
    X(clGetKernelArgInfo) X(clGetKernelInfo) X(clGetKernelWorkGroupInfo) X(clGetMemObjectInfo) \
    X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetProgramBuildInfo) X(clGetProgramInfo) \
    X(clGetSamplerInfo) X(clGetSupportedImageFormats) X(clLinkProgram) X(clReleaseCommandQueue) \
    X(clReleaseContext) X(clReleaseDevice) X(clReleaseEvent) X(clReleaseKernel) \
    X(clReleaseMemObject) X(clReleaseProgram) X(clReleaseSampler) X(clRetainCommandQueue) \
    X(clRetainContext) X(clRetainDevice) X(clRetainEvent) X(clRetainKernel) X(clRetainMemObject) \
    X(clRetainProgram) X(clRetainSampler) X(clSVMAlloc) X(clSVMFree) X(clSetEventCallback) \
    X(clSetKernelArg) X(clSetKernelArgSVMPointer) X(clSetKernelExecInfo) \
    X(clSetMemObjectDestructorCallback) X(clSetUserEventStatus) X(clUnloadCompiler) \
    X(clUnloadPlatformCompiler) X(clWaitForEvents)
/* clang-format on */

#define FAKE_DECLARE(name) extern __typeof__(*((cl_icd_dispatch *)0)->name) fake_##name;
FAKE_ENTRY_POINTS(FAKE_DECLARE)

#endif
