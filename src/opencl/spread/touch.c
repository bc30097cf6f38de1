#include "opencl/spread/touch.h"

#include "opencl/graph/kinds.h"

struct visitor {
    const struct opencl_command *command;
    bool (*visit)(const struct touch *touch, void *data);
    void *data;
};

/* The record of a handle. A command of the graph keeps it, even after the program's release. */
static struct mem_record *record_of(const struct opencl_command *command, cl_mem handle, bool *ret_kept)
{
    *ret_kept = false;
    for (cl_uint i = 0; i < command->n_mems; i++)
        if (command->mems[i] == handle)
            return command->records[i];
    *ret_kept = true;
    return handle ? mem_find(handle) : NULL;
}

static bool visit_use(const struct mem_use *use, void *data)
{
    const struct visitor *visitor = data;
    struct touch touch = {.reads = use->reads, .writes = use->writes, .arg = use->arg};
    size_t offset, size;
    bool kept, result;

    touch.mem = record_of(visitor->command, use->handle, &kept);
    if (!touch.mem)
        return true;
    offset = use->offset < touch.mem->size ? use->offset : touch.mem->size;
    size = use->size < touch.mem->size - offset ? use->size : touch.mem->size - offset;
    touch.range = (struct range){touch.mem->origin + offset, touch.mem->origin + offset + size};
    result = visitor->visit(&touch, visitor->data);
    if (kept)
        mem_unref(touch.mem);
    return result;
}

bool touch_each(const struct opencl_command *command, const struct translate_kernel *about,
                bool (*visit)(const struct touch *touch, void *data), void *data)
{
    struct visitor visitor = {command, visit, data};

    return kind_uses(command, about, visit_use, &visitor);
}
