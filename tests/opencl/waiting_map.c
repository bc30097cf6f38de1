/*
 * A thread maps a buffer with a blocking call while a native kernel keeps the queue busy until
 * another thread has enqueued a migration. On a driver that wants migrations enqueued alone, the
 * map must not keep the other thread out.
 */
#include "asleep.h"

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 4096, PATIENCE_MS = 300000 };

static cl_context context;
static cl_command_queue queue, other;
static cl_mem mapped, migrated;
static atomic_bool entered, open_now, done;
static atomic_int mapper; /* the thread that maps */

static void pause_ms(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void CL_CALLBACK stay(void *unused)
{
    (void)unused;
    atomic_store(&entered, true);
    while (!atomic_load(&open_now))
        pause_ms();
}

static void *map(void *unused)
{
    void *pointer;

    (void)unused;
    atomic_store(&mapper, gettid());
    pointer = clEnqueueMapBuffer(queue, mapped, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, NULL);
    clEnqueueUnmapMemObject(queue, mapped, pointer, 0, NULL, NULL);
    return NULL;
}

static void *migrate(void *unused)
{
    (void)unused;
    clEnqueueMigrateMemObjects(other, 1, &migrated, 0, 0, NULL, NULL);
    atomic_store(&done, true);
    return NULL;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    pthread_t threads[2];
    int good;

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("no OpenCL device\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    other = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    mapped = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
    migrated = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
    if (clEnqueueNativeKernel(queue, stay, NULL, 0, 0, NULL, NULL, 0, NULL, NULL))
        return 77;
    clFlush(queue);
    while (!atomic_load(&entered))
        pause_ms();
    pthread_create(&threads[0], NULL, map, NULL);
    while (!atomic_load(&mapper))
        pause_ms();
    await_asleep(atomic_load(&mapper)); /* it waits, most likely in the driver */
    pthread_create(&threads[1], NULL, migrate, NULL);
    for (int ms = 0; ms < PATIENCE_MS && !atomic_load(&done); ms++)
        pause_ms();
    good = atomic_load(&done);
    if (!good)
        printf("FAILED: a migration is enqueued beside a map that waits\n");
    atomic_store(&open_now, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    clFinish(queue);
    clFinish(other);
    clReleaseMemObject(mapped);
    clReleaseMemObject(migrated);
    clReleaseCommandQueue(queue);
    clReleaseCommandQueue(other);
    clReleaseContext(context);
    printf("%d passed, %d failed\n", good, !good);
    return !good;
}
