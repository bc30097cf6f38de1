/*
 * Programs and kernels on further devices: the rewritten text, built in their contexts at the first
 * use.
 */
#ifndef OPENCL_SPREAD_TWINS_H
#define OPENCL_SPREAD_TWINS_H

#include "opencl/program/program_record.h"
#include "spread/decide.h"
#include "opencl/spread/further_device.h"
#include "spread/shares.h"

/*
 * What is known of a kernel of a program, over all its kernel objects. The spread lock guards it.
 */
struct spread_kernel {
    struct spread_kernel *next;
    char *name; /* owned */
    struct split_decision decision;
    double rates[SHARES_MAX];     /* groups per ns: home, then by place */
    cl_kernel handles[PLACE_MAX]; /* one per further device; only that device's thread uses it */
    bool failed[PLACE_MAX];       /* not available on that device */
};

/* The record of that kernel, owned by the program and made at its first use. NULL: no memory. */
struct spread_kernel *twins_kernel(struct program_record *program, const char *name);

/* The translator's description of the kernel, without waiting for it. NULL: not known (yet). */
const struct translate_kernel *twins_about(struct program_record *program, const char *name);

/*
 * Can the kernel run on that device? Builds what is missing: at once if `now`, otherwise on the
 * device's own thread, and the answer is false until the build is over.
 */
bool twins_ready(struct program_record *program, struct spread_kernel *kernel, struct further_device *device,
                 bool now);

#endif
