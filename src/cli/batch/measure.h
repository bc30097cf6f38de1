/* Measures the throughput of copies that run at the same time, for `baton batch calibrate`. */
#ifndef CLI_BATCH_MEASURE_H
#define CLI_BATCH_MEASURE_H

#include <stdbool.h>

#include "cli/batch/machine.h"

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

/* Memory of `bytes` on both sides, all of it touched. CL_SUCCESS or an OpenCL error; measured_route_done() takes half-made ones. */
cl_int measured_route_init(struct measured_route *route, const struct batch_machine *machine, size_t device,
                           bool out, size_t bytes);
void measured_route_done(struct measured_route *route, const struct batch_machine *machine);

/*
 * Copies over all n routes at once, over and over, for about window nanoseconds, and answers each one's throughput in GB/s while all were
 * under way. Every thread copies as a worker of a batch does, on a core of its own if there are enough. *ret_disturbed: something else took a core away from a
 * thread that shared it with none of the others. CL_SUCCESS, or an OpenCL error (CL_OUT_OF_HOST_MEMORY also when no thread can be started).
 */
cl_int measure_together(const struct batch_machine *machine, struct measured_route *const routes[], size_t n,
                        baton_nsec window, double ret_gbps[], bool *ret_disturbed);

#endif
