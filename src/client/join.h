/*
 * How libbaton.so, linked by a program, meets libbaton-layer.so, loaded by the OpenCL loader: each carries its own copy of
 * this folder, and there must be one session in a process. The layer answers one private question through its exported
 * clGetLayerInfo; libbaton.so looks for the layer among the loaded objects and asks. No environment variable, no further exported
 * symbol, no order of loading to keep. The CUDA front (libbaton-cuda.so) has no such call, and answers by a function of its own.
 */
#ifndef CLIENT_JOIN_H
#define CLIENT_JOIN_H

#include <stdint.h>

#include "baton/job.h"
#include "client/lease.h"
#include "client/session.h"
#include "wire/device_name.h"

#define JOIN_LAYER_INFO 0x4BA70001u /* a cl_layer_info; the value is a `const struct join_hooks *` */
/* In libbaton-cuda.so: const struct join_hooks *(void); NULL before the program uses CUDA. */
#define JOIN_CUDA_SYMBOL "baton_cuda_join"
#define JOIN_VERSION     5u
#define JOIN_PASSED      1 /* group_take: no daemon, no other client was kept out */

/* One engine of a group. */
struct join_engine {
    char device[DEVICE_NAME_SIZE];
    enum lease_engine engine;
};

struct join_hooks {
    uint32_t version; /* JOIN_VERSION */
    int (*job_begin)(void);
    int (*job_begin_at)(int64_t release_ns);
    int (*job_gpu_done)(void);
    int (*job_end)(void);
    int (*job_report)(struct baton_job_report *ret_report);
    /*
     * Holds all these engines as one group (client/lease.h); blocks. 0: the daemon granted them; JOIN_PASSED: there is none;
     * -errno: nothing is held (-ENOSPC: more engines than a session has leases). After 0 or JOIN_PASSED the same engines are to be released.
     */
    int (*group_take)(const struct join_engine engines[], size_t n);
    void (*group_release)(const struct join_engine engines[], size_t n);
};

/* The layer's side: this session (NULL: none any more) is the process's own. Then answer JOIN_LAYER_INFO with join_hooks. */
void join_offer(struct session *session);
extern const struct join_hooks join_hooks;

/* libbaton's side: the layer's hooks where it is loaded, else those of a session of our own, opened once. NULL: no memory. */
const struct join_hooks *join_find(void);

#endif
