/* The state of spread/ in struct opencl_front (layer.h). */
#ifndef OPENCL_SPREAD_SPREAD_STATE_H
#define OPENCL_SPREAD_SPREAD_STATE_H

#include "opencl/spread/further_device.h"
#include "opencl/spread/spread_placement.h"
#include "spread/decide.h"

struct spread_state {
    /*
     * guards the following unless a comment says otherwise. Taken with no engine entered, before
     * all locks but a command buffer's. Engines are entered under it
     */
    pthread_mutex_t lock;
    pthread_cond_t changed;            /* a split stopped running */
    struct command_callback *after;    /* spread_after() */
    struct mem_record *_Atomic unused; /* spread_unused(); no lock */
    pthread_mutex_t landing_lock;      /* a leaf; of the next */
    pthread_cond_t landed;             /* landing_wake() */
    struct further_device devices[FURTHER_MAX];
    unsigned n_devices;
    struct peer_context {
        cl_context handle; /* of all devices of the platform; NULL: none */
        cl_platform_id platform;
        bool tried;
    } peers; /* migration `p2p` */
    struct placement_state placement;
    struct decision_costs costs;   /* of moving and merging bytes */
    pthread_mutex_t buffers_lock;  /* a leaf; guards the next */
    struct spread_buffer *buffers; /* every record that says where a buffer is valid */
    atomic_uint n_buffers;         /* buffers with a coherence record; no lock */
    /* the user has been told that more GPUs were requested than exist; no lock */
    atomic_bool said_fewer;
};

#endif
