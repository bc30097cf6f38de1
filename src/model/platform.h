/*
 * The machine as every analysis, the planner, the simulator and the run time see it. It has CPUs in
 * clusters, GPUs in clusters with their engines and tokens, buses, and the overhead set. It is the
 * `platform:` part of a task-set file.
 */
#ifndef MODEL_PLATFORM_H
#define MODEL_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"
#include "model/document.h"

#define PLATFORM_MAX_CPUS 1024
#define PLATFORM_MAX_GPUS 64 /* a set of GPUs is one uint64_t */

#define TOKENS_UNLIMITED 0 /* tokens_per_gpu: inf, rho = infinity */

enum migration {
    MIGRATION_NONE,      /* a task keeps its GPU */
    MIGRATION_SYSTEM,    /* state goes through host memory at the end of every job */
    MIGRATION_P2P,       /* state is pulled from the other GPU, both copy engines locked together */
    MIGRATION_ON_DEMAND, /* copied off when needed; analysed as P2P */
};

enum copy_direction { DIRECTION_IN, DIRECTION_OUT, DIRECTION_P2P, COPY_DIRECTIONS };

/* Cost of copying one chunk of this size. */
struct copy_cost {
    int64_t bytes;
    baton_nsec cost;
};

/* One set of measured overheads (GPUSync Sec. IV); in files in microseconds. */
struct overheads {
    baton_nsec scheduler, context_switch, ipi, event_latency;
    baton_nsec tick, tick_period;
    baton_nsec release, cpmd; /* cpmd: cache-related preemption and migration delay */
    baton_nsec syscall_in, syscall_out;
    baton_nsec gpu_top_half, gpu_bottom_half;
    struct copy_cost *copies[COPY_DIRECTIONS]; /* ascending bytes */
    size_t n_copies[COPY_DIRECTIONS];
};

struct platform {
    unsigned cpus, cpu_cluster; /* cpu_cluster: CPUs per cluster, divides cpus */
    unsigned numa_nodes;
    unsigned gpus, gpu_cluster; /* gpu_cluster: GPUs per cluster, divides gpus; gpus may be 0 */
    unsigned copy_engines;      /* 1 or 2 per GPU */
    unsigned tokens_per_gpu;    /* TOKENS_UNLIMITED or rho */
    unsigned buses;
    /* GPUs and host share memory: every GPU sees an upload without replication */
    bool shared_memory;
    enum migration migration;
    int64_t chunk_in, chunk_out; /* bytes */
    /*
     * attach[q] lists the CPU clusters that own GPU cluster q; NULL: a rule decides
     * (platform_owns).
     */
    struct cluster_list {
        unsigned *clusters;
        size_t n;
    } * attach;
    bool has_overheads;
    struct overheads overheads; /* if absent: all zero, tick_period 1 ms */
};

unsigned platform_cpu_clusters(const struct platform *platform);
unsigned platform_gpu_clusters(const struct platform *platform);

/*
 * Do tasks of that CPU cluster use the GPUs of that GPU cluster? `attach` decides. Without it
 * (GPUSync, Fig. 4), a cluster that spans NUMA nodes belongs to all or owns all. Inside a node the
 * CPU clusters and GPU clusters are matched in order; remaining CPU clusters own none.
 */
bool platform_owns(const struct platform *platform, unsigned cpu_cluster, unsigned gpu_cluster);

/*
 * Cost of one copy of this size. Linear between the entries of the table; the smallest entry's cost
 * below it; proportional above the largest. 0 for 0 bytes, and for a direction without entries.
 */
baton_nsec overheads_copy_cost(const struct overheads *overheads, enum copy_direction direction,
                               int64_t bytes);

/*
 * Fills *ret_platform from the mapping; strings and tables live in arena. The document's file
 * locates `overheads: FILE`.
 */
int platform_read(const struct document *document, const struct node *mapping, struct arena *arena,
                  struct platform *ret_platform, struct input_error *ret_error);

/* Reads an overhead set from a file of its own, as overheads_read_any() does. */
int overheads_read_file(const char *path, const char *set, struct arena *arena,
                        struct overheads *ret_overheads, struct input_error *ret_error);

/* Prints the `platform:` part back as YAML. */
void platform_print(const struct platform *platform, FILE *out);
void overheads_print(const struct overheads *overheads, const char *indent, FILE *out);

const char *migration_name(enum migration migration);

#endif
