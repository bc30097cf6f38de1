/*
 * libcuda.so.1 made of CPU cores: what the files of the driver API share.
 *
 * The path of a call: an exported function checks its arguments; api_enter() does the checks that
 * all calls have in common. It makes an action (action.h) and gives it to a stream (stream.h). The
 * stream captures the action into a graph or submits it to the machine (work.h).
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
    DRIVER_COMPUTE_MAJOR = 8, /* the compute capability that the device reports: 8.0 */
    DRIVER_COMPUTE_MINOR = 0,
    DRIVER_MOST_DYNAMIC = 48 << 10, /* dynamic shared memory of a block, unless an attribute raises it */
    DRIVER_CONTEXT_DEPTH = 64,      /* contexts that a thread may push */
};

/* State of this process. A forked child has no devices. Exit handlers close the driver. */
enum driver_state { DRIVER_NEW, DRIVER_READY, DRIVER_FORKED, DRIVER_CLOSED };

struct stream;

/* A context. The program's handle is its address. */
struct CUctx_st {
    struct work_context work;
    unsigned flags;
    bool primary;
    unsigned long long id; /* the id that the program can ask for */
    /* a number for each life: a primary context may end and begin again */
    unsigned long long life;
    struct stream *legacy; /* owned */
    size_t limits[CU_LIMIT_MAX];
    int cache_config, shared_config;
    _Atomic uint32_t peers;  /* bit n: device n's memory may be accessed */
    atomic_uint n_capturing; /* streams of it that capture */
    atomic_uint n_attached;  /* cuCtxAttach without cuCtxDetach */
};

/*
 * The contexts that a thread has pushed. The id tells a context from a later one at the same
 * address.
 */
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
    API_CONTEXT = 2, /* cuInit has been called, a context is current, and it is not broken */
};

/*
 * Checks what the call needs, and asks the script of failures (inject.h). CUDA_SUCCESS: go on. Use:
 *     CUresult code = api_enter(__func__, API_CONTEXT);
 */
CUresult api_enter(const char *name, enum api_needs needs);

/*
 * For a name that the library exports but does not implement. Tells the user once, answers
 * CUDA_ERROR_NOT_SUPPORTED.
 */
CUresult api_unsupported(const char *name, atomic_bool *said);

/*
 * Tells the user why a program with the runtime linked statically does not run here, and what to
 * do.
 */
void api_refuse_static_runtime(void);

/* The context that is current on the calling thread; NULL: none. */
CUcontext context_of_thread(void);
/* Is it a live context of the program? */
bool context_is(CUcontext context);
bool context_current_is_live(void);
bool context_are_flags(unsigned flags);
/* Replaces NULL by the current context. CUDA_ERROR_INVALID_CONTEXT: it is no live context. */
CUresult context_choose(CUcontext *context);
void link_end_all(CUcontext context); /* link_api.c */

#endif
