/*
 * For how long at least one of several engines works, from spans that come in any order and may overlap: the length of their union. Pure.
 *
 * Memory is bounded. Once OCCUPIED_SPANS separate spans are known the earliest becomes a number, and what comes later for an instant before its end
 * counts no more: engines report their runs as they end, so that a report would have to be so many runs late.
 */
#ifndef CLIENT_OCCUPIED_H
#define CLIENT_OCCUPIED_H

#include <stddef.h>

#include "base/nsec.h"

#define OCCUPIED_SPANS 64

struct occupied {
    struct {
        baton_nsec begin_at, end_at;
    } spans[OCCUPIED_SPANS]; /* apart, in order, none before from_at */
    size_t n;
    baton_nsec from_at; /* what is before it is in `folded`, or does not count */
    baton_nsec folded;
};

/* Nothing yet, and nothing before this instant will count. */
void occupied_begin(struct occupied *occupied, baton_nsec from_at);

void occupied_add(struct occupied *occupied, baton_nsec begin_at, baton_nsec end_at);

/* The union's length up to an instant. */
baton_nsec occupied_until(const struct occupied *occupied, baton_nsec until_at);

#endif
