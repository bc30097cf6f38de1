#include "spread/boundary.h"

static uint64_t pack(uint32_t begin, uint32_t end)
{
    return (uint64_t)begin << 32 | end;
}

void boundary_open(const struct boundary *boundary, uint32_t *ret_begin, uint32_t *ret_end)
{
    uint64_t open = atomic_load(&boundary->open);

    *ret_begin = (uint32_t)(open >> 32);
    *ret_end = (uint32_t)open;
}

void boundary_init(struct boundary *boundary, uint32_t begin, uint32_t nominal, uint32_t end, uint32_t grain)
{
    atomic_init(&boundary->open, pack(begin, end));
    boundary->begin = begin;
    boundary->end = end;
    boundary->nominal = nominal;
    boundary->least = begin;
    boundary->most = end;
    boundary->grain = grain ? grain : 1;
}

/* How many of the groups [begin, end) belong to this side's own part. */
static uint32_t own_part(const struct boundary *boundary, enum boundary_side side, uint32_t begin,
                         uint32_t end)
{
    uint32_t from = side == BOUNDARY_LOW ? begin : boundary->nominal;
    uint32_t to = side == BOUNDARY_LOW ? boundary->nominal : end;

    from = from > begin ? from : begin;
    to = to < end ? to : end;
    return from < to ? to - from : 0;
}

uint32_t boundary_step(const struct boundary *boundary, enum boundary_side side)
{
    uint32_t begin, end, half, least = own_part(boundary, side, boundary->begin, boundary->end) / 32;

    boundary_open(boundary, &begin, &end);
    half = own_part(boundary, side, begin, end) / 2;
    return half > least ? half : least ? least : 1;
}

/* How many of the remaining groups [begin, end) this side takes. */
static uint32_t part(const struct boundary *boundary, enum boundary_side side, uint32_t begin, uint32_t end,
                     uint32_t step)
{
    uint32_t own = own_part(boundary, side, begin, end), reach, stolen, rest = end - begin;

    if (own)
        return own < step ? own : step;
    if (side == BOUNDARY_LOW)
        reach = begin < boundary->most ? boundary->most - begin : 0;
    else
        reach = end > boundary->least ? end - boundary->least : 0;
    /*
     * Less than two grains are left of the neighbour's part: the neighbour would reach them before
     * this side begins.
     */
    stolen = step > boundary->grain ? step : boundary->grain;
    stolen = stolen < rest / 2 ? stolen : rest / 2;
    stolen = stolen < reach ? stolen : reach;
    return stolen / boundary->grain * boundary->grain;
}

bool boundary_take(struct boundary *boundary, enum boundary_side side, uint32_t step, uint32_t *ret_begin,
                   uint32_t *ret_end)
{
    uint64_t open = atomic_load(&boundary->open);
    uint32_t begin, end, n;

    do {
        begin = (uint32_t)(open >> 32);
        end = (uint32_t)open;
        n = begin < end ? part(boundary, side, begin, end, step) : 0;
        if (!n)
            return false;
    } while (!atomic_compare_exchange_weak(
        &boundary->open, &open, side == BOUNDARY_LOW ? pack(begin + n, end) : pack(begin, end - n)));
    *ret_begin = side == BOUNDARY_LOW ? begin : end - n;
    *ret_end = side == BOUNDARY_LOW ? begin + n : end;
    return true;
}
