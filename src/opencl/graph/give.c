#include "opencl/graph/give.h"

#include "opencl/layer.h"
#include "opencl/opencl_objects.h"

#define QUEUE c->queue->handle
#define WAITS n, waits, event

GIVE(read)
{
    const struct command_transfer *t = &c->u.transfer;

    return front.target.clEnqueueReadBuffer(QUEUE, t->a, blocking, t->offset, t->size, t->host, WAITS);
}

GIVE(write)
{
    const struct command_transfer *t = &c->u.transfer;

    return front.target.clEnqueueWriteBuffer(QUEUE, t->a, blocking, t->offset, t->size, t->host, WAITS);
}

GIVE(copy)
{
    const struct command_transfer *t = &c->u.transfer;

    (void)blocking;
    return front.target.clEnqueueCopyBuffer(QUEUE, t->a, t->b, t->offset, t->offset_b, t->size, WAITS);
}

GIVE(fill)
{
    const struct command_transfer *t = &c->u.transfer;

    (void)blocking;
    return front.target.clEnqueueFillBuffer(QUEUE, t->a, t->pattern, t->pattern_size, t->offset, t->size,
                                            WAITS);
}

GIVE(read_rect)
{
    const struct command_transfer *t = &c->u.transfer;

    return front.target.clEnqueueReadBufferRect(QUEUE, t->a, blocking, t->origin, t->origin_b, t->region,
                                                t->row, t->slice, t->row_b, t->slice_b, t->host, WAITS);
}

GIVE(write_rect)
{
    const struct command_transfer *t = &c->u.transfer;

    return front.target.clEnqueueWriteBufferRect(QUEUE, t->a, blocking, t->origin, t->origin_b, t->region,
                                                 t->row, t->slice, t->row_b, t->slice_b, t->host, WAITS);
}

GIVE(copy_rect)
{
    const struct command_transfer *t = &c->u.transfer;

    (void)blocking;
    return front.target.clEnqueueCopyBufferRect(QUEUE, t->a, t->b, t->origin, t->origin_b, t->region, t->row,
                                                t->slice, t->row_b, t->slice_b, WAITS);
}

GIVE(read_image)
{
    const struct command_transfer *t = &c->u.transfer;

    return front.target.clEnqueueReadImage(QUEUE, t->a, blocking, t->origin, t->region, t->row, t->slice,
                                           t->host, WAITS);
}

GIVE(write_image)
{
    const struct command_transfer *t = &c->u.transfer;

    return front.target.clEnqueueWriteImage(QUEUE, t->a, blocking, t->origin, t->region, t->row, t->slice,
                                            t->host, WAITS);
}

GIVE(copy_image)
{
    const struct command_transfer *t = &c->u.transfer;

    (void)blocking;
    return front.target.clEnqueueCopyImage(QUEUE, t->a, t->b, t->origin, t->origin_b, t->region, WAITS);
}

GIVE(image_to_buffer)
{
    const struct command_transfer *t = &c->u.transfer;

    (void)blocking;
    return front.target.clEnqueueCopyImageToBuffer(QUEUE, t->a, t->b, t->origin, t->region, t->offset, WAITS);
}

GIVE(buffer_to_image)
{
    const struct command_transfer *t = &c->u.transfer;

    (void)blocking;
    return front.target.clEnqueueCopyBufferToImage(QUEUE, t->a, t->b, t->offset, t->origin, t->region, WAITS);
}

GIVE(fill_image)
{
    const struct command_transfer *t = &c->u.transfer;

    (void)blocking;
    return front.target.clEnqueueFillImage(QUEUE, t->a, t->pattern, t->origin, t->region, WAITS);
}

GIVE(unmap)
{
    (void)blocking;
    return front.target.clEnqueueUnmapMemObject(QUEUE, c->u.map.mem, c->u.map.pointer, WAITS);
}

GIVE(migrate)
{
    (void)blocking;
    return front.target.clEnqueueMigrateMemObjects(QUEUE, c->u.migrate.n, c->u.migrate.mems,
                                                   c->u.migrate.flags, WAITS);
}

GIVE(kernel)
{
    const struct opencl_launch *l = &c->u.launch;

    (void)blocking;
    return front.target.clEnqueueNDRangeKernel(QUEUE, l->kernel->handle, l->dim, l->offset, l->global,
                                               l->has_local ? l->local : NULL, WAITS);
}

GIVE(task)
{
    (void)blocking;
    return front.target.clEnqueueTask(QUEUE, c->u.launch.kernel->handle, WAITS);
}

GIVE(native)
{
    const struct command_native *f = &c->u.native;

    (void)blocking;
    return front.target.clEnqueueNativeKernel(QUEUE, f->run, f->args, f->size, f->n, f->mems, f->places,
                                              WAITS);
}

GIVE(marker)
{
    (void)blocking;
    return front.target.clEnqueueMarkerWithWaitList(QUEUE, WAITS);
}

GIVE(barrier)
{
    (void)blocking;
    return front.target.clEnqueueBarrierWithWaitList(QUEUE, WAITS);
}

GIVE(svm_memcpy)
{
    const struct command_svm *s = &c->u.svm;

    return front.target.clEnqueueSVMMemcpy(QUEUE, blocking, s->to, s->from, s->size, WAITS);
}

GIVE(svm_fill)
{
    const struct command_svm *s = &c->u.svm;

    (void)blocking;
    return front.target.clEnqueueSVMMemFill(QUEUE, s->to, s->pattern, s->pattern_size, s->size, WAITS);
}

GIVE(svm_map)
{
    const struct command_svm *s = &c->u.svm;

    return front.target.clEnqueueSVMMap(QUEUE, blocking, s->flags, s->to, s->size, WAITS);
}

GIVE(svm_unmap)
{
    const struct command_svm *s = &c->u.svm;

    (void)blocking;
    return front.target.clEnqueueSVMUnmap(QUEUE, s->to, WAITS);
}

GIVE(svm_free)
{
    const struct command_svm *s = &c->u.svm;

    (void)blocking;
    return front.target.clEnqueueSVMFree(QUEUE, s->n, s->pointers, s->run, s->user, WAITS);
}

GIVE(svm_migrate)
{
    const struct command_svm *s = &c->u.svm;

    (void)blocking;
    return front.target.clEnqueueSVMMigrateMem(QUEUE, s->n, (const void **)s->pointers, s->sizes, s->flags,
                                               WAITS);
}
