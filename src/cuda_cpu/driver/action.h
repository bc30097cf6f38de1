/*
 * What a stream or a graph's node does: a launch, a copy, a set, a host function, the record of an
 * event and so on. The API call that asks for an action makes it, with everything it needs inside.
 * An action does not change afterwards. A stream runs it once, an executable graph as often as it
 * is launched.
 */
#ifndef CUDA_CPU_DRIVER_ACTION_H
#define CUDA_CPU_DRIVER_ACTION_H

#include "cuda_cpu/driver/driver.h"

enum action_kind {
    ACTION_LAUNCH,
    ACTION_COPY,
    ACTION_SET,
    ACTION_HOST,      /* cuLaunchHostFunc */
    ACTION_CALLBACK,  /* cuStreamAddCallback: told of the stream's status */
    ACTION_EMPTY,     /* joins what the action waits for */
    ACTION_RECORD,    /* of an event, in a graph; streams record without an action */
    ACTION_AWAIT,     /* an event, in a graph */
    ACTION_FREE,      /* the memory of a stream-ordered allocation */
    ACTION_ALLOCATED, /* in a graph: memory begins (graph_memory.c); nothing is left to do when it runs */
    ACTION_FREED,     /* in a graph: and ends */
    ACTION_WRITE_VALUE,
    ACTION_WAIT_VALUE,
    ACTION_AWAIT_PAGE, /* a record of an event that processes share */
    ACTION_PUBLISH,    /* such a record is complete */
};

/* One side of a copy, as bytes: rows of `width` bytes. */
struct action_place {
    uint64_t address;
    uint64_t row_pitch, slice_pitch;
};

struct action_copy {
    struct action_place from, to;
    uint64_t width, height, depth; /* bytes, rows, slices */
    void *staged;                  /* owned copy of pageable memory, to which `from` then points; else NULL */
    CUDA_MEMCPY3D asked;           /* as the program described it, for cuGraphMemcpyNodeGetParams */
};

struct action_set {
    uint64_t address, pitch, width, height; /* width in elements */
    unsigned value, element;                /* element: 1, 2 or 4 bytes */
};

struct function;

struct action_launch {
    struct function *function; /* of the module */
    CUmodule module;           /* a reference */
    unsigned grid[3], block[3], shared;
    bool cooperative;
    void *parameters; /* owned, packed */
    void **pointers;  /* owned: into parameters, one per parameter, for the graph's queries */
};

struct action_value {
    uint64_t address, value;
    bool wide; /* 64 bits */
    unsigned flags;
};

struct action {
    atomic_uint refs;
    enum action_kind kind;
    enum work_engine engine;
    union {
        struct action_launch launch;
        struct action_copy copy;
        struct action_set set;
        struct {
            CUhostFn run;
            void *user;
        } host;
        struct {
            CUstreamCallback run;
            CUstream stream;
            void *user;
        } callback;
        struct {
            CUevent event; /* a reference; NULL: of a stream's own record */
        } event;
        struct {
            uint64_t address, id; /* the block that is meant, whatever begins at this address later */
        } free;
        struct {
            uint64_t address, size, id;
        } memory; /* of a graph: the node that allocates owns it */
        struct action_value value;
        struct {
            CUevent event; /* a reference */
            uint64_t record;
            unsigned looks;
        } page;
    } u;
};

/*
 * A new action with one reference; everything is zero but the kind and its engine. NULL: no memory.
 */
struct action *action_new(enum action_kind kind);
struct action *action_ref(struct action *action);
void action_unref(struct action *action);

/*
 * The operation that carries out the action. Takes over the caller's reference, also when it fails
 * (NULL: no memory).
 */
struct work *action_work(struct action *action, struct work_context *context);

#endif
