/*
 * The OpenCL devices of `baton batch run` and `calibrate`: one context each, and a kernel of
 * adjustable length.
 */
#ifndef CLI_BATCH_BATCH_MACHINE_H
#define CLI_BATCH_BATCH_MACHINE_H

#include "base/nsec.h"
#include "cli/subcommand.h"
#include "client/opencl.h"

#define MACHINE_MAX_DEVICES 64

struct machine_device {
    cl_device_id device;
    char name[128];
    cl_context context; /* set by machine_open_device(), like the members that follow */
    cl_program program;
    cl_mem scratch;
    double spins_per_ns;
};

struct batch_machine {
    const struct opencl *cl;
    struct machine_device devices[MACHINE_MAX_DEVICES];
    size_t n;
};

/*
 * Lists all devices of all platforms in their order. 0, or CLI_ENVIRONMENT after a message to the
 * user.
 */
int machine_list(const struct cli_args *args, struct batch_machine *ret_machine);
void machine_done(struct batch_machine *machine);

/* Creates the context and the kernel of one device, and measures its speed. Results as above. */
int machine_open_device(const struct cli_args *args, struct batch_machine *machine, size_t device);

/*
 * A kernel that runs for about `length` on the device; the caller releases it. NULL: OpenCL failed.
 */
cl_kernel machine_kernel(const struct batch_machine *machine, size_t device, baton_nsec length);

#endif
