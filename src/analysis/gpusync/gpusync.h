/*
 * GPUSync (Elliott and Anderson, "Exploring the Multitude of Real-Time Multi-GPU Configurations",
 * RTSS 2014, with its appendices). It decides whether every response time is bounded when jobs take
 * a GPU token, then engine locks, under clustered fair-lateness scheduling.
 * docs/gpusync-analysis.md says how each open question of the paper is decided, and proves what the
 * sound variant adds.
 *
 * For hot loops: a workspace is allocated once; a set is loaded into it and tested without
 * allocation. Times are microseconds in doubles, the unit of Table III.
 *
 *     struct gpusync_workspace *workspace;  gpusync_workspace_new(&limits, &workspace);
 *     gpusync_load(workspace, &system, jobs, n);
 *     if (gpusync_analyse(workspace, &system, &gpusync_sound) == GPUSYNC_BOUNDED)
 *         ... workspace->terms[i].response ...
 *
 * One thread uses a workspace; systems and options are read only.
 */
#ifndef ANALYSIS_GPUSYNC_H
#define ANALYSIS_GPUSYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/gpusync/input/gpusync_system.h"

/* How long a job may wait for copy engines when migrations are peer to peer (App. E-B2). */
enum gpusync_peer_bound {
    PEER_EQUATION_6, /* every request waits for rho g - 1 others: as printed, sound */
    /* as printed for two copy engines: optimistic when the peer chunk is the longest */
    PEER_EQUATION_9,
    /* the number of migrations limits the long chains: sound, never above equation 6 */
    PEER_MIGRATIONS,
    /* integer program over the chains that the lock queues allow (copy_chains.h): tightest */
    PEER_CHAINS,
    /* the same over Table VIII; for rho 3, g 2 only, elsewhere as PEER_CHAINS */
    PEER_CHAINS_PRINTED,
};

struct gpusync_options {
    /*
     * Adds own interrupt halves and critical sections that contain them: equations (17), (20), (24)
     * and K omit these.
     */
    bool sound;
    /*
     * FIFO caps: at most one request of each other task is ahead of each own request
     * (docs/gpusync-analysis.md).
     */
    bool tight;
    /* interrupts also lengthen blocking: b is divided by 1 - u_tick - u_irq, like e */
    bool dilate;
    /* |T^G| <= g: every task has a GPU of its own, even if the run time does not pin it */
    bool few_rule;
    bool decide; /* stop at the first reason to reject; the terms are then incomplete */
    enum gpusync_peer_bound peer;
};

extern const struct gpusync_options gpusync_sound;   /* the default: sound, tight, dilated */
extern const struct gpusync_options gpusync_printed; /* as printed, errata corrected */

enum gpusync_answer {
    GPUSYNC_BOUNDED = 0,
    GPUSYNC_OVERUTILISED, /* some CPU cluster: sum U > c */
    GPUSYNC_TOO_LONG,     /* some C > p' */
    GPUSYNC_NO_END,       /* no fixed point within GPUSYNC_MAX_ROUNDS */
};

#define GPUSYNC_MAX_ROUNDS 1000
#define GPUSYNC_NOWHERE    UINT32_MAX /* the GPU cluster of a CPU-only task */

/* A job as studies generate it: one critical section, kernels of equal length. */
struct gpusync_job {
    double period, deadline;
    double cpu;       /* e^cpu, critical included */
    double critical;  /* q^cpu */
    double kernel;    /* e^gpu, all kernels together */
    uint32_t kernels; /* N^K; 0: a CPU-only task */
    int64_t bytes_in, bytes_out, state;
};

/* Engine operations of a job. The state operations exist only where migration needs them. */
enum gpusync_operation {
    OPERATION_KERNEL,
    OPERATION_IN,
    OPERATION_OUT,
    OPERATION_STATE_IN,   /* system memory */
    OPERATION_STATE_OUT,  /* system memory */
    OPERATION_STATE_PEER, /* both copy engines at once */
    OPERATION_KINDS,
};

/* Each job of a task makes `count` requests of this length. */
struct gpusync_request {
    double length;
    double count;
    uint32_t task;
    enum gpusync_operation kind;
};

/* What is known about a task before partitioning. */
struct gpusync_task {
    double period, deadline, cpu, critical;
    double count[OPERATION_KINDS];  /* N^K, N^I, ... */
    double length[OPERATION_KINDS]; /* their total */
    double inverse;                 /* 1 / period */
    double xmit;                    /* all copies */
    double utilisation, gpu_utilisation;
    uint32_t forced_cluster; /* GPU cluster given by the file; GPUSYNC_NOWHERE: worst fit */
    bool pinned;             /* has a GPU of its own (pinned_gpu), which the run time guarantees */
    uint32_t pinned_gpu;
    bool uses_gpu;
};

/* Every term of one task, for reports and tests. Durations are us. */
struct gpusync_terms {
    uint32_t gpu_cluster; /* GPUSYNC_NOWHERE: none */
    uint32_t cpu_cluster;
    bool few_rule;
    double tokens;     /* rho in effect */
    double engines;    /* y: operations that one GPU may have in progress */
    double operations; /* eta */
    double xmit, utilisation, gpu_utilisation;
    double execution_blocking, copy_blocking;
    double critical_section, token_request; /* K; K with the lock's overheads */
    double token_sections;                  /* N^TCX */
    double direct, span, donation;          /* token blocking; span: CK-OMLP */
    double token_blocking;                  /* b^K: direct + donation */
    double blocking;                        /* b */
    double interrupts;                      /* H */
    double inflated, cost;                  /* e', C = e' + b */
    double execution;                       /* e^ */
    double point, response, tardiness;      /* response < 0: unbounded */
    double r;                               /* response bound used for interference */
};

struct gpusync_cluster_terms {
    size_t n;
    double total;      /* sum U */
    double s;          /* of fair lateness; valid if bounded */
    int answer;        /* enum fair_lateness_answer */
    double stolen;     /* u_tick + sum u_irq */
    double preemption; /* c_pre */
};

struct gpusync_workspace {
    /* Loaded: */
    struct gpusync_task *tasks;
    size_t n;
    /* Answers of the last gpusync_analyse: */
    struct gpusync_terms *terms;            /* by task */
    struct gpusync_cluster_terms *clusters; /* by CPU cluster */
    unsigned rounds;
    struct gpusync_state *state; /* private */
};

struct gpusync_limits {
    size_t tasks;
    size_t requests; /* different (operation, length) of each task, summed; gpusync_job: 8 */
    unsigned cpu_clusters, gpu_clusters;
};

int gpusync_workspace_new(const struct gpusync_limits *limits, struct gpusync_workspace **ret_workspace);
void gpusync_workspace_free(struct gpusync_workspace *workspace);

/*
 * Loads jobs[0..n) into the workspace as chunks with their costs. These depend only on the system's
 * chunk sizes, copy tables and migration, so one load serves all systems that agree on them. n is
 * within the limits.
 */
void gpusync_load(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                  const struct gpusync_job jobs[], size_t n);

/* Whether a set loaded for one system can be tested on the other without loading it again. */
bool gpusync_loads_alike(const struct gpusync_system *a, const struct gpusync_system *b);

/* Partitions in three phases and iterates to the fixed point; an enum gpusync_answer. */
int gpusync_analyse(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                    const struct gpusync_options *options);

extern const struct analysis analysis_gpusync;         /* sound */
extern const struct analysis analysis_gpusync_printed; /* to compare with the paper */
extern const struct analysis analysis_gpusync_chains;  /* sound, copy engines by integer program */

#endif
