/* The look-up table of a topology: measured throughput of combinations of transfers. */
#include <errno.h>
#include <stdlib.h>

#include "model/document.h"
#include "model/topology_reader.h"

static int read_pair(struct topology_reader *reader, const struct node *node, unsigned *ret_bit)
{
    struct topology *topology = reader->topology;
    struct topology_pair pair;
    struct found_route route;
    int result = node_expect_sequence(reader->document, node, "a transfer, as [FROM, TO]", reader->error);

    if (result)
        return result;
    if (node->n != 2)
        return document_reject(reader->document, node, reader->error, "a transfer, as [FROM, TO]");
    if ((result = topology_read_node(reader, node->first, false, &pair.from)) ||
        (result = topology_read_node(reader, node->first->next, false, &pair.to)))
        return result;
    for (size_t i = 0; i < topology->n_pairs; i++) {
        if (topology->pairs[i].from == pair.from && topology->pairs[i].to == pair.to) {
            *ret_bit = (unsigned)i;
            return 0;
        }
    }
    if (topology_find_route(topology, pair.from, pair.to, &route))
        return document_reject(reader->document, node, reader->error, "a transfer that has one route");
    if (topology->n_pairs == TOPOLOGY_MAX_PAIRS)
        return document_reject(reader->document, node, reader->error,
                               "at most %d different transfers in the table", TOPOLOGY_MAX_PAIRS);
    *ret_bit = (unsigned)topology->n_pairs;
    topology->pairs[topology->n_pairs++] = pair;
    return 0;
}

static int read_rates(struct topology_reader *reader, const struct node *list, const unsigned bits[],
                      size_t n, double **ret_rates)
{
    double by_bit[TOPOLOGY_MAX_PAIRS] = {0};
    double *rates;
    size_t i = 0;
    int result = node_expect_sequence(reader->document, list, "a list of bandwidths", reader->error);

    if (result)
        return result;
    if (list->n != n)
        return document_reject(reader->document, list, reader->error, "%zu bandwidths, one per transfer", n);
    for (const struct node *at = list->first; at; at = at->next, i++) {
        result = topology_read_bandwidth(reader, at, &by_bit[bits[i]]);
        if (result)
            return result;
    }
    rates = arena_calloc(&reader->topology->arena, n, sizeof *rates);
    if (!rates)
        return -ENOMEM;
    n = 0;
    for (i = 0; i < TOPOLOGY_MAX_PAIRS; i++) {
        if (by_bit[i] > 0)
            rates[n++] = by_bit[i];
    }
    *ret_rates = rates;
    return 0;
}

static int read_entry(struct topology_reader *reader, const struct node *node, struct table_entry *ret_entry)
{
    static const char *const keys[] = {"transfers", "gbps", "lowest_gbps", NULL};
    struct table_entry entry = {0};
    const struct node *transfers;
    const struct node *gbps;
    unsigned bits[TOPOLOGY_MAX_PAIRS] = {0};
    double *rates = NULL;
    double *lowest = NULL;
    size_t n = 0;
    int result = node_expect_mapping(reader->document, node, keys, reader->error);

    if (result || (result = topology_require(reader, node, "transfers", &transfers)) ||
        (result = topology_require(reader, node, "gbps", &gbps)) ||
        (result = node_expect_sequence(reader->document, transfers, "a list of transfers", reader->error)))
        return result;
    if (transfers->n == 0 || transfers->n > TOPOLOGY_MAX_PAIRS)
        return document_reject(reader->document, transfers, reader->error, "1 to %d transfers",
                               TOPOLOGY_MAX_PAIRS);
    for (const struct node *at = transfers->first; at; at = at->next, n++) {
        result = read_pair(reader, at, &bits[n]);
        if (result)
            return result;
        if (entry.mask & (UINT64_C(1) << bits[n]))
            return document_reject(reader->document, at, reader->error, "every transfer once");
        entry.mask |= UINT64_C(1) << bits[n];
    }
    result = read_rates(reader, gbps, bits, n, &rates);
    if (!result && node_get(node, "lowest_gbps"))
        result = read_rates(reader, node_get(node, "lowest_gbps"), bits, n, &lowest);
    entry.gbps = rates;
    entry.lowest_gbps = lowest ? lowest : rates;
    *ret_entry = entry;
    return result;
}

static int by_mask(const void *a, const void *b)
{
    uint64_t left = ((const struct table_entry *)a)->mask;
    uint64_t right = ((const struct table_entry *)b)->mask;

    return (left > right) - (left < right);
}

int topology_read_table(struct topology_reader *reader, const struct node *list)
{
    struct topology *topology = reader->topology;
    int result;

    if (!list)
        return 0;
    result = node_expect_sequence(reader->document, list, "a list of measured combinations", reader->error);
    if (result)
        return result;
    if (list->n > TOPOLOGY_MAX_TABLE)
        return document_reject(reader->document, list, reader->error, "at most %d combinations",
                               TOPOLOGY_MAX_TABLE);
    topology->table = arena_calloc(&topology->arena, list->n + 1, sizeof *topology->table);
    topology->pairs = arena_calloc(&topology->arena, TOPOLOGY_MAX_PAIRS, sizeof *topology->pairs);
    if (!topology->table || !topology->pairs)
        return -ENOMEM;
    for (const struct node *at = list->first; at; at = at->next) {
        struct table_entry entry;

        result = read_entry(reader, at, &entry);
        if (result)
            return result;
        for (size_t i = 0; i < topology->n_table; i++) {
            if (topology->table[i].mask == entry.mask)
                return document_reject(reader->document, at, reader->error, "every combination once");
        }
        topology->table[topology->n_table++] = entry;
    }
    qsort(topology->table, topology->n_table, sizeof *topology->table, by_mask);
    return 0;
}
