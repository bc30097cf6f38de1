/*
 * State that the parts of the GPUSync analysis share while one set is tested. Private to
 * gpusync*.c.
 */
#ifndef ANALYSIS_GPUSYNC_STATE_H
#define ANALYSIS_GPUSYNC_STATE_H

#include "analysis/cpu/fair_lateness.h"
#include "analysis/gpusync/gpusync.h"

/*
 * The queue of a request. With one copy engine, or with peer-to-peer migration, all copies share a
 * queue.
 */
enum gpusync_list { LIST_KERNELS, LIST_IN, LIST_OUT, LIST_COPIES, LISTS };

/* One GPU cluster while a set is tested. */
struct gpu_cluster {
    size_t first, end; /* its tasks: members[first..end) */
    bool few;          /* every task has a GPU of its own (D9) */
    double tokens;     /* rho in effect */
    double engines;    /* y */
    /* requests ahead of one own request on one GPU's engine: rho - 1, or fewer */
    double alone;
    double anywhere;  /* the same when peer-to-peer chains reach other GPUs: rho g - 1, or fewer */
    double inflation; /* overheads inside every engine request of this cluster, (17)-(19) */
    double operation; /* overheads that one own operation adds to a job, (20)-(22) */
    bool changed;     /* the r of some member grew after its blocking was computed */
    size_t list_first[LISTS], list_end[LISTS]; /* in state->entries[list] */
};

/* Interfering requests of one task: tif * count of this length. */
struct gpusync_entry {
    double length; /* overheads included */
    double count;  /* per job */
    uint32_t task;
    enum gpusync_operation kind;
};

struct gpusync_state {
    const struct gpusync_system *system;
    const struct gpusync_options *options;
    struct gpusync_limits limits;

    /* Loaded, longest first; LIST_COPIES holds IN, OUT and peer ones again. */
    struct gpusync_request *requests[LISTS];
    size_t n_requests[LISTS];

    /* Loaded, by decreasing utilisation: */
    uint32_t *gpu_by_gpu; /* GPU tasks by u^gpu */
    uint32_t *gpu_by_all; /* GPU tasks by u */
    uint32_t *cpu_by_all; /* CPU-only tasks by u */
    size_t n_gpu, n_cpu;

    /* By GPU cluster: */
    struct gpu_cluster *gpu_clusters;
    uint32_t *members; /* GPU tasks by cluster */
    /* the same, longest token request first within a cluster */
    uint32_t *by_section;
    struct gpusync_entry *entries[LISTS]; /* by cluster, longest first */
    double *member_r, *member_period, *member_inverse,
        *member_operations; /* like members: columns for (24) */

    uint32_t *position; /* by GPU task: its place in members */

    /* By CPU cluster: */
    size_t *cpu_first; /* tasks of cluster x: by_cpu[cpu_first[x] .. cpu_first[x + 1]) */
    uint32_t *by_cpu;
    double *load;

    /* By task: */
    double *used;        /* all 0 between calls */
    double *donor_point; /* priority points that decide donations, from the round before */
    double *span;        /* CK-OMLP: 0 for CPU-only tasks */
    double *next_r;
    double *lock_horizon, *lock_period, *lock_r; /* columns for blocking_ck_omlp.h */
    uint32_t *lock_cluster;
    uint32_t *order;
    double *key;

    /* By CPU cluster, all 0 between calls: */
    double *taken;

    /* Columns for fair lateness, by position in by_cpu: */
    double *cost, *period, *deadline, *point, *response, *utilisation, *slope, *sort_key;
    size_t *chosen;
    double sigma; /* 2 (D_sch + D_csx) + D_ipi */
};

/* ceil(x) for 0 <= x < 2^51 in two additions, so that loops over it vectorise. */
static inline double gpusync_ceil(double x)
{
    /* 2^52: adding it drops the fraction, rounding to nearest */
    const double whole = 4503599627370496.0;
    double nearest = (x + whole) - whole;

    return nearest < x ? nearest + 1.0 : nearest;
}

/* How long a job of i counts as pending: max(p_i, r_i). */
static inline double gpusync_horizon(const struct gpusync_workspace *workspace, size_t i)
{
    double period = workspace->tasks[i].period;
    double r = workspace->terms[i].r;

    return period > r ? period : r;
}

/* Jobs of j that can interfere with one job of i: ceil((max(p_i, r_i) + r_j) / p_j), eq. (2). */
static inline double gpusync_interfering_jobs(const struct gpusync_workspace *workspace, size_t i, size_t j)
{
    return gpusync_ceil((gpusync_horizon(workspace, i) + workspace->terms[j].r) / workspace->tasks[j].period);
}

/* Sorts order[0..n) by decreasing key[order[k]], ties by index. Fast on nearly sorted input. */
void gpusync_sort(uint32_t order[], size_t n, const double key[]);

/*
 *  gpusync_partition.c: all three phases; fills cpu_cluster and gpu_cluster of the terms and the
 *  cluster tables.
 */
void gpusync_partition(struct gpusync_workspace *workspace);

/*
 *  gpusync_engines.c: tokens, y and request lists of the GPU clusters; then b^EE, b^CE and K of one
 *  cluster's tasks.
 */
void gpusync_engines_prepare(struct gpusync_workspace *workspace);
void gpusync_engines_block(struct gpusync_workspace *workspace, struct gpu_cluster *cluster);

/*
 *  Parts of a bound for one task; each other task's part is added to shares (by task) unless that
 *  is NULL.
 */
double gpusync_execution_blocking(struct gpusync_workspace *workspace, const struct gpu_cluster *cluster,
                                  size_t i, double shares[]);
double gpusync_copy_blocking(struct gpusync_workspace *workspace, const struct gpu_cluster *cluster, size_t i,
                             double shares[]);
double gpusync_r2dglp_direct(const struct gpusync_workspace *workspace, unsigned q, size_t i,
                             double shares[]);
double gpusync_ck_omlp_direct(const struct gpusync_workspace *workspace, unsigned q, size_t i,
                              double shares[]);

/*
 * gpusync_chains.c: b^CE of task i by integer program. Never above fallback, which is the answer
 * when the program finds no tighter bound.
 */
double gpusync_chains_bound(struct gpusync_workspace *workspace, const struct gpu_cluster *cluster, size_t i,
                            double fallback);

/* gpusync_r2dglp.c, gpusync_ck_omlp.c: token blocking of one GPU cluster's tasks. */
void gpusync_r2dglp_block(struct gpusync_workspace *workspace, unsigned q);
void gpusync_ck_omlp_block(struct gpusync_workspace *workspace, unsigned q);

/*
 * gpusync_ck_omlp.c: donations, decided by the points in donor_point. While partitioning these are
 * d - (c-1)/c e. In the first round they include overheads but not blocking; in later rounds they
 * come from the previous round.
 */
void gpusync_ck_omlp_plain_points(struct gpusync_workspace *workspace);
void gpusync_ck_omlp_first_points(struct gpusync_workspace *workspace);
void gpusync_ck_omlp_next_points(struct gpusync_workspace *workspace);
void gpusync_ck_omlp_donate(struct gpusync_workspace *workspace);
/* Whether the points of this round leave every b unchanged. */
bool gpusync_ck_omlp_settled(const struct gpusync_workspace *workspace);

/*
 *  gpusync_overheads.c: H, e^ and e' of every task of the CPU clusters; constants of the clusters.
 */
void gpusync_overheads_prepare(struct gpusync_workspace *workspace);
void gpusync_overheads_inflate(struct gpusync_workspace *workspace);

/* gpusync.c: blocking of all GPU tasks for the current r. */
void gpusync_block(struct gpusync_workspace *workspace);

/* gpusync.c: by_cpu from the terms' cpu_cluster; tasks without one (phase 2) are left out. */
void gpusync_group_by_cpu(struct gpusync_workspace *workspace);

#define GPUSYNC_UNPLACED UINT32_MAX

#endif
