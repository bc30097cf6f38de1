#include "cli/batch/batch_measure.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/batch/batch_cores.h"

#define MAX_STAMPS 65536
#define DISTURBED  0.03 /* part of the window spent waiting for a core */

cl_int measured_route_init(struct measured_route *route, const struct batch_machine *machine, size_t device,
                           bool out, size_t bytes)
{
    const struct opencl *cl = machine->cl;
    const struct machine_device *on = &machine->devices[device];
    cl_int error;

    *route = (struct measured_route){.device = device, .out = out, .bytes = bytes, .piece = bytes};
    route->queue = cl->clCreateCommandQueueWithProperties(on->context, on->device, NULL, &error);
    if (error)
        return error;
    route->buffer = cl->clCreateBuffer(on->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (error)
        return error;
    route->pinned =
        cl->clCreateBuffer(on->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error);
    if (error)
        return error;
    route->host = cl->clEnqueueMapBuffer(route->queue, route->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                         bytes, 0, NULL, NULL, &error);
    if (error)
        return error;
    memset(route->host, 0x5a, bytes);
    return cl->clEnqueueWriteBuffer(route->queue, route->buffer, CL_TRUE, 0, bytes, route->host, 0, NULL,
                                    NULL);
}

void measured_route_done(struct measured_route *route, const struct batch_machine *machine)
{
    const struct opencl *cl = machine->cl;

    if (route->host) {
        cl->clEnqueueUnmapMemObject(route->queue, route->pinned, route->host, 0, NULL, NULL);
        cl->clFinish(route->queue);
    }
    if (route->pinned)
        cl->clReleaseMemObject(route->pinned);
    if (route->buffer)
        cl->clReleaseMemObject(route->buffer);
    if (route->queue)
        cl->clReleaseCommandQueue(route->queue);
    *route = (struct measured_route){0};
}

/*
 * A barrier for the threads of one measurement. Threads wait until all have arrived or the
 * measurement is cancelled.
 */
struct measure_start {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum { START_WAIT, START_GO, START_CALLED_OFF } state;
    size_t missing; /* threads that have not finished their first block */
    /* when the last thread finished its first block: all threads copy from then on; 0: not yet */
    baton_nsec begin_at;
    struct batch_cores cores;
};

struct copy_meter {
    const struct opencl *cl;
    struct measured_route *route;
    struct measure_start *start;
    baton_nsec window;  /* counted from start->begin_at */
    baton_nsec *stamps; /* when each block was complete */
    size_t n_stamps;
    baton_nsec waited; /* for a core, while copying */
    cl_int error;
    pthread_t thread;
};

/*
 * Copies the block in one command, as a batch does, or in pieces: libraries copy large and small
 * blocks by different methods.
 */
static cl_int copy_block(const struct copy_meter *meter)
{
    const struct measured_route *route = meter->route;
    cl_int error = CL_SUCCESS;

    for (size_t at = 0; at < route->bytes && !error; at += route->piece) {
        size_t length = route->bytes - at < route->piece ? route->bytes - at : route->piece;

        if (route->out)
            error = meter->cl->clEnqueueReadBuffer(route->queue, route->buffer, CL_TRUE, at, length,
                                                   route->host + at, 0, NULL, NULL);
        else
            error = meter->cl->clEnqueueWriteBuffer(route->queue, route->buffer, CL_TRUE, at, length,
                                                    route->host + at, 0, NULL, NULL);
    }
    return error;
}

/*
 * After a block: counts a thread's first one, and answers whether the common window is still open.
 * A failed thread never delays the others.
 */
static bool goes_on(struct copy_meter *meter, baton_nsec now)
{
    struct measure_start *start = meter->start;
    bool more;

    pthread_mutex_lock(&start->lock);
    if (meter->n_stamps == 1 && --start->missing == 0)
        start->begin_at = now;
    more = start->begin_at == 0 || now < start->begin_at + meter->window;
    pthread_mutex_unlock(&start->lock);
    return more;
}

/*
 * How long the calling thread was ready but not running: the second number of the kernel's
 * schedstat. 0 if the kernel does not record it.
 */
static baton_nsec time_without_core(void)
{
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    unsigned long long ran;
    unsigned long long waited = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    (void)fclose(file);
    return (baton_nsec)waited;
}

static void *run_meter(void *argument)
{
    struct copy_meter *meter = argument;
    bool more;
    bool go;
    int core;

    pthread_mutex_lock(&meter->start->lock);
    while (meter->start->state == START_WAIT)
        pthread_cond_wait(&meter->start->changed, &meter->start->lock);
    go = meter->start->state == START_GO;
    core = batch_cores_take(&meter->start->cores);
    pthread_mutex_unlock(&meter->start->lock);
    if (!go)
        return NULL;
    batch_cores_go(&meter->start->cores, core);
    meter->waited = -time_without_core();
    do {
        baton_nsec now;

        meter->error = copy_block(meter);
        now = clock_now();
        meter->stamps[meter->n_stamps++] = now;
        more = goes_on(meter, now);
    } while (more && !meter->error && meter->n_stamps < MAX_STAMPS);
    meter->waited += time_without_core();
    return NULL;
}

/* Blocks per nanosecond between two instants; the first and the last block count in part. */
static double blocks_between(const struct copy_meter *meter, baton_nsec begin, baton_nsec end)
{
    double blocks = 0;

    for (size_t i = 1; i < meter->n_stamps; i++) {
        baton_nsec from = meter->stamps[i - 1];
        baton_nsec to = meter->stamps[i];
        baton_nsec low = from > begin ? from : begin;
        baton_nsec high = to < end ? to : end;

        if (high > low && to > from)
            blocks += (double)(high - low) / (double)(to - from);
    }
    return blocks / (double)(end - begin);
}

static cl_int collect(const struct copy_meter meters[], size_t n, baton_nsec begin, double ret_gbps[])
{
    for (size_t i = 0; i < n; i++) {
        if (meters[i].error)
            return meters[i].error;
        ret_gbps[i] =
            blocks_between(&meters[i], begin, begin + meters[i].window) * (double)meters[i].route->bytes;
        if (ret_gbps[i] <= 0)
            /* more than MAX_STAMPS blocks before the other threads began */
            return CL_OUT_OF_RESOURCES;
    }
    return CL_SUCCESS;
}

/*
 * Runs all meters from one common start. False: some thread could not be created, and none has
 * measured.
 */
static bool run_meters(struct copy_meter meters[], size_t n, struct measure_start *start)
{
    size_t made = 0;

    while (made < n && pthread_create(&meters[made].thread, NULL, run_meter, &meters[made]) == 0)
        made++;
    pthread_mutex_lock(&start->lock);
    start->state = made == n ? START_GO : START_CALLED_OFF;
    pthread_cond_broadcast(&start->changed);
    pthread_mutex_unlock(&start->lock);
    for (size_t i = 0; i < made; i++)
        pthread_join(meters[i].thread, NULL);
    return made == n;
}

cl_int measure_together(const struct batch_machine *machine, struct measured_route *const routes[], size_t n,
                        baton_nsec window, double ret_gbps[], bool *ret_disturbed)
{
    struct measure_start start = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER,
                                  .state = START_WAIT,
                                  .missing = n};
    struct copy_meter *meters = calloc(n, sizeof *meters);
    cl_int error = meters ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;

    batch_cores_init(&start.cores);
    for (size_t i = 0; i < n && !error; i++) {
        meters[i] =
            (struct copy_meter){.cl = machine->cl, .route = routes[i], .start = &start, .window = window};
        meters[i].stamps = calloc(MAX_STAMPS, sizeof *meters[i].stamps);
        error = meters[i].stamps ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    }
    if (!error)
        error = run_meters(meters, n, &start) ? collect(meters, n, start.begin_at, ret_gbps)
                                              : CL_OUT_OF_HOST_MEMORY;
    *ret_disturbed = false;
    for (size_t i = 0; meters && i < n; i++) {
        *ret_disturbed = *ret_disturbed || (n <= batch_cores_count(&start.cores) &&
                                            (double)meters[i].waited > DISTURBED * (double)window);
        free(meters[i].stamps);
    }
    free(meters);
    return error;
}
