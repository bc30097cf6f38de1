/*
 * Oclgrind as a driver that more than one thread can use. Without it, Oclgrind 21.10 ends or hangs
 * programs that use several threads, with and without Baton:
 * - Its queues, and its maps of what a command uses, have no lock: here no two threads are inside
 *   of it at once. The lock is recursive, because callbacks run inside driver calls.
 * - It exports its functions of OpenCL 2 and later under their plain names. The loader's functions
 *   replace them, and call themselves for ever. RTLD_DEEPBIND binds them to Oclgrind's own.
 * - Its clFlush() does nothing, and a command runs only in a call that waits for it. Here
 *   clFlush() is clFinish(). A command that waits for a user event makes that spin for ever; under
 *   Baton the driver gets no such command.
 * - A callback that is set on a complete event is never called: here it is called at once.
 * - Its clWaitForEvents() looks at the events again and again without a pause. Here the lock is
 *   free in between, so that another thread can set a user event.
 *
 * OCLGRIND_DRIVER names Oclgrind's library; OCL_ICD_VENDORS names this one. Oclgrind's handles
 * point to its own dispatch table, so the entries of that table are replaced in place.
 */
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* oclgrind_calls.S has as many routines, each of that many bytes. */
enum { ROUTINES = 192, ROUTINE_SIZE = 16, DEEPEST = 64 };
enum { TABLE_SIZE = sizeof(cl_icd_dispatch) / sizeof(void *) };

_Static_assert((int)TABLE_SIZE <= (int)ROUTINES, "more entries than routines");
extern const char oclgrind_calls[];
void *oclgrind_enter(void *from, unsigned number);
void *oclgrind_leave(void);

typedef void(CL_CALLBACK *event_callback)(cl_event, cl_int, void *);
typedef cl_int(CL_API_CALL *platforms_function)(cl_uint, cl_platform_id *, cl_uint *);
typedef void *(CL_API_CALL *address_function)(const char *);

static struct {
    pthread_once_t once;
    platforms_function platforms; /* Oclgrind's; NULL: it could not be loaded */
    address_function address;
    cl_icd_dispatch driver; /* the table as Oclgrind made it */
    union {
        cl_icd_dispatch named;
        void *functions[TABLE_SIZE]; /* what the routines call */
    } called;
    pthread_mutex_t lock;
} shim = {.once = PTHREAD_ONCE_INIT};
static _Thread_local void *returns[DEEPEST];
static _Thread_local unsigned depth;

/* Called by the routines before and after the driver's function. */
void *oclgrind_enter(void *from, unsigned number)
{
    pthread_mutex_lock(&shim.lock);
    if (depth == DEEPEST)
        abort();
    returns[depth++] = from;
    return shim.called.functions[number];
}

void *oclgrind_leave(void)
{
    void *to = returns[--depth];

    pthread_mutex_unlock(&shim.lock);
    return to;
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    return shim.driver.clFinish(queue);
}

static cl_int CL_API_CALL set_callback(cl_event event, cl_int at, event_callback run, void *data)
{
    cl_int status = CL_QUEUED;

    if (run && (at == CL_SUBMITTED || at == CL_RUNNING || at == CL_COMPLETE) &&
        shim.driver.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) ==
            CL_SUCCESS &&
        status <= CL_COMPLETE) {
        run(event, status < 0 ? status : at, data);
        return CL_SUCCESS;
    }
    return shim.driver.clSetEventCallback(event, at, run, data);
}

static cl_int status_of(cl_event event)
{
    cl_int status = CL_INVALID_EVENT;

    (void)shim.driver.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status;
}

/* Runs what the event's queue holds; false: it has none, or is a user event. */
static bool run_queue_of(cl_event event)
{
    cl_command_queue queue = NULL;

    (void)shim.driver.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    return queue && shim.driver.clFinish(queue) == CL_SUCCESS;
}

/* The one entry that does not hold the lock all the time. */
static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *list)
{
    static const struct timespec pause = {.tv_nsec = 200000};

    for (cl_uint i = 0; list && i < n; i++)
        for (;;) {
            bool over;

            pthread_mutex_lock(&shim.lock);
            over = status_of(list[i]) <= CL_COMPLETE || run_queue_of(list[i]);
            pthread_mutex_unlock(&shim.lock);
            if (over)
                break;
            (void)nanosleep(&pause, NULL);
        }
    pthread_mutex_lock(&shim.lock);
    n = (cl_uint)shim.driver.clWaitForEvents(n, list);
    pthread_mutex_unlock(&shim.lock);
    return (cl_int)n;
}

/* Every entry of the table becomes a routine that locks. */
static void replace(cl_platform_id platform)
{
    void **table;
    cl_icd_dispatch *named;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin, end;

    memcpy(&table, platform, sizeof table);
    memcpy(&named, platform, sizeof named);
    begin = (uintptr_t)table & ~(page - 1);
    end = (uintptr_t)(table + TABLE_SIZE);
    if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE)) {
        perror("oclgrind driver: mprotect");
        exit(3);
    }
    memcpy(&shim.driver, table, sizeof shim.driver);
    shim.called.named = shim.driver;
    shim.called.named.clFlush = flush;
    shim.called.named.clSetEventCallback = set_callback;
    for (size_t i = 0; i < TABLE_SIZE; i++)
        if (table[i])
            table[i] = (void *)(oclgrind_calls + i * ROUTINE_SIZE);
    named->clWaitForEvents = wait_for_events;
}

static void open_driver(void)
{
    const char *path = getenv("OCLGRIND_DRIVER");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    pthread_mutexattr_t attributes;
    cl_platform_id platform;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&shim.lock, &attributes);
    if (!library) {
        (void)fprintf(stderr, "oclgrind driver: OCLGRIND_DRIVER: %s\n", path ? dlerror() : "not set");
        return;
    }
    shim.address = (address_function)(uintptr_t)dlsym(library, "clGetExtensionFunctionAddress");
    shim.platforms = (platforms_function)(uintptr_t)dlsym(library, "clIcdGetPlatformIDsKHR");
    if (shim.platforms && shim.platforms(1, &platform, NULL) == CL_SUCCESS)
        replace(platform);
}

/* The three symbols that the loader looks up by name. */
#pragma GCC visibility push(default)
CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *ret_platforms,
                                                       cl_uint *ret_n)
{
    pthread_once(&shim.once, open_driver);
    return shim.platforms ? shim.platforms(n, ret_platforms, ret_n) : CL_PLATFORM_NOT_FOUND_KHR;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    pthread_once(&shim.once, open_driver);
    if (!strcmp(name, "clIcdGetPlatformIDsKHR"))
        return (void *)(uintptr_t)clIcdGetPlatformIDsKHR;
    return shim.address ? shim.address(name) : NULL;
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, size_t room,
                                                  void *ret_value, size_t *ret_size)
{
    return shim.driver.clGetPlatformInfo(platform, name, room, ret_value, ret_size);
}
#pragma GCC visibility pop
