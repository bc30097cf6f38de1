#include "ptx/cut/ptx_piece.h"

/* The smallest log with 2^log >= d; the multiplier is 2^(31 + log) / d, rounded up. */
static uint32_t division_of(uint32_t d, uint32_t *ret_shift)
{
    uint32_t log = 0;

    while ((UINT64_C(1) << log) < d)
        log++;
    *ret_shift = log;
    return (uint32_t)(((UINT64_C(1) << (31 + log)) + d - 1) / d);
}

int ptx_piece_of_grid(const uint32_t grid[3], struct ptx_piece *ret_piece, uint32_t *ret_blocks)
{
    struct ptx_piece piece = {0};
    uint64_t blocks = 1;

    for (unsigned i = 0; i < 3; i++) {
        blocks *= grid[i]; /* below 2^31 before, so below 2^63 now */
        if (blocks == 0 || blocks >= UINT64_C(1) << 31)
            return PTX_PIECE_TOO_MANY;
        piece.grid[i] = grid[i];
    }
    for (unsigned i = 0; i < 2; i++)
        piece.magic[i] = division_of(grid[i], &piece.shift[i]);
    *ret_piece = piece;
    *ret_blocks = (uint32_t)blocks;
    return 0;
}
