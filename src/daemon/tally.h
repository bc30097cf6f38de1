/*
 * Metrics of clients that have left: how long each engine was busy, and the distributions of
 * response and pending times per program name. A connected client's counters are in its page; the
 * sum of both never decreases. Fixed memory: programs beyond TALLY_PROGRAMS names are counted
 * together, under TALLY_OTHERS.
 */
#ifndef DAEMON_TALLY_H
#define DAEMON_TALLY_H

#include "daemon/history.h"
#include "sched/core.h"
#include "wire/page.h"

#define TALLY_PROGRAMS 64
#define TALLY_OTHERS   "(others)"

struct tally_times {
    uint64_t classes[PAGE_CLASSES];
    uint64_t sum_ns;
};

struct tally_program {
    char name[65];
    struct tally_times responses, pendings;
};

struct tally {
    struct tally_program programs[TALLY_PROGRAMS + 1]; /* in the order of their departure */
    unsigned n;
    uint64_t busy_ns[SCHED_MAX_ENGINES];
};

/* Adds the counters in the page of a client of that name. */
void tally_keep(struct tally *tally, const char *name, const struct page *page,
                const struct history_engines *engines);

#endif
