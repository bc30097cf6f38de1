#include "engine/meter.h"

enum {
    METER_PERIOD = 64, /* at least one of so many runs is measured, and */
    METER_FIRST = 4,   /* each of the first */
    METER_DOUBT = 16,  /* a run that is in doubt counts as so many */
    METER_WRONG = 8,   /* an estimate so many times too long was a mistake, and is corrected at once */
};

static long long median(long long a, long long b, long long c)
{
    long long low = a < b ? a : b, high = a < b ? b : a;

    return c < low ? low : c > high ? high : c;
}

static long long most(long long a, long long b)
{
    return a > b ? a : b;
}

void meter_measured(struct meter *meter, size_t items, int64_t ns)
{
    long long old = atomic_load_explicit(&meter->item_ns, memory_order_relaxed);
    long long newest = atomic_load_explicit(&meter->before[0], memory_order_relaxed);
    long long oldest = atomic_load_explicit(&meter->before[1], memory_order_relaxed);
    long long fresh, typical, longest;

    if (!items)
        return;
    fresh = (long long)((double)ns * METER_SCALE / (double)items);
    fresh = fresh > 0 ? fresh : 1;
    if (!old)
        oldest = newest = fresh;
    typical = median(oldest, newest, fresh);
    longest = most(most(oldest, newest), fresh);
    if (old && typical < old)
        typical = old / METER_WRONG > longest ? longest : (old * 3 + typical) / 4;
    atomic_store_explicit(&meter->item_ns, typical, memory_order_relaxed);
    atomic_store_explicit(&meter->before[1], newest, memory_order_relaxed);
    atomic_store_explicit(&meter->before[0], fresh, memory_order_relaxed);
    atomic_fetch_add_explicit(&meter->n, 1, memory_order_relaxed);
    atomic_store_explicit(&meter->unmeasured, 0, memory_order_relaxed);
}

bool meter_is_due(struct meter *meter)
{
    return atomic_load_explicit(&meter->n, memory_order_relaxed) < METER_FIRST ||
           atomic_fetch_add_explicit(&meter->unmeasured, 1, memory_order_relaxed) >= METER_PERIOD - 1;
}

void meter_doubt(struct meter *meter)
{
    atomic_fetch_add_explicit(&meter->unmeasured, METER_DOUBT, memory_order_relaxed);
}
