/*
 * Converts a driver's profiling clock to CLOCK_MONOTONIC. A driver's clock counts from any origin
 * (CLOCK_MONOTONIC_RAW, or a GPU's own counter); traces need one clock. When a command is seen to
 * be over, (now - its end) is the distance of the clocks plus the delay until it was seen. So the
 * smallest distance is the best one. Clocks also drift: an old distance may grow by
 * DEVICE_CLOCK_PPM of its age before a longer one replaces it.
 */
#ifndef ENGINE_DEVICE_CLOCK_H
#define ENGINE_DEVICE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"

/* the most that the kernel slews CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW */
#define DEVICE_CLOCK_PPM 500

struct device_clock {
    pthread_mutex_t lock; /* guards the following; a leaf */
    bool known;
    int64_t distance;       /* CLOCK_MONOTONIC - the driver's */
    baton_nsec distance_at; /* when it was seen */
};

void device_clock_init(struct device_clock *clock);

/*
 * Converts the end of a command that was seen to be over at now_at. end is in the driver's clock;
 * the result is in CLOCK_MONOTONIC and not after now_at.
 */
baton_nsec device_clock_end(struct device_clock *clock, uint64_t end, baton_nsec now_at);

#endif
