#include "analysis/gpusync/input/gpusync_system.h"

#include <errno.h>

static double to_us(baton_nsec time)
{
    return (double)time / (double)NSEC_PER_US;
}

/* Fills owners[q] with clusters [first, first + n). */
static int own(struct arena *arena, struct cluster_list *ret_list, unsigned first, unsigned n)
{
    unsigned *clusters = arena_calloc(arena, n, sizeof clusters[0]);

    if (!clusters)
        return -ENOMEM;
    for (unsigned k = 0; k < n; k++)
        clusters[k] = first + k;
    *ret_list = (struct cluster_list){.clusters = clusters, .n = n};
    return 0;
}

/*
 * Who owns which GPUs when the file does not say (Fig. 4): what spans the nodes belongs to everybody or owns everything; inside
 * a node a CPU clusters and b GPU clusters are matched in order, and CPU clusters left over own none.
 */
static int attach_by_rule(const struct platform *platform, struct arena *arena, unsigned cpu_clusters,
                          unsigned gpu_clusters, struct cluster_list *owners)
{
    unsigned nodes = platform->numa_nodes > 0 ? platform->numa_nodes : 1;
    unsigned a = cpu_clusters / nodes;
    unsigned b = gpu_clusters / nodes;

    for (unsigned q = 0; q < gpu_clusters; q++) {
        unsigned node;
        unsigned within;
        int r;

        if (b == 0 || a == 0 || a * nodes != cpu_clusters || b * nodes != gpu_clusters) {
            r = own(arena, &owners[q], 0, cpu_clusters);
        } else {
            node = q / b;
            within = q % b;
            if (a <= b)
                r = own(arena, &owners[q], node * a + within * a / b, 1);
            else
                r = own(arena, &owners[q], node * a + within * (a / b), a / b);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int attach_as_given(const struct platform *platform, struct arena *arena, unsigned gpu_clusters,
                           struct cluster_list *owners)
{
    for (unsigned q = 0; q < gpu_clusters; q++) {
        const struct cluster_list *given = &platform->attach[q];

        owners[q] = (struct cluster_list){
            .clusters = arena_calloc(arena, given->n, sizeof given->clusters[0]), .n = given->n};
        if (!owners[q].clusters && given->n > 0)
            return -ENOMEM;
        for (size_t k = 0; k < given->n; k++)
            owners[q].clusters[k] = given->clusters[k];
    }
    return 0;
}

static bool owns(const struct cluster_list *owners, unsigned cluster)
{
    for (size_t k = 0; k < owners->n; k++)
        if (owners->clusters[k] == cluster)
            return true;
    return false;
}

/* The other way round: which GPU clusters raise interrupts in a CPU cluster. */
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
    int r;

    if (!owners || !attached)
        return -ENOMEM;
    if (platform->attach)
        r = attach_as_given(platform, arena, system->gpu_clusters, owners);
    else
        r = attach_by_rule(platform, arena, system->cpu_clusters, system->gpu_clusters, owners);
    if (r < 0)
        return r;
    system->owners = owners;
    for (unsigned q = 0; q < system->gpu_clusters; q++)
        system->shared = system->shared || owners[q].n > 1;
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
