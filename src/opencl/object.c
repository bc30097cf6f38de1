#include "opencl/object.h"

#include "engine/handle_table.h"

void object_init(struct object *object, const struct object_class *class)
{
    object->class = class;
    refs_init(&object->refs);
    atomic_init(&object->app_refs, 1);
}

void object_keep(void *record)
{
    object_ref(record);
}

bool object_app_retain(struct handle_table *table, const void *handle)
{
    struct object *object = handle_table_find(table, handle);

    if (!object)
        return false;
    atomic_fetch_add(&object->app_refs, 1);
    object_unref(object);
    return true;
}

enum object_release object_app_release(struct handle_table *table, const void *handle)
{
    struct object *object = handle_table_find(table, handle), *last;

    if (!object)
        return OBJECT_UNKNOWN;
    last = atomic_fetch_sub(&object->app_refs, 1) == 1 ? handle_table_remove(table, handle) : NULL;
    if (last) {
        if (last->class->released)
            last->class->released(last);
        object_unref(last);
    }
    object_unref(object);
    return last ? OBJECT_LAST : OBJECT_KEPT;
}
