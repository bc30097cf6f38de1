/*
 * What is kept of a program that follows its jobs (migrate.h): a part of the front's state. The
 * files of this folder alone use it.
 */
#ifndef CUDA_MIGRATE_STATE_H
#define CUDA_MIGRATE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/list.h"
#include "cuda/entries.h"
#include "cuda/objects.h"
#include "engine/handle_table.h"
#include "wire/engine_kind.h"

enum {
    HOME = 0,    /* the place of the device that the program opened */
    PLACES = 10, /* a session has 32 leases, and a device three */
};

/* A GPU on which jobs of the program may run. */
struct gpu_place {
    struct device_record *device;
    struct context_record *context;          /* home: the program's; else ours, made when first needed */
    struct stream_record *streams[ENGINE_N]; /* ours, made when first needed */
};

/* Where the memory is (moved_memory.h). */
struct memory {
    pthread_mutex_t lock; /* guards the following; the driver may be called under it */
    struct list regions;
    size_t granularity, bytes; /* bytes: that the program has */
    uint64_t last_id;
};

/* Modules of the program (code.h). */
struct migrate_code {
    pthread_mutex_t lock; /* guards the following; the driver may be called under it */
    struct list modules;
    struct handle_table kernels;   /* functions of the home context -> the kernels that they are */
    struct handle_table libraries; /* that may run anywhere -> themselves */
    pthread_once_t once;
};

/* What a name did before its hook (follow.c). */
struct before_hooks {
    entry_handler handlers[ENTRY_N]; /* of routed names */
    bool stays[ENTRY_N];             /* it keeps the program at home */
    entry_handler whole[ENTRY_N];    /* of routed names, while the context is not broken */
};

/* cuda_front.migrate */
struct migrate {
    atomic_bool on;             /* migrate_on() */
    pthread_mutex_t begun_lock; /* of the first context, until what follows it is there */
    bool begun;                 /* there was a context */
    struct memory memory;
    struct migrate_code code;
    struct before_hooks before;
    struct gpu_place places[PLACES];
    unsigned n_places;
    CUcontext home;       /* NULL: it has ended */
    unsigned roams;       /* BATON_TEST_ROAM: a random number; 0: no test */
    pthread_mutex_t lock; /* guards the following; a leaf, and no driver call under it */
    pthread_cond_t changed;
    unsigned inside; /* commands between enter and leave */
    bool moving;     /* no command enters */
    bool stays;      /* at home, for good */
    unsigned job;    /* the last one that a GPU was asked for */
    bool touched;    /* a command may have changed memory since it was last saved */
    bool announced;  /* the daemon knows of a job */
    /* Changed while `moving`, read inside. */
    size_t job_bytes;  /* that were moved before the last job */
    unsigned place;    /* where the memory is, and commands run */
    atomic_int broken; /* a kernel elsewhere faulted: what every call answers; CUDA_SUCCESS: none did */
};

#endif
