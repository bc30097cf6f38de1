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

#include <stdbool.h>
#include <stdint.h>

#include "baton/job.h"
#include "client/lease.h"
#include "client/session.h"

#define JOIN_LAYER_INFO 0x4BA70001u /* a cl_layer_info; the value is a `const struct join_hooks *` */
/*
 * Exported by libbaton-cuda.so: const struct join_hooks *(void). NULL before the program uses CUDA.
 */
#define JOIN_CUDA_SYMBOL "baton_cuda_join"
/*
 * Exported by libbaton-cuda.so: void(bool). While on, calls of the calling thread go straight to the
 * driver: they are part of a batch whose engines another session of this process holds.
 */
#define JOIN_CUDA_PASS_SYMBOL "baton_cuda_pass"
/* The same: const char *(int device), the name by which the front asks for the device's engines. */
#define JOIN_CUDA_NAME_SYMBOL "baton_cuda_device_name"
#define JOIN_VERSION          6u

struct join_hooks {
    uint32_t version; /* JOIN_VERSION */
    int (*job_begin)(void);
    int (*job_begin_at)(int64_t release_ns);
    int (*job_gpu_done)(void);
    int (*job_end)(void);
    int (*job_report)(struct baton_job_report *ret_report);
    /* lease_group_take() in this session, and lease_group_end() */
    int (*group_take)(const struct lease_group_engine engines[], size_t n, struct lease_group *ret_group);
    void (*group_end)(const struct lease_group *group);
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

/* Those of one front, asked each time. NULL: it is not loaded, or not in use yet. */
const struct join_hooks *join_find_layer(void);
const struct join_hooks *join_find_cuda(void);
/* The functions behind JOIN_CUDA_PASS_SYMBOL and JOIN_CUDA_NAME_SYMBOL, or NULL. */
void (*join_find_cuda_pass(void))(bool on);
const char *(*join_find_cuda_name(void))(int device);

#endif
