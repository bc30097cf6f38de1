/*
 * GPUSync (Elliott and Anderson, "Exploring the Multitude of Real-Time Multi-GPU Configurations", RTSS 2014, with its appendices):
 * is every response time bounded when jobs take a GPU token, then engine locks, under clustered fair-lateness scheduling?
 * docs/gpusync.md says how each open question of the paper is decided and proves what the sound variant adds.
 *
 * Made for hot loops: a workspace is allocated once, a set is loaded into it and tested without allocation. Times are
 * microseconds in doubles (Table III's unit).
 *
 *     struct gpusync_workspace *workspace;  gpusync_workspace_new(&limits, &workspace);
 *     gpusync_load(workspace, &system, jobs, n);
 *     if (gpusync_analyse(workspace, &system, &gpusync_sound) == GPUSYNC_BOUNDED) ... workspace->terms[i].response ...
 *
 * One thread per workspace; systems and options are read only.
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
    PEER_EQUATION_6, /* every request behind rho g - 1 others: as printed, sound */
    PEER_EQUATION_9, /* as printed for two copy engines: optimistic when the peer chunk is the longest */
    PEER_MIGRATIONS, /* long chains are bought by the number of migrations: sound, never above equation 6 */
    PEER_CHAINS, /* integer program over the chains that the lock queues allow (copy_chains.h): tightest */
    PEER_CHAINS_PRINTED, /* the same over Table VIII; for rho 3, g 2 only, elsewhere as PEER_CHAINS */
};

struct gpusync_options {
    /* Own interrupt halves, critical sections that contain them: what equations (17), (20), (24) and K leave out. */
    bool sound;
    /* FIFO caps: at most one request of each other task ahead of each of mine (docs/gpusync.md). */
    bool tight;
    bool dilate;   /* interrupts also stretch blocking: b is divided by 1 - u_tick - u_irq like e */
    bool few_rule; /* |T^G| <= g: every task has a GPU of its own, whether or not the run time pins it */
    bool decide;   /* stop at the first reason to reject; terms are then incomplete */
    enum gpusync_peer_bound peer;
};

extern const struct gpusync_options gpusync_sound;   /* the default: sound, tight, dilated */
extern const struct gpusync_options gpusync_printed; /* as printed with errata fixed */

enum gpusync_answer {
    GPUSYNC_BOUNDED = 0,
    GPUSYNC_OVERUTILISED, /* some CPU cluster: sum U > c */
    GPUSYNC_TOO_LONG,     /* some C > p' */
    GPUSYNC_NO_END,       /* no fixed point within GPUSYNC_MAX_ROUNDS */
};

#define GPUSYNC_MAX_ROUNDS 1000
#define GPUSYNC_NOWHERE    UINT32_MAX /* the GPU cluster of a CPU-only task */

/* A job as studies make them: one critical section, kernels of equal length. */
struct gpusync_job {
    double period, deadline;
    double cpu;       /* e^cpu, critical included */
    double critical;  /* q^cpu */
    double kernel;    /* e^gpu, all kernels together */
    uint32_t kernels; /* N^K; 0: a CPU-only task */
    int64_t bytes_in, bytes_out, state;
};

/* Engine operations of a job; state ones only where migration needs them. */
enum gpusync_operation {
    OPERATION_KERNEL,
    OPERATION_IN,
    OPERATION_OUT,
    OPERATION_STATE_IN,   /* system memory */
    OPERATION_STATE_OUT,  /* system memory */
    OPERATION_STATE_PEER, /* both copy engines at once */
    OPERATION_KINDS,
};

/* count requests of this length by each job of a task. */
struct gpusync_request {
    double length;
    double count;
    uint32_t task;
    enum gpusync_operation kind;
};

/* What is known of a task before partitioning. */
struct gpusync_task {
    double period, deadline, cpu, critical;
    double count[OPERATION_KINDS];  /* N^K, N^I, ... */
    double length[OPERATION_KINDS]; /* their total */
    double inverse;                 /* 1 / period */
    double xmit;                    /* all copies */
    double utilisation, gpu_utilisation;
    uint32_t forced_cluster; /* GPU cluster given by the file; GPUSYNC_NOWHERE: worst fit */
    bool pinned;             /* has a GPU of its own, kept by the run time: pinned_gpu */
    uint32_t pinned_gpu;
    bool uses_gpu;
};

/* Every term of one task, for people and for tests. Durations are us. */
struct gpusync_terms {
    uint32_t gpu_cluster; /* GPUSYNC_NOWHERE: none */
    uint32_t cpu_cluster;
    bool few_rule;
    double tokens;     /* rho in effect */
    double engines;    /* y: operations that one GPU may have under way */
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
    size_t tasks,
        requests; /* requests: sum over tasks of different (operation, length); 8 a job suffices for gpusync_job */
    unsigned cpu_clusters, gpu_clusters;
};

int gpusync_workspace_new(const struct gpusync_limits *limits, struct gpusync_workspace **ret_workspace);
void gpusync_workspace_free(struct gpusync_workspace *workspace);

/*
 * Puts jobs[0..n) into the workspace: chunks and their costs (they depend on the system's chunk sizes, copy tables and migration only, so one
 * load serves all systems that agree on these). n is within the limits.
 */
void gpusync_load(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                  const struct gpusync_job jobs[], size_t n);

/* Whether a set loaded for one system can be tested on the other as it is. */
bool gpusync_loads_alike(const struct gpusync_system *a, const struct gpusync_system *b);

/* Partitions in three phases and iterates to the fixed point; an enum gpusync_answer. */
int gpusync_analyse(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                    const struct gpusync_options *options);

extern const struct analysis analysis_gpusync;         /* sound */
extern const struct analysis analysis_gpusync_printed; /* to compare with the paper */
extern const struct analysis analysis_gpusync_chains;  /* sound, copy engines by integer program */

#endif
