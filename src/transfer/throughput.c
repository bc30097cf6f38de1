#include "transfer/throughput.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Progressive filling: all rates grow together until a link is full. The flows of that link stop;
 * the others continue.
 */
void throughput_graph(const struct batch *batch, const size_t active[], size_t n, double ret_rates[])
{
    unsigned used[BATCH_MAX_STREAMS * ROUTE_MAX_LINKS];
    double left[TOPOLOGY_MAX_LINKS] = {0};
    unsigned growing[TOPOLOGY_MAX_LINKS]; /* how many growing flows cross the link */
    bool fixed[BATCH_MAX_STREAMS] = {false};
    size_t n_used = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t l = 0; l < batch->flows[active[i]].n_links; l++)
            growing[batch->flows[active[i]].links[l]] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct batch_flow *flow = &batch->flows[active[i]];

        for (size_t l = 0; l < flow->n_links; l++) {
            if (growing[flow->links[l]]++ == 0) {
                used[n_used++] = flow->links[l];
                left[flow->links[l]] = batch->capacity[flow->links[l]];
            }
        }
    }
    for (size_t n_fixed = 0; n_fixed < n;) {
        unsigned full = 0; /* every flow crosses a link, so one is found */
        double level = INFINITY;

        for (size_t u = 0; u < n_used; u++) {
            if (growing[used[u]] && left[used[u]] / growing[used[u]] < level) {
                full = used[u];
                level = left[full] / growing[full];
            }
        }
        for (size_t i = 0; i < n; i++) {
            const struct batch_flow *flow = &batch->flows[active[i]];
            bool crosses = false;

            for (size_t l = 0; l < flow->n_links; l++)
                crosses = crosses || flow->links[l] == full;
            if (fixed[i] || !crosses)
                continue;
            fixed[i] = true;
            n_fixed++;
            ret_rates[i] = level;
            for (size_t l = 0; l < flow->n_links; l++) {
                left[flow->links[l]] -= level;
                growing[flow->links[l]]--;
            }
        }
    }
}

const double *throughput_entry_rates(const struct batch *batch, const struct table_entry *entry)
{
    return batch->worst_case ? entry->lowest_gbps : entry->gbps;
}

static int compare_mask(const void *key, const void *entry)
{
    uint64_t left = *(const uint64_t *)key;
    uint64_t right = ((const struct table_entry *)entry)->mask;

    return (left > right) - (left < right);
}

/* The entry for exactly these flows, or NULL. */
static const struct table_entry *find_entry(const struct batch *batch, const size_t active[], size_t n)
{
    uint64_t mask = 0;

    if (batch->topology->n_table == 0)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        int pair = batch->flows[active[i]].pair;

        if (pair < 0 || (mask & (UINT64_C(1) << pair)))
            return NULL;
        mask |= UINT64_C(1) << pair;
    }
    return bsearch(&mask, batch->topology->table, batch->topology->n_table, sizeof(struct table_entry),
                   compare_mask);
}

void throughput_rates(const struct batch *batch, const size_t active[], size_t n, double ret_rates[])
{
    const struct table_entry *entry = find_entry(batch, active, n);
    const double *rates;

    if (!entry) {
        throughput_graph(batch, active, n, ret_rates);
        return;
    }
    rates = throughput_entry_rates(batch, entry);
    for (size_t i = 0; i < n; i++) {
        uint64_t below = (UINT64_C(1) << batch->flows[active[i]].pair) - 1;

        ret_rates[i] = rates[__builtin_popcountll(entry->mask & below)] / batch->derate;
    }
}
