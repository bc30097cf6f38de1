/*
 * Which device the kernels of a job run on, for a program that uses one device (GPU-SPARC Sec.
 * III-A: "in single-GPU mode, the dispatcher simply specifies which GPU to use").
 *
 * `chosen`: the daemon is asked once per job, at the job's first launch. `any`: each launch runs on
 * a free device among those that the job may use: all of them without tokens, else that of the
 * token. A plan with a list of GPUs: the daemon is asked once per plan which devices these are.
 * Kernels run there, whichever device the program opened. All with the spread lock held.
 */
#ifndef OPENCL_SPREAD_PLACEMENT_H
#define OPENCL_SPREAD_PLACEMENT_H

#include "opencl/spread/further_device.h"

/*
 * May kernels of this device run elsewhere (--placement, or a plan)? NULL: kernels of any device
 * that the program uses. False once the plan in force is known to name the device itself. Needs no
 * lock.
 */
bool placement_on(const struct opencl_device *home);

/* The devices of a split launch. */
struct placement_team {
    struct further_device *helpers[FURTHER_MAX];
    unsigned n;
    bool home; /* the program's own device takes a share */
};

/* spread_state::lock */
struct placement_state {
    unsigned job_seen;
    int job_place;         /* where the job's kernels run, and its data is */
    size_t job_bytes;      /* bytes moved in the job so far */
    atomic_bool announced; /* the daemon counts this job's work; no lock */
    /* the devices of the plan's list, as the daemon named them: of one home, under one plan */
    struct {
        const struct opencl_device *home;
        unsigned plan;
        struct placement_team team;
        unsigned asked_job; /* the last question got no answer in this job */
    } listed;
};

/*
 * The devices for a launch on so many devices. If the plan lists GPUs (set): those, and at most as
 * many as it gives. Otherwise home and the first others.
 */
void placement_team(struct opencl_device *home, unsigned devices, uint64_t set,
                    struct placement_team *ret_team);

/*
 * Does each launch run on any free device (`any`), or was one chosen for the whole job (`chosen`)?
 * A job under a token may use one GPU only. Then both mean the same, and copies go to that GPU
 * only.
 */
bool placement_any(void);

/* The devices beside home on which jobs of this program may be placed, if the plan lists none. */
unsigned placement_helpers(const struct opencl_device *home, struct further_device *ret_helpers[FURTHER_MAX]);

/* The device for this launch or upload; NULL: home. */
struct further_device *placement_device(struct opencl_device *home);

/* The place of the last launch or upload; no question to the daemon. */
int placement_last(void);

/* The job is over: withdraws its announced work. Needs no lock. */
void placement_job_over(void);

/* Reports bytes moved from one place to another, from which the daemon learns the cost. */
void spread_placement_moved(const struct opencl_device *home, int from, int to, size_t bytes,
                            baton_nsec took);

#endif
