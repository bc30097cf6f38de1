#include "model/platform.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "model/defaults.h"
#include "model/overheads.h"

static const char *const migration_names[] = {"none", "system", "p2p", "ondemand", NULL};

const char *migration_name(enum migration migration)
{
    return migration_names[migration];
}

unsigned platform_cpu_clusters(const struct platform *platform)
{
    return platform->cpus / platform->cpu_cluster;
}

unsigned platform_gpu_clusters(const struct platform *platform)
{
    return platform->gpus ? platform->gpus / platform->gpu_cluster : 0;
}

/* A cluster size: everything by default. It must divide the whole. */
static int read_cluster(const struct document *document, const struct node *mapping, const char *key,
                        unsigned whole, unsigned *value, struct input_error *ret_error)
{
    int result;

    *value = whole ? whole : 1;
    if (!node_get(mapping, key))
        return 0;
    result = node_get_count(document, mapping, key, 1, whole ? whole : 1, value, ret_error);
    if (!result && whole % *value != 0)
        result =
            document_reject(document, node_get(mapping, key), ret_error, "%s: a divisor of %u", key, whole);
    return result;
}

static bool listed(const struct cluster_list *owners, unsigned cpu_cluster)
{
    for (size_t i = 0; i < owners->n; i++) {
        if (owners->clusters[i] == cpu_cluster)
            return true;
    }
    return false;
}

bool platform_owns(const struct platform *platform, unsigned cpu_cluster, unsigned gpu_cluster)
{
    unsigned nodes = platform->numa_nodes ? platform->numa_nodes : 1;
    unsigned cpus = platform_cpu_clusters(platform) / nodes; /* clusters of a node */
    unsigned gpus = platform_gpu_clusters(platform) / nodes;

    if (platform->attach)
        return listed(&platform->attach[gpu_cluster], cpu_cluster);
    if (cpus == 0 || gpus == 0 || cpus * nodes != platform_cpu_clusters(platform) ||
        gpus * nodes != platform_gpu_clusters(platform))
        return true;
    if (gpu_cluster / gpus != cpu_cluster / cpus)
        return false;
    gpu_cluster %= gpus;
    cpu_cluster %= cpus;
    return cpus <= gpus ? cpu_cluster == gpu_cluster * cpus / gpus
                        : cpu_cluster / (cpus / gpus) == gpu_cluster;
}

static int read_tokens(const struct document *document, const struct node *mapping, struct platform *platform,
                       struct input_error *ret_error)
{
    const struct node *node = node_get(mapping, "tokens_per_gpu");

    if (node && node->kind == NODE_SCALAR && strcmp(node->text, "inf") == 0) {
        platform->tokens_per_gpu = TOKENS_UNLIMITED;
        return 0;
    }
    return node_get_count(document, mapping, "tokens_per_gpu", 1, 1000, &platform->tokens_per_gpu, ret_error);
}

static int read_chunk(const struct document *document, const struct node *mapping, const char *key,
                      int64_t *bytes, struct input_error *ret_error)
{
    const struct node *node = node_get(mapping, key);
    int result;

    if (!node)
        return 0;
    result = node_bytes(document, node, key, bytes, ret_error);
    if (!result && *bytes == 0)
        result = document_reject(document, node, ret_error, "%s above 0", key);
    return result;
}

static int read_attach(const struct document *document, const struct node *list, struct arena *arena,
                       struct platform *platform, struct input_error *ret_error)
{
    unsigned clusters = platform_cpu_clusters(platform);
    size_t q = 0;

    if (list->kind != NODE_SEQUENCE || list->n != platform_gpu_clusters(platform))
        return document_reject(document, list, ret_error,
                               "attach: a list with one entry for each of %u GPU clusters",
                               platform_gpu_clusters(platform));
    platform->attach = arena_calloc(arena, list->n + 1, sizeof *platform->attach);
    if (!platform->attach)
        return -ENOMEM;
    for (const struct node *entry = list->first; entry; entry = entry->next, q++) {
        struct cluster_list *owners = &platform->attach[q];
        int result = node_expect_sequence(document, entry, "a list of CPU clusters", ret_error);

        if (result)
            return result;
        owners->clusters = arena_calloc(arena, entry->n, sizeof *owners->clusters);
        if (!owners->clusters)
            return -ENOMEM;
        for (const struct node *item = entry->first; item; item = item->next) {
            int64_t cluster = 0;

            result = node_int(document, item, "a CPU cluster", 0, (int64_t)clusters - 1, &cluster, ret_error);
            for (size_t i = 0; i < owners->n && !result; i++) {
                if (owners->clusters[i] == cluster)
                    result = document_reject(document, item, ret_error, "each CPU cluster once");
            }
            if (result)
                return result;
            owners->clusters[owners->n++] = (unsigned)cluster;
        }
    }
    return 0;
}

/* Resolves name relative to the document's folder; the caller frees it. NULL: memory is short. */
static char *beside(const struct document *document, const char *name)
{
    char *copy = name[0] == '/' ? strdup(".") : strdup(document->name);
    char *path;

    if (!copy)
        return NULL;
    if (name[0] == '/')
        path = strdup(name);
    else if (asprintf(&path, "%s/%s", dirname(copy), name) < 0)
        path = NULL;
    free(copy);
    return path;
}

/*
 * `overheads:` is a mapping, the name of a file beside this one, or {file: FILE, set: NAME} for a
 * file with several sets.
 */
static int read_overheads(const struct document *document, const struct node *node, struct arena *arena,
                          struct platform *platform, struct input_error *ret_error)
{
    static const char *const keys[] = {"file", "set", NULL};
    const struct node *file = node;
    const char *name = NULL;
    const char *set = NULL;
    char *path;
    int result = 0;

    platform->has_overheads = true;
    if (node->kind == NODE_MAPPING && node_get(node, "file")) {
        result = node_expect_mapping(document, node, keys, ret_error);
        file = node_get(node, "file");
        if (!result && node_get(node, "set"))
            result = node_text(document, node_get(node, "set"), "the name of a set", &set, ret_error);
    } else if (node->kind != NODE_SCALAR) {
        return overheads_read(document, node, arena, &platform->overheads, ret_error);
    }
    if (!result)
        result = node_text(document, file, "an overhead set or the name of a file", &name, ret_error);
    if (result)
        return result;
    path = beside(document, name);
    if (!path)
        return -ENOMEM;
    result = overheads_read_file(path, set, arena, &platform->overheads, ret_error);
    if (result < 0 && result != -ENOMEM)
        result = document_reject(document, file, ret_error, "a readable overhead set (%s: %s)", path,
                                 strerror(-result));
    free(path);
    return result;
}

int platform_read(const struct document *document, const struct node *mapping, struct arena *arena,
                  struct platform *ret_platform, struct input_error *ret_error)
{
    static const char *const keys[] = {
        "cpus",         "cpu_cluster",    "numa_nodes", "gpus",          "gpu_cluster",
        "copy_engines", "tokens_per_gpu", "buses",      "migration",     "chunk_in",
        "chunk_out",    "attach",         "overheads",  "shared_memory", NULL};
    struct platform platform = {.cpus = 1,
                                .numa_nodes = 1,
                                .copy_engines = DEFAULT_COPY_ENGINES,
                                .tokens_per_gpu = DEFAULT_TOKENS_PER_GPU,
                                .buses = DEFAULT_BUSES,
                                .chunk_in = DEFAULT_CHUNK_IN,
                                .chunk_out = DEFAULT_CHUNK_OUT,
                                .overheads.tick_period = NSEC_PER_MS};
    const struct node *node;
    unsigned choice = MIGRATION_NONE;
    int result = node_expect_mapping(document, mapping, keys, ret_error);

    if (!result)
        result = node_get_count(document, mapping, "cpus", 1, PLATFORM_MAX_CPUS, &platform.cpus, ret_error);
    if (!result)
        result =
            read_cluster(document, mapping, "cpu_cluster", platform.cpus, &platform.cpu_cluster, ret_error);
    if (!result)
        result =
            read_cluster(document, mapping, "numa_nodes", platform.cpus, &platform.numa_nodes, ret_error);
    if (!result && !node_get(mapping, "numa_nodes"))
        platform.numa_nodes = 1;
    if (!result)
        result = node_get_count(document, mapping, "gpus", 0, PLATFORM_MAX_GPUS, &platform.gpus, ret_error);
    if (!result)
        result =
            read_cluster(document, mapping, "gpu_cluster", platform.gpus, &platform.gpu_cluster, ret_error);
    if (!result)
        result = node_get_count(document, mapping, "copy_engines", 1, 2, &platform.copy_engines, ret_error);
    if (!result)
        result = read_tokens(document, mapping, &platform, ret_error);
    if (!result)
        result = node_get_count(document, mapping, "buses", 1, 64, &platform.buses, ret_error);
    if (!result && (node = node_get(mapping, "shared_memory")))
        result = node_bool(document, node, &platform.shared_memory, ret_error);
    if (!result && (node = node_get(mapping, "migration")))
        result = node_choice(document, node, "migration", migration_names, &choice, ret_error);
    platform.migration = (enum migration)choice;
    if (!result)
        result = read_chunk(document, mapping, "chunk_in", &platform.chunk_in, ret_error);
    if (!result)
        result = read_chunk(document, mapping, "chunk_out", &platform.chunk_out, ret_error);
    if (!result && (node = node_get(mapping, "attach")))
        result = read_attach(document, node, arena, &platform, ret_error);
    if (!result && (node = node_get(mapping, "overheads")))
        result = read_overheads(document, node, arena, &platform, ret_error);
    if (!result)
        *ret_platform = platform;
    return result;
}

void platform_print(const struct platform *platform, FILE *out)
{
    (void)fprintf(out, "platform:\n  cpus: %u\n  cpu_cluster: %u\n  numa_nodes: %u\n  gpus: %u\n",
                  platform->cpus, platform->cpu_cluster, platform->numa_nodes, platform->gpus);
    if (platform->gpus)
        (void)fprintf(out, "  gpu_cluster: %u\n", platform->gpu_cluster);
    (void)fprintf(out, "  copy_engines: %u\n", platform->copy_engines);
    if (platform->tokens_per_gpu == TOKENS_UNLIMITED)
        (void)fprintf(out, "  tokens_per_gpu: inf\n");
    else
        (void)fprintf(out, "  tokens_per_gpu: %u\n", platform->tokens_per_gpu);
    if (platform->shared_memory)
        (void)fputs("  shared_memory: true\n", out);
    (void)fprintf(out, "  buses: %u\n  migration: %s\n  chunk_in: %lld\n  chunk_out: %lld\n", platform->buses,
                  migration_names[platform->migration], (long long)platform->chunk_in,
                  (long long)platform->chunk_out);
    if (platform->attach) {
        (void)fprintf(out, "  attach: [");
        for (unsigned q = 0; q < platform_gpu_clusters(platform); q++) {
            (void)fprintf(out, "%s[", q ? ", " : "");
            for (size_t i = 0; i < platform->attach[q].n; i++)
                (void)fprintf(out, "%s%u", i ? ", " : "", platform->attach[q].clusters[i]);
            (void)fprintf(out, "]");
        }
        (void)fprintf(out, "]\n");
    }
    if (platform->has_overheads) {
        (void)fprintf(out, "  overheads:\n");
        overheads_print(&platform->overheads, "    ", out);
    }
}
