/*
 * Measures token blocking in time: random jobs on c CPUs whose only work is a critical section
 * under a token, executed on the CPUs by effective priority, one unit a step. A request is
 * pi-blocked (suspension-obliviously) in a step in which it waits although fewer than c pending
 * jobs have a higher base priority.
 */
#ifndef TESTS_SCHED_BLOCKING_H
#define TESTS_SCHED_BLOCKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/core.h"

struct blocking_shape {
    unsigned tasks, cpus, gpus, rho;
    enum sched_lock_id lock;
};

struct blocking_report {
    uint64_t requests;
    unsigned worst; /* steps that one request was pi-blocked */
    unsigned bound; /* critical sections of the bound, times the longest one */
    unsigned max_ahead, ahead_bound;
};

/* Runs so many steps from a seed; the longest critical section is `longest` steps. */
void blocking_measure(const struct blocking_shape *shape, uint64_t seed, unsigned steps, unsigned longest,
                      struct blocking_report *ret_report);

#endif
