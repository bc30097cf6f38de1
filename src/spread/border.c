#include "spread/border.h"

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

/* How many of the groups [begin, end) belong to this side's own part. */
static uint32_t own_part(const struct border *border, enum border_side side, uint32_t begin, uint32_t end)
{
    uint32_t from = side == BORDER_LOW ? begin : border->nominal;
    uint32_t to = side == BORDER_LOW ? border->nominal : end;

    from = from > begin ? from : begin;
    to = to < end ? to : end;
    return from < to ? to - from : 0;
}

uint32_t border_step(const struct border *border, enum border_side side)
{
    uint32_t begin, end, half, least = own_part(border, side, border->begin, border->end) / 32;

    border_open(border, &begin, &end);
    half = own_part(border, side, begin, end) / 2;
    return half > least ? half : least ? least : 1;
}

/* How many of the remaining groups [begin, end) this side takes. */
static uint32_t part(const struct border *border, enum border_side side, uint32_t begin, uint32_t end,
                     uint32_t step)
{
    uint32_t own = own_part(border, side, begin, end), reach, stolen, rest = end - begin;

    if (own)
        return own < step ? own : step;
    if (side == BORDER_LOW)
        reach = begin < border->most ? border->most - begin : 0;
    else
        reach = end > border->least ? end - border->least : 0;
    /*
     * Less than two grains are left of the neighbour's part: the neighbour would reach them before
     * this side begins.
     */
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
