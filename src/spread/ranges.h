/*
 * A set of bytes of one buffer as half-open ranges, sorted and disjoint. Pure, of fixed size,
 * cannot fail: a set that would need more than RANGES_MAX ranges drops its smallest. So a set may
 * contain less than is true, never more. A caller that must not lose a range watches
 * ranges_tight().
 */
#ifndef SPREAD_RANGES_H
#define SPREAD_RANGES_H

#include <stdbool.h>
#include <stddef.h>

enum { RANGES_MAX = 32 };

struct range {
    size_t begin, end;
};

struct ranges {
    unsigned n;
    struct range list[RANGES_MAX];
};

void ranges_add(struct ranges *ranges, struct range range);
void ranges_remove(struct ranges *ranges, struct range range);

/* Is every byte of the range in the set? True for an empty range. */
bool ranges_holds(const struct ranges *ranges, struct range range);

/*
 * The first part of `within` that is not (is) in the set; empty at within.end if there is none.
 */
struct range ranges_first_missing(const struct ranges *ranges, struct range within);
struct range ranges_first_held(const struct ranges *ranges, struct range within);

/* More than half of the room is used: the caller should simplify the set. */
bool ranges_tight(const struct ranges *ranges);

size_t ranges_bytes(const struct ranges *ranges);

static inline size_t range_length(struct range range)
{
    return range.end > range.begin ? range.end - range.begin : 0;
}

static inline bool range_meets(struct range a, struct range b)
{
    return a.begin < b.end && b.begin < a.end;
}

#endif
