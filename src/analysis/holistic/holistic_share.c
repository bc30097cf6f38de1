/*
 * SHARE: how long sequential activities can keep m units busy.
 *
 * Each item is sequential: at most d of work in d ticks. It has `base` work, and up to `extra` more
 * if it was active when the window began. At most `slots` items were. Suppose all m units are busy
 * with items (and `added` further work) for d ticks. Take any set E of l < m items. E fills at most
 * l units, so the other items do (m - l) d of work. Hence
 *     (m - l) d <= added + sum_{not E} base + (the `slots` largest extras not in E).
 * SHARE is the least right-hand side over l and E. It is 0 when fewer than m items compete.
 *
 * The least over E is computed exactly in O(m^2 n). The sum of the s largest of some numbers is the
 * minimum over t >= 0 of s t + sum max(0, extra - t). It is reached where t is the s-th largest. So
 * min_E = min_t [s t + sum_{not E} (base + max(0, extra - t))] with E the l largest terms. The s-th
 * largest extra outside E has rank s .. s + l among all, so m values of t are enough. SHARE is a
 * minimum of functions that never decrease in base and extra. It therefore never decreases either,
 * and the planner's pruning relies on that.
 */
#include <assert.h>

#include "analysis/holistic/holistic_internal.h"

/* Keeps the `size` largest values seen, largest first. */
static void keep_largest(baton_nsec largest[], size_t size, baton_nsec value)
{
    size_t at = size;

    if (size == 0 || value <= largest[size - 1])
        return;
    while (at > 0 && largest[at - 1] < value) {
        if (at < size)
            largest[at] = largest[at - 1];
        at--;
    }
    largest[at] = value;
}

static baton_nsec share_above(const struct share_items *items, unsigned units, baton_nsec fixed,
                              baton_nsec threshold)
{
    baton_nsec largest[PIPELINE_MAX_GPUS + 1] = {0};
    size_t kept = (size_t)least(least(units - 1, (baton_nsec)items->n), PIPELINE_MAX_GPUS);
    baton_nsec sum = fixed;
    baton_nsec best;

    for (size_t i = 0; i < items->n; i++) {
        baton_nsec value = items->base[i] + most(0, items->extra[i] - threshold);

        sum = least(sum + value, MODE_UNBOUNDED);
        keep_largest(largest, kept, value);
    }
    if (sum >= MODE_UNBOUNDED)
        return MODE_UNBOUNDED;
    best = ceil_div(sum, units);
    for (size_t l = 0; l < kept; l++) {
        sum -= largest[l];
        best = least(best, ceil_div(sum, (baton_nsec)units - (baton_nsec)l - 1));
    }
    return best;
}

baton_nsec share(const struct share_items *items, unsigned units, size_t slots, baton_nsec added)
{
    baton_nsec extras[HOLISTIC_LANES + 1] = {0};
    size_t positive = 0;
    size_t ranks;
    baton_nsec best;

    assert(units > 0);
    if (items->n < units && added == 0)
        return 0;
    for (size_t i = 0; i < items->n; i++)
        positive += items->extra[i] > 0;
    /* Beyond 64 units every extra is granted. The bound is slightly larger and still monotone. */
    if (positive <= slots || slots + units > HOLISTIC_LANES)
        return share_above(items, units, added, 0);
    ranks = slots + units;
    for (size_t i = 0; i < items->n; i++)
        keep_largest(extras, ranks, items->extra[i]);
    best = MODE_UNBOUNDED;
    for (size_t rank = slots; rank <= ranks; rank++) {
        baton_nsec threshold = rank == 0 ? extras[0] : extras[rank - 1];

        best = least(best, share_above(items, units, added + (baton_nsec)slots * threshold, threshold));
        if (threshold == 0)
            break;
    }
    return best;
}
