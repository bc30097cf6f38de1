#include "opencl/graph/uses.h"

#include <string.h>

#include "opencl/graph/deferred_map.h"
#include "opencl/opencl_objects.h"
#include "translate/translate.h"

/* The whole object, which may be read and written. */
static bool visit_any(cl_mem handle, mem_visit *visit, void *data)
{
    struct mem_use use = {.handle = handle, .size = SIZE_MAX, .reads = true, .writes = true};

    return visit(&use, data);
}

USES(launch)
{
    const struct opencl_launch *launch = &command->u.launch;
    const struct arg_value *args = launch->args ? launch->args : launch->kernel->args;
    cl_uint n = launch->args ? launch->n_args : launch->kernel->n_args;

    for (cl_uint i = 0; i < n; i++) {
        enum translate_access access =
            about && about->n_args == n ? about->args[i].access : TRANSLATE_UNKNOWN;
        struct mem_use use = {.size = SIZE_MAX, .guessed = true, .arg = i};

        if (args[i].kind != ARG_BYTES || args[i].size != sizeof use.handle ||
            (about && access == TRANSLATE_VALUE))
            continue;
        memcpy(&use.handle, args[i].value.small, sizeof use.handle);
        use.reads = access != TRANSLATE_WRITE && access != TRANSLATE_UNUSED;
        use.writes = access != TRANSLATE_READ && access != TRANSLATE_UNUSED;
        if (!visit(&use, data))
            return false;
    }
    return true;
}

USES(native)
{
    (void)about;
    /* a call without the list is looked at before it is refused */
    for (cl_uint i = 0; command->u.native.mems && i < command->u.native.n; i++)
        if (!visit_any(command->u.native.mems[i], visit, data))
            return false;
    return true;
}

USES(migrate)
{
    (void)about;
    for (cl_uint i = 0; command->u.migrate.mems && i < command->u.migrate.n; i++)
        if (!visit_any(command->u.migrate.mems[i], visit, data))
            return false;
    return true;
}

USES(map)
{
    const struct map_record *map = command->u.map.record;
    struct mem_use use = {.handle = command->u.map.mem, .size = SIZE_MAX, .reads = true, .writes = true};

    (void)about;
    if (map && !map->image) {
        use.offset = map->offset;
        use.size = map->size;
    }
    if (map)
        use.writes = map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION);
    return visit(&use, data);
}

USES(unmap)
{
    (void)about;
    return visit_any(command->u.map.mem, visit, data);
}

USES(read)
{
    const struct command_transfer *t = &command->u.transfer;
    struct mem_use use = {.handle = t->a, .offset = t->offset, .size = t->size, .reads = true};

    (void)about;
    return visit(&use, data);
}

USES(write)
{
    const struct command_transfer *t = &command->u.transfer;
    struct mem_use use = {.handle = t->a, .offset = t->offset, .size = t->size, .writes = true};

    (void)about;
    return visit(&use, data);
}

USES(copy)
{
    const struct command_transfer *t = &command->u.transfer;
    struct mem_use to = {.handle = t->b, .offset = t->offset_b, .size = t->size, .writes = true};

    return uses_read(command, about, visit, data) && visit(&to, data);
}

USES(read_box)
{
    struct mem_use use = {.handle = command->u.transfer.a, .size = SIZE_MAX, .reads = true};

    (void)about;
    return visit(&use, data);
}

USES(write_box)
{
    (void)about;
    return visit_any(command->u.transfer.a, visit, data);
}

USES(copy_box)
{
    return uses_read_box(command, about, visit, data) && visit_any(command->u.transfer.b, visit, data);
}
