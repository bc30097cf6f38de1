/*
 * An event of the layer ends in a callback's thread while another thread's new event gets the same
 * address, as allocators do. The new event keeps its own record. On the fake driver, with `reuse`.
 */
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { BYTES = 4096, TRIES = 20000 };

static atomic_int n_called;

static void CL_CALLBACK on_end(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    atomic_fetch_add(&n_called, 1);
}

static cl_context context;
static cl_command_queue queue;
static cl_mem buffer;

/* A command that waits for the gate: its event is a handle of the layer. */
static cl_event fill_behind(cl_event gate)
{
    const cl_int zero = 0;
    cl_event event = NULL;

    clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, BYTES, 1, &gate, &event);
    return event;
}

/* Makes events until one has that address: a thread lets go of it, however late it runs. */
static cl_event make_at(const void *address, cl_event gate)
{
    for (int i = 0; i < TRIES; i++) {
        cl_event event = fill_behind(gate);

        if ((const void *)event == address)
            return event;
        nanosleep(&(struct timespec){.tv_nsec = i < 1000 ? 1000000 : 20000000}, NULL);
    }
    return NULL;
}

int main(void)
{
    cl_command_type type = 0;
    cl_command_queue owner = NULL;
    cl_platform_id platform;
    cl_device_id device;
    cl_event gate, later, old, fresh;
    const void *address;
    int good;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("no OpenCL device\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
    buffer = clCreateBuffer(context, 0, BYTES, NULL, NULL);
    gate = clCreateUserEvent(context, NULL);
    later = clCreateUserEvent(context, NULL);
    old = fill_behind(gate);
    address = old;
    clSetEventCallback(old, CL_COMPLETE, on_end, NULL);
    clReleaseEvent(old); /* the callback has the last reference */
    clSetUserEventStatus(gate, CL_COMPLETE);
    while (!atomic_load(&n_called))
        ;
    fresh = make_at(address, later);
    clReleaseEvent(gate); /* with `reuse` this takes longer than the end of the callback's thread */
    if (fresh) {
        clGetEventInfo(fresh, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
        clGetEventInfo(fresh, CL_EVENT_COMMAND_QUEUE, sizeof owner, &owner, NULL);
    }
    good = fresh && type == CL_COMMAND_FILL_BUFFER && owner == queue;
    if (!good)
        printf("FAILED: a new event at the address of one that ended has its own record (type %x)\n",
               (unsigned)type);
    clSetUserEventStatus(later, CL_COMPLETE);
    clFinish(queue);
    printf("%d passed, %d failed\n", good, !good);
    return !good;
}
