/*
 * Random OpenCL programs against their own model (world.h). Prints one line per seed: the seed, a hash of everything that was read; or what
 * differed. Replayable: the same seed is the same program.
 * usage: random [-g] [-v] [-t THREADS] [-n STEPS] FIRST_SEED [N_SEEDS]     -g: no user events; -v: say every command
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

static unsigned n_steps = 60, n_threads = 1;

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

/* --- order --- */

static bool meets(size_t a, size_t a_end, size_t b, size_t b_end)
{
    return a < b_end && b < a_end;
}

/* Different handles of overlapping memory must not be used at once, unless both are only read, whichever bytes are meant. */
static bool conflicts(const struct touch *touch, const struct view *view, size_t begin, size_t end,
                      bool writes)
{
    if (touch->view->root != view->root || !(touch->writes || writes))
        return false;
    if (touch->view->mem == view->mem)
        return meets(touch->begin, touch->end, begin, end);
    return meets(touch->view->begin, touch->view->begin + touch->view->size, view->begin,
                 view->begin + view->size);
}

void open_gates(struct world *world)
{
    for (unsigned i = 0; i < GATES; i++)
        if (world->gates[i].event) {
            must(world, clSetUserEventStatus(world->gates[i].event, CL_COMPLETE), "clSetUserEventStatus");
            clReleaseEvent(world->gates[i].event);
            world->gates[i].event = NULL;
        }
}

static void age_gates(struct world *world)
{
    for (unsigned i = 0; i < GATES; i++)
        if (world->gates[i].event && --world->gates[i].ttl == 0) {
            must(world, clSetUserEventStatus(world->gates[i].event, CL_COMPLETE), "clSetUserEventStatus");
            clReleaseEvent(world->gates[i].event);
            world->gates[i].event = NULL;
        }
}

static void add_wait(struct step *step, cl_event event)
{
    for (cl_uint i = 0; i < step->n; i++)
        if (step->waits[i] == event)
            return;
    if (step->n < WAITS)
        step->waits[step->n++] = event;
}

/* The commands of a queue that were given no event get that of a marker. */
static void mark(struct world *world, unsigned queue)
{
    cl_event event = NULL;

    must(world, clEnqueueMarkerWithWaitList(world->queues[queue].handle, 0, NULL, &event), "marker");
    for (unsigned i = 0; i < world->n_accesses; i++)
        if (world->accesses[i].queue == queue && !world->accesses[i].event) {
            world->accesses[i].event = event;
            clRetainEvent(event);
        }
    clReleaseEvent(event);
}

static void order(struct step *step)
{
    struct world *world = step->world;
    bool barrier = false, flushed[QUEUES] = {false};

    for (unsigned i = 0; i < world->n_accesses; i++) {
        struct access *access = &world->accesses[i];
        bool must_follow = false;

        for (unsigned t = 0; t < step->n_touches; t++)
            must_follow = must_follow || conflicts(&step->touches[t], &access->view, access->touch.begin,
                                                   access->touch.end, access->touch.writes);
        if (!must_follow || (access->queue == step->queue && world->queues[step->queue].in_order))
            continue;
        if (!access->event && access->queue == step->queue) {
            barrier = true;
            continue;
        }
        if (!access->event)
            mark(world, access->queue);
        add_wait(step, access->event);
        if (access->queue == QUEUES ||
            flushed[access->queue]) /* the release of a queue of the past flushed it */
            continue;
        clFlush(world->queues[access->queue].handle);
        flushed[access->queue] = true;
    }
    if (barrier)
        must(world, clEnqueueBarrierWithWaitList(step->handle, 0, NULL, NULL), "barrier");
}

static void maybe_gate(struct step *step)
{
    struct world *world = step->world;
    cl_event *gate;
    unsigned i = below(world, GATES);
    bool wanted = chance(world, 12);
    unsigned ttl = 1 + below(world, 12);
    cl_int code;

    gate = &world->gates[i].event;
    if (!wanted || !world->stage->gates || step->blocking || step->n == WAITS)
        return;
    if (!*gate) {
        *gate = clCreateUserEvent(world->stage->context, &code);
        must(world, code, "clCreateUserEvent");
        world->gates[i].ttl = ttl;
    }
    if (*gate)
        add_wait(step, *gate);
}

void step_begin(struct step *step)
{
    struct world *world = step->world;

    for (unsigned i = 0; i < MAPS; i++)
        for (unsigned t = 0; t < step->n_touches && world->maps[i].pointer; t++)
            if (conflicts(&step->touches[t], &world->maps[i].view, world->maps[i].begin,
                          world->maps[i].begin + world->maps[i].size, world->maps[i].flags != CL_MAP_READ))
                unmap_one(world, &world->maps[i]);
    if (world->n_accesses + TOUCHES > ACCESSES || world->n_pending + 4 > PENDING ||
        world->n_seen + 4 > PENDING)
        finish_all(world);
    step->queue = below(world, QUEUES);
    step->handle = world->queues[step->queue].handle;
    step->want = chance(world, 75) ? &step->event : NULL;
    order(step);
    if (step->n >= WAITS - 1) {
        finish_all(world);
        step->n = 0;
    }
    if (step->blocking)
        open_gates(world);
    maybe_gate(step);
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    struct world *world = data;

    (void)event;
    if (status == CL_COMPLETE)
        atomic_fetch_add(&world->called, 1);
}

void step_end(struct step *step, cl_int code, cl_command_type type, const char *what)
{
    struct world *world = step->world;
    bool calls = chance(world, 10), asks = chance(world, 20), flushes = chance(world, 10);
    cl_int status;

    must(world, code, what);
    if (code != CL_SUCCESS)
        return;
    for (unsigned t = 0; t < step->n_touches; t++) {
        struct access *access = &world->accesses[world->n_accesses++];

        access->touch = step->touches[t];
        access->view = *step->touches[t].view;
        access->touch.view = NULL;
        access->queue = step->queue;
        access->event = step->event;
        if (step->event)
            clRetainEvent(step->event);
    }
    if (flushes)
        clFlush(step->handle);
    if (!step->event)
        return;
    if (calls) {
        must(world, clSetEventCallback(step->event, CL_COMPLETE, on_event, world), "clSetEventCallback");
        world->asked++;
    }
    if (asks) {
        must(world,
             clGetEventInfo(step->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL),
             "clGetEventInfo");
        if (status < 0 || status > CL_QUEUED || (step->blocking && status != CL_COMPLETE))
            fail(world, "%s: status %d", what, status);
    }
    world->seen[world->n_seen].event = step->event;
    world->seen[world->n_seen].type = type;
    world->seen[world->n_seen++].queue = step->queue;
}

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

static void check_event(struct world *world, unsigned i)
{
    cl_event event = world->seen[i].event;
    cl_command_type type = 0;
    cl_int status = 1;
    cl_ulong times[4] = {0};

    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
    if (status != CL_COMPLETE || type != world->seen[i].type)
        fail(world, "an event of type %x has type %x and status %d", world->seen[i].type, type, status);
    if (world->queues[world->seen[i].queue].profiles) {
        for (cl_uint t = 0; t < 4; t++)
            must(world,
                 clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + t, sizeof times[t], &times[t],
                                         NULL),
                 "clGetEventProfilingInfo");
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
}

/* --- the world --- */

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

static void check_roots(struct world *world)
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

    for (unsigned waited = 0; atomic_load(&world->called) != world->asked && waited < 10000; waited++)
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

static void *run_world(void *argument)
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
    for (world->steps = 1; world->steps <= n_steps && !world->failures; world->steps++)
        one_step(world);
    check_roots(world);
    end_world(world);
    return NULL;
}

static unsigned run_seed(struct stage *stage, uint64_t seed)
{
    static struct world worlds[4];
    pthread_t threads[4];
    unsigned failures = 0;
    uint64_t hash = 0;

    stage->seed = seed;
    memset(worlds, 0, sizeof worlds);
    for (unsigned i = 0; i < n_threads; i++) {
        worlds[i].stage = stage;
        worlds[i].number = i;
        worlds[i].hash = 0xcbf29ce484222325u;
        random_init(&worlds[i].random, seed, i);
        if (n_threads == 1)
            run_world(&worlds[i]);
        else if (pthread_create(&threads[i], NULL, run_world, &worlds[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < n_threads; i++) {
        if (n_threads > 1)
            pthread_join(threads[i], NULL);
        failures += worlds[i].failures;
        hash ^= worlds[i].hash + i;
    }
    printf("%llu %016llx%s\n", (unsigned long long)seed, (unsigned long long)hash, failures ? " FAILED" : "");
    fflush(stdout);
    return failures;
}

static bool set_up(struct stage *stage)
{
    cl_uint bits = 1024;
    cl_int code = clGetPlatformIDs(1, &stage->platform, NULL);

    if (code == CL_SUCCESS)
        code = clGetDeviceIDs(stage->platform, CL_DEVICE_TYPE_ALL, 1, &stage->device, NULL);
    if (code == CL_SUCCESS)
        stage->context = clCreateContext(NULL, 1, &stage->device, NULL, NULL, &code);
    for (int i = 0; i < 2 && code == CL_SUCCESS; i++) {
        stage->programs[i] = clCreateProgramWithSource(
            stage->context, 1, (const char **)(uintptr_t)&kernel_sources[i], NULL, &code);
        if (code == CL_SUCCESS)
            code = clBuildProgram(stage->programs[i], 1, &stage->device, "", NULL, NULL);
    }
    if (code != CL_SUCCESS)
        fprintf(stderr, "no OpenCL: %d\n", code);
    clGetDeviceInfo(stage->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    stage->align = bits / 8;
    return code == CL_SUCCESS;
}

int main(int argc, char **argv)
{
    static struct stage stage = {.gates = true};
    uint64_t first, n;
    unsigned failures = 0;
    int option;

    while ((option = getopt(argc, argv, "gvt:n:")) != -1)
        switch (option) {
        case 'g':
            stage.gates = false;
            break;
        case 'v':
            stage.talks = true;
            break;
        case 't':
            n_threads = (unsigned)atoi(optarg);
            break;
        case 'n':
            n_steps = (unsigned)atoi(optarg);
            break;
        default:
            return 2;
        }
    if (optind >= argc || n_threads < 1 || n_threads > 4 || !set_up(&stage))
        return 2;
    first = strtoull(argv[optind], NULL, 10);
    n = optind + 1 < argc ? strtoull(argv[optind + 1], NULL, 10) : 1;
    for (uint64_t seed = first; seed < first + n; seed++)
        failures += run_seed(&stage, seed) > 0;
    clReleaseProgram(stage.programs[0]);
    clReleaseProgram(stage.programs[1]);
    clReleaseContext(stage.context);
    return failures != 0;
}
