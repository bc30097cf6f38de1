/* Order within and across queues, barriers, threads. */
#include "conformance.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void scale(cl_command_queue queue, cl_kernel kernel, cl_mem mem, cl_int factor, cl_uint n,
                  const cl_event *waits, cl_event *event)
{
    size_t global = ITEMS, local = 8;

    clSetKernelArg(kernel, 0, sizeof mem, &mem);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, n, waits, event);
}

/* Two queues hand one buffer back and forth by events, all of it behind a gate. */
static void check_ping_pong(const struct world *world, bool gated)
{
    struct things t;
    cl_event events[40], gate = NULL;
    cl_command_queue queues[2] = {world->in_order, world->second};

    things_make(world, &t);
    if (gated)
        gate = clCreateUserEvent(world->context, NULL);
    for (int i = 0; i < 40; i++)
        scale(queues[i % 2], t.scale, t.a, i % 5 - 2, i || gated,
              i       ? &events[i - 1]
              : gated ? &gate
                      : NULL,
              &events[i]);
    if (gated)
        clSetUserEventStatus(gate, CL_COMPLETE);
    line("ping-pong", "%s wait %d data %08x", gated ? "gated" : "free", clWaitForEvents(40, events),
         things_hash(world, &t));
    for (int i = 0; i < 40; i++)
        clReleaseEvent(events[i]);
    if (gate)
        clReleaseEvent(gate);
    things_free(world, &t);
}

/*
 * The first queue waits for a later command of the second and the other way round: only a per-queue
 * suspension deadlocks.
 */
static void check_crossed(const struct world *world)
{
    struct things t;
    cl_event gate = clCreateUserEvent(world->context, NULL), a = NULL, b = NULL, c = NULL;

    things_make(world, &t);
    scale(world->in_order, t.scale, t.a, 2, 1, &gate, &a);
    scale(world->second, t.scale, t.a, 3, 1, &a, &b);
    scale(world->in_order, t.scale, t.a, 5, 1, &b, &c);
    scale(world->second, t.scale, t.a, 7, 1, &c, NULL);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clFinish(world->second);
    line("crossed", "%d %d %d data %08x", event_status(a), event_status(b), event_status(c),
         things_hash(world, &t));
    clReleaseEvent(a);
    clReleaseEvent(b);
    clReleaseEvent(c);
    clReleaseEvent(gate);
    things_free(world, &t);
}

/* Out of order: a barrier separates what would otherwise race. */
static void check_barriers(const struct world *world)
{
    struct things t;
    cl_event gate = clCreateUserEvent(world->context, NULL), marker = NULL;
    cl_int factor[3] = {2, 3, 4};

    things_make(world, &t);
    scale(world->out_of_order, t.scale, t.a, factor[0], 1, &gate, NULL);
    clEnqueueBarrierWithWaitList(world->out_of_order, 0, NULL, NULL);
    scale(world->out_of_order, t.scale, t.a, factor[1], 0, NULL, NULL);
    clEnqueueBarrier(world->out_of_order);
    scale(world->out_of_order, t.scale, t.a, factor[2], 0, NULL, NULL);
    clEnqueueMarker(world->out_of_order, &marker);
    line("barrier/pending", "%d", event_status(marker) > CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    line("barrier/marker", "%d", clWaitForEvents(1, &marker));
    line("barrier/data", "%08x", things_hash(world, &t));
    clReleaseEvent(marker);
    clReleaseEvent(gate);
    if (world->pocl) {
        things_free(world, &t);
        return;
    }

    gate = clCreateUserEvent(world->context, NULL);
    clEnqueueWaitForEvents(world->out_of_order, 1, &gate);
    scale(world->out_of_order, t.scale, t.b, 6, 0, NULL, &marker);
    line("barrier/wait-for-events", "%d", event_status(marker) > CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    line("barrier/after", "%d %08x", clWaitForEvents(1, &marker), things_hash(world, &t));
    clReleaseEvent(marker);
    clReleaseEvent(gate);
    things_free(world, &t);
}

struct worker {
    const struct world *world;
    int number;
    uint32_t hash;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct world *world = worker->world;
    cl_command_queue queue = clCreateCommandQueue(world->context, world->device, 0, NULL);
    cl_kernel kernel = make_kernel(world, "scale");
    cl_int content[ITEMS], out[ITEMS];
    cl_mem mem;

    for (int i = 0; i < ITEMS; i++)
        content[i] = worker->number + i;
    mem = make_buffer(world, content);
    for (int round = 0; round < 25; round++) {
        cl_event event = NULL;
        scale(queue, kernel, mem, worker->number + round, 0, NULL, NULL);
        clEnqueueReadBuffer(queue, mem, CL_FALSE, 0, sizeof out, out, 0, NULL, &event);
        clFlush(queue);
        clWaitForEvents(1, &event);
        clReleaseEvent(event);
        worker->hash = hash_bytes(worker->hash, out, sizeof out);
        clEnqueueWriteBuffer(queue, mem, round % 2, 0, sizeof out, out, 0, NULL, NULL);
    }
    clFinish(queue);
    clReleaseMemObject(mem);
    clReleaseKernel(kernel);
    clReleaseCommandQueue(queue);
    return NULL;
}

static void check_threads(const struct world *world)
{
    struct worker workers[4];
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        workers[i] = (struct worker){world, i + 1, 0};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        line("threads", "%d data %08x", i, workers[i].hash);
    }
}

/* A large copy in both directions and back: chunks must meet at their borders. */
static void check_large(const struct world *world)
{
    size_t size = (size_t)9 << 20;
    unsigned char *in = malloc(size), *out = calloc(1, size);
    cl_mem mem = clCreateBuffer(world->context, CL_MEM_READ_WRITE, size, NULL, NULL);
    cl_event events[3] = {NULL};
    cl_int codes[3];

    for (size_t i = 0; i < size; i++)
        in[i] = (unsigned char)(i * 31 + i / 4093);
    codes[0] = clEnqueueWriteBuffer(world->in_order, mem, CL_FALSE, 0, size, in, 0, NULL, &events[0]);
    codes[1] =
        clEnqueueReadBuffer(world->in_order, mem, CL_FALSE, 3, size - 3, out, 1, &events[0], &events[1]);
    codes[2] =
        clEnqueueReadBuffer(world->in_order, mem, CL_TRUE, 0, 100, out + size - 100, 0, NULL, &events[2]);
    line("large", "%d %d %d wait %d data %08x", codes[0], codes[1], codes[2], clWaitForEvents(3, events),
         hash_bytes(0, out, size));
    for (int i = 0; i < 3; i++)
        clReleaseEvent(events[i]);
    clReleaseMemObject(mem);
    free(in);
    free(out);
}

void check_orders(const struct world *world)
{
    check_ping_pong(world, false);
    check_ping_pong(world, true);
    check_crossed(world);
    check_barriers(world);
    check_threads(world);
    check_large(world);
}
