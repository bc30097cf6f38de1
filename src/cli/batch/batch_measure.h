/* Measures the throughput of copies that run at the same time, for `baton batch calibrate`. */
#ifndef CLI_BATCH_BATCH_MEASURE_H
#define CLI_BATCH_BATCH_MEASURE_H

#include <stdbool.h>

#include "cli/batch/batch_machine.h"

/* One direction of one device, with its own queue, buffer and host memory. */
struct measured_route {
    size_t device;
    bool out; /* device to host */
    cl_command_queue queue;
    cl_mem buffer, pinned;
    unsigned char *host; /* pinned, mapped */
    size_t bytes;
    size_t piece; /* bytes per command; = bytes unless the caller wants chunks */
};

/*
 * Allocates `bytes` on both sides and touches all of it. CL_SUCCESS or an OpenCL error;
 * measured_route_done() accepts a partly made route.
 */
cl_int measured_route_init(struct measured_route *route, const struct batch_machine *machine, size_t device,
                           bool out, size_t bytes);
void measured_route_done(struct measured_route *route, const struct batch_machine *machine);

/*
 * Copies over all n routes at once, repeatedly, for about window nanoseconds. Answers each route's
 * throughput in GB/s while all of them copy. Every thread copies as a worker of a batch does, on a
 * core of its own if there are enough. *ret_disturbed: another program took a core from a thread
 * that has this core alone. CL_SUCCESS, or an OpenCL error; CL_OUT_OF_HOST_MEMORY also if no thread
 * can be started.
 */
cl_int measure_together(const struct batch_machine *machine, struct measured_route *const routes[], size_t n,
                        baton_nsec window, double ret_gbps[], bool *ret_disturbed);

#endif
