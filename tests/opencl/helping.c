/*
 * Program threads that wait for queued commands and do the workers' work meanwhile (src/engine/worker.h), with the fake driver, every command queued: who runs what,
 * and what a waiting thread must not do. Run once with commands inside the driver's calls (`sync`) and once beside them.
 */
#include <CL/cl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

static const char source[] = "kernel void scale(global int *a, int factor)\n"
                             "{ size_t i = get_global_id(0); a[i] = a[i] * factor + 1; }\n"
                             "kernel void empty(void) {}\n";

enum { N = 64 };

static struct {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    cl_program program;
    cl_kernel scale;
    cl_mem mem;
} cl;

static void open_device(void)
{
    const char *text = source;
    cl_int factor = 2;
    cl_platform_id platform;

    ck_assert_int_eq(clGetPlatformIDs(1, &platform, NULL), 0);
    ck_assert_int_eq(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &cl.device, NULL), 0);
    cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, NULL);
    cl.queue = clCreateCommandQueueWithProperties(cl.context, cl.device, NULL, NULL);
    cl.program = clCreateProgramWithSource(cl.context, 1, &text, NULL, NULL);
    ck_assert_int_eq(clBuildProgram(cl.program, 0, NULL, "", NULL, NULL), 0);
    cl.scale = clCreateKernel(cl.program, "scale", NULL);
    cl.mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, N * sizeof(cl_int), NULL, NULL);
    clSetKernelArg(cl.scale, 0, sizeof cl.mem, &cl.mem);
    clSetKernelArg(cl.scale, 1, sizeof factor, &factor);
}

static void launch(cl_command_queue queue, cl_event *ret_event)
{
    size_t global = N;

    ck_assert_int_eq(clEnqueueNDRangeKernel(queue, cl.scale, 1, NULL, &global, NULL, 0, NULL, ret_event), 0);
}

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* Lines of the driver's log, and those of the calling thread. */
static int count_lines(int *ret_mine)
{
    FILE *log = fopen(getenv("FAKE_CL_LOG"), "r");
    char line[256];
    int n = 0;

    *ret_mine = 0;
    ck_assert_ptr_nonnull(log);
    for (; fgets(line, sizeof line, log); n++)
        *ret_mine += atoi(strrchr(line, ' ')) == (int)gettid();
    fclose(log);
    return n;
}

/* Without helping, none: a worker gives each queued command to the driver. */
START_TEST(a_thread_that_waits_runs_its_commands)
{
    enum { JOBS = 100 };
    cl_int in[N] = {0}, out[N];
    char path[64];
    int n, mine;

    harness_folder(path);
    strcat(path, "/log");
    setenv("FAKE_CL_LOG", path, 1);
    open_device();
    for (int job = 0; job < JOBS; job++) {
        in[0] = job;
        clEnqueueWriteBuffer(cl.queue, cl.mem, CL_FALSE, 0, sizeof in, in, 0, NULL, NULL);
        launch(cl.queue, NULL);
        clEnqueueReadBuffer(cl.queue, cl.mem, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
        ck_assert_int_eq(out[0], 2 * job + 1);
        ck_assert_int_eq(out[N - 1], 1);
    }
    n = count_lines(&mine);
    ck_assert_int_eq(n, 3 * JOBS);
    if (strstr(getenv("FAKE_CL"), "sync"))
        ck_assert_msg(mine > JOBS / 2, "%d of %d commands", mine, n); /* the worker is faster now and then */
}
END_TEST

struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n, by_waiting;
    pthread_t waiting;
};

static void note(struct shared *shared)
{
    pthread_mutex_lock(&shared->lock);
    shared->n++;
    shared->by_waiting += pthread_equal(pthread_self(), shared->waiting) != 0;
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->lock);
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    note(data);
}

static void CL_CALLBACK native(void *data)
{
    struct shared *shared;

    memcpy(&shared, data, sizeof shared);
    note(shared);
}

/* The program waits with a lock in its hand that its callback wants: a callback on the waiting thread would wait for itself. */
START_TEST(callbacks_are_not_called_by_the_thread_that_waits)
{
    enum { JOBS = 50 };
    struct shared shared = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .waiting = pthread_self()};
    cl_event event;

    open_device();
    for (int job = 0; job < JOBS; job++) {
        launch(cl.queue, &event);
        clSetEventCallback(event, CL_COMPLETE, on_event, &shared);
        clSetEventCallback(event, CL_COMPLETE, on_event, &shared);
        launch(cl.queue, NULL);
        pthread_mutex_lock(&shared.lock);
        if (job % 2)
            clFinish(cl.queue);
        else
            clWaitForEvents(1, &event);
        clReleaseEvent(event); /* the callback still has one */
        pthread_mutex_unlock(&shared.lock);
    }
    clFinish(cl.queue);
    pthread_mutex_lock(&shared.lock);
    while (shared.n < 2 * JOBS)
        pthread_cond_wait(&shared.changed, &shared.lock);
    pthread_mutex_unlock(&shared.lock);
}
END_TEST

START_TEST(functions_of_the_program_are_not_run_by_the_thread_that_waits)
{
    enum { JOBS = 20 };
    struct shared shared = {.lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER,
                            .waiting = pthread_self()},
                  *pointer = &shared;

    open_device();
    for (int job = 0; job < JOBS; job++) {
        launch(cl.queue, NULL);
        ck_assert_int_eq(clEnqueueNativeKernel(cl.queue, native, (void *)&pointer, sizeof pointer, 0, NULL,
                                               NULL, 0, NULL, NULL),
                         0);
        clFinish(cl.queue);
        ck_assert_int_eq(shared.n, job + 1);
    }
    ck_assert_int_eq(shared.by_waiting, 0);
}
END_TEST

static const double slow_s = 0.1; /* what the script says of a group of `empty` */

static void launch_slow(cl_command_queue queue, cl_kernel slow, size_t global)
{
    ck_assert_int_eq(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &global, &global, 0, NULL, NULL), 0);
}

/* For a short launch with one behind it, ready at once, that takes long and is expected to be short: it was measured with one group of many items. */
static double wait_before(cl_command_queue behind)
{
    cl_kernel slow = clCreateKernel(cl.program, "empty", NULL);
    double begin, waited;
    cl_event event;

    launch_slow(behind, slow, 1024);
    launch(cl.queue, NULL);
    clFinish(cl.queue);
    clFinish(behind);
    begin = now();
    launch(cl.queue, &event);
    launch_slow(behind, slow, 1);
    if (behind == cl.queue)
        clWaitForEvents(1, &event);
    else
        clFinish(cl.queue);
    waited = now() - begin;
    clReleaseEvent(event);
    clFinish(behind);
    clReleaseKernel(slow);
    ck_assert_double_ge(now() - begin, slow_s);
    return waited;
}

/*
 * How many of ten waits are quick. Not each is: a worker that gave the first launch to the driver may give it the second before it looks at the first. Nor is each one slow
 * if the waiting thread does so: a worker may have done it all before.
 */
static int count_quick(cl_command_queue behind)
{
    int quick = 0;

    for (int round = 0; round < 10; round++)
        quick += wait_before(behind) < 0.8 * slow_s;
    return quick;
}

START_TEST(a_wait_ends_with_its_event)
{
    open_device();
    ck_assert_int_ge(count_quick(cl.queue), 4);
}
END_TEST

START_TEST(a_wait_ends_beside_other_queues)
{
    cl_command_queue other;

    open_device();
    other = clCreateCommandQueueWithProperties(cl.context, cl.device, NULL, NULL);
    ck_assert_int_ge(count_quick(other), 4);
    clReleaseCommandQueue(other);
}
END_TEST

static void *waits(void *data)
{
    cl_command_queue queue = data;

    for (int i = 0; i < 200; i++) {
        launch(queue, NULL);
        clFinish(queue);
    }
    return NULL;
}

START_TEST(threads_help_with_one_queue_and_with_several)
{
    enum { THREADS = 6 };
    cl_command_queue queues[3];
    cl_int zeros[N] = {0}, ones = 1;
    pthread_t threads[THREADS];
    cl_int out[N];

    open_device();
    clSetKernelArg(cl.scale, 1, sizeof ones, &ones); /* a = a + 1 */
    clEnqueueWriteBuffer(cl.queue, cl.mem, CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, NULL);
    for (int i = 0; i < 3; i++)
        queues[i] = clCreateCommandQueueWithProperties(cl.context, cl.device, NULL, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, waits, queues[i / 2]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    clEnqueueReadBuffer(cl.queue, cl.mem, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
    ck_assert_int_eq(out[0], THREADS * 200);
    ck_assert_int_eq(out[N - 1], THREADS * 200);
}
END_TEST

static void CL_CALLBACK nap(cl_event event, cl_int status, void *data)
{
    struct timespec pause = {.tv_nsec = 20000000};

    (void)event;
    (void)status;
    (void)data;
    nanosleep(&pause, NULL);
}

/* While the worker is in the callback, somebody else could run the second launch, which waits for the first one's end. */
static void *run_jobs_humbly(void *data)
{
    const size_t global = N;

    for (int job = 0; job < 10; job++) {
        cl_event gate = clCreateUserEvent(cl.context, NULL), event;
        clEnqueueNDRangeKernel(cl.queue, cl.scale, 1, NULL, &global, NULL, 1, &gate, &event);
        clSetEventCallback(event, CL_COMPLETE, nap, NULL);
        clEnqueueNDRangeKernel(cl.queue, cl.scale, 1, NULL, &global, NULL, 1, &event, NULL);
        clSetUserEventStatus(gate, CL_COMPLETE);
        clFinish(cl.queue);
        clReleaseEvent(event);
        clReleaseEvent(gate);
    }
    (void)count_lines(data);
    return NULL;
}

/* The worker began with a real-time priority: a thread with none could be kept from its core while others of the program wait for its step. */
START_TEST(a_thread_of_lower_rank_does_not_help)
{
    struct sched_param high = {.sched_priority = 5}, none = {0};
    pthread_attr_t attributes;
    pthread_t thread;
    char path[64];
    int mine = -1;

    if (sched_setscheduler(0, SCHED_FIFO, &high) < 0)
        return; /* not permitted here */
    harness_folder(path);
    strcat(path, "/log");
    setenv("FAKE_CL_LOG", path, 1);
    open_device();
    launch(cl.queue, NULL);
    clFinish(cl.queue); /* the worker is there */
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &none);
    ck_assert_int_eq(pthread_create(&thread, &attributes, run_jobs_humbly, &mine), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(mine, 0);
}
END_TEST

static void *wait_long(void *unused)
{
    launch_slow(cl.queue, clCreateKernel(cl.program, "empty", NULL), 1);
    launch(cl.queue, NULL);
    clFinish(cl.queue);
    return unused;
}

START_TEST(a_program_can_end_while_its_thread_helps)
{
    struct timespec pause = {.tv_nsec = 50000000};
    pthread_t thread;

    open_device();
    pthread_create(&thread, NULL, wait_long, NULL);
    nanosleep(&pause, NULL);
    exit(0); /* of the forked case: a hang is a failure */
}
END_TEST

HARNESS_MAIN("helping", 30, a_thread_that_waits_runs_its_commands,
             callbacks_are_not_called_by_the_thread_that_waits,
             functions_of_the_program_are_not_run_by_the_thread_that_waits, a_wait_ends_with_its_event,
             a_wait_ends_beside_other_queues, threads_help_with_one_queue_and_with_several,
             a_thread_of_lower_rank_does_not_help, a_program_can_end_while_its_thread_helps)
