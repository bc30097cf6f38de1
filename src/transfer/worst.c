#include "transfer/worst.h"

#include "transfer/throughput.h"

static bool crosses(const struct batch_flow *flow, unsigned link)
{
    for (size_t l = 0; l < flow->n_links; l++) {
        if (flow->links[l] == link)
            return true;
    }
    return false;
}

/* How many owners, besides that of self, have a flow across the link. */
static unsigned others_on(const struct batch *batch, size_t self, const size_t owner[], unsigned link)
{
    unsigned others = 0;

    for (size_t i = 0; i < batch->n; i++) {
        bool counted = owner[i] == owner[self] || !crosses(&batch->flows[i], link);

        for (size_t before = 0; before < i && !counted; before++)
            counted = owner[before] == owner[i] && crosses(&batch->flows[before], link);
        others += !counted;
    }
    return others;
}

double worst_rate(const struct batch *batch, size_t self, const size_t owner[])
{
    const struct batch_flow *flow = &batch->flows[self];
    const struct topology *topology = batch->topology;
    double lowest = flow->alone;
    uint64_t known = 0;

    for (size_t l = 0; l < flow->n_links; l++) {
        double rate = batch->capacity[flow->links[l]] / (1 + others_on(batch, self, owner, flow->links[l]));

        lowest = rate < lowest ? rate : lowest;
    }
    for (size_t i = 0; i < batch->n; i++) {
        if (batch->flows[i].pair >= 0)
            known |= UINT64_C(1) << batch->flows[i].pair;
    }
    for (size_t t = 0; t < topology->n_table && flow->pair >= 0; t++) {
        const struct table_entry *entry = &topology->table[t];
        uint64_t own = UINT64_C(1) << flow->pair;
        double rate;

        if (!(entry->mask & own) || (entry->mask & ~known))
            continue;
        rate = throughput_entry_rates(batch, entry)[__builtin_popcountll(entry->mask & (own - 1))] /
               batch->derate;
        lowest = rate < lowest ? rate : lowest;
    }
    return lowest;
}
