/* Batches on OpenCL devices. */
#include <CL/cl_ext.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/batch/batch_api.h"

struct batch_opencl {
    const struct opencl *cl;
    cl_device_id id;
    cl_context context;                /* retained */
    cl_command_queue in, out, execute; /* owned */
};

struct opencl_kernel {
    cl_kernel kernel; /* owned */
    cl_uint dimensions;
    size_t global[3], local[3];
};

static void close_device(void *data)
{
    struct batch_opencl *device = data;
    cl_command_queue queues[] = {device->in, device->out, device->execute};

    for (size_t q = 0; q < 3; q++) {
        if (queues[q])
            device->cl->clReleaseCommandQueue(queues[q]);
    }
    device->cl->clReleaseContext(device->context);
    free(device);
}

static int open_queues(struct batch_opencl *device, char *message, size_t size)
{
    cl_command_queue *queues[] = {&device->in, &device->out, &device->execute};

    for (size_t q = 0; q < 3; q++) {
        cl_int error;

        *queues[q] =
            device->cl->clCreateCommandQueueWithProperties(device->context, device->id, NULL, &error);
        if (error != CL_SUCCESS) {
            *queues[q] = NULL;
            (void)snprintf(message, size, "no command queue: %s (%d)", opencl_error_name(error), error);
            return -ENODEV;
        }
    }
    return 0;
}

int batch_opencl_open(const struct batch_libraries *libraries, const struct baton_gpu *gpu, void **ret_device,
                      char *message, size_t size)
{
    struct batch_opencl *device = calloc(1, sizeof *device);
    int result;

    if (!device)
        return -ENOMEM;
    device->cl = libraries->cl;
    if (device->cl->clRetainContext(gpu->context) != CL_SUCCESS) {
        (void)snprintf(message, size, "its context is not valid");
        free(device);
        return -EINVAL;
    }
    device->context = gpu->context;
    device->id = gpu->device;
    result = open_queues(device, message, size);
    if (result)
        close_device(device);
    else
        *ret_device = device;
    return result;
}

static unsigned index_of(const struct opencl *cl, cl_platform_id platform, cl_device_id device)
{
    cl_device_id list[64];
    cl_uint n = 0;

    if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 64, list, &n) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < n && i < 64; i++) {
        if (list[i] == device)
            return i;
    }
    return 0;
}

/* Sub-devices share their root's engines. */
static uintptr_t device_name(const void *data, char ret_name[DEVICE_NAME_SIZE])
{
    const struct batch_opencl *device = data;
    const struct opencl *cl = device->cl;
    cl_device_id root = device->id;
    cl_device_id parent = NULL;
    cl_device_pci_bus_info_khr pci;
    cl_platform_id platform = NULL;
    char text[256] = "";

    while (cl->clGetDeviceInfo(root, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) == CL_SUCCESS &&
           parent)
        root = parent;
    if (cl->clGetDeviceInfo(root, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof pci, &pci, NULL) == CL_SUCCESS) {
        device_name_pci(pci.pci_domain, pci.pci_bus, pci.pci_device, pci.pci_function, ret_name);
        return (uintptr_t)root;
    }
    (void)cl->clGetDeviceInfo(root, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    (void)cl->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text, text, NULL);
    text[sizeof text - 1] = 0;
    device_name_indexed(text, index_of(cl, platform, root), ret_name);
    return (uintptr_t)root;
}

/* --- planning --- */

static bool connect(void *source, void *target)
{
    return ((struct batch_opencl *)source)->context == ((struct batch_opencl *)target)->context;
}

static const char *hold(void *data, const struct baton_place *place, size_t bytes)
{
    const struct batch_opencl *device = data;

    (void)bytes;
    return device->cl->clRetainMemObject(place->buffer) == CL_SUCCESS ? NULL : "is no valid buffer";
}

static void drop(void *data, const struct baton_place *place)
{
    ((struct batch_opencl *)data)->cl->clReleaseMemObject(place->buffer);
}

static void kernel_free(void *data, void *kernel_data)
{
    struct batch_opencl *device = data;
    struct opencl_kernel *kernel = kernel_data;

    if (!kernel)
        return;
    if (kernel->kernel)
        device->cl->clReleaseKernel(kernel->kernel);
    free(kernel);
}

/* Clones the kernel with its arguments, so that the program may reuse its own at once. */
static const char *fill_kernel(const struct opencl *cl, const struct baton_kernel *given,
                               struct opencl_kernel *kernel)
{
    cl_int error;

    kernel->dimensions = given->dimensions;
    memcpy(kernel->global, given->global, sizeof kernel->global);
    memcpy(kernel->local, given->local, sizeof kernel->local);
    kernel->kernel = cl->clCloneKernel(given->kernel, &error);
    if (error != CL_SUCCESS || !kernel->kernel) {
        kernel->kernel = NULL;
        if (cl->clRetainKernel(given->kernel) != CL_SUCCESS)
            return "its kernel is not valid";
        kernel->kernel = given->kernel;
    }
    for (size_t a = 0; a < given->n_args; a++) {
        if (cl->clSetKernelArg(kernel->kernel, (cl_uint)a, given->args[a].size, given->args[a].value))
            return "an argument of its kernel is not valid";
    }
    return NULL;
}

static const char *kernel_new(void *data, const struct baton_kernel *given, void **ret_kernel)
{
    struct opencl_kernel *kernel = calloc(1, sizeof *kernel);
    const char *wrong;

    if (!kernel)
        return "no memory for its kernel";
    wrong = fill_kernel(((struct batch_opencl *)data)->cl, given, kernel);
    if (wrong)
        kernel_free(data, kernel);
    else
        *ret_kernel = kernel;
    return wrong;
}

/* --- running --- */

static int wait_for(const struct opencl *cl, cl_event event)
{
    cl_int error = cl->clWaitForEvents(1, &event);

    cl->clReleaseEvent(event);
    return error;
}

static int write_host(void *data, const struct baton_place *to, const void *from, size_t length)
{
    struct batch_opencl *device = data;

    return device->cl->clEnqueueWriteBuffer(device->in, to->buffer, CL_TRUE, to->offset, length, from, 0,
                                            NULL, NULL);
}

static int read_host(void *data, const struct baton_place *from, void *to, size_t length)
{
    struct batch_opencl *device = data;

    return device->cl->clEnqueueReadBuffer(device->out, from->buffer, CL_TRUE, from->offset, length, to, 0,
                                           NULL, NULL);
}

static int copy(void *source, const struct baton_place *from, void *target, const struct baton_place *to,
                size_t length)
{
    struct batch_opencl *device = target;
    cl_event event;
    cl_int error;

    (void)source;
    error = device->cl->clEnqueueCopyBuffer(device->in, from->buffer, to->buffer, from->offset, to->offset,
                                            length, 0, NULL, &event);
    return error ? error : wait_for(device->cl, event);
}

static bool copy_executes(const void *source, const void *target)
{
    (void)source;
    (void)target;
    return true;
}

static int launch(void *data, void *kernel_data)
{
    struct batch_opencl *device = data;
    const struct opencl_kernel *kernel = kernel_data;
    cl_event event;
    cl_int error = device->cl->clEnqueueNDRangeKernel(
        device->execute, kernel->kernel, kernel->dimensions, NULL, kernel->global,
        kernel->local[0] ? kernel->local : NULL, 0, NULL, &event);

    return error ? error : wait_for(device->cl, event);
}

/* --- pinned memory --- */

/*
 * OpenCL's way to page-locked memory: a buffer made with CL_MEM_ALLOC_HOST_PTR, mapped during its
 * whole life. The handle is the buffer.
 */
static void *host_alloc(void *data, size_t bytes, void **ret_handle)
{
    struct batch_opencl *device = data;
    const struct opencl *cl = device->cl;
    cl_int error;
    cl_mem buffer =
        cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error);
    void *host;

    if (!buffer || error)
        return NULL;
    host = cl->clEnqueueMapBuffer(device->in, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL,
                                  NULL, &error);
    if (!host || error) {
        cl->clReleaseMemObject(buffer);
        return NULL;
    }
    *ret_handle = buffer;
    return host;
}

static void host_free(void *data, void *host, void *handle)
{
    struct batch_opencl *device = data;

    device->cl->clEnqueueUnmapMemObject(device->in, handle, host, 0, NULL, NULL);
    device->cl->clFinish(device->in);
    device->cl->clReleaseMemObject(handle);
}

const struct batch_api batch_opencl = {
    .error_name = opencl_error_name,
    .close = close_device,
    .device_name = device_name,
    .connect = connect,
    .hold = hold,
    .drop = drop,
    .kernel_new = kernel_new,
    .kernel_free = kernel_free,
    .write = write_host,
    .read = read_host,
    .copy = copy,
    .copy_executes = copy_executes,
    .launch = launch,
    .host_alloc = host_alloc,
    .host_free = host_free,
};
