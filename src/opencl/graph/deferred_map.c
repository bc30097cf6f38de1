#include "opencl/graph/deferred_map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/graph/adopt.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/layer.h"

enum { PAGE = 4096 };

static void link_record(struct mem_record *mem, struct map_record *record)
{
    atomic_fetch_add(&mem_root(mem)->n_mapped, 1);
    graph_lock();
    record->next = mem->maps;
    mem->maps = record;
    graph_unlock();
}

void map_note(struct mem_record *mem, void *pointer, cl_map_flags flags)
{
    struct map_record *record = calloc(1, sizeof *record);

    if (!record)
        return; /* the driver will answer its unmap */
    record->pointer = record->driver_pointer = pointer;
    record->flags = flags;
    record->direct = true;
    link_record(mem, record);
}

static bool find_memory(struct map_record *record, const struct mem_record *mem, size_t host_offset,
                        size_t size)
{
    if (mem->flags & CL_MEM_USE_HOST_PTR) {
        record->pointer = (char *)mem->host_ptr + host_offset;
        return true;
    }
    record->memory = aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);
    record->pointer = record->memory;
    return record->memory != NULL;
}

struct map_record *map_defer_buffer(struct mem_record *mem, cl_map_flags flags, size_t offset, size_t size)
{
    struct map_record *record = calloc(1, sizeof *record);

    if (!record)
        return NULL;
    record->flags = flags;
    record->offset = offset;
    record->size = size;
    if (!find_memory(record, mem, offset, size)) {
        free(record);
        return NULL;
    }
    link_record(mem, record);
    return record;
}

/*
 * Asks the driver for the pitches of the image's rows. Some drivers answer 0 unless the program
 * gave a pitch; then rows and slices have no padding.
 */
static void ask_pitches(struct map_record *record, cl_mem image, cl_mem_object_type type)
{
    bool lines = type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    size_t width = 0, height = 0;

    front.target.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof record->element, &record->element, NULL);
    front.target.clGetImageInfo(image, CL_IMAGE_ROW_PITCH, sizeof record->row, &record->row, NULL);
    front.target.clGetImageInfo(image, CL_IMAGE_SLICE_PITCH, sizeof record->slice, &record->slice, NULL);
    if (!record->row) {
        front.target.clGetImageInfo(image, CL_IMAGE_WIDTH, sizeof width, &width, NULL);
        record->row = width * record->element;
    }
    if (!record->slice && (lines || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D)) {
        front.target.clGetImageInfo(image, CL_IMAGE_HEIGHT, sizeof height, &height, NULL);
        record->slice = record->row * (lines ? 1 : height);
    }
}

struct map_record *map_defer_image(struct mem_record *mem, cl_map_flags flags, const size_t origin[3],
                                   const size_t region[3])
{
    struct map_record *record = calloc(1, sizeof *record);
    cl_mem_object_type type = CL_MEM_OBJECT_IMAGE2D;
    bool lines;

    if (!record)
        return NULL;
    record->flags = flags;
    record->image = true;
    memcpy(record->origin, origin, sizeof record->origin);
    memcpy(record->region, region, sizeof record->region);
    front.target.clGetMemObjectInfo(mem->handle, CL_MEM_TYPE, sizeof type, &type, NULL);
    ask_pitches(record, mem->handle, type);
    lines = type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    record->rows = lines ? 1 : region[1];
    record->slices = lines ? region[1] : region[2];
    if (!find_memory(record, mem,
                     origin[0] * record->element + origin[1] * (lines ? record->slice : record->row) +
                         origin[2] * record->slice,
                     (record->slices - 1) * record->slice + (record->rows - 1) * record->row +
                         region[0] * record->element)) {
        free(record);
        return NULL;
    }
    link_record(mem, record);
    return record;
}

struct map_record *map_take(struct mem_record *mem, const void *pointer)
{
    struct map_record **at, *found;

    graph_lock();
    for (at = &mem->maps; *at && (*at)->pointer != pointer; at = &(*at)->next)
        ;
    found = *at;
    if (found)
        *at = found->next;
    graph_unlock();
    if (found)
        atomic_fetch_sub(&mem_root(mem)->n_mapped, 1);
    return found;
}

void map_put_back(struct mem_record *mem, struct map_record *record)
{
    link_record(mem, record);
}

void map_free(struct map_record *record)
{
    if (record)
        free(record->memory);
    free(record);
}

bool map_writes(const struct map_record *record)
{
    return record->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION);
}

cl_uint map_n_deferred(struct mem_record *mem)
{
    cl_uint n = 0;

    graph_lock();
    for (const struct map_record *record = mem->maps; record; record = record->next)
        n += !record->driver_pointer;
    graph_unlock();
    return n;
}

/*
 * Copies between the driver's region and the layer's; nothing to do when they are the same memory.
 */
static void copy_region(const struct map_record *record, bool back)
{
    char *ours = record->pointer, *theirs = record->driver_pointer;

    if (ours == theirs)
        return;
    if (!record->image) {
        memcpy(back ? theirs : ours, back ? ours : theirs, record->size);
        return;
    }
    for (size_t z = 0; z < record->slices; z++)
        for (size_t y = 0; y < record->rows; y++) {
            char *a = ours + z * record->slice + y * record->row;
            char *b = theirs + z * record->driver_slice + y * record->driver_row;
            memcpy(back ? b : a, back ? a : b, record->region[0] * record->element);
        }
}

cl_int map_issue(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event)
{
    struct map_record *record = command->u.map.record;
    cl_command_queue queue = command->queue->handle;
    cl_int code = CL_SUCCESS;
    struct issue_blocking call;
    void *pointer;

    (void)pipe;
    issue_blocking_begin(&call, command->queue, CL_TRUE, ret_event);
    if (record->image)
        pointer = front.target.clEnqueueMapImage(queue, command->u.map.mem, call.blocking, record->flags,
                                                 record->origin, record->region, &record->driver_row,
                                                 &record->driver_slice, 0, NULL, call.event, &code);
    else
        pointer = front.target.clEnqueueMapBuffer(queue, command->u.map.mem, call.blocking, record->flags,
                                                  record->offset, record->size, 0, NULL, call.event, &code);
    code = issue_blocking_end(&call, command->queue, code);
    if (code != CL_SUCCESS)
        return code;
    graph_lock();
    record->driver_pointer = pointer;
    graph_unlock();
    if (!(record->flags & CL_MAP_WRITE_INVALIDATE_REGION))
        copy_region(record, false);
    return CL_SUCCESS;
}

cl_int map_issue_unmap(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event)
{
    struct map_record *record = command->u.map.record;
    void *pointer = record ? record->driver_pointer : command->u.map.pointer;
    struct opencl_command request = {
        .kind = COMMAND_UNMAP, .queue = command->queue, .u.map = {.mem = command->u.map.mem}};

    (void)pipe;
    if (record && !record->direct) {
        if (!pointer) /* the map itself failed */
            return CL_INVALID_VALUE;
        if (map_writes(record))
            copy_region(record, true);
    }
    request.u.map.pointer = pointer;
    return issue_whole(&request, CL_FALSE, 0, NULL, ret_event);
}

void map_finished(struct opencl_command *command)
{
    map_free(command->u.map.record);
    command->u.map.record = NULL;
}
