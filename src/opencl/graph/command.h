/*
 * One enqueued command, and also the node that a user event is in the graph. Made by the entry points on the stack as a
 * draft; submit.h copies it to the heap only when it cannot go to the driver at once.
 */
#ifndef OPENCL_GRAPH_COMMAND_H
#define OPENCL_GRAPH_COMMAND_H

#include <CL/cl_icd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/nsec.h"

enum command_kind {
    COMMAND_USER, /* a user event of the program: a node without work */
    COMMAND_READ,
    COMMAND_WRITE,
    COMMAND_COPY,
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
    COMMAND_MAP, /* deferred: see map.h */
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
};

/* Which engine of the device a command occupies; markers and barriers occupy none but are issued by the first. */
enum engine_kind { ENGINE_EXECUTION, ENGINE_COPY_IN, ENGINE_COPY_OUT, ENGINE_N };

struct queue_record;
struct kernel_record;
struct map_record;
struct mem_record;

/* Arguments of a launch as they were at the enqueue call. */
struct arg_value {
    size_t size;
    enum arg_kind { ARG_UNSET, ARG_BYTES, ARG_NULL, ARG_SVM } kind; /* NULL: a size without a value */
    union {
        unsigned char small[32];
        unsigned char *large; /* owned, when size > 32 */
        const void *svm;
    } value;
    cl_sampler sampler; /* a reference, in what is kept for a launch: the value is its handle */
};

struct command_launch {
    struct kernel_record *kernel; /* a reference, once the command is on the heap */
    cl_uint dim;
    bool has_local;
    size_t offset[3], global[3], local[3];
    struct arg_value *args; /* owned: n_args, and KERNEL_EXEC_INFOS behind; NULL while a draft */
    cl_uint n_args;
};

struct command_transfer { /* read, write, copy, fill, and their rect and image forms */
    cl_mem a, b;          /* the object; for copies from a to b */
    size_t offset, offset_b, size;
    void *host;
    size_t origin[3], origin_b[3], region[3];
    size_t row, slice, row_b, slice_b; /* a and b, or device and host */
    unsigned char pattern[128];
    size_t pattern_size;
};

struct command_native {
    void(CL_CALLBACK *run)(void *);
    void *args; /* the program's while a draft, then owned */
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

struct command_callback {
    struct command_callback *next;
    cl_int at, status;       /* when it is due, and what it is told then */
    struct command *command; /* references to it, its record and its handle; NULL: of no event */
    void(CL_CALLBACK *run)(cl_event, cl_int, void *);
    void *data;
};

/* Somebody waits for this command. */
struct command_edge {
    struct command_edge *next;
    struct command *dependent; /* a reference */
    enum edge_kind {
        EDGE_AT_ISSUE, /* the queue's order: over when the command has been given to the driver */
        EDGE_AT_END,   /* the queue's order: over when it is complete, well or not */
        EDGE_LISTED,   /* named in the wait list: over when complete, and a failure is inherited */
    } kind;
};

struct command {
    enum command_kind kind;
    cl_command_type type;
    enum engine_kind engine;
    bool leased;                /* occupies its engine */
    struct queue_record *queue; /* NULL: a user event; a reference once on the heap */
    cl_context context;
    union {
        struct command_transfer transfer;
        struct command_launch launch;
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
    void *owned;                 /* freed with the command */
    cl_mem *mems;                /* owned array of references, held until done */
    struct mem_record **records; /* of the same, in the same memory; NULL where there is none */
    cl_uint n_mems;

    /* From here on: heap only, guarded by graph_lock unless said otherwise. */
    atomic_uint refs;
    struct list in_queue; /* queue_record::commands */
    struct list in_ready; /* engine::ready or engine::issued */
    unsigned n_waiting;
    bool failed_wait, issued, all_before;
    bool waited_for; /* whoever issues it waits for its end at once */
    struct command_edge *dependents;
    cl_int status;
    struct command_callback *callbacks;
    cl_event handle;          /* the program's, a user event of its context; NULL: it wanted none */
    atomic_uint app_refs;     /* of handle */
    atomic_uint record_holds; /* those, and callbacks that have not returned: the handle is known as long */
    cl_event first_event, driver_event; /* of the first and last piece given to the driver; the worker's */
    cl_int piece_status;                /* of a piece that failed */
    cl_ulong times[4];     /* queued, submitted, started, ended: in the driver's clock; valid when complete */
    cl_ulong begun, ended; /* of the pieces that are over: the first start, the last end; 0: none is */
    /* The first start since its engine was last given away (0: none), and the last end before, up to which its runs were reported. */
    cl_ulong resumed, reported;
    uint32_t run_pieces; /* that ended since then */
    bool timed;
    baton_nsec queued_at, issued_at;
    int64_t predicted; /* ns */
    int64_t lag;       /* ns that other devices worked on it after this one (spread/) */
    /* recorder.h */
    uint32_t job, n_pieces;
    int64_t longest_piece; /* ns; two, one behind the other: as many are in flight when somebody else comes */
    int64_t latest_piece;
};

#endif
