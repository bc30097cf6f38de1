#include "opencl/graph/opencl_validate.h"

#include <stdlib.h>

#include "opencl/graph/kinds.h"
#include "opencl/layer.h"

static cl_context context_of(cl_event event)
{
    struct opencl_command *node = handle_table_find(&front.events, event);
    cl_context context = NULL;

    if (node) {
        context = node->context;
        command_unref(&node->base);
    } else {
        front.target.clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL);
    }
    return context;
}

cl_int validate_waits(const struct queue_record *queue, cl_uint n, const cl_event *waits)
{
    if ((n == 0) != (waits == NULL))
        return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < n; i++)
        if (!waits[i])
            return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < n; i++)
        if (context_of(waits[i]) != queue->context)
            return CL_INVALID_CONTEXT;
    return CL_SUCCESS;
}

cl_int validate_mem(const struct queue_record *queue, cl_mem mem, bool image)
{
    struct mem_record *record = mem_find(mem);
    cl_int code = CL_SUCCESS;

    if (!record)
        return CL_INVALID_MEM_OBJECT;
    if (record->image != image)
        code = CL_INVALID_MEM_OBJECT;
    else if (record->context != queue->context)
        code = CL_INVALID_CONTEXT;
    mem_unref(record);
    return code;
}

bool validate_range(cl_mem mem, size_t offset, size_t size)
{
    struct mem_record *record = mem_find(mem);
    size_t whole = record ? record->size : 0;

    if (record)
        mem_unref(record);
    return size > 0 && offset <= whole && size <= whole - offset;
}

static cl_mem_flags flags_of(cl_mem mem)
{
    struct mem_record *record = mem_find(mem);
    cl_mem_flags flags = record ? record->flags : 0;

    if (record)
        mem_unref(record);
    return flags;
}

bool validate_host_access(cl_mem mem, bool reads, bool writes)
{
    cl_mem_flags flags = flags_of(mem);

    return !(flags & CL_MEM_HOST_NO_ACCESS) && !(reads && flags & CL_MEM_HOST_WRITE_ONLY) &&
           !(writes && flags & CL_MEM_HOST_READ_ONLY);
}

/*
 * In one buffer: the distance from a's byte at offset to b's at offset_b. False: different buffers.
 */
static bool distance(cl_mem a, size_t offset, cl_mem b, size_t offset_b, int64_t *ret_distance)
{
    struct mem_record *from = mem_find(a), *to = mem_find(b);
    bool same = from && to && mem_root(from) == mem_root(to);

    if (same)
        *ret_distance = (int64_t)(to->origin + offset_b) - (int64_t)(from->origin + offset);
    if (from)
        mem_unref(from);
    if (to)
        mem_unref(to);
    return same;
}

static bool empty(const size_t region[3])
{
    return !region[0] || !region[1] || !region[2];
}

/* Does the box fit into the buffer, and are its pitches valid? */
static bool rect_fits(cl_mem mem, const size_t origin[3], const size_t region[3], size_t row, size_t slice)
{
    size_t least, last[3], end;

    if (empty(region))
        return false;
    row = row ? row : region[0];
    if (__builtin_mul_overflow(row, region[1], &least))
        return false;
    slice = slice ? slice : least;
    if (row < region[0] || slice < least || slice % row)
        return false;
    if (__builtin_add_overflow(origin[0], region[0], &last[0]) ||
        __builtin_add_overflow(origin[1], region[1] - 1, &last[1]) ||
        __builtin_add_overflow(origin[2], region[2] - 1, &last[2]) ||
        __builtin_mul_overflow(last[1], row, &last[1]) || __builtin_mul_overflow(last[2], slice, &last[2]) ||
        __builtin_add_overflow(last[0], last[1], &end) || __builtin_add_overflow(end, last[2], &end))
        return false;
    return !mem || validate_range(mem, 0, end);
}

cl_int validate_region(cl_mem image, const size_t *origin, const size_t *region)
{
    size_t size[3] = {0, 0, 0}, layers = 0;

    if (!origin || !region || empty(region))
        return CL_INVALID_VALUE;
    front.target.clGetImageInfo(image, CL_IMAGE_WIDTH, sizeof size[0], &size[0], NULL);
    front.target.clGetImageInfo(image, CL_IMAGE_HEIGHT, sizeof size[1], &size[1], NULL);
    front.target.clGetImageInfo(image, CL_IMAGE_DEPTH, sizeof size[2], &size[2], NULL);
    front.target.clGetImageInfo(image, CL_IMAGE_ARRAY_SIZE, sizeof layers, &layers, NULL);
    if (layers)
        size[size[1] ? 2 : 1] = layers; /* an array of 2D images, or of 1D images */
    for (int d = 0; d < 3; d++) {
        size_t limit = size[d] ? size[d] : 1;
        if (origin[d] > limit || region[d] > limit - origin[d])
            return CL_INVALID_VALUE;
    }
    return CL_SUCCESS;
}

static bool is_power_of_two(size_t n)
{
    return n && !(n & (n - 1));
}

cl_int validate_linear(const struct opencl_command *c)
{
    const struct command_transfer *t = &c->u.transfer;
    cl_int code = validate_mem(c->queue, t->a, false);
    const struct kind *kind = kind_of(c);
    bool reads = kind->to == SIDE_HOST;
    int64_t apart;

    if (code)
        return code;
    if (kind_copies(kind)) {
        if ((code = validate_mem(c->queue, t->b, false)))
            return code;
        if (!validate_range(t->a, t->offset, t->size) || !validate_range(t->b, t->offset_b, t->size))
            return CL_INVALID_VALUE;
        if (distance(t->a, t->offset, t->b, t->offset_b, &apart) && llabs(apart) < (int64_t)t->size)
            return CL_MEM_COPY_OVERLAP;
        return CL_SUCCESS;
    }
    /* the driver judges an empty transfer */
    if (t->size && !validate_range(t->a, t->offset, t->size))
        return CL_INVALID_VALUE;
    if (kind->from == SIDE_PATTERN)
        return is_power_of_two(t->pattern_size) && t->offset % t->pattern_size == 0 &&
                       t->size % t->pattern_size == 0
                   ? CL_SUCCESS
                   : CL_INVALID_VALUE;
    if (!t->host)
        return CL_INVALID_VALUE;
    return validate_host_access(t->a, reads, !reads) ? CL_SUCCESS : CL_INVALID_OPERATION;
}

/* Do two boxes of one shape, this far apart in memory, have a byte in common? */
static bool boxes_meet(int64_t apart, const size_t region[3], int64_t row, int64_t slice)
{
    int64_t width = (int64_t)region[0], rows = (int64_t)region[1], slices = (int64_t)region[2];

    for (int64_t z = 1 - slices; z < slices; z++) {
        int64_t rest = apart - z * slice,
                y = rest / row; /* the rows that come closest: y, and the neighbours of y */
        for (int64_t near = y - 1; near <= y + 1; near++)
            if (llabs(near) < rows && llabs(rest - near * row) < width)
                return true;
    }
    return false;
}

/*
 * Within one buffer, different pitches are forbidden, and so is reading and writing the same byte.
 */
static cl_int validate_copy_rect(const struct command_transfer *t)
{
    size_t row = t->row ? t->row : t->region[0], row_b = t->row_b ? t->row_b : t->region[0];
    size_t slice = t->slice ? t->slice : row * t->region[1];
    size_t slice_b = t->slice_b ? t->slice_b : row_b * t->region[1];
    size_t from = t->origin[2] * slice + t->origin[1] * row + t->origin[0];
    size_t to = t->origin_b[2] * slice_b + t->origin_b[1] * row_b + t->origin_b[0];
    int64_t apart;

    if (t->a == t->b && row != row_b && slice != slice_b)
        return CL_INVALID_VALUE;
    if (row == row_b && slice == slice_b && distance(t->a, from, t->b, to, &apart) &&
        boxes_meet(apart, t->region, (int64_t)row, (int64_t)slice))
        return CL_MEM_COPY_OVERLAP;
    return CL_SUCCESS;
}

cl_int validate_rect(const struct opencl_command *c)
{
    const struct command_transfer *t = &c->u.transfer;
    cl_int code = validate_mem(c->queue, t->a, false);
    bool copy = kind_copies(kind_of(c)), reads = kind_of(c)->to == SIDE_HOST;

    if (code || (copy && (code = validate_mem(c->queue, t->b, false))))
        return code;
    if (!rect_fits(t->a, t->origin, t->region, t->row, t->slice) ||
        !rect_fits(copy ? t->b : NULL, t->origin_b, t->region, t->row_b, t->slice_b) || (!copy && !t->host))
        return CL_INVALID_VALUE;
    if (copy)
        return validate_copy_rect(t);
    return validate_host_access(t->a, reads, !reads) ? CL_SUCCESS : CL_INVALID_OPERATION;
}

static bool regions_meet(const size_t a[3], const size_t b[3], const size_t region[3])
{
    bool meet = true;

    for (int d = 0; d < 3; d++)
        meet = meet && a[d] < b[d] + region[d] && b[d] < a[d] + region[d];
    return meet;
}

cl_int validate_image(const struct opencl_command *c)
{
    const struct command_transfer *t = &c->u.transfer;
    const struct kind *kind = kind_of(c);
    bool copy = kind_copies(kind);
    bool to_image = copy && kind->from == SIDE_BUFFER, to_buffer = copy && kind->to == SIDE_BUFFER;
    size_t element = 0, other = 0, width;
    cl_int code = validate_mem(c->queue, t->a, !to_image);

    if (code)
        return code;
    if (copy && (code = validate_mem(c->queue, t->b, !to_buffer)))
        return code;
    if ((code = validate_region(to_image ? t->b : t->a, t->origin, t->region)))
        return code;
    front.target.clGetImageInfo(to_image ? t->b : t->a, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element,
                                NULL);
    width = element * t->region[0];
    if (to_image || to_buffer)
        return validate_range(to_image ? t->a : t->b, t->offset, width * t->region[1] * t->region[2])
                   ? CL_SUCCESS
                   : CL_INVALID_VALUE;
    if (copy) {
        front.target.clGetImageInfo(t->b, CL_IMAGE_ELEMENT_SIZE, sizeof other, &other, NULL);
        if (element != other)
            return CL_IMAGE_FORMAT_MISMATCH;
        if ((code = validate_region(t->b, t->origin_b, t->region)))
            return code;
        return t->a == t->b && regions_meet(t->origin, t->origin_b, t->region) ? CL_MEM_COPY_OVERLAP
                                                                               : CL_SUCCESS;
    }
    if (kind->from == SIDE_PATTERN)
        return t->pattern_size ? CL_SUCCESS : CL_INVALID_VALUE;
    if (!t->host || (t->row && t->row < width))
        return CL_INVALID_VALUE;
    return validate_host_access(t->a, kind->to == SIDE_HOST, kind->from == SIDE_HOST) ? CL_SUCCESS
                                                                                      : CL_INVALID_OPERATION;
}

/* reqd_work_group_size has three dimensions, also for a launch with one. */
static bool as_required(const struct opencl_launch *l, cl_device_id device)
{
    size_t required[3] = {0};

    if (front.target.clGetKernelWorkGroupInfo(l->kernel->handle, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                              sizeof required, required, NULL) != CL_SUCCESS ||
        !required[0])
        return true;
    for (cl_uint d = 0; d < 3; d++)
        if (required[d] != (d < l->dim ? l->local[d] : 1))
            return false;
    return true;
}

static cl_int validate_sizes(const struct opencl_command *c)
{
    const struct opencl_launch *l = &c->u.launch;
    const struct opencl_device *record = c->queue->device;
    size_t total = 1, most = 0, limits[16] = {0};
    cl_device_id device = record->handle;

    if (l->dim < 1 || l->dim > 3)
        return CL_INVALID_WORK_DIMENSION;
    for (cl_uint d = 0; d < l->dim; d++)
        if (!l->global[d] && !record->empty_launches)
            return CL_INVALID_GLOBAL_WORK_SIZE;
    if (!l->has_local)
        return CL_SUCCESS;
    front.target.clGetKernelWorkGroupInfo(l->kernel->handle, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                          &most, NULL);
    front.target.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof limits, limits, NULL);
    for (cl_uint d = 0; d < l->dim; d++) {
        if (!l->local[d] || (l->global[d] % l->local[d] && !record->uneven_groups))
            return CL_INVALID_WORK_GROUP_SIZE;
        if (most && l->local[d] > most / total)
            return CL_INVALID_WORK_GROUP_SIZE;
        total *= l->local[d];
    }
    if (!as_required(l, device))
        return CL_INVALID_WORK_GROUP_SIZE;
    for (cl_uint d = 0; d < l->dim; d++)
        if (limits[d] && l->local[d] > limits[d])
            return CL_INVALID_WORK_ITEM_SIZE;
    return CL_SUCCESS;
}

cl_int validate_launch(const struct opencl_command *c)
{
    const struct kernel_record *kernel = c->u.launch.kernel;

    if (kernel->context != c->queue->context)
        return CL_INVALID_CONTEXT;
    for (cl_uint i = 0; i < kernel->n_args; i++)
        if (kernel->args[i].kind == ARG_UNSET)
            return CL_INVALID_KERNEL_ARGS;
    return kind_of(c)->cut_by_time ? validate_sizes(c) : CL_SUCCESS; /* a task has no sizes */
}

cl_int validate_native(const struct opencl_command *c)
{
    const struct command_native *native = &c->u.native;

    return !native->run || (native->args == NULL) != (native->size == 0) || (!native->args && native->n) ||
                   (native->n > 0) != (native->mems != NULL) || (native->n > 0) != (native->places != NULL)
               ? CL_INVALID_VALUE
               : CL_SUCCESS;
}

cl_int validate_migrate(const struct opencl_command *c)
{
    cl_int code = CL_SUCCESS;

    if (!c->u.migrate.n || !c->u.migrate.mems ||
        c->u.migrate.flags & ~(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < c->u.migrate.n && code == CL_SUCCESS; i++) {
        struct mem_record *mem = mem_find(c->u.migrate.mems[i]);

        code = !mem                                ? CL_INVALID_MEM_OBJECT
               : mem->context != c->queue->context ? CL_INVALID_CONTEXT
                                                   : CL_SUCCESS;
        if (mem)
            mem_unref(mem);
    }
    return code;
}

cl_int validate_svm_memcpy(const struct opencl_command *c)
{
    const struct command_svm *svm = &c->u.svm;

    if (!svm->to || !svm->from)
        return CL_INVALID_VALUE;
    return (char *)svm->to < (const char *)svm->from + svm->size &&
                   (const char *)svm->from < (char *)svm->to + svm->size
               ? CL_MEM_COPY_OVERLAP
               : CL_SUCCESS;
}

cl_int validate_svm_fill(const struct opencl_command *c)
{
    const struct command_svm *svm = &c->u.svm;

    return svm->to && is_power_of_two(svm->pattern_size) && svm->size % svm->pattern_size == 0 &&
                   (uintptr_t)svm->to % svm->pattern_size == 0
               ? CL_SUCCESS
               : CL_INVALID_VALUE;
}

cl_int validate_svm_map(const struct opencl_command *c)
{
    return c->u.svm.to && c->u.svm.size ? CL_SUCCESS : CL_INVALID_VALUE;
}

cl_int validate_svm_unmap(const struct opencl_command *c)
{
    return c->u.svm.to ? CL_SUCCESS : CL_INVALID_VALUE;
}

cl_int validate_svm_free(const struct opencl_command *c)
{
    return (c->u.svm.n == 0) == (c->u.svm.pointers == NULL) ? CL_SUCCESS : CL_INVALID_VALUE;
}

cl_int validate_svm_migrate(const struct opencl_command *c)
{
    return c->u.svm.n && c->u.svm.pointers ? CL_SUCCESS : CL_INVALID_VALUE;
}

cl_int validate_draft(const struct opencl_command *draft)
{
    return kind_of(draft)->validate ? kind_of(draft)->validate(draft) : CL_SUCCESS;
}
