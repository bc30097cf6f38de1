#include "cli/measure/copies.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/opencl.h"

struct measured_device {
    const struct opencl *cl;
    char name[128];
    cl_context context;
    cl_command_queue queue;
    cl_mem buffer;
    unsigned char *host;
};

static cl_device_id first_device(const struct opencl *cl)
{
    cl_platform_id platforms[16];
    cl_device_id device;
    cl_uint n = 0;

    if (cl->clGetPlatformIDs(16, platforms, &n) != CL_SUCCESS)
        return NULL;
    for (cl_uint i = 0; i < n && i < 16; i++)
        if (cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS)
            return device;
    return NULL;
}

/*
 * Drivers set up queues and allocate memory in the first copy. Copying the largest size in each
 * direction keeps that out of the samples.
 */
static int warm_up(struct measured_device *device)
{
    double us;
    int result = measured_copies(device, false, MEASURED_LARGEST, 1, &us);

    return result ? result : measured_copies(device, true, MEASURED_LARGEST, 1, &us);
}

struct measured_device *measured_device_open(void)
{
    const struct opencl *cl = opencl_get();
    cl_device_id id = cl ? first_device(cl) : NULL;
    struct measured_device *device = id ? calloc(1, sizeof *device) : NULL;
    cl_int error = CL_SUCCESS;

    if (!device)
        return NULL;
    device->cl = cl;
    (void)cl->clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof device->name - 1, device->name, NULL);
    device->host = malloc(MEASURED_LARGEST);
    device->context = cl->clCreateContext(NULL, 1, &id, NULL, NULL, &error);
    if (device->context)
        device->queue = cl->clCreateCommandQueueWithProperties(device->context, id, NULL, &error);
    if (device->queue)
        device->buffer =
            cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE, MEASURED_LARGEST, NULL, &error);
    if (!device->host || !device->buffer) {
        measured_device_close(device);
        return NULL;
    }
    memset(device->host, 1, MEASURED_LARGEST);
    if (warm_up(device)) {
        measured_device_close(device);
        return NULL;
    }
    return device;
}

void measured_device_close(struct measured_device *device)
{
    if (!device)
        return;
    if (device->buffer)
        (void)device->cl->clReleaseMemObject(device->buffer);
    if (device->queue)
        (void)device->cl->clReleaseCommandQueue(device->queue);
    if (device->context)
        (void)device->cl->clReleaseContext(device->context);
    free(device->host);
    free(device);
}

const char *measured_device_name(const struct measured_device *device)
{
    return device->name;
}

int measured_copies(struct measured_device *device, bool out, size_t bytes, size_t n, double ret_us[])
{
    for (size_t i = 0; i < n; i++) {
        baton_nsec begin_at = clock_now();
        cl_int error = out ? device->cl->clEnqueueReadBuffer(device->queue, device->buffer, CL_TRUE, 0, bytes,
                                                             device->host, 0, NULL, NULL)
                           : device->cl->clEnqueueWriteBuffer(device->queue, device->buffer, CL_TRUE, 0,
                                                              bytes, device->host, 0, NULL, NULL);

        if (error != CL_SUCCESS)
            return -EIO;
        ret_us[i] = (double)(clock_now() - begin_at) / NSEC_PER_US;
    }
    return 0;
}

struct copy_load {
    struct measured_device *device;
    pthread_t thread;
    atomic_bool end;
};

static void *copy_on(void *context)
{
    struct copy_load *load = context;
    const struct sched_param normal = {0};
    double us;

    (void)pthread_setschedparam(pthread_self(), SCHED_OTHER, &normal);
    while (!atomic_load(&load->end))
        if (measured_copies(load->device, false, MEASURED_LARGEST, 1, &us) ||
            measured_copies(load->device, true, MEASURED_LARGEST, 1, &us))
            break;
    return NULL;
}

struct copy_load *copy_load_start(void)
{
    struct copy_load *load = calloc(1, sizeof *load);

    if (!load)
        return NULL;
    load->device = measured_device_open();
    if (!load->device || pthread_create(&load->thread, NULL, copy_on, load)) {
        measured_device_close(load->device);
        free(load);
        return NULL;
    }
    return load;
}

void copy_load_stop(struct copy_load *load)
{
    if (!load)
        return;
    atomic_store(&load->end, true);
    (void)pthread_join(load->thread, NULL);
    measured_device_close(load->device);
    free(load);
}
