/*
 * A command of a CUDA program: the engine's part (engine/command.h) and what the driver is to be
 * called with. Handlers make it on the stack as a draft. If it must be held back, submit.h copies
 * it to the heap, with all that its arguments point at.
 */
#ifndef CUDA_COMMAND_H
#define CUDA_COMMAND_H

#include "cuda/entries.h"
#include "cuda/objects.h"
#include "engine/command.h"
#include "engine/pipe.h"
#include "ptx/cut/ptx_piece.h"

struct function_record;
struct graph_events;
struct graph_record;
struct recording;

enum command_kind {
    COMMAND_CALL,       /* the call as it is */
    COMMAND_LAUNCH,     /* a kernel that may run in pieces */
    COMMAND_COPY,       /* a range of bytes that may go in chunks */
    COMMAND_ROWS,       /* rows of bytes in two or three dimensions that may go in chunks of rows */
    COMMAND_RECORD,     /* an event of the program: events.h */
    COMMAND_WAIT_EVENT, /* ... */
    COMMAND_CALLBACK,   /* cuStreamAddCallback: it is called even if the driver refuses it later */
    COMMAND_FREE,       /* cuMemFreeAsync */
    COMMAND_DESTROY,    /* cuStreamDestroy */
    COMMAND_GRAPH,      /* cuGraphLaunch: graph_order.h */
    COMMAND_LAUNCH_EX,  /* a kernel with attributes, which may record events: never held back */
    COMMAND_FENCE,      /* nothing: what comes behind waits for its end */
    CUDA_KINDS,
};

enum cuda_direction { COPY_IN, COPY_OUT, COPY_WITHIN };

struct command_launch {
    struct function_record *function; /* a reference on the heap; NULL: not known */
    void *piece;                      /* the sibling's handle where it runs; NULL: it runs whole */
    uint32_t grid[3], block[3], shared;
    bool whole;    /* cooperative, or with attributes: never cut */
    void **params; /* one pointer for each parameter, or NULL */
    void *buffer;  /* of `extra`, or NULL */
    size_t buffer_size;
};

struct command_copy {
    enum cuda_direction direction;
    CUdeviceptr to, from; /* a host address where the direction says so */
    size_t size;
};

/* Between the host and a device, linear memory on both sides. */
struct command_rows {
    bool out;                                          /* to the host */
    CUdeviceptr to, from;                              /* of the first row; one of them is a host address */
    size_t to_pitch, from_pitch, to_plane, from_plane; /* bytes between rows, and between planes */
    size_t width, height, depth;                       /* bytes, rows of a plane, planes */
};

struct command_graph {
    struct graph_record *graph;    /* a reference on the heap; NULL: not known */
    struct graph_events *events;   /* likewise */
    struct recording **recordings; /* on the heap: of events->recorded, references; owned */
};

struct cuda_command {
    struct command base; /* the first member */
    enum command_kind kind;
    struct stream_record *stream; /* a reference on the heap */
    /* where the driver is given it: `stream`, or one of ours on another GPU (migrate/) */
    struct stream_record *on;
    bool inside; /* migrate_enter() */
    struct call call;
    bool captured;       /* the stream is captured: the call passes untouched */
    bool synchronise;    /* an asynchronous call in place of one that waits for its work */
    bool over_on_return; /* the driver's call returns when the work is done */
    bool reported;       /* a call waits for it and returns its result */
    bool at_once;        /* it cannot be copied: never held back */
    bool valid;          /* the handler has found its arguments valid: for validate_told() */
    union {
        struct command_launch launch;
        struct command_copy copy;
        struct command_rows rows;
        struct command_graph graph;
        struct recording *recording; /* a reference on the heap: of COMMAND_RECORD and COMMAND_WAIT_EVENT */
    } u;
    void *owned;        /* what the arguments point at; freed with the command */
    struct mark *fence; /* a reference: armed when the command is issued; NULL: none */
    CUresult result;    /* of the driver, when it was issued */
};

static inline struct cuda_command *command_of(struct command *base)
{
    return (struct cuda_command *)(void *)base;
}

#endif
