/*
 * One enqueued command of OpenCL, or the node of a user event in the graph. The engine's part comes
 * first (engine/command.h), then the parameters of the driver's call. An entry point makes it on
 * the stack as a draft. enqueue/opencl_submit.h copies it to the heap only when it cannot go to the
 * driver at once.
 */
#ifndef OPENCL_GRAPH_COMMAND_H
#define OPENCL_GRAPH_COMMAND_H

#include <CL/cl_icd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/command.h"

/* Rows of kinds.h, in any order. */
enum opencl_kind {
    COMMAND_USER, /* a user event of the program: a node without work */
    COMMAND_READ,
    COMMAND_WRITE,
    COMMAND_COPY_BUFFER,
    COMMAND_FILL,
    COMMAND_READ_RECT,
    COMMAND_WRITE_RECT,
    COMMAND_COPY_RECT,
    COMMAND_READ_IMAGE,
    COMMAND_WRITE_IMAGE,
    COMMAND_COPY_IMAGE,
    COMMAND_IMAGE_TO_BUFFER,
    COMMAND_BUFFER_TO_IMAGE,
    COMMAND_FILL_IMAGE,
    COMMAND_MAP, /* deferred: see deferred_map.h */
    COMMAND_UNMAP,
    COMMAND_MIGRATE,
    COMMAND_KERNEL,
    COMMAND_TASK,
    COMMAND_NATIVE,
    COMMAND_MARKER,
    COMMAND_BARRIER,
    COMMAND_SVM_MEMCPY,
    COMMAND_SVM_FILL,
    COMMAND_SVM_MAP,
    COMMAND_SVM_UNMAP,
    COMMAND_SVM_FREE,
    COMMAND_SVM_MIGRATE,
    COMMAND_KINDS
};

struct queue_record;
struct kernel_record;
struct map_record;
struct mem_record;
struct sampler_record;

/* Arguments of a launch as they were at the enqueue call. */
struct arg_value {
    size_t size;
    /* NULL: a size without a value */
    enum arg_kind { ARG_UNSET, ARG_BYTES, ARG_NULL, ARG_SVM } kind;
    union {
        unsigned char small[32];
        unsigned char *large; /* owned, when size > 32 */
        const void *svm;
    } value;
    struct sampler_record *sampler; /* a reference, for a launch that is kept: the value is its handle */
};

struct opencl_launch {
    struct kernel_record *kernel; /* a reference, once the command is on the heap */
    cl_uint dim;
    bool has_local;
    size_t offset[3], global[3], local[3];
    struct arg_value *args; /* owned: n_args, then KERNEL_EXEC_INFOS; NULL in a draft */
    cl_uint n_args;
};

struct command_transfer { /* read, write, copy, fill, and their rect and image forms */
    cl_mem a, b;          /* the object; a copy goes from a to b */
    size_t offset, offset_b, size;
    void *host;
    size_t origin[3], origin_b[3], region[3];
    size_t row, slice, row_b, slice_b; /* a and b, or device and host */
    unsigned char pattern[128];
    size_t pattern_size;
};

struct command_native {
    void(CL_CALLBACK *run)(void *);
    void *args; /* the program's in a draft, else owned */
    size_t size;
    cl_uint n;
    const cl_mem *mems;
    const void **places;
};

struct command_svm {
    void *to;
    const void *from;
    size_t size;
    unsigned char pattern[128];
    size_t pattern_size;
    cl_map_flags flags;
    cl_uint n;
    void **pointers;
    const size_t *sizes;
    void(CL_CALLBACK *run)(cl_command_queue, cl_uint, void *[], void *);
    void *user;
};

/*
 * A callback of the program for an event of the layer, or a memory object to be released between
 * two commands.
 */
struct event_callback {
    struct command_callback base;
    /* references to it, its record and its handle; NULL: of no event */
    struct opencl_command *command;
    void(CL_CALLBACK *run)(cl_event, cl_int, void *);
    void *data;
};

struct opencl_command {
    struct command base;
    enum opencl_kind kind;
    cl_command_type type;
    /* the record of base.queue; NULL: a user event; a reference once on the heap */
    struct queue_record *queue;
    cl_context context;
    union {
        struct command_transfer transfer;
        struct opencl_launch launch;
        struct command_native native;
        struct command_svm svm;
        struct {
            cl_uint n;
            const cl_mem *mems;
            cl_mem_migration_flags flags;
        } migrate;
        struct {
            struct map_record *record; /* owned by the map until unmapped */
            cl_mem mem;
            void *pointer;
        } map;
    } u;
    struct mem_record **landing; /* owned array of references to roots that it may write (spread/) */
    unsigned n_landing;
    /* From here on: heap only. */
    void *owned;                 /* freed with the command */
    cl_mem *mems;                /* owned array of references, held until done */
    struct mem_record **records; /* their records, in the same block; NULL where there is none */
    cl_uint n_mems;
    cl_event handle;      /* the program's event, a user event of its context; NULL: it asked for none */
    atomic_uint app_refs; /* the program's references to handle */
    /* app_refs, and callbacks that have not returned; the handle stays known until 0 */
    atomic_uint record_holds;
};

static inline struct opencl_command *opencl_command_of(struct command *command)
{
    return (struct opencl_command *)(void *)command;
}

/* The driver's events are the marks of the engine. */
static inline struct mark *mark_of(cl_event event)
{
    return (struct mark *)(void *)event;
}

static inline cl_event event_of(struct mark *mark)
{
    return (cl_event)(void *)mark;
}

#endif
