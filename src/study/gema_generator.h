/*
 * Random task sets of GPU-SPARC's simulation (Sec. IV-D): {CPU-PCI-GPU-PCI-}^k CPU pipelines on 4
 * CPUs, one bus and 4 GPUs. The paper leaves open how the execution time is spread over the stages
 * and what multi-GPU mode costs; both are parameters.
 *
 * The generator owns one pipeline and fills it repeatedly: nothing is allocated after
 * gema_generator_new().
 */
#ifndef STUDY_GEMA_GENERATOR_H
#define STUDY_GEMA_GENERATOR_H

#include "analysis/pipeline/pipeline.h"
#include "base/random.h"

#define GEMA_MAX_TASKS   64
#define GEMA_MAX_KERNELS 5
#define GEMA_MAX_STAGES  (1 + 4 * GEMA_MAX_KERNELS)

/* Which options a task has. The first is single mode, the last all GPUs. */
enum gema_placement {
    /*
     * single mode on any free GPU, its data on all GPUs at no cost (the printed premise); all GPUs
     */
    GEMA_ANY,
    GEMA_CHOSEN, /* single mode on the GPU chosen before the upload; all GPUs */
    /*
     * single mode on the GPU chosen before the upload; on any, uploads replicated to all; all GPUs
     */
    GEMA_PAID,
};

struct gema_parameters {
    unsigned cpus, gpus;
    baton_nsec period_low, period_high; /* uniform; deadlines are equal */
    /* total execution time: uniform from this value to the period */
    baton_nsec wcet_low;
    double share_low, share_high; /* part of it spent in kernels: uniform */
    /* P_D: probability that a task has dependent kernels */
    double dependent;
    double upload, download; /* factors on copies in multi mode */
    /* the same for a task with dependent kernels (Sec. III-C) */
    double dependent_upload, dependent_download;
    double merge; /* the CPU stage after a download grows by this many single-mode downloads */
    enum gema_placement placement;
    double window; /* largest distance of a set's GPU utilisation from the target */
    /*
     * 0: sets start with two tasks and grow. Otherwise exactly this many (at most GEMA_MAX_TASKS),
     * scaled to the target.
     */
    size_t n_tasks;
};

/*
 * The paper's platform and ranges: bus stages x 4, kernels / 4, merge 1, kernels 88.5 to 99.8 % of
 * the execution time.
 */
void gema_parameters_default(struct gema_parameters *ret_parameters);

struct gema_generator;

struct gema_generator *gema_generator_new(const struct gema_parameters *parameters);
void gema_generator_free(struct gema_generator *generator);

/*
 * The next set with a GPU utilisation (of single mode) close to the target, tasks in
 * deadline-monotonic order. As in the paper, each set is the previous one plus a task until the
 * target is exceeded. Borrowed until the next call.
 */
const struct pipeline *gema_generate(struct gema_generator *generator, struct random_state *random,
                                     double target);

#endif
