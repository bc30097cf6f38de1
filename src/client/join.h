/*
 * How libbaton.so, linked by a program, finds libbaton-layer.so, which has the fronts. Each of the
 * two libraries has its own copy of this folder, and a process must have only one session. The
 * OpenCL loader, or the first CUDA call, loads the layer. libbaton.so searches the loaded objects
 * for the layer. If a program under `baton run` names a job before it uses a GPU, libbaton.so loads
 * the layer, which is named in OPENCL_LAYERS. So the order of loading does not matter.
 */
#ifndef CLIENT_JOIN_H
#define CLIENT_JOIN_H

#include <stdint.h>

#include "baton/job.h"
#include "client/lease.h"
#include "client/session.h"

#define JOIN_LAYER_FILE "libbaton-layer.so"
#define JOIN_SYMBOL     "baton_join" /* exported by the layer: const struct join_hooks *(void) */
#define JOIN_VERSION    8u

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
    /* session_name_device() in this session */
    void (*name_device)(uintptr_t device, char name[DEVICE_NAME_SIZE]);
};

/* For the layer: makes this session the one of the process, which the hooks use. NULL: none. */
void join_offer(struct session *session);
extern const struct join_hooks join_hooks;

/*
 * For libbaton: the layer's hooks if it is loaded, else those of libbaton's own session, opened
 * once. NULL: no memory.
 */
const struct join_hooks *join_find(void);

#endif
