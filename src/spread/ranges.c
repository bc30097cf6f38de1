#include "spread/ranges.h"

#include <string.h>

static void take_out(struct ranges *ranges, unsigned first, unsigned n)
{
    memmove(&ranges->list[first], &ranges->list[first + n], (ranges->n - first - n) * sizeof ranges->list[0]);
    ranges->n -= n;
}

/* Inserts a range at its place; without room the smallest is dropped, which may be the new one. */
static void put_in(struct ranges *ranges, unsigned at, struct range range)
{
    if (ranges->n == RANGES_MAX) {
        unsigned smallest = 0;

        for (unsigned i = 1; i < ranges->n; i++)
            if (range_length(ranges->list[i]) < range_length(ranges->list[smallest]))
                smallest = i;
        if (range_length(range) <= range_length(ranges->list[smallest]))
            return;
        take_out(ranges, smallest, 1);
        at -= smallest < at;
    }
    memmove(&ranges->list[at + 1], &ranges->list[at], (ranges->n - at) * sizeof ranges->list[0]);
    ranges->list[at] = range;
    ranges->n++;
}

void ranges_add(struct ranges *ranges, struct range range)
{
    unsigned first = 0, last;

    if (range.begin >= range.end)
        return;
    while (first < ranges->n && ranges->list[first].end < range.begin)
        first++;
    for (last = first; last < ranges->n && ranges->list[last].begin <= range.end; last++) {
        if (ranges->list[last].begin < range.begin)
            range.begin = ranges->list[last].begin;
        if (ranges->list[last].end > range.end)
            range.end = ranges->list[last].end;
    }
    take_out(ranges, first, last - first);
    put_in(ranges, first, range);
}

void ranges_remove(struct ranges *ranges, struct range range)
{
    if (range.begin >= range.end)
        return;
    for (unsigned i = 0; i < ranges->n;) {
        struct range old = ranges->list[i];

        if (!range_meets(old, range)) {
            i++;
            continue;
        }
        if (old.begin < range.begin && old.end > range.end) { /* a hole: two remain */
            ranges->list[i].end = range.begin;
            put_in(ranges, i + 1, (struct range){range.end, old.end});
            return;
        }
        if (old.begin < range.begin) {
            ranges->list[i++].end = range.begin;
        } else if (old.end > range.end) {
            ranges->list[i++].begin = range.end;
        } else {
            take_out(ranges, i, 1);
        }
    }
}

struct range ranges_first_missing(const struct ranges *ranges, struct range within)
{
    struct range missing = within;

    for (unsigned i = 0; i < ranges->n && missing.begin < within.end; i++) {
        if (ranges->list[i].end <= missing.begin)
            continue;
        if (ranges->list[i].begin > missing.begin) {
            missing.end = ranges->list[i].begin < within.end ? ranges->list[i].begin : within.end;
            return missing;
        }
        missing.begin = ranges->list[i].end;
    }
    if (missing.begin >= within.end)
        return (struct range){within.end, within.end};
    return missing;
}

struct range ranges_first_held(const struct ranges *ranges, struct range within)
{
    for (unsigned i = 0; i < ranges->n; i++) {
        struct range held = ranges->list[i];

        if (!range_meets(held, within))
            continue;
        if (held.begin < within.begin)
            held.begin = within.begin;
        if (held.end > within.end)
            held.end = within.end;
        return held;
    }
    return (struct range){within.end, within.end};
}

bool ranges_holds(const struct ranges *ranges, struct range range)
{
    return range_length(ranges_first_missing(ranges, range)) == 0;
}

bool ranges_tight(const struct ranges *ranges)
{
    return ranges->n > RANGES_MAX / 2;
}
