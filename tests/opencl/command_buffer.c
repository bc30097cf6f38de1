/*
 * cl_khr_command_buffer under Baton. What is recorded runs as it was when it was recorded, as often
 * as it is enqueued. Sync points, barriers and the queue give the order. Misuse is answered with
 * the codes of the extension. Values are checked by arithmetic. Ends with `N passed, N failed`.
 * usage: command-buffer [FILE], for the bytes that replays left
 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024, LOCAL = 16, ROUNDS = 3 };

static const char source[] = "__kernel void scale(__global const int *in, __global int *out, int k) {\n"
                             "    int i = get_global_id(0); out[i] = in[i] * k + i; }\n";

/*
 * As of version 0.9.0, which the layer has. Headers of version 0.9.5 and later give these functions
 * one more parameter.
 */
typedef cl_int(CL_API_CALL *barrier_function)(cl_command_buffer_khr, cl_command_queue, cl_uint,
                                              const cl_sync_point_khr *, cl_sync_point_khr *,
                                              cl_mutable_command_khr *);
typedef cl_int(CL_API_CALL *copy_function)(cl_command_buffer_khr, cl_command_queue, cl_mem, cl_mem, size_t,
                                           size_t, size_t, cl_uint, const cl_sync_point_khr *,
                                           cl_sync_point_khr *, cl_mutable_command_khr *);
typedef cl_int(CL_API_CALL *fill_function)(cl_command_buffer_khr, cl_command_queue, cl_mem, const void *,
                                           size_t, size_t, size_t, cl_uint, const cl_sync_point_khr *,
                                           cl_sync_point_khr *, cl_mutable_command_khr *);

#define FUNCTIONS(X)                                                                                         \
    X(clCreateCommandBufferKHR, clCreateCommandBufferKHR_fn)                                                 \
    X(clFinalizeCommandBufferKHR, clFinalizeCommandBufferKHR_fn)                                             \
    X(clRetainCommandBufferKHR, clRetainCommandBufferKHR_fn)                                                 \
    X(clReleaseCommandBufferKHR, clReleaseCommandBufferKHR_fn)                                               \
    X(clEnqueueCommandBufferKHR, clEnqueueCommandBufferKHR_fn)                                               \
    X(clCommandBarrierWithWaitListKHR, barrier_function)                                                     \
    X(clCommandCopyBufferKHR, copy_function)                                                                 \
    X(clCommandFillBufferKHR, fill_function)                                                                 \
    X(clCommandNDRangeKernelKHR, clCommandNDRangeKernelKHR_fn)                                               \
    X(clGetCommandBufferInfoKHR, clGetCommandBufferInfoKHR_fn)
static struct {
#define FIELD(name, type) type name;
    FUNCTIONS(FIELD)
#undef FIELD
} ext;

static cl_context context;
static cl_device_id device;
static cl_program program;
static FILE *left; /* what replays left; NULL: not wanted */
static int passed, failed;

static void check(bool good, const char *what)
{
    if (good) {
        passed++;
        return;
    }
    failed++;
    printf("FAILED: %s\n", what);
}

static void need(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, code);
    exit(2);
}

struct things {
    cl_command_queue queue;
    cl_mem in, middle, out;
    cl_kernel scale;
    cl_command_buffer_khr buffer;
};

static struct things make(cl_command_queue_properties properties)
{
    struct things t;
    cl_int code, zero[N] = {0};

    t.queue = clCreateCommandQueue(context, device, properties, &code);
    need(code, "clCreateCommandQueue");
    t.in = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero, zero, &code);
    t.middle = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero, zero, &code);
    t.out = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero, zero, &code);
    t.scale = clCreateKernel(program, "scale", &code);
    need(code, "clCreateKernel");
    t.buffer = ext.clCreateCommandBufferKHR(1, &t.queue, NULL, &code);
    need(code, "clCreateCommandBufferKHR");
    return t;
}

static void done(struct things *t)
{
    check(ext.clReleaseCommandBufferKHR(t->buffer) == CL_SUCCESS, "release");
    clReleaseKernel(t->scale);
    clReleaseMemObject(t->in);
    clReleaseMemObject(t->middle);
    clReleaseMemObject(t->out);
    clReleaseCommandQueue(t->queue);
}

static void set(const struct things *t, cl_mem in, cl_mem out, cl_int k)
{
    need(clSetKernelArg(t->scale, 0, sizeof in, &in), "argument 0");
    need(clSetKernelArg(t->scale, 1, sizeof out, &out), "argument 1");
    need(clSetKernelArg(t->scale, 2, sizeof k, &k), "argument 2");
}

/* middle = in * 3 + i; in's first half becomes 7, after that; out = middle * 5 + i. */
static void record(const struct things *t, bool points)
{
    const size_t n = N, local = LOCAL;
    const cl_int seven = 7;
    cl_sync_point_khr first, filled;

    set(t, t->in, t->middle, 3);
    need(ext.clCommandNDRangeKernelKHR(t->buffer, NULL, NULL, t->scale, 1, NULL, &n, &local, 0, NULL, &first,
                                       NULL),
         "first launch");
    if (!points)
        need(ext.clCommandBarrierWithWaitListKHR(t->buffer, NULL, 0, NULL, NULL, NULL), "barrier");
    need(ext.clCommandFillBufferKHR(t->buffer, NULL, t->in, &seven, sizeof seven, 0, N / 2 * sizeof seven,
                                    points, points ? &first : NULL, &filled, NULL),
         "fill");
    check(first > 0 && filled > 0 && first != filled, "sync points");
    if (!points)
        need(ext.clCommandBarrierWithWaitListKHR(t->buffer, NULL, 0, NULL, NULL, NULL), "barrier");
    set(t, t->middle, t->out, 5);
    need(ext.clCommandNDRangeKernelKHR(t->buffer, NULL, NULL, t->scale, 1, NULL, &n, NULL, points,
                                       points ? &filled : NULL, NULL, NULL),
         "second launch");
    set(t, t->out, t->in, -1); /* changes nothing of what was recorded */
    need(ext.clFinalizeCommandBufferKHR(t->buffer), "finalize");
}

static bool right(const struct things *t, cl_int round)
{
    cl_int in[N], out[N];
    bool good = true;

    need(clEnqueueReadBuffer(t->queue, t->in, CL_TRUE, 0, sizeof in, in, 0, NULL, NULL), "read");
    need(clEnqueueReadBuffer(t->queue, t->out, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL), "read");
    if (left)
        good = fwrite(in, sizeof in, 1, left) == 1 && fwrite(out, sizeof out, 1, left) == 1;
    for (cl_int i = 0; i < N; i++)
        good = good && out[i] == ((round + i) * 3 + i) * 5 + i && in[i] == (i < N / 2 ? 7 : round + i);
    return good;
}

static void replays(cl_command_queue_properties properties, bool points, const char *what)
{
    struct things t = make(properties);
    cl_command_buffer_state_khr state = 99;

    record(&t, points);
    for (cl_int round = 0; round < ROUNDS; round++) {
        cl_int in[N], status = 1;
        cl_event written, gate, over, waits[2];

        for (cl_int i = 0; i < N; i++)
            in[i] = round + i;
        gate = clCreateUserEvent(context, NULL);
        need(clEnqueueWriteBuffer(t.queue, t.in, CL_FALSE, 0, sizeof in, in, 0, NULL, &written), "write");
        waits[0] = written;
        waits[1] = gate;
        need(ext.clEnqueueCommandBufferKHR(0, NULL, t.buffer, 2, waits, &over), "enqueue");
        ext.clGetCommandBufferInfoKHR(t.buffer, CL_COMMAND_BUFFER_STATE_KHR, sizeof state, &state, NULL);
        check(state == CL_COMMAND_BUFFER_STATE_PENDING_KHR, "pending while it waits");
        check(ext.clEnqueueCommandBufferKHR(0, NULL, t.buffer, 0, NULL, NULL) == CL_INVALID_OPERATION,
              "not twice at the same time");
        need(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
        need(clWaitForEvents(1, &over), "wait");
        clGetEventInfo(over, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        check(status == CL_COMPLETE, "complete");
        check(right(&t, round), what);
        clReleaseEvent(over);
        clReleaseEvent(gate);
        clReleaseEvent(written);
    }
    ext.clGetCommandBufferInfoKHR(t.buffer, CL_COMMAND_BUFFER_STATE_KHR, sizeof state, &state, NULL);
    check(state == CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR, "executable again");
    done(&t);
}

/*
 * In an out-of-order queue a barrier of the buffer, or an empty buffer, waits for nothing else that
 * is in the queue.
 */
static void stands_alone(void)
{
    struct things t = make(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_event gate = clCreateUserEvent(context, NULL), over;
    cl_int value = 5, read = 0;

    need(clEnqueueFillBuffer(t.queue, t.in, &value, sizeof value, 0, sizeof value, 1, &gate, NULL), "fill");
    need(ext.clCommandBarrierWithWaitListKHR(t.buffer, NULL, 0, NULL, NULL, NULL), "barrier");
    need(ext.clCommandFillBufferKHR(t.buffer, NULL, t.out, &value, sizeof value, 0, sizeof value, 0, NULL,
                                    NULL, NULL),
         "recorded fill");
    need(ext.clFinalizeCommandBufferKHR(t.buffer), "finalize");
    need(ext.clEnqueueCommandBufferKHR(0, NULL, t.buffer, 0, NULL, &over), "enqueue");
    need(clWaitForEvents(1, &over), "wait");
    need(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
    need(clFinish(t.queue), "clFinish");
    need(clEnqueueReadBuffer(t.queue, t.out, CL_TRUE, 0, sizeof read, &read, 0, NULL, NULL), "read");
    check(read == 5, "stands alone");
    clReleaseEvent(over);
    clReleaseEvent(gate);
    done(&t);
}

/* A command buffer whose wait list fails has failed, and none of its commands runs. */
static void fails(cl_command_queue_properties properties, const char *what)
{
    struct things t = make(properties);
    cl_event gate = clCreateUserEvent(context, NULL), over;
    cl_int value = 5, read = 0, status = 1;

    need(ext.clCommandFillBufferKHR(t.buffer, NULL, t.out, &value, sizeof value, 0, sizeof value, 0, NULL,
                                    NULL, NULL),
         "recorded fill");
    need(ext.clFinalizeCommandBufferKHR(t.buffer), "finalize");
    need(ext.clEnqueueCommandBufferKHR(0, NULL, t.buffer, 1, &gate, &over), "enqueue");
    need(clSetUserEventStatus(gate, -1), "gate");
    (void)clWaitForEvents(1, &over);
    clGetEventInfo(over, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    check(status < 0, what);
    need(clEnqueueReadBuffer(t.queue, t.out, CL_TRUE, 0, sizeof read, &read, 0, NULL, NULL), "read");
    check(read == 0, what);
    clReleaseEvent(over);
    clReleaseEvent(gate);
    done(&t);
}

/* The buffer, its queue and its memory live as long as the command buffer. */
static void keeps(void)
{
    struct things t = make(0);
    cl_command_queue reader = clCreateCommandQueue(context, device, 0, NULL);
    cl_int one = 1, read = 0;
    cl_event over;

    need(ext.clCommandFillBufferKHR(t.buffer, NULL, t.in, &one, sizeof one, 0, sizeof one, 0, NULL, NULL,
                                    NULL),
         "fill");
    need(ext.clCommandCopyBufferKHR(t.buffer, NULL, t.in, t.out, 0, 0, sizeof one, 0, NULL, NULL, NULL),
         "copy");
    need(ext.clFinalizeCommandBufferKHR(t.buffer), "finalize");
    clReleaseMemObject(t.in);
    clReleaseCommandQueue(t.queue);
    need(ext.clEnqueueCommandBufferKHR(0, NULL, t.buffer, 0, NULL, &over), "enqueue");
    need(clWaitForEvents(1, &over), "wait");
    need(clEnqueueReadBuffer(reader, t.out, CL_TRUE, 0, sizeof read, &read, 0, NULL, NULL), "read");
    check(read == 1, "what it uses is kept");
    need(ext.clRetainCommandBufferKHR(t.buffer), "retain");
    need(ext.clReleaseCommandBufferKHR(t.buffer), "release");
    need(ext.clReleaseCommandBufferKHR(t.buffer), "release");
    check(ext.clReleaseCommandBufferKHR(t.buffer) == CL_INVALID_COMMAND_BUFFER_KHR,
          "released once too often");
    clReleaseEvent(over);
    clReleaseKernel(t.scale);
    clReleaseMemObject(t.middle);
    clReleaseMemObject(t.out);
    clReleaseCommandQueue(reader);
}

static cl_kernel make_pick(cl_program *ret_program)
{
    static const char *const text =
        "__kernel void pick(__read_only image2d_t in, sampler_t how, __global int *out) {\n"
        "    int i = get_global_id(0); out[i] = read_imagei(in, how, (int2)(i - 1, 0)).x; }\n";
    cl_kernel pick;
    cl_int code;

    *ret_program = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&text, NULL, &code);
    need(clBuildProgram(*ret_program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    pick = clCreateKernel(*ret_program, "pick", &code);
    need(code, "clCreateKernel");
    return pick;
}

static cl_uint sampler_references(cl_sampler sampler)
{
    cl_uint n = 0;

    clGetSamplerInfo(sampler, CL_SAMPLER_REFERENCE_COUNT, sizeof n, &n, NULL);
    return n;
}

/*
 * A recorded launch keeps its sampler as long as the command buffer lives, and no longer. The
 * program's sampler reads the edge outside of the image; a later one reads 0 there.
 */
static void keeps_sampler(void)
{
    const cl_image_format format = {CL_R, CL_SIGNED_INT32};
    const cl_image_desc about = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 1};
    const size_t n = 4;
    struct things t = make(0);
    cl_int values[4] = {11, 22, 33, 44}, read[4] = {0};
    cl_program picks;
    cl_kernel pick = make_pick(&picks);
    cl_sampler sampler =
        clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, NULL);
    cl_sampler later;
    cl_uint before = sampler_references(sampler);
    bool kept;
    cl_mem image =
        clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &about, values, NULL);

    need(clSetKernelArg(pick, 0, sizeof image, &image), "image");
    need(clSetKernelArg(pick, 1, sizeof sampler, &sampler), "sampler");
    need(clSetKernelArg(pick, 2, sizeof t.out, &t.out), "out");
    need(ext.clCommandNDRangeKernelKHR(t.buffer, NULL, NULL, pick, 1, NULL, &n, NULL, 0, NULL, NULL, NULL),
         "launch");
    need(ext.clFinalizeCommandBufferKHR(t.buffer), "finalize");
    clReleaseKernel(pick);
    kept = sampler_references(sampler) > before;
    check(kept, "a recorded launch keeps its sampler");
    clReleaseSampler(sampler);
    later = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, NULL);
    need(ext.clEnqueueCommandBufferKHR(0, NULL, t.buffer, 0, NULL, NULL), "enqueue");
    need(clEnqueueReadBuffer(t.queue, t.out, CL_TRUE, 0, sizeof read, read, 0, NULL, NULL), "read");
    check(read[0] == 11 && read[1] == 11 && read[2] == 22 && read[3] == 33, "it reads through its sampler");
    clReleaseMemObject(image);
    if (kept)
        clRetainSampler(sampler);
    done(&t);
    check(!kept || sampler_references(sampler) == before, "no longer than the command buffer lives");
    if (kept)
        clReleaseSampler(sampler);
    clReleaseSampler(later);
    clReleaseProgram(picks);
}

static cl_uint references(cl_mem mem)
{
    cl_uint n = 0;

    clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof n, &n, NULL);
    return n;
}

/* A command that is recorded nowhere keeps nothing. */
static void recorded_nowhere(void)
{
    struct things t = make(0);
    cl_uint before = references(t.in);

    check(ext.clCommandCopyBufferKHR(NULL, NULL, t.in, t.out, 0, 0, 4, 0, NULL, NULL, NULL) ==
              CL_INVALID_COMMAND_BUFFER_KHR,
          "record into nothing");
    check(references(t.in) == before, "and keep nothing");
    need(ext.clFinalizeCommandBufferKHR(t.buffer), "finalize");
    done(&t);
}

static void misuse(void)
{
    struct things t = make(0);
    const size_t n = N;
    const cl_int seven = 7;
    const cl_sync_point_khr later = 99;
    cl_int code = CL_SUCCESS;

    check(!ext.clCreateCommandBufferKHR(0, NULL, NULL, &code) && code == CL_INVALID_VALUE, "no queue");
    check(ext.clFinalizeCommandBufferKHR(NULL) == CL_INVALID_COMMAND_BUFFER_KHR, "finalize nothing");
    check(ext.clEnqueueCommandBufferKHR(0, NULL, NULL, 0, NULL, NULL) == CL_INVALID_COMMAND_BUFFER_KHR,
          "enqueue nothing");
    check(ext.clEnqueueCommandBufferKHR(0, NULL, t.buffer, 0, NULL, NULL) == CL_INVALID_OPERATION,
          "enqueue before it is finalized");
    check(ext.clCommandFillBufferKHR(t.buffer, NULL, t.in, &seven, sizeof seven, 0, sizeof seven, 1, &later,
                                     NULL, NULL) == CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
          "a sync point that does not exist");
    check(ext.clCommandFillBufferKHR(t.buffer, t.queue, t.in, &seven, sizeof seven, 0, sizeof seven, 0, NULL,
                                     NULL, NULL) == CL_INVALID_COMMAND_QUEUE,
          "a queue where there must be none");
    check(ext.clCommandCopyBufferKHR(t.buffer, NULL, t.in, NULL, 0, 0, 4, 0, NULL, NULL, NULL) ==
              CL_INVALID_MEM_OBJECT,
          "no memory object");
    check(ext.clCommandCopyBufferKHR(t.buffer, NULL, t.in, t.out, 0, N * sizeof seven, 4, 0, NULL, NULL,
                                     NULL) == CL_INVALID_VALUE,
          "outside the buffer");
    check(ext.clCommandNDRangeKernelKHR(t.buffer, NULL, NULL, t.scale, 1, NULL, &n, NULL, 0, NULL, NULL,
                                        NULL) == CL_INVALID_KERNEL_ARGS,
          "arguments that are not set");
    set(&t, t.in, t.out, 1);
    check(ext.clCommandNDRangeKernelKHR(t.buffer, NULL, NULL, t.scale, 4, NULL, &n, NULL, 0, NULL, NULL,
                                        NULL) == CL_INVALID_WORK_DIMENSION,
          "four dimensions");
    need(ext.clFinalizeCommandBufferKHR(t.buffer), "finalize");
    check(ext.clFinalizeCommandBufferKHR(t.buffer) == CL_INVALID_OPERATION, "finalize twice");
    check(ext.clCommandBarrierWithWaitListKHR(t.buffer, NULL, 0, NULL, NULL, NULL) == CL_INVALID_OPERATION,
          "record when it is finalized");
    done(&t);
}

int main(int argc, char **argv)
{
    const char *text = source;
    cl_platform_id platform;
    char extensions[8192] = "";
    cl_int code;

    if (argc > 1 && !(left = fopen(argv[1], "w")))
        return 2;
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL);
    check(strstr(extensions, "cl_khr_command_buffer") != NULL, "the extension is advertised");
#define GET(name, type)                                                                                      \
    ext.name = (type)(uintptr_t)clGetExtensionFunctionAddressForPlatform(platform, #name);                   \
    check(ext.name != NULL, #name);
    FUNCTIONS(GET)
    if (failed)
        return 1;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    need(code, "clCreateContext");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    need(code, "clCreateProgramWithSource");
    need(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    replays(0, false, "in order");
    replays(0, true, "in order, with sync points");
    replays(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, true, "out of order, with sync points");
    replays(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, false, "out of order, with a barrier");
    stands_alone();
    fails(0, "a failed wait list, in order");
    fails(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, "a failed wait list, out of order");
    keeps();
    keeps_sampler();
    misuse();
    recorded_nowhere();
    clReleaseProgram(program);
    clReleaseContext(context);
    check(!left || fclose(left) == 0, "the file is written");
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
