/* What the random programs of random_host.c work on, and its model. */
#ifndef TESTS_CUDA_FRONT_RANDOM_WORLD_H
#define TESTS_CUDA_FRONT_RANDOM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "cuda_abi/driver_abi.h"

enum {
    WORDS = 256,
    BLOCK = 32,
    N_DEVICE = 4,
    N_PINNED = 2,
    HOST = N_DEVICE + N_PINNED, /* what host functions change */
    N_OBJECTS,
    LEGACY = 0,
    OWN,
    NAMED, /* two blocking ones, then one that is not */
    N_LANES = NAMED + 3,
    N_EVENTS = 3,
    NONE = -1,
    OPERATIONS = 24,
};

struct random_graph {
    CUgraphExec exec;
    int object, other, value; /* fills the object, and adds it to the other */
    int waits, records;       /* events of nodes before and behind that; NONE: no such node */
    bool ended;               /* one of them is destroyed: no more launches */
};

struct world {
    struct random_state random;
    uint64_t seed;
    CUcontext context;
    CUmodule module;
    CUfunction fill, add, increment;
    CUstream lanes[N_LANES];
    CUevent events[N_EVENTS];
    CUdeviceptr device[N_DEVICE];
    int *pinned[N_PINNED];
    int host; /* written by host functions */
    int model[N_OBJECTS][WORDS];
    int last[N_OBJECTS]; /* lane that used it last; -1: none, or it was waited for */
    struct random_graph graphs[OPERATIONS];
    CUstream forked; /* the second stream of a capture, if it was made for it */
    unsigned n_graphs;
};

extern struct world world;

/* Ends the program with its seed if the call failed. */
void must(CUresult code, const char *what);
#define MUST(call) must(call, #call)

/* A number below n. */
int pick(int n);
/* The lane may use the object from now on. */
void use(int object, int lane);
void set_model(int object, int value);
void launch_add(int left, int right, int out, CUstream stream);

/* random_graphs.c: launches a graph in the lane; makes an event anew. */
void op_graph(int lane);
void op_new_event(int lane);

static inline bool is_blocking(int lane)
{
    return lane != N_LANES - 1;
}

/* Does CUDA order the two streams by itself? */
static inline bool is_ordered(int first, int second)
{
    return first == second || (first == LEGACY && is_blocking(second)) ||
           (second == LEGACY && is_blocking(first));
}

#endif
