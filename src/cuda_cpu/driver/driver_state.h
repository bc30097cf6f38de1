/*
 * The one state of libcuda.so.1: what the process has, and what each of its threads has. The header
 * of the module that uses a member describes it.
 */
#ifndef CUDA_CPU_DRIVER_DRIVER_STATE_H
#define CUDA_CPU_DRIVER_DRIVER_STATE_H

#include "cuda_cpu/driver/advice.h"
#include "cuda_cpu/driver/capture.h"
#include "cuda_cpu/driver/driver.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/inject.h"
#include "cuda_cpu/driver/library.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/module.h"
#include "cuda_cpu/driver/pool.h"
#include "cuda_cpu/driver/scripted.h"
#include "cuda_cpu/driver/stream.h"
#include "cuda_cpu/driver/virtual.h"
#include "cuda_cpu/driver/work_private.h"

/* The names that the library exports, as indices. */
enum driver_name {
#define NAME(symbol, base, since, form) SAID_##symbol,
#include "cuda_abi/names.def"
#undef NAME
    DRIVER_NAMES
};

struct device_driver {
    pthread_mutex_t lock;
    atomic_int state;                          /* enum driver_state */
    unsigned n_devices;                        /* the devices that the program sees */
    unsigned machine_devices[ARRIVAL_DEVICES]; /* the machine's device behind each: visible.h */
    size_t device_bytes;                       /* bytes of memory of each device */
    struct CUctx_st *primary[ARRIVAL_DEVICES];
    unsigned primary_refs[ARRIVAL_DEVICES];
    unsigned primary_flags[ARRIVAL_DEVICES];
    unsigned long long last_id, last_life;

    struct driver_handles handles;
    struct driver_inject inject;
    struct work_machine machine;
    struct driver_script script;
    struct driver_streams streams; /* captures.lock */
    struct driver_captures captures;
    struct driver_memory memory;
    struct driver_advices advices;
    struct driver_pools pools;
    struct driver_virtual addresses;
    struct driver_modules modules;
    struct driver_libraries libraries;
    pthread_mutex_t legacy_lock;             /* function::legacy and what it points to */
    char green_descriptors[ARRIVAL_DEVICES]; /* the program's descriptor is the address of its device's */
    atomic_bool said[DRIVER_NAMES];          /* by enum driver_name: api_unsupported() has told the user */
    atomic_bool static_runtime_refused;      /* api_refuse_static_runtime() has told the user */
};

/* What the calling thread has. */
struct driver_thread {
    struct context_stack stack;
    CUstreamCaptureMode capture_mode; /* CU_STREAM_CAPTURE_MODE_GLOBAL, unless the program exchanges it */
    bool in_callback;
    bool is_caller;               /* it carries out an operation in work_do() */
    struct work_queue *own_queue; /* an engine's thread: its queue */
    struct worker *worker;        /* an engine's thread: made at its first launch */
    struct stream_latest latest;
};

/* Hidden, so that a use needs no entry in the global offset table. */
extern struct device_driver driver __attribute__((visibility("hidden")));
extern _Thread_local struct driver_thread driver_thread __attribute__((visibility("hidden")));

#endif
