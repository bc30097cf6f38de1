/* What the files of this folder share. */
#ifndef CUDA_MIGRATE_PRIVATE_H
#define CUDA_MIGRATE_PRIVATE_H

#include <pthread.h>

#include "cuda/migrate/migrate.h"

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

struct migrate {
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

extern struct migrate migrate;

/* --- follow.c: which calls a program that follows may make --- */

/* Every name that cannot follow gets a hook; once, before there is memory. */
void follow_install(void);
/* From now on every call answers with this; CUDA_SUCCESS: no longer. */
void follow_break(CUresult code);

/* --- places.c --- */

/* The devices that are like the program's own; fewer than two: nothing can follow. */
unsigned places_find(CUcontext home);
/* Makes what is missing of a place. */
CUresult place_ready(struct gpu_place *place);
/* Its stream for an engine; the place is ready. */
static inline struct stream_record *place_stream(unsigned place, enum engine_kind engine)
{
    return migrate.places[place].streams[engine];
}

#endif
