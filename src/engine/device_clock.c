#include "engine/device_clock.h"

void device_clock_init(struct device_clock *clock)
{
    *clock = (struct device_clock){0};
    pthread_mutex_init(&clock->lock, NULL);
}

baton_nsec device_clock_end(struct device_clock *clock, uint64_t end, baton_nsec now_at)
{
    int64_t seen = (int64_t)((uint64_t)now_at - end), distance;

    pthread_mutex_lock(&clock->lock);
    if (!clock->known ||
        seen <= clock->distance + (now_at - clock->distance_at) * DEVICE_CLOCK_PPM / 1000000) {
        clock->known = true;
        clock->distance = seen;
        clock->distance_at = now_at;
    }
    distance = clock->distance;
    pthread_mutex_unlock(&clock->lock);
    return (baton_nsec)(end + (uint64_t)distance);
}
