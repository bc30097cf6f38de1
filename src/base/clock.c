#include "base/clock.h"

#include <time.h>

baton_nsec clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (baton_nsec)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}
