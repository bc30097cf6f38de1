#include "daemon/moves.h"

#define UNKNOWN_RATE 250u /* picoseconds per byte */
/* below this the set-up time dominates, so the time tells nothing about bytes */
#define LEAST_BYTES (64u * 1024u)
#define MOST_BYTES  (UINT64_C(1) << 40)
#define MOST_RATE   (1000u * 1000u) /* 1 MB/s: slower than any bus */

static uint32_t rate_of(const struct moves *moves, unsigned from, unsigned to)
{
    return moves->rates[from][to] ? moves->rates[from][to] : UNKNOWN_RATE;
}

baton_nsec moves_predict(const struct moves *moves, unsigned from, unsigned to, uint64_t bytes)
{
    if (from == to)
        return 0;
    if (bytes > MOST_BYTES)
        bytes = MOST_BYTES;
    return (baton_nsec)(bytes / 1000 * rate_of(moves, from, to));
}

void moves_learn(struct moves *moves, unsigned from, unsigned to, uint64_t bytes, uint64_t length)
{
    uint32_t old = rate_of(moves, from, to);
    uint64_t seen;

    if (from == to || bytes < LEAST_BYTES || bytes > MOST_BYTES || length > (uint64_t)NSEC_PER_SEC * 3600)
        return;
    seen = length * 1000 / bytes;
    if (seen > MOST_RATE)
        seen = MOST_RATE;
    /* an eighth of the difference: the result is at most twice the old value */
    if (seen > (uint64_t)old * 9)
        seen = (uint64_t)old * 9;
    old = (uint32_t)(((uint64_t)old * 7 + seen + 4) / 8);
    moves->rates[from][to] = old ? old : 1;
}
