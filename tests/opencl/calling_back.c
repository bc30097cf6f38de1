/*
 * Programs whose callbacks do what OpenCL allows: enqueue, take locks, never come back before the
 * program ends. Each case is a process of its own: what is wrong here hangs. Ends with `N passed, N
 * failed`.
 */
#include <CL/cl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 2000, EVERY = 10, BYTES = 4096, ENDS_WELL = 5, SECONDS = 600 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_mem buffer;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_called;

static void called(void)
{
    pthread_mutex_lock(&lock);
    n_called++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_calls(int n)
{
    pthread_mutex_lock(&lock);
    while (n_called < n)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static cl_int fill(cl_mem mem, cl_uint n, const cl_event *waits, cl_event *ret_event)
{
    cl_int zero = 0;

    return clEnqueueFillBuffer(queue, mem, &zero, sizeof zero, 0, BYTES, n, waits, ret_event);
}

/* --- more in flight than the layer remembers, and callbacks that add to it --- */

static void CL_CALLBACK enqueue_another(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    fill(buffer, 0, NULL, NULL);
    called();
}

static int enqueues(void)
{
    for (int i = 0; i < MANY; i++) {
        cl_event event = NULL;
        if (fill(buffer, 0, NULL, i % EVERY ? NULL : &event) != CL_SUCCESS)
            return 1;
        if (event) {
            clSetEventCallback(event, CL_COMPLETE, enqueue_another, NULL);
            clReleaseEvent(event);
        }
    }
    await_calls(MANY / EVERY);
    return clFinish(queue) == CL_SUCCESS ? ENDS_WELL : 1;
}

/* --- the end of a memory object wants the lock of the thread that waits --- */

static void CL_CALLBACK on_destroy(cl_mem mem, void *data)
{
    (void)mem;
    (void)data;
    called();
}

static int destroys(void)
{
    for (int i = 0; i < 10; i++) {
        cl_event gate = clCreateUserEvent(context, NULL);
        cl_mem mem = clCreateBuffer(context, 0, BYTES, NULL, NULL);

        clSetMemObjectDestructorCallback(mem, on_destroy, NULL);
        pthread_mutex_lock(&lock);
        fill(mem, 1, &gate, NULL);
        clReleaseMemObject(mem);
        clSetUserEventStatus(gate, CL_COMPLETE);
        clFinish(queue);
        pthread_mutex_unlock(&lock);
        await_calls(i + 1);
        clReleaseEvent(gate);
    }
    return ENDS_WELL;
}

/* --- the program ends while its own code waits for ever --- */

static void CL_CALLBACK never_returns(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    called();
    for (;;)
        pause();
}

static int ends_beside_callback(void)
{
    cl_event gate = clCreateUserEvent(context, NULL), event = NULL;

    fill(buffer, 1, &gate, &event);
    clSetEventCallback(event, CL_COMPLETE, never_returns, NULL);
    clSetUserEventStatus(gate, CL_COMPLETE);
    await_calls(1);
    exit(ENDS_WELL);
}

static void CL_CALLBACK native_never_returns(void *data)
{
    never_returns(NULL, 0, data);
}

static int ends_beside_native(void)
{
    cl_device_exec_capabilities can = 0;
    cl_event gate = clCreateUserEvent(context, NULL);

    clGetDeviceInfo(device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL);
    if (!(can & CL_EXEC_NATIVE_KERNEL))
        return ENDS_WELL;
    clEnqueueNativeKernel(queue, native_never_returns, NULL, 0, 0, NULL, NULL, 1, &gate, NULL);
    clSetUserEventStatus(gate, CL_COMPLETE);
    await_calls(1);
    exit(ENDS_WELL);
}

/* --- the program ends, and an exit handler of it looks at what was queued --- */

static pthread_t waiter;
static cl_event never, behind_never;

static void *wait_for_it(void *unused)
{
    (void)unused;
    clWaitForEvents(1, &behind_never);
    return NULL;
}

static void join_waiter(void)
{
    if (pthread_join(waiter, NULL) == 0)
        _exit(ENDS_WELL);
}

static int ends_beside_wait(void)
{
    never = clCreateUserEvent(context, NULL);
    fill(buffer, 1, &never, &behind_never);
    if (pthread_create(&waiter, NULL, wait_for_it, NULL) != 0)
        return 1;
    exit(1); /* unless the handler answers */
}

static void read_what_was_queued(void)
{
    cl_int first = -1, code;

    clSetUserEventStatus(never, CL_COMPLETE);
    code = clFinish(queue);
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof first, &first, 0, NULL, NULL);
    _exit(code != CL_SUCCESS || first == 0 ? ENDS_WELL : 1);
}

static int ends_beside_queued(void)
{
    const cl_int other = 7;

    clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof other, &other, 0, NULL, NULL);
    never = clCreateUserEvent(context, NULL);
    fill(buffer, 1, &never, NULL);
    exit(1);
}

static const struct {
    const char *sentence;
    int (*run)(void);
    void (*at_exit)(void); /* NULL: nothing */
} cases[] = {
    {"callbacks may enqueue, however much is in flight", enqueues, NULL},
    {"the destructor callback of a memory object may want a lock that a waiting thread has", destroys, NULL},
    {"a program ends although a callback of it never returns", ends_beside_callback, NULL},
    {"a program ends although a native function of it never returns", ends_beside_native, NULL},
    {"a program ends although an exit handler waits for a thread that waits for an event", ends_beside_wait,
     join_waiter},
    {"an exit handler gets no bytes that miss commands", ends_beside_queued, read_what_was_queued},
};

static int run(const char *sentence)
{
    cl_platform_id platform = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!strcmp(cases[i].sentence, sentence) && cases[i].at_exit)
            (void)atexit(cases[i].at_exit); /* before the driver's own, so that it runs after them */
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 77;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    buffer = clCreateBuffer(context, 0, BYTES, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!strcmp(cases[i].sentence, sentence))
            return cases[i].run();
    return 1;
}

/* Itself, with a case; the alarm ends what hangs. */
static int run_apart(const char *program, const char *sentence)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        alarm(SECONDS);
        execl(program, program, sentence, (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;

    if (argc > 1)
        return run(argv[1]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = run_apart(argv[0], cases[i].sentence);
        if (status == 77) {
            printf("no OpenCL device\n");
            return 77;
        }
        passed += status == ENDS_WELL;
        failed += status != ENDS_WELL;
        if (status != ENDS_WELL)
            printf("FAILED: %s (%d)\n", cases[i].sentence, status);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
