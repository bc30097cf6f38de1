/*
 * What user space can see of a machine's overheads (GPUSync Sec. IV): each probe fills an array of samples in microseconds. The calling thread
 * is pinned while it probes and put back afterwards.
 */
#ifndef CLI_MEASURE_PROBES_H
#define CLI_MEASURE_PROBES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum probe {
    PROBE_SYSCALL,   /* one system call that does nothing, in and out */
    PROBE_SCHEDULER, /* a yield with nobody to yield to: the scheduler decides and stays */
    PROBE_SWITCH,    /* a yield between two threads of one CPU, less the median of the above */
    PROBE_WAKE, /* from the write to the wake-up of a thread, on another CPU where there is one: interrupt, scheduler, switch */
    PROBE_TIMER, /* how late a timer wakes */
    PROBE_GAP,   /* what interrupts take from a running thread, each time they do */
    PROBES,
};

extern const char *const probe_names[PROBES];

/* Fills up to n samples; *ret_n says how many there were (gaps may be rare). 0 or -errno. */
int probe_run(enum probe probe, size_t n, double ret_us[], size_t *ret_n);

/* What n bytes of cached data cost to fetch again after the cache was used by others: so many samples. 0 or -ENOMEM. */
int probe_cache(size_t bytes, size_t n, double ret_us[]);

/* Runs the calling thread at a real-time priority until the end; false without the permission. */
bool probe_real_time(void);

/* A thread per CPU that sweeps through memory, until probe_load_stop(). NULL: none could be started. */
struct probe_load;
struct probe_load *probe_load_start(void);
void probe_load_stop(struct probe_load *load);

#endif
