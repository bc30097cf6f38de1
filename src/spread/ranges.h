/*
 * A set of bytes of one buffer as half-open ranges, sorted and apart. Pure, of fixed size, cannot
 * fail: a set that would need more than RANGES_MAX ranges forgets its smallest. So a set may say
 * less than is true, never more. What must not be forgotten is watched by the caller through
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

/* Is every byte of it in the set? An empty range is. */
bool ranges_holds(const struct ranges *ranges, struct range range);

/*
 * The first part of `within` that is not (is) in the set, empty at within.end when there is none.
 */
struct range ranges_first_missing(const struct ranges *ranges, struct range within);
struct range ranges_first_held(const struct ranges *ranges, struct range within);

/* More than half of the room is used: time to make the set simple again. */
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
