/*
 * libcuda.so.1 made of CPU cores: what the files of the driver API share.
 *
 * The way of a call: an exported function checks its arguments (api.h: api_enter does what every
 * call has in common), makes an action (action.h) and hands it to a stream (stream.h), which
 * captures it into a graph or submits it to the machine (work.h).
 *
 * Locks, in order: driver.lock (contexts, primary contexts), then one of the module's own (handles,
 * memory, machine.lock). No lock is held while a program's function, a kernel or a copy runs.
 */
#ifndef CUDA_CPU_DRIVER_DRIVER_H
#define CUDA_CPU_DRIVER_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cuda_abi/graph_abi.h"
#include "cuda_cpu/driver/arrival.h"
#include "cuda_cpu/driver/work.h"

#define DRIVER_EXPORT __attribute__((visibility("default")))

enum {
    DRIVER_COMPUTE_MAJOR = 8, /* what the device says it is: compute capability 8.0 */
    DRIVER_COMPUTE_MINOR = 0,
    DRIVER_MOST_DYNAMIC = 48 << 10, /* shared memory of a block without an attribute */
    DRIVER_CONTEXT_DEPTH = 64,      /* contexts that a thread may push */
};

/*
 * Of this process. A forked child has no devices, and the end of a process begins with
 * the exit handlers.
 */
enum driver_state { DRIVER_NEW, DRIVER_READY, DRIVER_FORKED, DRIVER_CLOSED };

struct stream;

/* A context. The program's handle is its address. */
struct CUctx_st {
    struct work_context work;
    unsigned flags;
    bool primary;
    unsigned long long id;   /* for the program */
    unsigned long long life; /* of this time that it is there: a primary context has several */
    struct stream *legacy;   /* owned */
    size_t limits[CU_LIMIT_MAX];
    int cache_config, shared_config;
    _Atomic uint32_t peers;  /* bit n: device n's memory may be accessed */
    atomic_uint n_capturing; /* streams of it that capture */
    atomic_uint n_attached;  /* cuCtxAttach without cuCtxDetach */
};

/* What a thread has pushed. The id tells a context from a later one at the same address. */
struct context_stack {
    struct {
        CUcontext context;
        unsigned long long id;
    } items[DRIVER_CONTEXT_DEPTH];
    unsigned n;
};

/* --- what every call does first (driver.c) --- */

enum api_needs {
    API_NOTHING = 0, /* may be called before cuInit */
    API_READY = 1,   /* cuInit has been called */
    API_CONTEXT = 2, /* and a context is current, and it is not broken */
};

/*
 * Checks what the call needs, and asks the script of failures (inject.h). CUDA_SUCCESS: go on. Use:
 *     CUresult code = api_enter(__func__, API_CONTEXT);
 */
CUresult api_enter(const char *name, enum api_needs needs);

/*
 * A name that this library exports but does not implement: says so once, answers
 * CUDA_ERROR_NOT_SUPPORTED.
 */
CUresult api_unsupported(const char *name, atomic_bool *said);

/*
 * Tells the user why a program with the runtime linked statically does not run here, and what to
 * do.
 */
void api_refuse_static_runtime(void);

/* The context that is current on the calling thread; NULL: none. */
CUcontext context_current(void);
/* Is it a live context of the program? */
bool context_is(CUcontext context);
bool context_current_is_live(void);
bool context_are_flags(unsigned flags);
/*
 * The given context, or the current one where it is NULL. CUDA_ERROR_INVALID_CONTEXT: it is none.
 */
CUresult context_choose(CUcontext *context);
void link_end_all(CUcontext context); /* link_api.c */

#endif
