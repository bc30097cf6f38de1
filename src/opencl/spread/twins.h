/*
 * Programs and kernels on further devices: the rewritten text again, built in their contexts when
 * first needed.
 */
#ifndef OPENCL_SPREAD_TWINS_H
#define OPENCL_SPREAD_TWINS_H

#include "opencl/program/program_record.h"
#include "spread/decide.h"
#include "opencl/spread/further_device.h"
#include "spread/shares.h"

/*
 * What is known of a kernel of a program, whichever kernel objects the program makes of it. the
 * spread lock.
 */
struct spread_kernel {
    struct spread_kernel *next;
    char *name; /* owned */
    struct split_decision decision;
    double rates[SHARES_MAX];     /* groups per ns: home, then by place */
    cl_kernel handles[PLACE_MAX]; /* one per further device: only its thread uses it */
    bool failed[PLACE_MAX];       /* cannot be had there */
};

/* The program's own object; made when first asked for. NULL: no memory. */
struct spread_kernel *twins_kernel(struct program_record *program, const char *name);

/* What the translator says of the kernel, without waiting for it. NULL: not known (yet). */
const struct translate_kernel *twins_about(struct program_record *program, const char *name);

/*
 * Can the kernel run on that device? Builds what is missing: at once if `now`, else on the device's
 * own thread, and the answer is false until that is over.
 */
bool twins_ready(struct program_record *program, struct spread_kernel *kernel, struct further_device *device,
                 bool now);

#endif
