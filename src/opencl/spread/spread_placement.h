/*
 * Which device a job's kernels run on, for a program that uses one (GPU-SPARC Sec. III-A: "in
 * single-GPU mode, the dispatcher simply specifies which GPU to use"). `chosen`: the daemon is
 * asked once per job, at the job's first launch. `any`: for each launch, the device that is free,
 * among those that the job may use: without tokens all, with a token that of the token. A
 * plan with a list of GPUs: the daemon is asked once per plan which devices these are, and kernels
 * run there, whichever device the program opened. With the spread lock held.
 */
#ifndef OPENCL_SPREAD_PLACEMENT_H
#define OPENCL_SPREAD_PLACEMENT_H

#include "opencl/spread/further_device.h"

/*
 * May kernels of this device run elsewhere (--placement, or a plan)? NULL: of any device that the
 * program uses. False once the plan in force is known to name the device itself. Needs no lock.
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
    int job_place;         /* where its kernels run, and its data is */
    size_t job_bytes;      /* moved in the job so far */
    atomic_bool announced; /* the daemon counts this job's work; no lock */
    /* the devices of the plan's list, as the daemon named them: of one home, under one plan */
    struct {
        const struct opencl_device *home;
        unsigned plan;
        struct placement_team team;
        unsigned asked_job; /* the last question remained without an answer in this job */
    } listed;
};

/*
 * Those for a launch on so many devices: the ones that the plan lists if it does (set), and that it
 * gives at most; else home and the first others.
 */
void placement_team(struct opencl_device *home, unsigned devices, uint64_t set,
                    struct placement_team *ret_team);

/*
 * Does any free device take a launch (`any`), or was one chosen for the whole job (`chosen`)? A job
 * under a token may use one GPU only, so there the words are the same, and copies go there alone.
 */
bool placement_any(void);

/* The devices beside home that jobs of this program may be placed on, where the plan lists none. */
unsigned placement_helpers(const struct opencl_device *home, struct further_device *ret_helpers[FURTHER_MAX]);

/* The device for this launch or upload; NULL: home. */
struct further_device *placement_device(struct opencl_device *home);

/* The place of the last launch or upload: asks nothing. */
int placement_last(void);

/* The job is over: its announced work no longer counts. Needs no lock. */
void placement_job_over(void);

/* Bytes went from one place to another: the daemon learns what that costs. */
void placement_moved(const struct opencl_device *home, int from, int to, size_t bytes, baton_nsec took);

#endif
