/*
 * How long one item of a kernel takes, by earlier runs. Embedded in the front's record of a kernel.
 * All zero: nothing is known. Lock-free; any thread.
 */
#ifndef ENGINE_METER_H
#define ENGINE_METER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { METER_SCALE = 1 << 20 };

struct meter {
    /* of the kernel, for traces; borrowed as long as the meter lives; NULL: none */
    const char *name;
    atomic_llong item_ns; /* nanoseconds per item, x METER_SCALE; 0: unknown */
    atomic_uint n;        /* measurements */
};

/* Expected nanoseconds of that many items; -1: never measured. */
int64_t meter_predict(const struct meter *meter, size_t items);

/* One measurement. An empty one teaches nothing. */
void meter_measured(struct meter *meter, size_t items, int64_t ns);

#endif
