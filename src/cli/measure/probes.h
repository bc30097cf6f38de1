/*
 * What user space can measure of a machine's overheads (GPUSync Sec. IV). Each probe fills an array
 * of samples in microseconds. The calling thread is pinned during a probe; its affinity is restored
 * afterwards.
 */
#ifndef CLI_MEASURE_PROBES_H
#define CLI_MEASURE_PROBES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum probe {
    PROBE_SYSCALL, /* one system call that does nothing, there and back */
    /* a yield without another ready thread: the scheduler decides and keeps the thread */
    PROBE_SCHEDULER,
    PROBE_SWITCH, /* a yield between two threads of one CPU, less the median of the above */
    /*
     * from the write to the wake-up of a thread, on another CPU if possible: interrupt, scheduler,
     * switch
     */
    PROBE_WAKE,
    PROBE_TIMER, /* how late a timer wakes */
    PROBE_GAP,   /* each interruption of a running thread */
    PROBES,
};

extern const char *const probe_names[PROBES];

/* Fills up to n samples; *ret_n is their number (gaps may be rare). 0 or -errno. */
int probe_run(enum probe probe, size_t n, double ret_us[], size_t *ret_n);

/*
 * The cost of fetching n bytes of cached data again after other data replaced it in the cache; n
 * samples. 0 or -ENOMEM.
 */
int probe_cache(size_t bytes, size_t n, double ret_us[]);

/* Gives the calling thread a real-time priority until it ends; false without permission. */
bool probe_real_time(void);

/*
 * A thread per CPU that sweeps through memory until probe_load_stop(). NULL: none could be started.
 */
struct probe_load;
struct probe_load *probe_load_start(void);
void probe_load_stop(struct probe_load *load);

#endif
