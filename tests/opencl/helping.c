/*
 * Program threads that wait for queued commands and do the workers' work meanwhile
 * (src/engine/worker.h). With the fake driver, every command queued. Checked are the thread that
 * runs each command, and what a waiting thread must not do. Run once with commands inside the
 * driver's calls (`sync`) and once beside them.
 */
#include <CL/cl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
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

#define GONE (-2)

/* How often the thread was switched away; -1: it does not sleep; GONE. */
static long long switches_of(pid_t thread)
{
    long long n, sum = 0;
    char path[64], line[128], state = '?';
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        (void)sscanf(line, "State: %c", &state);
        if (sscanf(line, "voluntary_ctxt_switches: %lld", &n) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %lld", &n) == 1)
            sum += n;
    }
    if (!file)
        return GONE;
    fclose(file);
    return state == 'S' ? sum : -1;
}

/* Until the thread sleeps, and goes on doing so: it has done what it could. Or it is gone. */
static void wait_until_it_sleeps(pid_t thread)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (long long before = -1, after = -1; before < 0 || before != after;) {
        before = switches_of(thread);
        if (before == GONE)
            return;
        nanosleep(&moment, NULL);
        after = switches_of(thread);
    }
}

/* Lines of the driver's log that begin so, and those of the calling thread. */
static int count_lines(const char *beginning, int *ret_mine)
{
    FILE *log = fopen(getenv("FAKE_CL_LOG"), "r");
    char line[256];
    int n = 0;

    *ret_mine = 0;
    ck_assert_ptr_nonnull(log);
    while (fgets(line, sizeof line, log)) {
        bool counts = strncmp(line, beginning, strlen(beginning)) == 0;

        n += counts;
        *ret_mine += counts && atoi(strrchr(line, ' ')) == (int)gettid();
    }
    fclose(log);
    return n;
}

/*
 * A callback that does not return before it is let go. The worker is in it, so that only threads
 * that wait can give commands to the driver.
 */
static struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool entered, open;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void CL_CALLBACK stay(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    pthread_mutex_lock(&gate.lock);
    gate.entered = true;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.open)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

/* Returns when the worker of the device is in the callback. */
static void hold_worker(void)
{
    cl_event start = clCreateUserEvent(cl.context, NULL), event;
    const size_t global = N;

    gate.entered = gate.open = false;
    ck_assert_int_eq(clEnqueueNDRangeKernel(cl.queue, cl.scale, 1, NULL, &global, NULL, 1, &start, &event),
                     0);
    ck_assert_int_eq(clSetEventCallback(event, CL_COMPLETE, stay, NULL), 0);
    clSetUserEventStatus(start, CL_COMPLETE); /* a callback of a command that is over is called at once */
    pthread_mutex_lock(&gate.lock);
    while (!gate.entered)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    clReleaseEvent(start);
    clReleaseEvent(event);
}

static void release_worker(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

/* The worker cannot: without helping, none of them would run. */
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
    hold_worker();
    for (int job = 0; job < JOBS; job++) {
        in[0] = job;
        clEnqueueWriteBuffer(cl.queue, cl.mem, CL_FALSE, 0, sizeof in, in, 0, NULL, NULL);
        launch(cl.queue, NULL);
        clEnqueueReadBuffer(cl.queue, cl.mem, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
        ck_assert_int_eq(out[0], 2 * job + 1);
        ck_assert_int_eq(out[N - 1], 1);
    }
    n = count_lines("", &mine);
    ck_assert_int_eq(n, 1 + 3 * JOBS);
    n = count_lines("NDRangeKernel", &mine);
    ck_assert_int_eq(n, 1 + JOBS);
    if (strstr(getenv("FAKE_CL"), "sync"))
        ck_assert_int_eq(mine, JOBS); /* copies have a worker of their own, which is faster now and then */
    release_worker();
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

/*
 * The program waits with a lock in its hand that its callback wants: a callback on the waiting
 * thread would wait for itself.
 */
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

/* One group. */
static void launch_empty(cl_command_queue queue, cl_kernel empty, size_t global, cl_event *ret_event)
{
    ck_assert_int_eq(clEnqueueNDRangeKernel(queue, empty, 1, NULL, &global, &global, 0, NULL, ret_event), 0);
}

/*
 * A launch with another one behind it that is ready at once. The thread that waits for the first
 * does not run the second, and no other thread can.
 */
static void wait_before(cl_command_queue behind)
{
    cl_kernel empty = clCreateKernel(cl.program, "empty", NULL);
    cl_event event, later;
    cl_int status = CL_COMPLETE;

    launch_empty(behind, empty, 1024,
                 NULL); /* measured: one item is short, so that it may be in the driver beside the other */
    launch(cl.queue, NULL);
    clFinish(cl.queue);
    clFinish(behind);
    for (int round = 0; round < 10; round++) {
        hold_worker();
        launch(cl.queue, &event);
        launch_empty(behind, empty, 1, &later);
        if (behind == cl.queue)
            clWaitForEvents(1, &event);
        else
            clFinish(cl.queue);
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        ck_assert_int_eq(status, CL_COMPLETE);
        clGetEventInfo(later, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        ck_assert_int_eq(status, CL_QUEUED); /* the driver does not have it */
        release_worker();
        clFinish(behind);
        clReleaseEvent(event);
        clReleaseEvent(later);
    }
    clReleaseKernel(empty);
}

START_TEST(a_wait_ends_with_its_event)
{
    open_device();
    wait_before(cl.queue);
}
END_TEST

START_TEST(a_wait_ends_beside_other_queues)
{
    cl_command_queue other;

    open_device();
    other = clCreateCommandQueueWithProperties(cl.context, cl.device, NULL, NULL);
    wait_before(other);
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

static _Atomic pid_t humble; /* the thread that must not help */

static void CL_CALLBACK await_humble(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    wait_until_it_sleeps(humble);
}

/*
 * While the worker is in the callback, this thread could run the second launch, which waits for the
 * first one's end.
 */
static void *run_jobs_humbly(void *data)
{
    const size_t global = N;

    humble = gettid();
    for (int job = 0; job < 10; job++) {
        cl_event start = clCreateUserEvent(cl.context, NULL), event;
        clEnqueueNDRangeKernel(cl.queue, cl.scale, 1, NULL, &global, NULL, 1, &start, &event);
        clSetEventCallback(event, CL_COMPLETE, await_humble, NULL);
        clEnqueueNDRangeKernel(cl.queue, cl.scale, 1, NULL, &global, NULL, 1, &event, NULL);
        clSetUserEventStatus(start, CL_COMPLETE);
        clFinish(cl.queue);
        clReleaseEvent(event);
        clReleaseEvent(start);
    }
    (void)count_lines("", data);
    return NULL;
}

/*
 * The worker began with a real-time priority. A thread with none could be kept from its core while
 * others of the program wait for its step.
 */
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

static _Atomic pid_t waiting;

/* The launch takes two seconds, in which this program sees its thread sleep. */
static void *wait_long(void *unused)
{
    const size_t groups = 20, one = 1;

    waiting = gettid();
    ck_assert_int_eq(clEnqueueNDRangeKernel(cl.queue, clCreateKernel(cl.program, "empty", NULL), 1, NULL,
                                            &groups, &one, 0, NULL, NULL),
                     0);
    launch(cl.queue, NULL);
    clFinish(cl.queue);
    return unused;
}

/* The thread is in the driver, in a launch that takes long, or waits for it. */
START_TEST(a_program_can_end_while_its_thread_helps)
{
    pthread_t thread;

    open_device();
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_long, NULL), 0);
    pthread_detach(thread);
    while (!waiting)
        sched_yield();
    wait_until_it_sleeps(waiting);
    exit(0); /* of the forked case: a hang is a failure */
}
END_TEST

HARNESS_MAIN("helping", 30, a_thread_that_waits_runs_its_commands,
             callbacks_are_not_called_by_the_thread_that_waits,
             functions_of_the_program_are_not_run_by_the_thread_that_waits, a_wait_ends_with_its_event,
             a_wait_ends_beside_other_queues, threads_help_with_one_queue_and_with_several,
             a_thread_of_lower_rank_does_not_help, a_program_can_end_while_its_thread_helps)
