/*
 * Keeps idle cores awake. A core in deep sleep takes tens of microseconds to wake up. In a virtual
 * machine it takes about 0.1 ms and sometimes several milliseconds, because the hypervisor runs
 * other guests meanwhile. Each request, yield and grant wakes a thread. So while a real-time
 * program is connected, batond asks Linux to let idle cores poll (/dev/cpu_dma_latency, 0 us). This
 * costs power and does not change results.
 */
#ifndef DAEMON_AWAKE_H
#define DAEMON_AWAKE_H

#include <stdbool.h>

struct awake {
    bool permitted;
    int fd; /* -1: the system's default holds */
};

/* wanted false: tries nothing. */
void awake_init(struct awake *awake, bool wanted);

/* Cheap when nothing changes. The effect ends with the process at the latest. */
void awake_keep(struct awake *awake, bool keep);

#endif
