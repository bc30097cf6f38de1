/*
 * A program that drives several devices itself. It has one thread per device, each with a queue of
 * its own, and all run one kernel at the same time. Without Baton every launch has the same width.
 * The launches of two threads differ in size only in what Baton makes of them. Each thread checks
 * every value against arithmetic done here. Ends with 0 if all are right.
 *
 * usage: own-devices shared | apart | parts | queues | unordered
 *   shared     one context of all devices
 *   apart      a context per device
 *   parts      the two halves of one device
 *   queues     one device, a queue per thread
 *   unordered  the same, and the launches of each queue, on buffers of their own, may run at the
 *              same time
 */
#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, ITEMS = 1 << 17, LOCAL = 32, ROUNDS = 3, LAUNCHES = 3 };

static const char source[] = "__kernel void stir(__global uint *a, uint k) {\n"
                             "    uint x = a[get_global_id(0)];\n"
                             "    for (uint i = 0; i < 200; i++) x = x * 1664525u + k;\n"
                             "    a[get_global_id(0)] = x; }\n";

struct lane {
    cl_context context;
    cl_device_id device;
    cl_program program;
    pthread_barrier_t *start;
    bool unordered;
    int wrong;
};

static void need(cl_int code, const char *what)
{
    if (code == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, code);
    exit(2);
}

/* The kernel, so many times. */
static uint32_t expected(uint32_t x, uint32_t k, int times)
{
    for (int i = 0; i < times * 200; i++)
        x = x * 1664525u + k;
    return x;
}

/* In order: every launch works on the first buffer. Else each has its own. */
static int run_round(const struct lane *lane, cl_command_queue queue, cl_kernel kernel,
                     const cl_mem mems[LAUNCHES], uint32_t k)
{
    static const size_t n = ITEMS, local = LOCAL, bytes = ITEMS * sizeof(uint32_t);
    int n_mems = lane->unordered ? LAUNCHES : 1, wrong = 0;
    uint32_t *values = malloc(bytes);

    if (!values)
        return 1;
    for (uint32_t i = 0; i < ITEMS; i++)
        values[i] = i;
    for (int i = 0; i < n_mems; i++)
        need(clEnqueueWriteBuffer(queue, mems[i], CL_TRUE, 0, bytes, values, 0, NULL, NULL), "write");
    need(clSetKernelArg(kernel, 1, sizeof k, &k), "argument 1");
    (void)pthread_barrier_wait(lane->start);
    for (int i = 0; i < LAUNCHES; i++) {
        need(clSetKernelArg(kernel, 0, sizeof(cl_mem), &mems[i % n_mems]), "argument 0");
        need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, &local, 0, NULL, NULL), "launch");
    }
    need(clFinish(queue), "clFinish");
    for (int m = 0; m < n_mems; m++) {
        need(clEnqueueReadBuffer(queue, mems[m], CL_TRUE, 0, bytes, values, 0, NULL, NULL), "read");
        for (uint32_t i = 0; i < ITEMS; i += 97) /* a sample of every few groups */
            wrong += values[i] != expected(i, k, LAUNCHES / n_mems);
    }
    free(values);
    return wrong;
}

static void *run_lane(void *argument)
{
    struct lane *lane = argument;
    cl_mem mems[LAUNCHES];
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(
        lane->context, lane->device, lane->unordered ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &code);
    cl_kernel kernel = clCreateKernel(lane->program, "stir", &code);

    need(code, "clCreateKernel");
    for (int i = 0; i < LAUNCHES; i++) {
        mems[i] = clCreateBuffer(lane->context, CL_MEM_READ_WRITE, ITEMS * sizeof(uint32_t), NULL, &code);
        need(code, "clCreateBuffer");
    }
    for (uint32_t round = 0; round < ROUNDS; round++)
        lane->wrong += run_round(lane, queue, kernel, mems, 2 * round + 1);
    for (int i = 0; i < LAUNCHES; i++)
        need(clReleaseMemObject(mems[i]), "clReleaseMemObject");
    need(clReleaseKernel(kernel), "clReleaseKernel");
    need(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
    return NULL;
}

static cl_program build(cl_context context)
{
    const char *text = source;
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);

    need(code, "clCreateProgramWithSource");
    need(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "clBuildProgram");
    return program;
}

/* The devices of the threads; `parts` are halves, which a release ends. */
static void choose(const char *way, cl_device_id ret_devices[THREADS])
{
    const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_platform_id platform;
    cl_uint n = 0;

    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, THREADS, ret_devices, &n), "clGetDeviceIDs");
    if (!strcmp(way, "parts"))
        need(clCreateSubDevices(ret_devices[0], halves, THREADS, ret_devices, &n), "clCreateSubDevices");
    if (!strcmp(way, "queues") || !strcmp(way, "unordered"))
        ret_devices[1] = ret_devices[0];
    else if (n < THREADS)
        need(CL_DEVICE_NOT_FOUND, "two devices");
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "shared";
    bool apart = !strcmp(way, "apart");
    pthread_barrier_t start;
    pthread_t threads[THREADS];
    cl_device_id devices[THREADS];
    struct lane lanes[THREADS] = {0};
    int wrong = 0;
    cl_int code;

    choose(way, devices);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        lanes[i] = i && !apart ? lanes[0] : (struct lane){.start = &start};
        lanes[i].device = devices[i];
        lanes[i].unordered = !strcmp(way, "unordered");
        if (!lanes[i].context) {
            cl_uint n = apart || devices[0] == devices[1] ? 1 : THREADS;

            lanes[i].context = clCreateContext(NULL, n, &devices[i], NULL, NULL, &code);
            need(code, "clCreateContext");
            lanes[i].program = build(lanes[i].context);
        }
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run_lane, &lanes[i]) != 0)
            return 2;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += lanes[i].wrong;
    }
    printf("%s: %d wrong values\n", way, wrong);
    return wrong != 0;
}
