/* Reads, writes, fills, copies, their rectangles, images, maps; functions of the host. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    return memcpy(copy, bytes, size);
}

static void read_or_write(struct world *world, bool writes)
{
    const struct view *view = any_view(world, 4);
    struct step step = {.world = world, .n_touches = 1, .blocking = chance(world, 30)};
    struct touch touch = step.touches[0] = touch_part(world, view, 1, writes);
    size_t size = touch.end - touch.begin;
    unsigned char *model = world->roots[view->root].model + touch.begin;
    unsigned char *bytes = random_bytes(world, size);
    cl_int code;

    step_begin(&step);
    say(world, "%s %zu bytes at %zu of root %u on queue %u%s", writes ? "write" : "read", size, touch.begin,
        view->root, step.queue, step.blocking ? ", blocking" : "");
    if (writes) {
        memcpy(model, bytes, size);
        code = clEnqueueWriteBuffer(step.handle, view->mem, step.blocking, touch.begin - view->begin, size,
                                    bytes, STEP_WAITS(&step));
    } else {
        code = clEnqueueReadBuffer(step.handle, view->mem, step.blocking, touch.begin - view->begin, size,
                                   bytes, STEP_WAITS(&step));
    }
    if (!writes && step.blocking && memcmp(bytes, model, size) != 0)
        fail(world, "a blocking read of %zu bytes at %zu of root %u differs", size, touch.begin, view->root);
    if (writes && step.blocking)
        memset(bytes, 0xee, size); /* ours again */
    keep_until_done(world, bytes, writes ? NULL : copy_of(model, size), size);
    step_end(&step, code, writes ? CL_COMMAND_WRITE_BUFFER : CL_COMMAND_READ_BUFFER, "read or write");
}

static void fill(struct world *world)
{
    size_t unit = (size_t)1 << below(world, 5);
    const struct view *view = any_view(world, unit);
    struct step step = {.world = world, .n_touches = 1};
    struct touch touch = step.touches[0] = touch_part(world, view, unit, true);
    unsigned char *pattern = random_bytes(world, unit);

    step_begin(&step); /* may end a map, and so change the model */
    for (size_t at = touch.begin; at < touch.end; at++)
        world->roots[view->root].model[at] = pattern[(at - touch.begin) % unit];
    say(world, "fill %zu at %zu of root %u on queue %u", touch.end - touch.begin, touch.begin, view->root,
        step.queue);
    step_end(&step,
             clEnqueueFillBuffer(step.handle, view->mem, pattern, unit, touch.begin - view->begin,
                                 touch.end - touch.begin, STEP_WAITS(&step)),
             CL_COMMAND_FILL_BUFFER, "fill");
    free(pattern);
}

static void copy(struct world *world)
{
    const struct view *from = any_view(world, 4), *to = any_view(world, 4);
    struct step step = {.world = world, .n_touches = 2};
    struct touch a = touch_part(world, from, 1, false), b = touch_part(world, to, 1, true);

    if (from->root == to->root && from->begin < to->begin + to->size && to->begin < from->begin + from->size)
        return;
    if (a.end - a.begin > b.end - b.begin)
        a.end = a.begin + (b.end - b.begin);
    b.end = b.begin + (a.end - a.begin);
    step.touches[0] = a;
    step.touches[1] = b;
    step_begin(&step);
    memcpy(world->roots[to->root].model + b.begin, world->roots[from->root].model + a.begin, a.end - a.begin);
    say(world, "copy %zu from %zu of root %u to %zu of root %u on queue %u", a.end - a.begin, a.begin,
        from->root, b.begin, to->root, step.queue);
    step_end(&step,
             clEnqueueCopyBuffer(step.handle, from->mem, to->mem, a.begin - from->begin, b.begin - to->begin,
                                 a.end - a.begin, STEP_WAITS(&step)),
             CL_COMMAND_COPY_BUFFER, "copy");
}

/* A box in a buffer: `row` bytes a row, region[0] of them used. */
struct box {
    size_t row, slice, origin[3], region[3];
};

static bool random_box(struct world *world, size_t size, struct box *box)
{
    size_t rows, slices;

    if (size < 64)
        return false;
    box->row = 8 + below(world, size > 512 ? 256 : 8);
    rows = 1 + below(world, (unsigned)(size / box->row));
    box->slice = rows * box->row;
    slices = size / box->slice;
    box->origin[0] = below(world, (unsigned)box->row);
    box->region[0] = 1 + below(world, (unsigned)(box->row - box->origin[0]));
    box->origin[1] = below(world, (unsigned)rows);
    box->region[1] = 1 + below(world, (unsigned)(rows - box->origin[1]));
    box->origin[2] = below(world, (unsigned)slices);
    box->region[2] = 1 + below(world, (unsigned)(slices - box->origin[2]));
    return true;
}

/* Rows of a box, between a buffer's bytes and dense ones. */
static void box_rows(const struct box *box, unsigned char *buffer, unsigned char *dense, bool in)
{
    for (size_t z = 0; z < box->region[2]; z++)
        for (size_t y = 0; y < box->region[1]; y++) {
            unsigned char *there =
                buffer + (box->origin[2] + z) * box->slice + (box->origin[1] + y) * box->row + box->origin[0];
            unsigned char *here = dense + (z * box->region[1] + y) * box->region[0];

            memcpy(in ? there : here, in ? here : there, box->region[0]);
        }
}

static void rect(struct world *world, unsigned which)
{
    static const size_t zero[3] = {0, 0, 0};
    /* PoCL 3.1 crashes when it copies boxes of parts of buffers. */
    const struct view *view = which == 2 ? &world->views[below(world, ROOTS)] : any_view(world, 64);
    const struct view *other = &world->views[below(world, ROOTS)];
    struct step step = {.world = world, .n_touches = 1, .blocking = which < 2 && chance(world, 30)};
    struct box box;
    unsigned char *model, *bytes, *dense;
    size_t size;
    cl_int code;

    if (!view || !random_box(world, view->size, &box))
        return;
    model = bytes_of(world, view);
    size = box.region[0] * box.region[1] * box.region[2];
    if (which == 2 && (other->root == view->root || size > other->size))
        return;
    step.touches[0] = (struct touch){view, view->begin, view->begin + view->size, which == 1};
    if (which == 2)
        step.touches[step.n_touches++] = (struct touch){other, other->begin, other->begin + size, true};
    step_begin(&step);
    say(world, "rect %u of %zu x %zu x %zu, root %u on queue %u%s", which, box.region[0], box.region[1],
        box.region[2], view->root, step.queue, step.blocking ? ", blocking" : "");
    bytes = random_bytes(world, size);
    dense = copy_of(bytes, size);
    box_rows(&box, model, dense, which == 1);
    if (which == 0) {
        code = clEnqueueReadBufferRect(step.handle, view->mem, step.blocking, box.origin, zero, box.region,
                                       box.row, box.slice, 0, 0, bytes, STEP_WAITS(&step));
        if (step.blocking && memcmp(bytes, dense, size) != 0)
            fail(world, "a blocking read of a rectangle differs");
        keep_until_done(world, bytes, dense, size);
    } else if (which == 1) {
        code = clEnqueueWriteBufferRect(step.handle, view->mem, step.blocking, box.origin, zero, box.region,
                                        box.row, box.slice, 0, 0, bytes, STEP_WAITS(&step));
        keep_until_done(world, bytes, NULL, size);
        free(dense);
    } else {
        memcpy(bytes_of(world, other), dense, size);
        code = clEnqueueCopyBufferRect(step.handle, view->mem, other->mem, box.origin, zero, box.region,
                                       box.row, box.slice, box.region[0], box.region[0] * box.region[1],
                                       STEP_WAITS(&step));
        free(dense);
        free(bytes);
    }
    step_end(&step, code,
             which == 0   ? CL_COMMAND_READ_BUFFER_RECT
             : which == 1 ? CL_COMMAND_WRITE_BUFFER_RECT
                          : CL_COMMAND_COPY_BUFFER_RECT,
             "rect");
}

/* Whole rows of an image: to the host and back, to and from buffers, filled. */
static void image(struct world *world, unsigned which)
{
    unsigned number = ROOTS + below(world, IMAGES);
    struct root *root = &world->roots[number];
    struct view view = {root->mem, number, 0, root->size};
    size_t rows = root->size / 4 / WIDTH, first = below(world, (unsigned)rows);
    size_t n = 1 + below(world, (unsigned)(rows - first));
    size_t origin[3] = {0, first, 0}, region[3] = {WIDTH, n, 1}, size = n * WIDTH * 4;
    unsigned char *model = root->model + first * WIDTH * 4, *bytes;
    const struct view *buffer =
        &world->views[below(world, ROOTS)]; /* PoCL 3.1 crashes on parts of buffers here */
    struct step step = {.world = world, .n_touches = 1, .blocking = which < 2 && chance(world, 30)};
    cl_uint colour[4] = {below(world, 256), below(world, 256), below(world, 256), below(world, 256)};
    cl_command_type type = 0;
    cl_int code = CL_SUCCESS;

    if (which > 2 && (!buffer || buffer->size < size))
        return;
    step.touches[0] = (struct touch){&view, 0, root->size, which == 1 || which == 2 || which == 4};
    if (which > 2)
        step.touches[step.n_touches++] =
            (struct touch){buffer, buffer->begin, buffer->begin + size, which == 3};
    step_begin(&step);
    say(world, "image %u, %zu rows from %zu on queue %u%s", which, n, first, step.queue,
        step.blocking ? ", blocking" : "");
    if (which == 0) {
        bytes = random_bytes(world, size);
        code = clEnqueueReadImage(step.handle, root->mem, step.blocking, origin, region, 0, 0, bytes,
                                  STEP_WAITS(&step));
        keep_until_done(world, bytes, copy_of(model, size), size);
        type = CL_COMMAND_READ_IMAGE;
    } else if (which == 1) {
        bytes = random_bytes(world, size);
        memcpy(model, bytes, size);
        code = clEnqueueWriteImage(step.handle, root->mem, step.blocking, origin, region, 0, 0, bytes,
                                   STEP_WAITS(&step));
        keep_until_done(world, bytes, NULL, size);
        type = CL_COMMAND_WRITE_IMAGE;
    } else if (which == 2) {
        for (size_t i = 0; i < size; i++)
            model[i] = (unsigned char)colour[i % 4];
        code = clEnqueueFillImage(step.handle, root->mem, colour, origin, region, STEP_WAITS(&step));
        type = CL_COMMAND_FILL_IMAGE;
    } else if (which == 3) {
        memcpy(bytes_of(world, buffer), model, size);
        code = clEnqueueCopyImageToBuffer(step.handle, root->mem, buffer->mem, origin, region, 0,
                                          STEP_WAITS(&step));
        type = CL_COMMAND_COPY_IMAGE_TO_BUFFER;
    } else {
        memcpy(model, bytes_of(world, buffer), size);
        code = clEnqueueCopyBufferToImage(step.handle, buffer->mem, root->mem, 0, origin, region,
                                          STEP_WAITS(&step));
        type = CL_COMMAND_COPY_BUFFER_TO_IMAGE;
    }
    step_end(&step, code, type, "image");
}

static void migrate(struct world *world)
{
    const struct view *view = any_view(world, 4);
    struct step step = {.world = world, .n_touches = 1};
    bool to_host;

    step.touches[0] = (struct touch){view, view->begin, view->begin + view->size, false};
    step_begin(&step);
    to_host = chance(world, 50) && !world->stage->stays;
    say(world, "migrate root %u on queue %u", view->root, step.queue);
    step_end(&step,
             clEnqueueMigrateMemObjects(step.handle, 1, &view->mem, to_host ? CL_MIGRATE_MEM_OBJECT_HOST : 0,
                                        STEP_WAITS(&step)),
             CL_COMMAND_MIGRATE_MEM_OBJECTS, "migrate");
}

/* --- on the host --- */

struct native {
    cl_uint *a; /* filled in by the driver */
    cl_uint n, k;
};

static void CL_CALLBACK run_native(void *argument)
{
    const struct native *native = argument;

    for (cl_uint i = 0; i < native->n; i++)
        native->a[i] = native->a[i] * native->k + 3;
}

static void native(struct world *world)
{
    const struct view *view = &world->views[below(world, ROOTS)];
    struct native args = {NULL, (cl_uint)(view->size / 4), below(world, 1000)};
    struct step step = {.world = world, .n_touches = 1};
    const void *place = &args.a;
    cl_uint *a = (cl_uint *)(void *)bytes_of(world, view);

    step.touches[0] = (struct touch){view, view->begin, view->begin + view->size, true};
    step_begin(&step);
    say(world, "native on root %u, queue %u", view->root, step.queue);
    step_end(&step,
             clEnqueueNativeKernel(step.handle, run_native, &args, sizeof args, 1, &view->mem, &place,
                                   STEP_WAITS(&step)),
             CL_COMMAND_NATIVE_KERNEL, "native");
    for (cl_uint i = 0; i < args.n; i++)
        a[i] = a[i] * args.k + 3;
}

void transfer_random(struct world *world)
{
    unsigned which = below(world, 20);

    if (world->stage->natives && chance(world, 8))
        native(world);
    else if (which < 8)
        read_or_write(world, which < 4);
    else if (which < 10)
        fill(world);
    else if (which < 12)
        copy(world);
    else if (which < 15)
        rect(world, which - 12);
    else if (which < 19)
        image(world, below(world, 5));
    else
        migrate(world);
}

/* --- maps --- */

static void map_image(struct world *world, struct active_map *map, struct step *step, cl_int *ret_code)
{
    const struct root *root = &world->roots[map->view.root];
    size_t origin[3] = {0, 0, 0}, region[3] = {WIDTH, root->size / 4 / WIDTH, 1};

    map->pointer = clEnqueueMapImage(step->handle, root->mem, step->blocking, map->flags, origin, region,
                                     &map->row, NULL, STEP_WAITS(step), ret_code);
}

void map_random(struct world *world)
{
    static const cl_map_flags flags[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_READ | CL_MAP_WRITE,
                                         CL_MAP_WRITE_INVALIDATE_REGION};
    struct active_map *map = &world->maps[below(world, MAPS)];
    bool image = chance(world, 15);
    const struct view *view = any_view(world, 4);
    struct step step = {.world = world, .n_touches = 1, .blocking = chance(world, 40)};
    unsigned number = ROOTS + below(world, IMAGES);
    struct touch touch;
    cl_int code;

    if (map->pointer) {
        unmap_one(world, map);
        return;
    }
    map->flags = flags[below(world, 4)];
    map->view = image ? (struct view){world->roots[number].mem, number, 0, world->roots[number].size} : *view;
    touch = touch_part(world, &map->view, 1, map->flags != CL_MAP_READ);
    if (image)
        touch.begin = 0, touch.end = map->view.size;
    map->begin = touch.begin;
    map->size = touch.end - touch.begin;
    map->row = 0;
    step.touches[0] = touch;
    step_begin(&step);
    say(world, "map %zu at %zu of root %u, flags %d, on queue %u%s", map->size, map->begin, map->view.root,
        (int)map->flags, step.queue, step.blocking ? ", blocking" : "");
    step.want = &step.event;
    if (image)
        map_image(world, map, &step, &code);
    else
        map->pointer = clEnqueueMapBuffer(step.handle, map->view.mem, step.blocking, map->flags,
                                          touch.begin - map->view.begin, map->size, STEP_WAITS(&step), &code);
    if (code == CL_SUCCESS) {
        map->event = step.event;
        clRetainEvent(map->event);
        clRetainMemObject(map->view.mem);
        map->expected = copy_of(world->roots[map->view.root].model + map->begin, map->size);
    }
    step_end(&step, code, image ? CL_COMMAND_MAP_IMAGE : CL_COMMAND_MAP_BUFFER, "map");
}

/* Row by row, for images whose rows are apart. */
static bool same(const struct active_map *map)
{
    size_t row = map->row ? (size_t)WIDTH * 4 : map->size;

    for (size_t at = 0; at < map->size; at += row)
        if (memcmp((unsigned char *)map->pointer + (map->row ? at / row * map->row : 0), map->expected + at,
                   row) != 0)
            return false;
    return true;
}

static void change(struct world *world, struct active_map *map)
{
    size_t row = map->row ? (size_t)WIDTH * 4 : map->size;
    bool all = map->flags & CL_MAP_WRITE_INVALIDATE_REGION || chance(world, 40);
    size_t first = all ? 0 : below(world, (unsigned)map->size);
    size_t n = all ? map->size : below(world, (unsigned)(map->size - first + 1));

    for (size_t at = first; at < first + n; at++) {
        unsigned char byte = (unsigned char)(at * 7 + world->steps);

        ((unsigned char *)map->pointer)[map->row ? at / row * map->row + at % row : at] = byte;
        world->roots[map->view.root].model[map->begin + at] = byte;
    }
}

void unmap_one(struct world *world, struct active_map *map)
{
    struct step step = {.world = world, .n_touches = 1};
    struct active_map was = *map;

    map->pointer = NULL; /* what follows is no conflict with itself */
    open_gates(world);
    must(world, clWaitForEvents(1, &was.event), "clWaitForEvents of a map");
    clReleaseEvent(was.event);
    if (!(was.flags & CL_MAP_WRITE_INVALIDATE_REGION) && !same(&was))
        fail(world, "mapped bytes differ: %zu at %zu of root %u, flags %d", was.size, was.begin,
             was.view.root, (int)was.flags);
    if (was.flags != CL_MAP_READ)
        change(world, &was);
    free(was.expected);
    step.touches[0] = (struct touch){&was.view, was.begin, was.begin + was.size, was.flags != CL_MAP_READ};
    step_begin(&step);
    say(world, "unmap %zu at %zu of root %u on queue %u", was.size, was.begin, was.view.root, step.queue);
    step_end(&step, clEnqueueUnmapMemObject(step.handle, was.view.mem, was.pointer, STEP_WAITS(&step)),
             CL_COMMAND_UNMAP_MEM_OBJECT, "unmap");
    clReleaseMemObject(was.view.mem);
}
