/* Every enqueue entry point as one call with known effect. */
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t origin0[3] = {0, 0, 0};
static const size_t origin2[3] = {2, 3, 0};
static const size_t region4[3] = {8, 4, 1};

static cl_int run_read(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueReadBuffer(w->queue, t->a, w->blocking, 64, 512, t->host, w->n, w->waits, w->event);
}

static cl_int run_write(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueWriteBuffer(w->queue, t->a, w->blocking, 64, 512, t->host, w->n, w->waits, w->event);
}

static cl_int run_copy(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueCopyBuffer(w->queue, t->a, t->b, 16, 32, 512, w->n, w->waits, w->event);
}

static cl_int run_fill(const struct world *world, struct things *t, const struct when *w)
{
    unsigned char pattern[4] = {1, 2, 3, 4};
    cl_int code = clEnqueueFillBuffer(w->queue, t->c, pattern, 4, 128, 256, w->n, w->waits, w->event);

    (void)world;
    memset(pattern, 0xff, sizeof pattern); /* must have been copied */
    return code;
}

static const size_t rect_region[3] = {16, 4, 2};
static const size_t rect_at[3] = {4, 1, 1};

static cl_int run_read_rect(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueReadBufferRect(w->queue, t->a, w->blocking, rect_at, origin0, rect_region, 32, 256, 16, 0,
                                   t->host, w->n, w->waits, w->event);
}

static cl_int run_write_rect(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueWriteBufferRect(w->queue, t->a, w->blocking, rect_at, origin0, rect_region, 32, 256, 0, 0,
                                    t->host, w->n, w->waits, w->event);
}

static cl_int run_copy_rect(const struct world *world, struct things *t, const struct when *w)
{
    size_t at[3] = {4, 1, 1}, region[3] = {16, 4, 2};
    cl_int code = clEnqueueCopyBufferRect(w->queue, t->a, t->b, at, origin0, region, 32, 256, 64, 256, w->n,
                                          w->waits, w->event);

    (void)world;
    memset(at, 0xff, sizeof at);
    memset(region, 0xff, sizeof region);
    return code;
}

static cl_int run_read_image(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueReadImage(w->queue, t->image, w->blocking, origin2, region4, 0, 0, t->pixels, w->n,
                              w->waits, w->event);
}

static cl_int run_write_image(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueWriteImage(w->queue, t->image, w->blocking, origin2, region4, 48, 0, t->pixels, w->n,
                               w->waits, w->event);
}

static cl_int run_copy_image(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueCopyImage(w->queue, t->image, t->image2, origin0, origin2, region4, w->n, w->waits,
                              w->event);
}

static cl_int run_image_to_buffer(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueCopyImageToBuffer(w->queue, t->image, t->c, origin2, region4, 64, w->n, w->waits,
                                      w->event);
}

static cl_int run_buffer_to_image(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueCopyBufferToImage(w->queue, t->a, t->image2, 64, origin2, region4, w->n, w->waits,
                                      w->event);
}

static cl_int run_fill_image(const struct world *world, struct things *t, const struct when *w)
{
    cl_uint color[4] = {9, 8, 7, 6};
    cl_int code = clEnqueueFillImage(w->queue, t->image2, color, origin2, region4, w->n, w->waits, w->event);

    (void)world;
    memset(color, 0, sizeof color);
    return code;
}

static cl_int run_map(const struct world *world, struct things *t, const struct when *w)
{
    cl_int code = 99;

    (void)world;
    t->mapped = clEnqueueMapBuffer(w->queue, t->a, w->blocking, CL_MAP_READ | CL_MAP_WRITE, 64, 512, w->n,
                                   w->waits, w->event, &code);
    return t->mapped || code ? code : 98;
}

static cl_int run_map_image(const struct world *world, struct things *t, const struct when *w)
{
    size_t row = 0;
    cl_int code = 99;
    void *pointer = clEnqueueMapImage(w->queue, t->image, w->blocking, CL_MAP_READ, origin0, region4, &row,
                                      NULL, w->n, w->waits, w->event, &code);

    (void)world;
    return pointer && row ? code : code ? code : 98;
}

static cl_int run_unmap(const struct world *world, struct things *t, const struct when *w)
{
    cl_int code;

    (void)world;
    if (!t->mapped)
        return 97;
    ((cl_int *)t->mapped)[3] = 4711;
    code = clEnqueueUnmapMemObject(w->queue, t->a, t->mapped, w->n, w->waits, w->event);
    if (code == CL_SUCCESS)
        t->mapped = NULL;
    return code;
}

static cl_int run_migrate(const struct world *world, struct things *t, const struct when *w)
{
    cl_mem mems[2] = {t->a, t->b};

    (void)world;
    return clEnqueueMigrateMemObjects(w->queue, 2, mems, 0, w->n, w->waits, w->event);
}

static cl_int run_ndrange(const struct world *world, struct things *t, const struct when *w)
{
    size_t global = ITEMS, local = 8;
    cl_int factor = 3, changed = 1000, code;

    (void)world;
    clSetKernelArg(t->scale, 0, sizeof t->a, &t->a);
    clSetKernelArg(t->scale, 1, sizeof factor, &factor);
    code = clEnqueueNDRangeKernel(w->queue, t->scale, 1, NULL, &global, &local, w->n, w->waits, w->event);
    clSetKernelArg(t->scale, 0, sizeof t->b, &t->b); /* arguments are those of the enqueue call */
    clSetKernelArg(t->scale, 1, sizeof changed, &changed);
    global = local = 1;
    return code;
}

static cl_int run_task(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    clSetKernelArg(t->add, 0, sizeof t->a, &t->a);
    clSetKernelArg(t->add, 1, sizeof t->b, &t->b);
    clSetKernelArg(t->add, 2, sizeof t->c, &t->c);
    return clEnqueueTask(w->queue, t->add, w->n, w->waits, w->event);
}

struct native_args {
    cl_int *buffer;
    cl_int value;
    cl_int *seen;
};

static void CL_CALLBACK native_function(void *argument)
{
    struct native_args *args = argument;

    args->buffer[5] = args->value;
    *args->seen = args->value;
}

static cl_int run_native(const struct world *world, struct things *t, const struct when *w)
{
    struct native_args args = {NULL, 42, &t->native_seen};
    const void *place = &args.buffer;
    cl_int code = clEnqueueNativeKernel(w->queue, native_function, &args, sizeof args, 1, &t->a, &place, w->n,
                                        w->waits, w->event);

    (void)world;
    memset(&args, 0, sizeof args);
    return code;
}

static cl_int run_marker(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    (void)t;
    return clEnqueueMarkerWithWaitList(w->queue, w->n, w->waits, w->event);
}

static cl_int run_barrier(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    (void)t;
    return clEnqueueBarrierWithWaitList(w->queue, w->n, w->waits, w->event);
}

static cl_int run_svm_copy(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueSVMMemcpy(w->queue, w->blocking, t->svm, t->host, 256, w->n, w->waits, w->event);
}

static cl_int run_svm_fill(const struct world *world, struct things *t, const struct when *w)
{
    cl_int pattern = 0x01020304;
    cl_int code =
        clEnqueueSVMMemFill(w->queue, t->svm, &pattern, sizeof pattern, 128, w->n, w->waits, w->event);

    (void)world;
    pattern = 0;
    return code;
}

static cl_int run_svm_map(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueSVMMap(w->queue, w->blocking, CL_MAP_READ | CL_MAP_WRITE, t->svm, 256, w->n, w->waits,
                           w->event);
}

static cl_int run_svm_unmap(const struct world *world, struct things *t, const struct when *w)
{
    (void)world;
    return clEnqueueSVMUnmap(w->queue, t->svm, w->n, w->waits, w->event);
}

static void CL_CALLBACK svm_free_function(cl_command_queue queue, cl_uint n, void *pointers[], void *user)
{
    struct things *t = user;

    (void)queue;
    t->svm_freed = n == 1 && pointers[0] == t->svm;
}

static cl_int run_svm_free(const struct world *world, struct things *t, const struct when *w)
{
    void *pointers[1] = {t->svm};
    cl_int code = clEnqueueSVMFree(w->queue, 1, pointers, svm_free_function, t, w->n, w->waits, w->event);

    (void)world;
    pointers[0] = NULL;
    return code;
}

static cl_int run_svm_migrate(const struct world *world, struct things *t, const struct when *w)
{
    const void *pointers[1] = {t->svm};

    (void)world;
    return clEnqueueSVMMigrateMem(w->queue, 1, pointers, NULL, 0, w->n, w->waits, w->event);
}

const struct call calls[] = {
    {"ReadBuffer", run_read, ALWAYS, true},
    {"WriteBuffer", run_write, ALWAYS, true},
    {"CopyBuffer", run_copy, ALWAYS, false},
    {"FillBuffer", run_fill, ALWAYS, false},
    {"ReadBufferRect", run_read_rect, ALWAYS, true},
    {"WriteBufferRect", run_write_rect, ALWAYS, true},
    {"CopyBufferRect", run_copy_rect, ALWAYS, false},
    {"ReadImage", run_read_image, NEEDS_IMAGES, true},
    {"WriteImage", run_write_image, NEEDS_IMAGES, true},
    {"CopyImage", run_copy_image, NEEDS_IMAGES, false},
    {"CopyImageToBuffer", run_image_to_buffer, NEEDS_IMAGES, false},
    {"CopyBufferToImage", run_buffer_to_image, NEEDS_IMAGES, false},
    {"FillImage", run_fill_image, NEEDS_IMAGES, false},
    {"MapBuffer", run_map, ALWAYS, true},
    {"MapImage", run_map_image, NEEDS_IMAGES, true},
    {"UnmapMemObject", run_unmap, ALWAYS, false},
    {"MigrateMemObjects", run_migrate, ALWAYS, false},
    {"NDRangeKernel", run_ndrange, ALWAYS, false},
    {"Task", run_task, ALWAYS, false},
    {"NativeKernel", run_native, NEEDS_NATIVE, false},
    {"MarkerWithWaitList", run_marker, ALWAYS, false},
    {"BarrierWithWaitList", run_barrier, ALWAYS, false},
    {"SVMMemcpy", run_svm_copy, NEEDS_SVM, true},
    {"SVMMemFill", run_svm_fill, NEEDS_SVM, false},
    {"SVMMap", run_svm_map, NEEDS_SVM, true},
    {"SVMUnmap", run_svm_unmap, NEEDS_SVM, false},
    {"SVMFree", run_svm_free, NEEDS_SVM, false},
    {"SVMMigrateMem", run_svm_migrate, NEEDS_SVM, false},
};
const size_t n_calls = sizeof calls / sizeof calls[0];

bool call_possible(const struct world *world, const struct call *call)
{
    return call->needs == ALWAYS || (call->needs == NEEDS_SVM && world->svm) ||
           (call->needs == NEEDS_NATIVE && world->native) || (call->needs == NEEDS_IMAGES && world->images);
}

cl_kernel make_kernel(const struct world *world, const char *name)
{
    return clCreateKernel(world->program, name, NULL);
}

cl_mem make_buffer(const struct world *world, const cl_int *content)
{
    return clCreateBuffer(world->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, ITEMS * sizeof(cl_int),
                          (void *)(uintptr_t)content, NULL);
}

static cl_mem make_image(const struct world *world, const unsigned char *content)
{
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};

    return clCreateImage(world->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc,
                         (void *)(uintptr_t)content, NULL);
}

void things_make(const struct world *world, struct things *ret_things)
{
    struct things *t = ret_things;
    cl_int content[ITEMS];
    unsigned char pixels[SIDE * SIDE * PIXEL];

    memset(t, 0, sizeof *t);
    for (int i = 0; i < ITEMS; i++)
        content[i] = i + 1;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)(i * 7);
    t->a = make_buffer(world, content);
    for (int i = 0; i < ITEMS; i++)
        content[i] = 1000 - i;
    t->b = make_buffer(world, content);
    memset(content, 0, sizeof content);
    t->c = make_buffer(world, content);
    if (world->images) {
        t->image = make_image(world, pixels);
        memset(pixels, 3, sizeof pixels);
        t->image2 = make_image(world, pixels);
    }
    t->scale = make_kernel(world, "scale");
    t->add = make_kernel(world, "add");
    if (world->svm) {
        t->svm = clSVMAlloc(world->context, CL_MEM_READ_WRITE, ITEMS * sizeof(cl_int), 0);
        memset(t->svm, 0, ITEMS * sizeof(cl_int));
    }
    for (int i = 0; i < ITEMS; i++)
        t->host[i] = 7 * i;
    memset(t->pixels, 0x55, sizeof t->pixels);
}

void things_free(const struct world *world, struct things *t)
{
    clReleaseMemObject(t->a);
    clReleaseMemObject(t->b);
    clReleaseMemObject(t->c);
    if (world->images) {
        clReleaseMemObject(t->image);
        clReleaseMemObject(t->image2);
    }
    clReleaseKernel(t->scale);
    clReleaseKernel(t->add);
    if (world->svm)
        clSVMFree(world->context, t->svm);
}

uint32_t things_hash(const struct world *world, struct things *t)
{
    static const size_t region[3] = {SIDE, SIDE, 1};
    cl_int content[ITEMS];
    unsigned char pixels[SIDE * SIDE * PIXEL];
    uint32_t hash = 0;
    cl_mem buffers[3] = {t->a, t->b, t->c};
    cl_mem images[2] = {t->image, t->image2};

    clFinish(world->in_order);
    clFinish(world->second);
    clFinish(world->out_of_order);
    for (int i = 0; i < 3; i++) {
        if (clEnqueueReadBuffer(world->second, buffers[i], CL_TRUE, 0, sizeof content, content, 0, NULL,
                                NULL))
            return 1;
        hash = hash_bytes(hash, content, sizeof content);
    }
    for (int i = 0; world->images && i < 2; i++) {
        if (clEnqueueReadImage(world->second, images[i], CL_TRUE, origin0, region, 0, 0, pixels, 0, NULL,
                               NULL))
            return 2;
        hash = hash_bytes(hash, pixels, sizeof pixels);
    }
    if (world->svm)
        hash = hash_bytes(hash, t->svm, ITEMS * sizeof(cl_int));
    hash = hash_bytes(hash, t->host, sizeof t->host);
    hash = hash_bytes(hash, t->pixels, sizeof t->pixels);
    hash = hash_bytes(hash, &t->native_seen, sizeof t->native_seen);
    return hash_bytes(hash, &t->svm_freed, sizeof t->svm_freed);
}
