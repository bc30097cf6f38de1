/*
 * What every record of a program's object begins with: queues, memory, kernels, programs, samplers,
 * command buffers. It has two counts. `refs` counts the record's own references: one for its place
 * in the table (engine/handle_table.h), one per look-up, one per command that uses it. `app_refs`
 * counts the program's, by clRetain and clRelease. At the last of these the record leaves its
 * table, and it lives on while `refs` remain.
 */
#ifndef OPENCL_OBJECT_H
#define OPENCL_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/refs.h"

struct handle_table;
struct object;

struct object_class {
    /* Frees the record. */
    void (*free)(struct object *object);
    /* Drops one reference; true if it was the last. NULL: only counts. */
    bool (*drop)(struct object *object);
    /*
     * The program has released its last reference, and the record has left its table. NULL: nothing
     * to do.
     */
    void (*released)(struct object *object);
};

/* The first member of each record. */
struct object {
    const struct object_class *class;
    struct refs refs;
    atomic_uint app_refs;
};

/* Starts with one reference of each kind. */
void object_init(struct object *object, const struct object_class *class);

static inline void object_ref(struct object *object)
{
    refs_keep(&object->refs);
}

static inline void object_unref(struct object *object)
{
    if (object->class->drop ? object->class->drop(object) : refs_drop(&object->refs))
        object->class->free(object);
}

/* handle_table::keep of tables of such records. */
void object_keep(void *record);

enum object_release {
    OBJECT_UNKNOWN, /* the table does not know the handle */
    OBJECT_KEPT,
    OBJECT_LAST, /* that was the program's last reference */
};

/* The program retains the handle. False: the table does not know it. */
bool object_app_retain(struct handle_table *table, const void *handle);
/* The program releases the handle. One caller alone has OBJECT_LAST. */
enum object_release object_app_release(struct handle_table *table, const void *handle);

#endif
