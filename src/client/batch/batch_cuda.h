/* What batch_cuda.c (devices and copies) and batch_cuda_kernel.c share. */
#ifndef CLIENT_BATCH_CUDA_H
#define CLIENT_BATCH_CUDA_H

#include <pthread.h>

#include "client/batch/batch_api.h"
#include "transfer/batch.h"

struct cuda_device {
    const struct cuda_driver *cu;
    CUcontext context;
    CUdevice device;
    bool retained;             /* the batcher retained the primary context */
    unsigned long long life;   /* cuCtxGetId(); 0: unknown */
    CUstream in, out, execute; /* owned; they do not wait for the default stream */
    pthread_mutex_t lock;      /* guards what follows */
    struct {
        const struct cuda_device *target; /* copies to its memory are prepared */
        bool enabled_here;                /* peer access, to be disabled by us */
    } peers[TOPOLOGY_MAX_NODES];
    size_t n_peers;
};

struct cuda_kernel {
    CUfunction function; /* or a CUkernel */
    unsigned grid[3], block[3], shared_bytes;
    void **parameters; /* owned, with the bytes that they point to */
};

/* The time during which the device's context is current to the calling thread. */
struct cuda_visit {
    struct cuda_device *device;
    bool pushed;
};

/* 0: the context is current to this thread until the end of the visit. */
CUresult cuda_visit_begin(struct cuda_device *device, struct cuda_visit *ret_visit);
/* Makes the previous context current again. */
void cuda_visit_end(const struct cuda_visit *visit);

/* struct batch_api */
const char *cuda_kernel_new(void *device, const struct baton_kernel *given, void **ret_kernel);
void cuda_kernel_free(void *device, void *kernel);

#endif
