/*
 * Idle cores that stay awake. A core that sleeps deeply takes its time to wake up: tens of microseconds on a bare machine, 0.1 ms and now and then several in a
 * virtual one, where it gives its turn away. A request, a yield and a grant wake somebody each, so for as long as a real-time program is connected batond
 * asks Linux to let idle cores poll (/dev/cpu_dma_latency, 0 us): it costs power, not results.
 */
#ifndef DAEMON_AWAKE_H
#define DAEMON_AWAKE_H

#include <stdbool.h>

struct awake {
    bool permitted;
    int fd; /* -1: as the system does */
};

/* wanted false: tries nothing. */
void awake_init(struct awake *awake, bool wanted);

/* Cheap when nothing changes. Ends with the process at the latest. */
void awake_keep(struct awake *awake, bool keep);

#endif
