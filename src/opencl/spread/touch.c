#include "opencl/spread/touch.h"

#include <string.h>

#include "opencl/graph/map.h"
#include "translate/translate.h"

struct visitor {
    const struct opencl_command *command;
    bool (*visit)(const struct touch *touch, void *data);
    void *data;
};

/* The record of a handle: a command of the graph keeps it, even if the program has let go. */
static struct mem_record *record_of(const struct opencl_command *command, cl_mem handle, bool *ret_kept)
{
    *ret_kept = false;
    for (cl_uint i = 0; i < command->n_mems; i++)
        if (command->mems[i] == handle)
            return command->records[i];
    *ret_kept = true;
    return handle ? mem_find(handle) : NULL;
}

static bool visit(const struct visitor *visitor, cl_mem handle, size_t offset, size_t size, bool reads,
                  bool writes, cl_uint arg)
{
    struct touch touch = {.reads = reads, .writes = writes, .arg = arg};
    bool kept, result;

    touch.mem = record_of(visitor->command, handle, &kept);
    if (!touch.mem)
        return true;
    offset = offset < touch.mem->size ? offset : touch.mem->size;
    size = size < touch.mem->size - offset ? size : touch.mem->size - offset;
    touch.range = (struct range){touch.mem->origin + offset, touch.mem->origin + offset + size};
    result = visitor->visit(&touch, visitor->data);
    if (kept)
        mem_unref(touch.mem);
    return result;
}

static bool visit_launch(const struct visitor *visitor, const struct translate_kernel *about)
{
    const struct command_launch *launch = &visitor->command->u.launch;
    const struct arg_value *args = launch->args ? launch->args : launch->kernel->args;
    cl_uint n = launch->args ? launch->n_args : launch->kernel->n_args;

    for (cl_uint i = 0; i < n; i++) {
        enum translate_access access =
            about && about->n_args == n ? about->args[i].access : TRANSLATE_UNKNOWN;
        cl_mem handle;

        if (args[i].kind != ARG_BYTES || args[i].size != sizeof handle ||
            (about && access == TRANSLATE_VALUE))
            continue;
        memcpy(&handle, args[i].value.small, sizeof handle);
        if (!visit(visitor, handle, 0, SIZE_MAX, access != TRANSLATE_WRITE && access != TRANSLATE_UNUSED,
                   access != TRANSLATE_READ && access != TRANSLATE_UNUSED, i))
            return false;
    }
    return true;
}

static bool visit_transfer(const struct visitor *visitor)
{
    const struct command_transfer *t = &visitor->command->u.transfer;

    switch (visitor->command->kind) {
    case COMMAND_READ:
        return visit(visitor, t->a, t->offset, t->size, true, false, 0);
    case COMMAND_WRITE:
    case COMMAND_FILL:
        return visit(visitor, t->a, t->offset, t->size, false, true, 0);
    case COMMAND_COPY:
        return visit(visitor, t->a, t->offset, t->size, true, false, 0) &&
               visit(visitor, t->b, t->offset_b, t->size, false, true, 0);
    case COMMAND_READ_RECT:
    case COMMAND_READ_IMAGE:
        return visit(visitor, t->a, 0, SIZE_MAX, true, false, 0);
    case COMMAND_WRITE_RECT:
    case COMMAND_WRITE_IMAGE:
    case COMMAND_FILL_IMAGE:
        return visit(visitor, t->a, 0, SIZE_MAX, true, true, 0);
    default: /* from a to b, in boxes */
        return visit(visitor, t->a, 0, SIZE_MAX, true, false, 0) &&
               visit(visitor, t->b, 0, SIZE_MAX, true, true, 0);
    }
}

bool touch_each(const struct opencl_command *command, const struct translate_kernel *about,
                bool (*visit_one)(const struct touch *touch, void *data), void *data)
{
    struct visitor visitor = {command, visit_one, data};
    const struct map_record *map = command->u.map.record;

    if (command->kind >= COMMAND_READ && command->kind <= COMMAND_FILL_IMAGE)
        return visit_transfer(&visitor);
    switch (command->kind) {
    case COMMAND_KERNEL:
    case COMMAND_TASK:
        return visit_launch(&visitor, about);
    case COMMAND_NATIVE:
        for (cl_uint i = 0; i < command->u.native.n; i++)
            if (!visit(&visitor, command->u.native.mems[i], 0, SIZE_MAX, true, true, 0))
                return false;
        return true;
    case COMMAND_MIGRATE:
        for (cl_uint i = 0; i < command->u.migrate.n; i++)
            if (!visit(&visitor, command->u.migrate.mems[i], 0, SIZE_MAX, true, true, 0))
                return false;
        return true;
    case COMMAND_MAP:
        return visit(&visitor, command->u.map.mem, map && !map->image ? map->offset : 0,
                     map && !map->image ? map->size : SIZE_MAX, true,
                     !map || map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION), 0);
    case COMMAND_UNMAP:
        return visit(&visitor, command->u.map.mem, 0, SIZE_MAX, true, true, 0);
    default:
        return true;
    }
}
