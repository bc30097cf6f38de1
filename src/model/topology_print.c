#include "model/topology.h"

#include "model/print.h"

/* A name as a double-quoted YAML scalar, or bare if it needs no quotes. */
static void print_name(const char *name, FILE *out)
{
    bool bare = (*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z');

    for (const char *at = name; *at; at++)
        bare = bare && ((*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= 'a' && *at <= 'z') || *at == '_' || *at == '-');
    if (bare) {
        (void)fputs(name, out);
        return;
    }
    (void)fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
        if (*at == '"' || *at == '\\')
            (void)fprintf(out, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            (void)fprintf(out, "\\x%02x", *at);
        else
            (void)fputc(*at, out);
    }
    (void)fputc('"', out);
}

static void print_gpus(const struct topology *topology, FILE *out)
{
    const char *before = "gpus:\n";

    for (size_t i = 0; i < topology->n_nodes; i++) {
        const struct topology_node *node = &topology->nodes[i];

        if (node->role != ROLE_GPU)
            continue;
        (void)fprintf(out, "%s  - {node: ", before);
        print_name(node->name, out);
        (void)fprintf(out, ", engines: %u, device: %d}\n", node->engines, node->device);
        before = "";
    }
}

static void print_names(const struct topology *topology, const unsigned nodes[], size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        (void)fputs(i ? ", " : "[", out);
        print_name(topology->nodes[nodes[i]].name, out);
    }
    (void)fputc(']', out);
}

static void print_memories(const struct topology *topology, FILE *out)
{
    unsigned memories[TOPOLOGY_MAX_NODES];
    size_t n = 0;

    for (size_t i = 0; i < topology->n_nodes; i++) {
        if (topology->nodes[i].role == ROLE_MEMORY)
            memories[n++] = (unsigned)i;
    }
    if (n == 0)
        return;
    (void)fputs("memories: ", out);
    print_names(topology, memories, n, out);
    (void)fputc('\n', out);
}

static void print_rates(const char *key, const double rates[], size_t n, FILE *out)
{
    (void)fprintf(out, ", %s: ", key);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%s%.9g", i ? ", " : "[", rates[i]);
    (void)fputc(']', out);
}

static void print_table(const struct topology *topology, FILE *out)
{
    (void)fputs("measured: # exactly these transfers at once\n", out);
    for (size_t i = 0; i < topology->n_table; i++) {
        const struct table_entry *entry = &topology->table[i];
        size_t n = 0;

        (void)fputs("  - {transfers: ", out);
        for (size_t bit = 0; bit < topology->n_pairs; bit++) {
            const struct topology_pair *pair = &topology->pairs[bit];

            if (!(entry->mask & (UINT64_C(1) << bit)))
                continue;
            (void)fputs(n++ ? ", " : "[", out);
            print_names(topology, (const unsigned[]){pair->from, pair->to}, 2, out);
        }
        (void)fputc(']', out);
        print_rates("gbps", entry->gbps, n, out);
        print_rates("lowest_gbps", entry->lowest_gbps, n, out);
        (void)fputs("}\n", out);
    }
}

void topology_print(const struct topology *topology, FILE *out)
{
    if (topology->origin) {
        (void)fputs("origin: ", out);
        print_quoted(topology->origin, out);
        (void)fputc('\n', out);
    }
    (void)fprintf(out, "setup_ms: %.6f\n", nsec_to_ms(topology->setup));
    if (topology->cores)
        (void)fprintf(out, "cores: %u\n", topology->cores);
    if (topology->n_sizes)
        (void)fputs("sizes: # speed of one command\n", out);
    for (size_t i = 0; i < topology->n_sizes; i++)
        (void)fprintf(out, "  - {bytes: %.0f, ratio: %.9g}\n", topology->sizes[i].bytes,
                      topology->sizes[i].ratio);
    print_gpus(topology, out);
    print_memories(topology, out);
    (void)fputs("links: # bandwidths in GB/s\n", out);
    for (size_t i = 0; i < topology->n_links; i++) {
        const struct topology_link *link = &topology->links[i];

        (void)fputs("  - {from: ", out);
        print_name(topology->nodes[link->from].name, out);
        (void)fputs(", to: ", out);
        print_name(topology->nodes[link->to].name, out);
        (void)fprintf(out, ", gbps: %.9g, lowest_gbps: %.9g}\n", link->gbps, link->lowest_gbps);
    }
    if (topology->n_routes)
        (void)fputs("routes:\n", out);
    for (size_t i = 0; i < topology->n_routes; i++) {
        (void)fputs("  - ", out);
        print_names(topology, topology->routes[i].nodes, topology->routes[i].n_nodes, out);
        (void)fputc('\n', out);
    }
    if (topology->n_table)
        print_table(topology, out);
}
