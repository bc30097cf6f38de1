/*
 * What differs between the kinds of commands, in one table (kinds.c): one row per kind. Code that
 * handles commands reads the row; it does not compare kinds.
 */
#ifndef OPENCL_GRAPH_KINDS_H
#define OPENCL_GRAPH_KINDS_H

#include "engine/pipe.h"
#include "opencl/graph/opencl_command.h"

struct chunk_cut;
struct translate_kernel;

/* A memory object that a command uses. */
struct mem_use {
    cl_mem handle;
    size_t offset, size; /* bytes of it; SIZE_MAX: to its end */
    bool reads, writes;
    bool guessed; /* bytes of an argument that may be a handle: ask mem_find() first */
    cl_uint arg;  /* of a launch */
};

typedef bool mem_visit(const struct mem_use *use, void *data); /* answers false: no further visits */

/* Where a transfer begins or ends. */
enum kind_side { SIDE_NONE, SIDE_HOST, SIDE_PATTERN, SIDE_BUFFER, SIDE_IMAGE };

struct kind {
    cl_command_type type;    /* the type that its event reports, unless the command names another */
    enum engine_kind engine; /* for commands without an engine: the one whose worker issues them */
    enum kind_side from, to; /* a transfer: u.transfer is in use; SIDE_NONE: not one */
    bool linear;             /* ... of one range of bytes */
    bool leased;             /* occupies that engine */
    bool user;               /* the program ends it: its event is the driver's own */
    bool launch;             /* a kernel: u.launch is in use */
    bool task;               /* a launch by clEnqueueTask: drivers differ in its event's type */
    bool cut_by_time;        /* a launch whose groups are measured and may run as pieces */
    bool barrier;            /* engine/command.h, like the following two */
    bool next_at_end;
    bool calls_program;
    bool follows_all; /* without a wait list it waits for everything in its queue */
    enum {
        WAITS_AS_TOLD,
        WAITS_UNORDERED,
        WAITS_ALWAYS
    } driver_waits; /* makes other commands wait by itself: quirks/nested_enqueue.h */
    /* in records of jobs; "": a launch's kernel or a copy between host and device */
    const char *label;

    /*
     * CL_SUCCESS, or the error that an enqueue call must return for the draft. NULL: nothing to
     * check.
     */
    cl_int (*validate)(const struct opencl_command *draft);
    /* The driver's enqueue call for the whole command. NULL: never issued whole. */
    cl_int (*give)(const struct opencl_command *command, cl_bool blocking, cl_uint n, const cl_event *waits,
                   cl_event *event);
    /* As driver_ops::issue: whole, or by pipe_run(). */
    cl_int (*issue)(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event);
    /* A range of a cut command, as driver_ops::issue_range. NULL: it is never cut. */
    cl_int (*issue_range)(struct opencl_command *command, struct piece_cut *cut, uint64_t begin,
                          uint64_t limit, uint64_t *ret_end, cl_event *ret_event);
    /* Bytes that the command moves. NULL: not a transfer. */
    size_t (*bytes)(const struct opencl_command *command);
    /* Cuts a transfer into chunks of about so many bytes; answers the number of units. */
    uint64_t (*plan_chunks)(struct chunk_cut *cut, size_t bytes, size_t chunk);
    /* Units [begin, end) of such a cut, as a command of its own. */
    void (*chunk)(const struct chunk_cut *cut, size_t begin, size_t end, struct opencl_command *ret_chunk);
    /*
     * Copies what the draft borrowed from the caller. False: no memory. NULL: it borrows nothing.
     */
    bool (*adopt)(struct opencl_command *command);
    /*
     * Visits each memory object. about: what is known of a launch's kernel; NULL: any argument may
     * be read and written.
     */
    bool (*uses)(const struct opencl_command *command, const struct translate_kernel *about, mem_visit *visit,
                 void *data);
    /* The command is over, but its end is not visible yet. NULL: nothing to do. */
    void (*over)(struct opencl_command *command);
};

extern const struct kind kinds[COMMAND_KINDS];

static inline const struct kind *kind_of(const struct opencl_command *command)
{
    return &kinds[command->kind];
}

/* Is it a copy between two memory objects? Then u.transfer.b is in use. */
static inline bool kind_copies(const struct kind *kind)
{
    return kind->from >= SIDE_BUFFER && kind->to >= SIDE_BUFFER;
}

static inline bool kind_uses(const struct opencl_command *command, const struct translate_kernel *about,
                             mem_visit *visit, void *data)
{
    return !kind_of(command)->uses || kind_of(command)->uses(command, about, visit, data);
}

#endif
