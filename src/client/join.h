/*
 * How libbaton.so, linked by a program, finds libbaton-layer.so, loaded by the OpenCL loader. Each
 * has its own copy of this folder, and a process must have only one session. The layer answers one
 * private question through its exported clGetLayerInfo. libbaton.so searches the loaded objects for
 * the layer and asks it. This needs no environment variable, no further exported symbol and no
 * order of loading.
 *
 * The CUDA front (libbaton-cuda.so) has no such call and answers through a function of its own.
 */
#ifndef CLIENT_JOIN_H
#define CLIENT_JOIN_H

#include <stdint.h>

#include "baton/job.h"
#include "client/lease.h"
#include "client/session.h"
#include "wire/device_name.h"

#define JOIN_LAYER_INFO 0x4BA70001u /* a cl_layer_info; the value is a `const struct join_hooks *` */
/*
 * Exported by libbaton-cuda.so: const struct join_hooks *(void). NULL before the program uses CUDA.
 */
#define JOIN_CUDA_SYMBOL "baton_cuda_join"
#define JOIN_VERSION     5u
#define JOIN_PASSED      1 /* group_take: there is no daemon, so no other client is kept out */

/* One engine of a group. */
struct join_engine {
    char device[DEVICE_NAME_SIZE];
    enum engine_kind engine;
};

struct join_hooks {
    uint32_t version; /* JOIN_VERSION */
    int (*job_begin)(void);
    int (*job_begin_at)(int64_t release_ns);
    int (*job_gpu_done)(void);
    int (*job_end)(void);
    int (*job_report)(struct baton_job_report *ret_report);
    /*
     * Holds all these engines as one group (client/lease.h); blocks. 0: the daemon granted them.
     * JOIN_PASSED: there is no daemon. -errno: nothing is held (-ENOSPC: more engines than a
     * session has leases). After 0 or JOIN_PASSED the caller must release the same engines.
     */
    int (*group_take)(const struct join_engine engines[], size_t n);
    void (*group_release)(const struct join_engine engines[], size_t n);
};

/*
 * For the layer: makes this session (NULL: none) the one of the process. The layer then answers
 * JOIN_LAYER_INFO with join_hooks.
 */
void join_offer(struct session *session);
extern const struct join_hooks join_hooks;

/*
 * For libbaton: the layer's hooks if it is loaded, else those of libbaton's own session, opened
 * once. NULL: no memory.
 */
const struct join_hooks *join_find(void);

#endif
