/* Lifetimes and queries of every kind of object, while idle and while commands use it. */
#include "conformance.h"

#include <CL/cl_gl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_OF(function, handle, name)                                                                     \
    (function(handle, name, sizeof(cl_uint), &count, NULL) == CL_SUCCESS ? count : (cl_uint)~0)

static void check_counts(const struct world *world)
{
    cl_int content[ITEMS] = {0};
    cl_uint count = 0, created, retained;
    cl_mem mem = make_buffer(world, content);
    cl_command_queue queue = clCreateCommandQueue(world->context, world->device, 0, NULL);
    cl_kernel kernel = make_kernel(world, "add");
    cl_event event = clCreateUserEvent(world->context, NULL);

    created = COUNT_OF(clGetMemObjectInfo, mem, CL_MEM_REFERENCE_COUNT);
    clRetainMemObject(mem);
    retained = COUNT_OF(clGetMemObjectInfo, mem, CL_MEM_REFERENCE_COUNT);
    clReleaseMemObject(mem);
    line("count/mem", "%u %u %u", created, retained,
         COUNT_OF(clGetMemObjectInfo, mem, CL_MEM_REFERENCE_COUNT));
    clReleaseMemObject(mem);

    created = COUNT_OF(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT);
    clRetainCommandQueue(queue);
    retained = COUNT_OF(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT);
    clReleaseCommandQueue(queue);
    line("count/queue", "%u %u %u", created, retained,
         COUNT_OF(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT));
    clReleaseCommandQueue(queue);

    created = COUNT_OF(clGetKernelInfo, kernel, CL_KERNEL_REFERENCE_COUNT);
    clRetainKernel(kernel);
    retained = COUNT_OF(clGetKernelInfo, kernel, CL_KERNEL_REFERENCE_COUNT);
    clReleaseKernel(kernel);
    line("count/kernel", "%u %u %u", created, retained,
         COUNT_OF(clGetKernelInfo, kernel, CL_KERNEL_REFERENCE_COUNT));
    clReleaseKernel(kernel);

    created = COUNT_OF(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
    clRetainEvent(event);
    retained = COUNT_OF(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
    clReleaseEvent(event);
    line("count/user-event", "%u %u %u", created, retained,
         COUNT_OF(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT));
    clReleaseEvent(event);
    line("retain/null", "%d %d %d %d %d", clRetainMemObject(NULL), clRetainCommandQueue(NULL),
         clRetainKernel(NULL), clRetainEvent(NULL), clRetainProgram(NULL));
    line("release/null", "%d %d %d %d %d", clReleaseMemObject(NULL), clReleaseCommandQueue(NULL),
         clReleaseKernel(NULL), clReleaseEvent(NULL), clReleaseProgram(NULL));
}

static void check_queues(const struct world *world)
{
    static const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                                               0};
    cl_command_queue_properties properties = 99;
    cl_queue_properties array[8] = {0};
    size_t size = 0;
    cl_context context = NULL;
    cl_device_id device = NULL;
    cl_int code = 99;
    cl_command_queue queues[4] = {
        clCreateCommandQueue(world->context, world->device, 0, &code),
        clCreateCommandQueue(world->context, world->device, CL_QUEUE_PROFILING_ENABLE, &code),
        clCreateCommandQueueWithProperties(world->context, world->device, NULL, &code),
        clCreateCommandQueueWithProperties(world->context, world->device, list, &code),
    };

    for (int i = 0; i < 4; i++) {
        clGetCommandQueueInfo(queues[i], CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
        clGetCommandQueueInfo(queues[i], CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
        clGetCommandQueueInfo(queues[i], CL_QUEUE_DEVICE, sizeof device, &device, NULL);
        line("queue/properties", "%d: %d properties %llu context %s device %s", i, code,
             (unsigned long long)properties, context == world->context ? "same" : "wrong",
             device == world->device ? "same" : "wrong");
        code = clGetCommandQueueInfo(queues[i], CL_QUEUE_PROPERTIES_ARRAY, sizeof array, array, &size);
        line("queue/list", "%d: %d %zu bytes, %llu %llu", i, code, size, (unsigned long long)array[0],
             (unsigned long long)array[1]);
        clReleaseCommandQueue(queues[i]);
    }
    clCreateCommandQueue(NULL, world->device, 0, &code);
    line("queue/no-context", "%d", code);
    clCreateCommandQueue(world->context, NULL, 0, &code);
    line("queue/no-device", "%d", code);
    clCreateCommandQueue(world->context, world->device, 1 << 20, &code);
    line("queue/bad-properties", "%d", code);
}

/*
 * Profiling is not available on a queue that was not created for it, whatever the layer needs for
 * itself.
 */
static void check_profiling(const struct world *world)
{
    cl_command_queue queues[2] = {world->second, world->in_order};
    cl_kernel kernel = make_kernel(world, "empty");
    size_t one = 1;

    for (int i = 0; i < 2; i++)
        for (int round = 0; round < 3; round++) {
            cl_event event = NULL;
            cl_ulong start = 0, end = 0;
            size_t size = 0;
            cl_int code, far;
            clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &one, &one, 0, NULL, &event);
            clFinish(queues[i]);
            code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, &size);
            clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
            far = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 1, &end, NULL);
            line("profiling", "%s %d size %zu short %d %s", i ? "enabled" : "disabled", code, size, far,
                 end >= start ? "ordered" : "unordered");
            clReleaseEvent(event);
        }
    clReleaseKernel(kernel);
}

static int destroyed;

static void CL_CALLBACK on_destroy(cl_mem mem, void *data)
{
    (void)mem;
    __atomic_fetch_add(&destroyed, *(int *)data, __ATOMIC_SEQ_CST);
}

/* Everything a pending command needs is released before it may run. */
static void check_release_while_pending(const struct world *world)
{
    cl_int content[ITEMS], out[ITEMS] = {0}, factor = 5;
    static int weight = 1;
    size_t global = ITEMS, local = 8;
    cl_event gate = clCreateUserEvent(world->context, NULL);
    cl_command_queue queue = clCreateCommandQueue(world->context, world->device, 0, NULL);
    cl_kernel kernel = make_kernel(world, "scale");
    cl_mem mem;
    cl_int codes[6];

    for (int i = 0; i < ITEMS; i++)
        content[i] = i;
    mem = make_buffer(world, content);
    clSetMemObjectDestructorCallback(mem, on_destroy, &weight);
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    codes[0] = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 1, &gate, NULL);
    codes[1] = clEnqueueReadBuffer(queue, mem, CL_FALSE, 0, sizeof out, out, 0, NULL, NULL);
    codes[2] = clReleaseKernel(kernel);
    codes[3] = clReleaseMemObject(mem);
    codes[4] = clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
    clFinish(queue);
    for (int i = 0; i < 120000 && !__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL); /* the driver lets go of it when it likes */
    codes[5] = clReleaseCommandQueue(queue);
    line("release/pending", "%d %d %d %d %d %d destroyed %d data %08x", codes[0], codes[1], codes[2],
         codes[3], codes[4], codes[5], __atomic_load_n(&destroyed, __ATOMIC_SEQ_CST),
         hash_bytes(0, out, sizeof out));
}

/* Buffers of another interface, used behind a gate and let go of before it opens. */
static void check_shared(const struct world *world)
{
    size_t global = ITEMS, local = 8;
    cl_int factor = 3, content[ITEMS] = {0}, codes[6] = {99, 99, 99, 99, 99, 99};
    cl_event gate = clCreateUserEvent(world->context, NULL);
    cl_kernel kernel = make_kernel(world, "scale");
    cl_mem mem = clCreateFromGLBuffer(world->context, CL_MEM_READ_WRITE, 1, &codes[0]);
    cl_mem copy = make_buffer(world, content);

    for (int i = 0; i < ITEMS; i++)
        content[i] = i;
    codes[1] = clEnqueueAcquireGLObjects(world->in_order, 1, &mem, 0, NULL, NULL);
    codes[2] =
        clEnqueueWriteBuffer(world->in_order, mem, CL_FALSE, 0, sizeof content, content, 1, &gate, NULL);
    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    codes[3] = clEnqueueNDRangeKernel(world->in_order, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    codes[4] = clEnqueueCopyBuffer(world->in_order, mem, copy, 0, 0, sizeof content, 0, NULL, NULL);
    clReleaseMemObject(mem);
    clReleaseKernel(kernel);
    clSetUserEventStatus(gate, CL_COMPLETE);
    codes[5] = clEnqueueReadBuffer(world->in_order, copy, CL_TRUE, 0, sizeof content, content, 0, NULL, NULL);
    line("shared/buffer", "%d %d %d %d %d %d data %08x", codes[0], codes[1], codes[2], codes[3], codes[4],
         codes[5], hash_bytes(0, content, sizeof content));
    clReleaseEvent(gate);
    clReleaseMemObject(copy);
}

void check_objects(const struct world *world)
{
    check_counts(world);
    check_queues(world);
    check_profiling(world);
    check_release_while_pending(world);
    check_programs(world);
    if (!world->pocl) /* which shares nothing */
        check_shared(world);
}
