#include "pieces.h"

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;

    *a = *b;
    *b = kept;
}

int pieces_make(struct pieces *ret_pieces, const uint32_t grid[3], struct random_state *random)
{
    uint32_t at = 0;
    int r = ptx_piece_of_grid(grid, &ret_pieces->whole, &ret_pieces->blocks);

    if (r)
        return r;
    ret_pieces->n = 0;
    while (at < ret_pieces->blocks) {
        uint32_t left = ret_pieces->blocks - at;
        uint32_t n = ret_pieces->n + 1 == PIECES_MOST ? left : 1 + (uint32_t)random_below(random, left);

        if (random_below(random, 3) == 0 && n < left)
            n = 1; /* single blocks, too */
        ret_pieces->begin[ret_pieces->n] = at;
        at += n;
        ret_pieces->end[ret_pieces->n++] = at;
    }
    for (unsigned i = ret_pieces->n; i > 1; i--) {
        unsigned k = (unsigned)random_below(random, i);

        swap(&ret_pieces->begin[i - 1], &ret_pieces->begin[k]);
        swap(&ret_pieces->end[i - 1], &ret_pieces->end[k]);
    }
    return 0;
}
