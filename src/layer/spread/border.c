#include "layer/spread/border.h"

static uint64_t pack(uint32_t begin, uint32_t end)
{
    return (uint64_t)begin << 32 | end;
}

void border_open(const struct border *border, uint32_t *ret_begin, uint32_t *ret_end)
{
    uint64_t open = atomic_load(&border->open);

    *ret_begin = (uint32_t)(open >> 32);
    *ret_end = (uint32_t)open;
}

void border_init(struct border *border, uint32_t begin, uint32_t nominal, uint32_t end, uint32_t grain)
{
    atomic_init(&border->open, pack(begin, end));
    border->begin = begin;
    border->end = end;
    border->nominal = nominal;
    border->least = begin;
    border->most = end;
    border->grain = grain ? grain : 1;
}

uint32_t border_step(const struct border *border, enum border_side side)
{
    uint32_t begin, end, own, least;

    border_open(border, &begin, &end);
    if (side == BORDER_LOW) {
        own = begin < border->nominal ? border->nominal - begin : 0;
        least = (border->nominal - border->begin) / 32;
    } else {
        own = end > border->nominal ? end - border->nominal : 0;
        least = (border->end - border->nominal) / 32;
    }
    own /= 2;
    return own > least ? own : least ? least : 1;
}

/* How many of the groups [begin, end) that are left the side takes. */
static uint32_t part(const struct border *border, enum border_side side, uint32_t begin, uint32_t end,
                     uint32_t step)
{
    uint32_t own, reach, stolen, rest = end - begin;

    if (side == BORDER_LOW) {
        own = begin < border->nominal ? border->nominal - begin : 0;
        reach = begin < border->most ? border->most - begin : 0;
    } else {
        own = end > border->nominal ? end - border->nominal : 0;
        reach = end > border->least ? end - border->least : 0;
    }
    if (own) {
        own = own < rest ? own : rest;
        return own < step ? own : step;
    }
    /* Less than two grains are left to the one who has them: by the time we had begun, so would they. */
    stolen = step > border->grain ? step : border->grain;
    stolen = stolen < rest / 2 ? stolen : rest / 2;
    stolen = stolen < reach ? stolen : reach;
    return stolen / border->grain * border->grain;
}

bool border_take(struct border *border, enum border_side side, uint32_t step, uint32_t *ret_begin,
                 uint32_t *ret_end)
{
    uint64_t open = atomic_load(&border->open);
    uint32_t begin, end, n;

    do {
        begin = (uint32_t)(open >> 32);
        end = (uint32_t)open;
        n = begin < end ? part(border, side, begin, end, step) : 0;
        if (!n)
            return false;
    } while (!atomic_compare_exchange_weak(&border->open, &open,
                                           side == BORDER_LOW ? pack(begin + n, end) : pack(begin, end - n)));
    *ret_begin = side == BORDER_LOW ? begin : end - n;
    *ret_end = side == BORDER_LOW ? begin + n : end;
    return true;
}
