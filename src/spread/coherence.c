#include "spread/coherence.h"

#include <string.h>

void coherence_init(struct coherence *coherence, size_t size)
{
    memset(coherence, 0, sizeof *coherence);
    coherence->size = size;
    ranges_add(&coherence->valid[PLACE_HOME], (struct range){0, size});
}

bool coherence_valid(const struct coherence *coherence, int place, struct range range)
{
    return ranges_holds(&coherence->valid[place], range);
}

int coherence_next_copy(const struct coherence *coherence, int to, struct range range, struct range *ret_part)
{
    static const int preferred[] = {PLACE_HOST, PLACE_HOME};
    struct range missing = ranges_first_missing(&coherence->valid[to], range);

    while (range_length(missing)) {
        int best = PLACE_NONE;
        struct range part = {missing.end, missing.end}, held;

        for (int i = 0; i < PLACE_MAX; i++) {
            /* The two preferred places come first, in this order; then the devices. */
            int place = i < 2 ? preferred[i] : i;

            if (place == to)
                continue;
            held = ranges_first_held(&coherence->valid[place], missing);
            if (range_length(held) && held.begin < part.begin) {
                best = place;
                part = held;
            }
        }
        if (best != PLACE_NONE) {
            *ret_part = part;
            return best;
        }
        missing = ranges_first_missing(&coherence->valid[to], (struct range){missing.end, range.end});
    }
    return PLACE_NONE;
}

void coherence_copied(struct coherence *coherence, int to, struct range range)
{
    ranges_add(&coherence->valid[to], range);
}

void coherence_written(struct coherence *coherence, int place, struct range range)
{
    for (int other = 0; other < PLACE_MAX; other++)
        if (other != place)
            ranges_remove(&coherence->valid[other], range);
    ranges_add(&coherence->valid[place], range);
}

void coherence_split(struct coherence *coherence, struct range range)
{
    for (int place = 0; place < PLACE_MAX; place++)
        ranges_remove(&coherence->valid[place], range);
    ranges_add(&coherence->partial, range);
}

void coherence_merged(struct coherence *coherence, int place, struct range range)
{
    ranges_remove(&coherence->partial, range);
    coherence_written(coherence, place, range);
}

bool coherence_tight(const struct coherence *coherence)
{
    for (int place = 0; place < PLACE_MAX; place++)
        if (ranges_tight(&coherence->valid[place]))
            return true;
    return ranges_tight(&coherence->partial);
}
