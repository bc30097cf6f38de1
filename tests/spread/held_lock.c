/*
 * What must not wait for a thread that merges results of another device, or run under its lock.
 * That is the end of a command, and the program's destructor callbacks. On the fake driver with two
 * devices and launches split over both. Native kernels keep a device busy until the test opens
 * their gate.
 */
#include "asleep.h"

#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N = 4096, PATIENCE_MS = 300000 };

static const char source[] = "kernel void scale(global int *a, int factor)\n"
                             "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n"
                             "kernel void add(global const int *a, global const int *b, global int *c)\n"
                             "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n";

static struct {
    cl_device_id devices[2];
    cl_context context, other;      /* of the first device, and of the second */
    cl_command_queue queue, second; /* of the first device */
    cl_command_queue away;          /* of the second */
    cl_program program;
} cl;

static int passed, failed;

static void check(const char *sentence, bool good)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("FAILED: %s\n", sentence);
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    printf("FAILED: %s\n", what);
    exit(2);
}

static void open_devices(void)
{
    const char *text = source;
    cl_platform_id platform;
    cl_uint n = 0;

    must(!clGetPlatformIDs(1, &platform, NULL) &&
             !clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, cl.devices, &n) && n == 2,
         "two devices");
    cl.context = clCreateContext(NULL, 1, &cl.devices[0], NULL, NULL, NULL);
    cl.other = clCreateContext(NULL, 1, &cl.devices[1], NULL, NULL, NULL);
    cl.queue = clCreateCommandQueueWithProperties(cl.context, cl.devices[0], NULL, NULL);
    cl.second = clCreateCommandQueueWithProperties(cl.context, cl.devices[0], NULL, NULL);
    cl.away = clCreateCommandQueueWithProperties(cl.other, cl.devices[1], NULL, NULL);
    cl.program = clCreateProgramWithSource(cl.context, 1, &text, NULL, NULL);
    must(!clBuildProgram(cl.program, 0, NULL, "", NULL, NULL), "a program");
}

static void close_devices(void)
{
    clReleaseProgram(cl.program);
    clReleaseCommandQueue(cl.queue);
    clReleaseCommandQueue(cl.second);
    clReleaseCommandQueue(cl.away);
    clReleaseContext(cl.context);
    clReleaseContext(cl.other);
}

static cl_mem new_buffer(void)
{
    static cl_int zeros[N];

    return clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, NULL);
}

static void launch(const char *name, cl_uint n_mems, const cl_mem *mems)
{
    cl_kernel kernel = clCreateKernel(cl.program, name, NULL);
    const size_t global = N, local = 4;
    const cl_int factor = 2;

    for (cl_uint i = 0; i < n_mems; i++)
        clSetKernelArg(kernel, i, sizeof mems[i], &mems[i]);
    if (n_mems == 1)
        clSetKernelArg(kernel, 1, sizeof factor, &factor);
    must(!clEnqueueNDRangeKernel(cl.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "a launch");
    clFinish(cl.queue);
    clReleaseKernel(kernel);
}

/* --- gates --- */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool entered, open;
};

#define GATE                                                                                                 \
    {                                                                                                        \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                               \
    }

static void CL_CALLBACK stay(void *data)
{
    struct gate *gate;

    memcpy(&gate, data, sizeof gate);
    pthread_mutex_lock(&gate->lock);
    gate->entered = true;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void open_gate(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

/* Returns when the queue's device is busy with the gate. mem: what the command names, or NULL. */
static cl_event keep_busy(cl_command_queue queue, struct gate *gate, cl_mem mem)
{
    struct {
        struct gate *gate;
        cl_mem mem;
    } args = {gate, mem};
    const void *place = &args.mem;
    cl_event event = NULL;

    must(!clEnqueueNativeKernel(queue, stay, &args, sizeof args, mem ? 1 : 0, mem ? &mem : NULL,
                                mem ? &place : NULL, 0, NULL, &event),
         "a native kernel");
    pthread_mutex_lock(&gate->lock);
    while (!gate->entered)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
    return event;
}

/* --- threads that read --- */

struct reader {
    pthread_t thread;
    cl_command_queue queue;
    cl_mem mem;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pid_t id;
    bool done;
    cl_int first;
};

static void *read_all(void *argument)
{
    struct reader *reader = argument;
    cl_int values[N] = {0};

    pthread_mutex_lock(&reader->lock);
    reader->id = gettid();
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
    clEnqueueReadBuffer(reader->queue, reader->mem, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    pthread_mutex_lock(&reader->lock);
    reader->first = values[0];
    reader->done = true;
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

static void start_reader(struct reader *reader, cl_command_queue queue, cl_mem mem)
{
    *reader = (struct reader){
        .queue = queue, .mem = mem, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    must(!pthread_create(&reader->thread, NULL, read_all, reader), "a thread");
    pthread_mutex_lock(&reader->lock);
    while (!reader->id)
        pthread_cond_wait(&reader->changed, &reader->lock);
    pthread_mutex_unlock(&reader->lock);
}

static bool done_in_time(struct reader *reader)
{
    struct timespec until;
    bool done;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&reader->lock);
    while (!reader->done &&
           pthread_cond_clockwait(&reader->changed, &reader->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    done = reader->done;
    pthread_mutex_unlock(&reader->lock);
    return done;
}

/* --- cases --- */

static bool over_in_time(cl_event event)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    cl_int status = CL_QUEUED;

    for (int ms = 0; ms < PATIENCE_MS && status > CL_COMPLETE; ms++) {
        nanosleep(&moment, NULL);
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    }
    return status == CL_COMPLETE;
}

/* The last use of a buffer ends while another thread merges, and waits for a device. */
static void ends_of_commands(void)
{
    static struct gate home = GATE, away = GATE;
    cl_mem merged = new_buffer(), ending = new_buffer();
    struct reader reader;
    cl_event used, busy;

    launch("scale", 1, &merged);
    launch("scale", 1, &ending);
    used = keep_busy(cl.queue, &home, ending);
    busy = keep_busy(cl.away, &away, NULL);
    start_reader(&reader, cl.second, merged);
    await_asleep(reader.id); /* it waits for the device, with the lock held */
    clReleaseMemObject(ending);
    open_gate(&home);
    check("a command ends while another thread merges", over_in_time(used));
    open_gate(&away);
    pthread_join(reader.thread, NULL);
    check("what is merged is right", reader.first == 1);
    clReleaseEvent(used);
    clReleaseEvent(busy);
    clReleaseMemObject(merged);
}

static struct {
    cl_mem mem;
    struct reader reader;
    bool ran, read;
} destroyed;

static void CL_CALLBACK on_destruction(cl_mem mem, void *unused)
{
    (void)mem;
    (void)unused;
    destroyed.ran = true;
    start_reader(&destroyed.reader, cl.second, destroyed.mem);
    destroyed.read = done_in_time(&destroyed.reader);
}

/* A merge drops the last reference to an input that the program has released. */
static void destructor_callbacks(void)
{
    cl_mem mems[3] = {new_buffer(), new_buffer(), new_buffer()};
    cl_int values[N];

    destroyed.mem = new_buffer();
    launch("scale", 1, &destroyed.mem);
    launch("add", 3, mems);
    clSetMemObjectDestructorCallback(mems[0], on_destruction, NULL);
    clReleaseMemObject(mems[0]);
    check("results that are not merged keep their inputs", !destroyed.ran);
    clEnqueueReadBuffer(cl.queue, mems[2], CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    check("the callback is called once they are", destroyed.ran);
    check("a destructor callback may wait for a thread that merges", destroyed.read);
    pthread_join(destroyed.reader.thread, NULL);
    check("and what that thread reads is right", destroyed.reader.first == 1);
    clReleaseMemObject(mems[1]);
    clReleaseMemObject(mems[2]);
    clReleaseMemObject(destroyed.mem);
}

int main(void)
{
    open_devices();
    ends_of_commands();
    destructor_callbacks();
    close_devices();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
