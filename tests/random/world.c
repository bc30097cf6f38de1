/* The world: its memory, its queues, what happens to it step by step. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "world.h"

unsigned below(struct world *world, unsigned n)
{
    return n ? (unsigned)random_below(&world->random, n) : 0;
}

bool chance(struct world *world, unsigned percent)
{
    return below(world, 100) < percent;
}

void fail(struct world *world, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    if (world->failures++ < 5) {
        printf("seed %llu, world %u, step %u: ", (unsigned long long)world->stage->seed, world->number,
               world->steps);
        vprintf(format, list);
        printf("\n");
        fflush(stdout);
    }
    va_end(list);
}

void say(const struct world *world, const char *format, ...)
{
    va_list list;

    if (!world->stage->talks)
        return;
    va_start(list, format);
    printf("  %u/%u: ", world->number, world->steps);
    vprintf(format, list);
    printf("\n");
    fflush(stdout);
    va_end(list);
}

void must(struct world *world, cl_int code, const char *what)
{
    if (code != CL_SUCCESS)
        fail(world, "%s: %d", what, code);
}

unsigned char *bytes_of(struct world *world, const struct view *view)
{
    return world->roots[view->root].model + view->begin;
}

const struct view *any_view(struct world *world, size_t least)
{
    for (unsigned tries = 0; tries < 40; tries++) {
        const struct view *view = &world->views[below(world, VIEWS)];

        if (view->mem && view->size >= least)
            return view;
    }
    return &world->views[0]; /* the largest root */
}

struct touch touch_part(struct world *world, const struct view *view, size_t unit, bool writes)
{
    size_t units = view->size / unit, first = below(world, (unsigned)units),
           n = 1 + below(world, (unsigned)(units - first));

    if (chance(world, 25)) {
        first = 0;
        n = units;
    }
    return (struct touch){view, view->begin + first * unit, view->begin + (first + n) * unit, writes};
}

unsigned char *random_bytes(struct world *world, size_t size)
{
    unsigned char *bytes = malloc(size + 8);

    if (!bytes)
        abort();
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = random_u64(&world->random);

        memcpy(bytes + i, &word, 8);
    }
    return bytes;
}

static void make_root(struct world *world, unsigned i)
{
    static const cl_mem_flags flags[] = {0, CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR, CL_MEM_ALLOC_HOST_PTR,
                                         CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR};
    struct root *root = &world->roots[i];
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH};
    unsigned kind = below(world, 5);
    cl_int code;

    root->image = i >= ROOTS;
    root->size =
        root->image ? (size_t)WIDTH * 4 * (8 + below(world, 24)) : 4 * (size_t)(512 + below(world, 8000));
    if (i == 0)
        root->size = 49152;
    root->model = random_bytes(world, root->size);
    if (root->image) {
        desc.image_height = root->size / 4 / WIDTH;
        root->mem = clCreateImage(world->stage->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format,
                                  &desc, root->model, &code);
        must(world, code, "clCreateImage");
        return;
    }
    if (kind == 1) {
        root->host = aligned_alloc(4096, (root->size + 4095) / 4096 * 4096);
        memcpy(root->host, root->model, root->size);
    }
    root->mem = clCreateBuffer(world->stage->context, CL_MEM_READ_WRITE | flags[kind], root->size,
                               kind == 1                ? root->host
                               : kind == 2 || kind == 4 ? root->model
                                                        : NULL,
                               &code);
    must(world, code, "clCreateBuffer");
    if (kind == 0 || kind == 3)
        must(world,
             clEnqueueWriteBuffer(world->queues[0].handle, root->mem, CL_TRUE, 0, root->size, root->model, 0,
                                  NULL, NULL),
             "the first write");
    world->views[i] = (struct view){root->mem, i, 0, root->size};
}

/* A part of a root in place of an old one, which may still be in use. */
static void replace_part(struct world *world, unsigned i)
{
    struct view *view = &world->views[i];
    struct root *root;
    cl_buffer_region region;
    size_t units;
    cl_int code;

    for (unsigned m = 0; m < MAPS; m++)
        if (world->maps[m].pointer && view->mem && world->maps[m].view.mem == view->mem)
            unmap_one(world, &world->maps[m]);
    if (view->mem)
        must(world, clReleaseMemObject(view->mem), "clReleaseMemObject");
    view->root = below(world, ROOTS);
    root = &world->roots[view->root];
    units = root->size / world->stage->align;
    region.origin = below(world, (unsigned)units) * world->stage->align;
    region.size = 4 * (1 + (size_t)below(world, (unsigned)((root->size - region.origin) / 4)));
    view->begin = region.origin;
    view->size = region.size;
    view->mem = clCreateSubBuffer(root->mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    must(world, code, "clCreateSubBuffer");
    say(world, "view %u is %zu at %zu of root %u", i, view->size, view->begin, view->root);
}

/* A buffer that lives for two commands and is released before they have run. */
static void brief_buffer(struct world *world)
{
    const struct view *view = any_view(world, 64);
    cl_int code;
    cl_mem brief = clCreateBuffer(world->stage->context, CL_MEM_READ_WRITE, view->size, NULL, &code);
    struct step step = {.world = world, .n_touches = 1};
    unsigned q;

    must(world, code, "clCreateBuffer");
    step.touches[0] = (struct touch){view, view->begin, view->begin + view->size, true};
    step_begin(&step);
    q = step.queue;
    say(world, "a brief buffer for root %u on queue %u", view->root, q);
    step.want = &step.event;
    must(world, clEnqueueCopyBuffer(step.handle, view->mem, brief, 0, 0, view->size, STEP_WAITS(&step)),
         "copy");
    step.n = 1;
    step.waits[0] = step.event;
    code = clEnqueueCopyBuffer(step.handle, brief, view->mem, 0, 0, view->size, 1, step.waits, &step.event);
    clReleaseEvent(step.waits[0]);
    clReleaseMemObject(brief);
    step_end(&step, code, CL_COMMAND_COPY_BUFFER, "brief");
}

static void replace_queue(struct world *world)
{
    unsigned q = below(world, QUEUES);
    cl_int code;

    say(world, "another queue %u", q);
    for (unsigned i = 0; i < world->n_accesses; i++)
        if (world->accesses[i].queue == q && !world->accesses[i].event) {
            mark(world, q);
            break;
        }
    clFlush(world->queues[q].handle);
    must(world, clReleaseCommandQueue(world->queues[q].handle), "clReleaseCommandQueue");
    for (unsigned i = 0; i < world->n_accesses; i++)
        if (world->accesses[i].queue == q)
            world->accesses[i].queue = QUEUES; /* a queue of the past */
    for (unsigned i = 0; i < world->n_seen; i++)
        if (world->seen[i].queue == q)
            must(world, clWaitForEvents(1, &world->seen[i].event), "clWaitForEvents");
    world->queues[q].handle =
        clCreateCommandQueue(world->stage->context, world->stage->device,
                             (world->queues[q].in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) |
                                 (world->queues[q].profiles ? CL_QUEUE_PROFILING_ENABLE : 0),
                             &code);
    must(world, code, "clCreateCommandQueue");
}

static void one_step(struct world *world)
{
    unsigned which = below(world, 100);

    age_gates(world);
    if (which < 45)
        launch_random(world);
    else if (which < 75)
        transfer_random(world);
    else if (which < 87)
        map_random(world);
    else if (which < 92)
        replace_part(world, ROOTS + below(world, VIEWS - ROOTS));
    else if (which < 94)
        brief_buffer(world);
    else if (which < 95) {
        open_gates(world);
        replace_queue(world);
    } else if (which < 97)
        finish_all(world);
    else if (which < 98)
        check_roots(world);
    else if (which < 99)
        must(world, clEnqueueBarrierWithWaitList(world->queues[below(world, QUEUES)].handle, 0, NULL, NULL),
             "barrier");
    else
        mark(world, below(world, QUEUES));
}

static void end_world(struct world *world)
{
    bool first = chance(world, 50); /* roots before their parts, or after */
    struct timespec pause = {0, 1000000};

    for (unsigned waited = 0; atomic_load(&world->called) != world->asked && waited < 300000; waited++)
        nanosleep(&pause, NULL);
    if (atomic_load(&world->called) != world->asked)
        fail(world, "%u callbacks of %u came", atomic_load(&world->called), world->asked);
    for (unsigned i = 0; i < VIEWS; i++) {
        const struct view *view = &world->views[first ? i : VIEWS - 1 - i];

        if (view->mem)
            must(world, clReleaseMemObject(view->mem), "clReleaseMemObject");
    }
    for (unsigned i = ROOTS; i < ROOTS + IMAGES; i++)
        clReleaseMemObject(world->roots[i].mem);
    for (unsigned q = 0; q < QUEUES; q++) {
        clFinish(world->queues[q].handle);
        clReleaseCommandQueue(world->queues[q].handle);
    }
    for (unsigned i = 0; i < ROOTS + IMAGES; i++) {
        free(world->roots[i].model);
        free(world->roots[i].host);
    }
}

/* One thread's part: each step in its turn; any thread may have the next one. */
static void take_turns(struct world *world, unsigned me)
{
    pthread_mutex_lock(&world->lock);
    while (world->steps <= world->stage->n_steps && !world->failures) {
        if (world->turn != me) {
            pthread_cond_wait(&world->turned, &world->lock);
            continue;
        }
        one_step(world);
        world->steps++;
        world->turn = world->stage->relay ? below(world, 2) : 0;
        pthread_cond_broadcast(&world->turned);
    }
    pthread_mutex_unlock(&world->lock);
}

static void *run_second(void *argument)
{
    take_turns(argument, 1);
    return NULL;
}

static void take_steps(struct world *world)
{
    pthread_t second;

    pthread_mutex_init(&world->lock, NULL);
    pthread_cond_init(&world->turned, NULL);
    world->steps = 1;
    if (world->stage->relay && pthread_create(&second, NULL, run_second, world) != 0)
        abort();
    take_turns(world, 0);
    if (world->stage->relay)
        pthread_join(second, NULL);
    pthread_cond_destroy(&world->turned);
    pthread_mutex_destroy(&world->lock);
}

void *run_world(void *argument)
{
    struct world *world = argument;
    cl_int code;

    for (unsigned q = 0; q < QUEUES; q++) {
        world->queues[q].in_order = q < 2;
        world->queues[q].profiles = q % 2;
        world->queues[q].handle = clCreateCommandQueue(world->stage->context, world->stage->device,
                                                       (q < 2 ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) |
                                                           (q % 2 ? CL_QUEUE_PROFILING_ENABLE : 0),
                                                       &code);
        must(world, code, "clCreateCommandQueue");
    }
    for (unsigned i = 0; i < ROOTS + IMAGES; i++)
        make_root(world, i);
    for (unsigned i = ROOTS; i < VIEWS; i++)
        replace_part(world, i);
    take_steps(world);
    check_roots(world);
    end_world(world);
    return NULL;
}
