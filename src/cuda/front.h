/*
 * The CUDA front, part of libbaton-layer.so: stands between a CUDA program and the genuine
 * libcuda.so.1. libbaton-cuda.so has that library's name and exports its names (stubs.h). `baton
 * run` puts it into LD_PRELOAD. So a program's link or dlopen() of libcuda.so.1 finds
 * libbaton-cuda.so. Nothing happens before the first call.
 *
 * The way of a call: a stub -> front_call() -> the handler that entries.def names -> a draft of a
 * command (cuda_command.h) -> submit.h. submit() gives the command to the driver at once, or holds
 * it back in the engine's graph. A worker issues it from there, whole or in pieces (issue.h).
 *
 * Handles stay the driver's own; records beside them are in objects.h, events.h and function.h.
 *
 * Modes. A forked child, or a process that ends, calls the driver and nothing else (runtime_off()).
 * A process that has called a name which no table knows is whole and direct: nothing is held back.
 * Each routed call waits for its engine on the calling thread.
 *
 * Locks, in the order in which they may be nested: gates -> order -> context records -> the
 * engine's graph -> shards of handle tables. An event's own lock is taken within gates and within
 * nothing else here; it, that of gates and those of mark pools are held over calls of the driver.
 * Those of all events and of all graphs (cuda_front.events, cuda_front.graphs) are leaves.
 */
#ifndef CUDA_FRONT_H
#define CUDA_FRONT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cuda/context_gates.h"
#include "cuda/entries.h"
#include "cuda/events.h"
#include "cuda/frees.h"
#include "cuda/function.h"
#include "cuda/genuine.h"
#include "cuda/graph_record.h"
#include "cuda/linking.h"
#include "cuda/migrate/migrate_state.h"
#include "cuda/objects.h"

struct stubs;

/* The whole state of the front. Each part belongs to the header that declares it. */
struct cuda_front {
    atomic_bool ready;      /* the engine is initialised */
    atomic_bool whole;      /* whole and direct, for good */
    atomic_int n_capturing; /* streams that the program captures */
    atomic_bool said_no_cuda;
    atomic_int retained[DEVICE_MOST]; /* how often the program holds a device's primary context */
    const struct stubs *stubs;        /* written before the first call of a stub comes here */
    pthread_once_t begun;
    void *_Atomic genuine_at[ENTRY_N]; /* the driver's functions, as they are found */
    pthread_key_t own_streams;         /* struct own_streams of a thread */
    struct cuda_names names;
    struct cuda_objects objects;
    struct cuda_events events;
    struct cuda_graphs graphs;
    struct cuda_gates gates;
    pthread_mutex_t order; /* a command enters the graph together with all that it waits for */
    struct cuda_frees frees;
    struct cuda_links links;
    struct cuda_known known;
    struct genuine genuine;
    struct migrate migrate;
};

extern struct cuda_front cuda_front;

/* Handlers of entries.def. */
#define ROUTE(symbol, base, handler, arguments, stream) CUresult route_##handler(struct call *call);
#define DRAIN(base)
#define PASS(base)
#define EXTRA(symbol)
#include "cuda/entries.def"
#undef ROUTE
#undef DRAIN
#undef PASS
#undef EXTRA

/*
 * The driver's own function for an index, found once; NULL: the driver lacks it, or there is no
 * driver.
 */
void *front_genuine(unsigned index);

/* What a program is given for a name: the stub, the same as by dlsym(). */
void *front_address(unsigned index);

/* The stub of a name that no table knows, whose function in the driver is at the address. */
void *front_spare(int index, void *address);

/* The entry's treatment has changed: its stub goes elsewhere from now on. */
void front_look_again(unsigned index);

/* From now on whole and direct: a name was called that no table knows. Each call is counted. */
void front_become_whole(const char *name);

/* Is every routed call to go to the driver at once, whole? */
static inline bool front_is_whole(void)
{
    return atomic_load_explicit(&cuda_front.whole, memory_order_relaxed);
}

static inline bool front_captures(void)
{
    return atomic_load_explicit(&cuda_front.n_capturing, memory_order_relaxed) > 0;
}

/* The stream is about to be given something: it waits for the gates first (context_gates.h). */
static inline void gates_pass(struct stream_record *stream)
{
    if (atomic_load_explicit(&cuda_front.gates.newest, memory_order_acquire) !=
        atomic_load_explicit(&stream->gates_passed, memory_order_acquire))
        gates_wait(stream);
}

/*
 * Registers our exit handler once more, so that it runs before those that the driver has registered
 * so far. Drivers register theirs when they are initialised and when a context is made.
 */
void front_stop_first(void);

/* For stub_targets.S, and from there. */
void *front_drain(unsigned index);
CUresult front_call(unsigned index, const uint64_t registers[6], const uint64_t *stack);
extern char stub_drain[], stub_route[];

#endif
