#include "sim/quantiles.h"

/*
 * Values below 32 have a bucket each; above, the five bits after the leading one choose the bucket.
 */
static unsigned bucket_of(baton_nsec value)
{
    unsigned log;

    if (value < 32)
        return (unsigned)value;
    log = 63 - (unsigned)__builtin_clzll((unsigned long long)value);
    return (log - 4) * 32 + (unsigned)(value >> (log - 5) & 31);
}

static baton_nsec bucket_end(unsigned bucket)
{
    unsigned log = bucket / 32 + 4;

    if (bucket < 32)
        return bucket;
    return ((baton_nsec)(32 + bucket % 32 + 1) << (log - 5)) - 1;
}

void quantiles_add(struct quantiles *quantiles, baton_nsec value)
{
    unsigned bucket = bucket_of(value);

    quantiles->n++;
    quantiles->sum += (double)value;
    if (value > quantiles->max)
        quantiles->max = value;
    if (bucket >= QUANTILES_BUCKETS)
        bucket = QUANTILES_BUCKETS - 1;
    quantiles->buckets[bucket]++;
}

double quantiles_mean(const struct quantiles *quantiles)
{
    return quantiles->n ? quantiles->sum / (double)quantiles->n : 0;
}

baton_nsec quantiles_at(const struct quantiles *quantiles, double q)
{
    uint64_t below = 0;

    for (unsigned i = 0; i < QUANTILES_BUCKETS; i++) {
        below += quantiles->buckets[i];
        if (below && (double)below >= q * (double)quantiles->n)
            return bucket_end(i) < quantiles->max ? bucket_end(i) : quantiles->max;
    }
    return quantiles->max;
}
