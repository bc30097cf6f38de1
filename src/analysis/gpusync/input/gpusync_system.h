/*
 * The machine as GPUSync's analysis needs it: clusters, the owners of GPUs, tokens, and overheads
 * in microseconds. It is derived once from a platform and read only afterwards.
 */
#ifndef ANALYSIS_GPUSYNC_SYSTEM_H
#define ANALYSIS_GPUSYNC_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/platform.h"

/* Half-open range of GPU clusters. */
struct gpusync_range {
    unsigned first, end;
};

/* The GPU clusters of one CPU cluster, neighbours merged. */
struct gpusync_ranges {
    struct gpusync_range *ranges;
    size_t n;
};

/* Copy costs in us, ascending bytes. */
struct gpusync_copy_table {
    double *bytes, *cost;
    size_t n;
};

struct gpusync_system {
    unsigned cpu_clusters, cluster_cpus; /* c */
    unsigned gpu_clusters, cluster_gpus; /* g */
    unsigned tokens;                     /* rho; TOKENS_UNLIMITED */
    unsigned copy_engines;
    enum migration migration;
    int64_t chunk_in, chunk_out;
    /* some GPU cluster has several owners: CK-OMLP; else R2DGLP */
    bool shared;
    const struct cluster_list *owners;     /* per GPU cluster, its CPU clusters */
    const struct gpusync_ranges *attached; /* per CPU cluster, its GPU clusters */
    /* Overheads, us: */
    double scheduler, context_switch, ipi, event_latency, tick, tick_period, release, cpmd, syscall_in,
        syscall_out, top_half, bottom_half;
    struct gpusync_copy_table copies[COPY_DIRECTIONS];
};

/* Memory comes from arena; the platform may be freed afterwards. 0 or -ENOMEM. */
int gpusync_system_init(const struct platform *platform, struct arena *arena,
                        struct gpusync_system *ret_system);

/*
 * Cost of one copy, linear between entries. Below the smallest entry it is that entry's cost, above
 * the largest it is proportional. 0 for 0 bytes or without a table.
 */
double gpusync_copy_cost(const struct gpusync_system *system, enum copy_direction direction, int64_t bytes);

/* CPUs that share GPU cluster q: M. */
static inline unsigned gpusync_sharing_cpus(const struct gpusync_system *system, unsigned q)
{
    return (unsigned)system->owners[q].n * system->cluster_cpus;
}

#endif
