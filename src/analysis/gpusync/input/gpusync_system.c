#include "analysis/gpusync/input/gpusync_system.h"

#include <errno.h>

static double to_us(baton_nsec time)
{
    return (double)time / (double)NSEC_PER_US;
}

/* The owners of one GPU cluster, in the file's order if the file lists them. */
static int find_owners(const struct platform *platform, struct arena *arena, unsigned gpu_cluster,
                       struct cluster_list *ret_owners)
{
    const struct cluster_list *given = platform->attach ? &platform->attach[gpu_cluster] : NULL;
    unsigned n = platform_cpu_clusters(platform);
    struct cluster_list owners = {.clusters = arena_calloc(arena, n, sizeof owners.clusters[0])};

    if (!owners.clusters)
        return -ENOMEM;
    for (unsigned x = 0; !given && x < n; x++) {
        if (platform_owns(platform, x, gpu_cluster))
            owners.clusters[owners.n++] = x;
    }
    for (; given && owners.n < given->n; owners.n++)
        owners.clusters[owners.n] = given->clusters[owners.n];
    *ret_owners = owners;
    return 0;
}

static bool owns(const struct cluster_list *owners, unsigned cluster)
{
    for (size_t k = 0; k < owners->n; k++)
        if (owners->clusters[k] == cluster)
            return true;
    return false;
}

/* The inverse: which GPU clusters raise interrupts in a CPU cluster. */
static int invert(const struct gpusync_system *system, struct arena *arena, struct gpusync_ranges *attached)
{
    for (unsigned x = 0; x < system->cpu_clusters; x++) {
        struct gpusync_range *ranges = arena_calloc(arena, system->gpu_clusters + 1, sizeof ranges[0]);
        size_t n = 0;

        if (!ranges)
            return -ENOMEM;
        for (unsigned q = 0; q < system->gpu_clusters; q++) {
            if (!owns(&system->owners[q], x))
                continue;
            if (n > 0 && ranges[n - 1].end == q)
                ranges[n - 1].end++;
            else
                ranges[n++] = (struct gpusync_range){.first = q, .end = q + 1};
        }
        attached[x] = (struct gpusync_ranges){.ranges = ranges, .n = n};
    }
    return 0;
}

static int copy_tables(const struct overheads *overheads, struct arena *arena, struct gpusync_system *system)
{
    for (int direction = 0; direction < COPY_DIRECTIONS; direction++) {
        struct gpusync_copy_table *table = &system->copies[direction];

        table->n = overheads->n_copies[direction];
        if (table->n == 0)
            continue;
        table->bytes = arena_calloc(arena, table->n, sizeof table->bytes[0]);
        table->cost = arena_calloc(arena, table->n, sizeof table->cost[0]);
        if (!table->bytes || !table->cost)
            return -ENOMEM;
        for (size_t k = 0; k < table->n; k++) {
            table->bytes[k] = (double)overheads->copies[direction][k].bytes;
            table->cost[k] = to_us(overheads->copies[direction][k].cost);
        }
    }
    return 0;
}

static int attach(const struct platform *platform, struct arena *arena, struct gpusync_system *system)
{
    struct cluster_list *owners = arena_calloc(arena, system->gpu_clusters + 1, sizeof owners[0]);
    struct gpusync_ranges *attached = arena_calloc(arena, system->cpu_clusters + 1, sizeof attached[0]);

    if (!owners || !attached)
        return -ENOMEM;
    for (unsigned q = 0; q < system->gpu_clusters; q++) {
        int r = find_owners(platform, arena, q, &owners[q]);

        if (r < 0)
            return r;
        system->shared = system->shared || owners[q].n > 1;
    }
    system->owners = owners;
    system->attached = attached;
    return invert(system, arena, attached);
}

int gpusync_system_init(const struct platform *platform, struct arena *arena,
                        struct gpusync_system *ret_system)
{
    const struct overheads *overheads = &platform->overheads;
    struct gpusync_system system = {
        .cpu_clusters = platform_cpu_clusters(platform),
        .cluster_cpus = platform->cpu_cluster,
        .gpu_clusters = platform_gpu_clusters(platform),
        .cluster_gpus = platform->gpu_cluster,
        .tokens = platform->tokens_per_gpu,
        .copy_engines = platform->copy_engines,
        .migration = platform->migration,
        .chunk_in = platform->chunk_in,
        .chunk_out = platform->chunk_out,
        .scheduler = to_us(overheads->scheduler),
        .context_switch = to_us(overheads->context_switch),
        .ipi = to_us(overheads->ipi),
        .event_latency = to_us(overheads->event_latency),
        .tick = to_us(overheads->tick),
        .tick_period = to_us(overheads->tick_period),
        .release = to_us(overheads->release),
        .cpmd = to_us(overheads->cpmd),
        .syscall_in = to_us(overheads->syscall_in),
        .syscall_out = to_us(overheads->syscall_out),
        .top_half = to_us(overheads->gpu_top_half),
        .bottom_half = to_us(overheads->gpu_bottom_half),
    };
    int r = attach(platform, arena, &system);

    if (r < 0)
        return r;
    r = copy_tables(overheads, arena, &system);
    if (r < 0)
        return r;
    *ret_system = system;
    return 0;
}

double gpusync_copy_cost(const struct gpusync_system *system, enum copy_direction direction, int64_t bytes)
{
    const struct gpusync_copy_table *table = &system->copies[direction];
    double size = (double)bytes;
    size_t k = 0;

    if (bytes <= 0 || table->n == 0)
        return 0;
    while (k < table->n && table->bytes[k] < size)
        k++;
    if (k == table->n)
        return table->cost[k - 1] * (size / table->bytes[k - 1]);
    if (k == 0)
        return table->cost[0];
    return table->cost[k - 1] + (table->cost[k] - table->cost[k - 1]) * (size - table->bytes[k - 1]) /
                                    (table->bytes[k] - table->bytes[k - 1]);
}
