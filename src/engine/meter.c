#include "engine/meter.h"

int64_t meter_predict(const struct meter *meter, size_t items)
{
    long long per_item = atomic_load_explicit(&meter->item_ns, memory_order_relaxed);

    if (!per_item)
        return -1;
    return (int64_t)((double)per_item * (double)items / METER_SCALE);
}

void meter_measured(struct meter *meter, size_t items, int64_t ns)
{
    long long old = atomic_load_explicit(&meter->item_ns, memory_order_relaxed);
    long long fresh = items ? (long long)((double)ns * METER_SCALE / (double)items) : 0;

    if (!items)
        return;
    fresh = fresh > 0 ? fresh : 1;
    /*
     * Grows at once and shrinks slowly: for other clients, a piece that is too long costs more than
     * one that is too short.
     */
    atomic_store_explicit(&meter->item_ns, !old || fresh > old ? fresh : (old * 3 + fresh) / 4,
                          memory_order_relaxed);
    atomic_fetch_add_explicit(&meter->n, 1, memory_order_relaxed);
}
