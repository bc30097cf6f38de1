/*
 * Which device a job's kernels run on, for a program that uses one (GPU-SPARC Sec. III-A: "in single-GPU mode, the dispatcher simply specifies
 * which GPU to use"). `chosen`: the daemon is asked once per job, at the job's first launch. `any`: for each launch, the device that is
 * free. With spread_lock held.
 */
#ifndef LAYER_SPREAD_PLACEMENT_H
#define LAYER_SPREAD_PLACEMENT_H

#include "layer/spread/device.h"

/* Are jobs placed at all (--placement, or a plan that does not fix the GPU)? Needs no lock. */
bool placement_on(void);

/* Does any free device take a launch (`any`), or was one chosen for the whole job (`chosen`)? */
bool placement_any(void);

/* The devices beside home that jobs of this program may be placed on. */
unsigned placement_helpers(const struct device_record *home, struct further_device *ret_helpers[FURTHER_MAX]);

/* The device for this launch or upload; NULL: home. */
struct further_device *placement_device(struct device_record *home);

/* The job is over: its announced work no longer counts. Needs no lock. */
void placement_job_over(void);

/* Bytes went from one place to another: the daemon learns what that costs. */
void placement_moved(const struct device_record *home, int from, int to, size_t bytes, baton_nsec took);

#endif
