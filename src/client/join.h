/*
 * How libbaton.so, linked by a program, meets libbaton-layer.so, loaded by the OpenCL loader: each carries its own copy of
 * this folder, and there must be one session in a process. The layer answers one private question through its exported
 * clGetLayerInfo; libbaton.so looks for the layer among the loaded objects and asks. No environment variable, no further exported
 * symbol, no order of loading to keep.
 */
#ifndef CLIENT_JOIN_H
#define CLIENT_JOIN_H

#include <stdint.h>

#include "baton/job.h"
#include "client/session.h"

#define JOIN_LAYER_INFO 0x4BA70001u /* a cl_layer_info; the value is a `const struct join_hooks *` */
#define JOIN_VERSION    1u

struct join_hooks {
    uint32_t version; /* JOIN_VERSION */
    int (*job_begin)(void);
    int (*job_end)(void);
    int (*job_report)(struct baton_job_report *ret_report);
};

/* The layer's side: this session (NULL: none any more) is the process's own. Then answer JOIN_LAYER_INFO with join_hooks. */
void join_offer(struct session *session);
extern const struct join_hooks join_hooks;

#endif
