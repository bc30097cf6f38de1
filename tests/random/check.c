/* What was read against the model; what events say of themselves. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

void keep_until_done(struct world *world, unsigned char *bytes, unsigned char *expected, size_t size)
{
    world->pending[world->n_pending].bytes = bytes;
    world->pending[world->n_pending].expected = expected;
    world->pending[world->n_pending++].size = size;
}

static void hash_bytes(struct world *world, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        world->hash = (world->hash ^ bytes[i]) * 0x100000001b3u;
}

static bool is_type(const struct world *world, cl_command_type said, cl_command_type type)
{
    if (world->stage->misnames && type == CL_COMMAND_FILL_IMAGE && said == CL_COMMAND_FILL_BUFFER)
        return true;
    if (world->stage->misnames && type == CL_COMMAND_WRITE_IMAGE && said == CL_COMMAND_WRITE_BUFFER_RECT)
        return true;
    return said == type;
}

static void check_event(struct world *world, unsigned i)
{
    cl_event event = world->seen[i].event;
    cl_command_type type = 0;
    cl_int status = 1;
    cl_ulong times[4] = {0};

    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
    if (status != CL_COMPLETE || !is_type(world, type, world->seen[i].type))
        fail(world, "an event of type %x has type %x and status %d", world->seen[i].type, type, status);
    if (world->queues[world->seen[i].queue].profiles) {
        for (cl_uint t = 0; t < 4; t++) {
            cl_int code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + t, sizeof times[t],
                                                  &times[t], NULL);

            if (code != CL_SUCCESS)
                fail(world, "time %u of an event of type %x: %d", t, type, code);
        }
        if (times[0] > times[1] || times[1] > times[2] || times[2] > times[3])
            fail(world, "an event of type %x goes backwards", type);
    }
    clReleaseEvent(event);
}

void finish_all(struct world *world)
{
    open_gates(world);
    for (unsigned q = 0; q < QUEUES; q++)
        must(world, clFlush(world->queues[q].handle), "clFlush");
    for (unsigned q = 0; q < QUEUES; q++)
        must(world, clFinish(world->queues[q].handle), "clFinish");
    for (unsigned i = 0; i < world->n_accesses; i++) /* queues of the past cannot be finished any more */
        if (world->accesses[i].queue == QUEUES)
            must(world, clWaitForEvents(1, &world->accesses[i].event), "clWaitForEvents");
    for (unsigned i = 0; i < world->n_pending; i++) {
        if (world->pending[i].expected) {
            if (memcmp(world->pending[i].bytes, world->pending[i].expected, world->pending[i].size) != 0)
                fail(world, "read %u of %zu bytes differs", i, world->pending[i].size);
            hash_bytes(world, world->pending[i].bytes, world->pending[i].size);
        }
        free(world->pending[i].bytes);
        free(world->pending[i].expected);
    }
    world->n_pending = 0;
    for (unsigned i = 0; i < world->n_accesses; i++)
        if (world->accesses[i].event)
            clReleaseEvent(world->accesses[i].event);
    world->n_accesses = 0;
    for (unsigned i = 0; i < world->n_seen; i++)
        check_event(world, i);
    world->n_seen = 0;
    world->n_flying = 0;
}

void check_roots(struct world *world)
{
    for (unsigned m = 0; m < MAPS; m++)
        if (world->maps[m].pointer)
            unmap_one(world, &world->maps[m]);
    finish_all(world);
    for (unsigned i = 0; i < ROOTS + IMAGES; i++) {
        struct root *root = &world->roots[i];
        size_t origin[3] = {0}, region[3] = {WIDTH, root->size / 4 / WIDTH, 1};
        unsigned char *bytes = random_bytes(world, root->size);
        cl_command_queue queue = world->queues[below(world, QUEUES)].handle;
        size_t at = 0;

        if (root->image)
            must(world,
                 clEnqueueReadImage(queue, root->mem, CL_TRUE, origin, region, 0, 0, bytes, 0, NULL, NULL),
                 "the last read");
        else
            must(world, clEnqueueReadBuffer(queue, root->mem, CL_TRUE, 0, root->size, bytes, 0, NULL, NULL),
                 "the last read");
        while (at < root->size && bytes[at] == root->model[at])
            at++;
        if (at < root->size)
            fail(world, "root %u of %zu bytes differs at %zu", i, root->size, at);
        hash_bytes(world, bytes, root->size);
        free(bytes);
    }
}
