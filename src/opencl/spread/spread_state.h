/* What spread/ keeps in struct opencl_front (layer.h). */
#ifndef OPENCL_SPREAD_SPREAD_STATE_H
#define OPENCL_SPREAD_SPREAD_STATE_H

#include "opencl/spread/further_device.h"
#include "opencl/spread/spread_placement.h"
#include "spread/decide.h"

struct spread_state {
    pthread_mutex_t
        /* guards the following unless said otherwise; before all others, with no engine entered */
        lock;
    pthread_cond_t changed; /* a split stopped running */
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
    atomic_uint n_buffers;         /* with a record of where they are valid; no lock */
    atomic_bool said_fewer;        /* that more GPUs were asked for than there are; no lock */
};

#endif
