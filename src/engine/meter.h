/*
 * How long one item of a kernel takes, learnt from earlier runs. Embedded in the front's record of
 * a kernel. All zero: nothing is known. Lock-free; any thread.
 *
 * For other clients a piece that is too long costs more than one that is too short. So the estimate
 * grows at once and shrinks slowly. But one slow run may be a delay of the machine, so the median
 * of the last three runs counts.
 *
 * If measuring costs time, a front measures short kernels only now and then: when meter_is_due().
 */
#ifndef ENGINE_METER_H
#define ENGINE_METER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { METER_SCALE = 1 << 20 };

struct meter {
    /* of the kernel, for traces; borrowed as long as the meter lives; NULL: none */
    const char *name;
    atomic_llong item_ns;   /* nanoseconds per item, x METER_SCALE; 0: unknown */
    atomic_llong before[2]; /* the last two measurements, the newest first */
    atomic_uint n;          /* measurements */
    atomic_uint unmeasured; /* runs since the last measurement */
};

/* Expected nanoseconds of that many items; -1: never measured. */
static inline int64_t meter_predict(const struct meter *meter, size_t items)
{
    long long per_item = atomic_load_explicit(&meter->item_ns, memory_order_relaxed);

    if (!per_item)
        return -1;
    return (int64_t)((double)per_item * (double)items / METER_SCALE);
}

/* One measurement. An empty one teaches nothing. */
void meter_measured(struct meter *meter, size_t items, int64_t ns);

/* Should the next run be measured? If not, counts it as a run without measurement. */
bool meter_is_due(struct meter *meter);
/*
 * A run that was not measured seems longer than expected, or the program waited for it late. After
 * four such runs the next one is measured.
 */
void meter_doubt(struct meter *meter);

#endif
