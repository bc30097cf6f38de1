/*
 * A piece of a CUDA launch: a half-open range of the grid's blocks, flattened with x fastest.
 *
 * The sibling of a kernel (ptx/cut/ptx_cut.h) takes one parameter after the kernel's own: a struct
 * ptx_piece by value. The sibling is launched as a one-dimensional grid of n blocks, with the
 * program's own block size and shared memory. From its own block number and the descriptor it
 * computes the %ctaid that the program expects; %nctaid comes from the descriptor.
 */
#ifndef PTX_CUT_PTX_PIECE_H
#define PTX_CUT_PTX_PIECE_H

#include <stdint.h>

/*
 * The parameter, byte for byte as the sibling declares it: 32 bytes, aligned to 4.
 *
 * n / grid[i] is (2n * magic[i] >> 32) >> shift[i] for every n below 2^31. This is theorem 4.2 with
 * N = 31 of Granlund and Montgomery, "Division by Invariant Integers using Multiplication".
 */
struct ptx_piece {
    uint32_t first;    /* the piece's first block: x + grid[0] * (y + grid[1] * z) */
    uint32_t grid[3];  /* of the whole launch, in blocks */
    uint32_t magic[2]; /* multipliers for grid[0] and grid[1] */
    uint32_t shift[2];
};

enum ptx_piece_answer {
    PTX_PIECE_TOO_MANY = 1, /* the grid is empty, or has 2^31 blocks or more: launch it whole */
};

/*
 * Fills the descriptor of the whole launch (first = 0) and its number of blocks. 0 or an enum
 * ptx_piece_answer. For blocks [begin, end) set first = begin and launch end - begin blocks.
 */
int ptx_piece_of_grid(const uint32_t grid[3], struct ptx_piece *ret_piece, uint32_t *ret_blocks);

#endif
