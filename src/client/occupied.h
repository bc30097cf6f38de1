/*
 * How long at least one of several engines works: the length of the union of spans that come in any
 * order and may overlap. Pure.
 *
 * Memory is bounded. Beyond OCCUPIED_SPANS separate spans, the earliest is added to `folded`. A
 * later report about an instant before its end does not count. Engines report their runs as they
 * end, so only a report that is OCCUPIED_SPANS runs late is lost.
 */
#ifndef CLIENT_OCCUPIED_H
#define CLIENT_OCCUPIED_H

#include <stddef.h>

#include "base/nsec.h"

#define OCCUPIED_SPANS 64

struct occupied {
    struct {
        baton_nsec begin_at, end_at;
    } spans[OCCUPIED_SPANS]; /* separate, in order, none before from_at */
    size_t n;
    baton_nsec from_at; /* earlier time is in `folded`, or does not count */
    baton_nsec folded;
};

/* Starts empty; nothing before this instant counts. */
void occupied_begin(struct occupied *occupied, baton_nsec from_at);

void occupied_add(struct occupied *occupied, baton_nsec begin_at, baton_nsec end_at);

/* The length of the union up to an instant. */
baton_nsec occupied_until(const struct occupied *occupied, baton_nsec until_at);

#endif
