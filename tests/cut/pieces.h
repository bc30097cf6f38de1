/* What the tests that run kernels in pieces share: random pieces of a grid. */
#ifndef TESTS_CUT_PIECES_H
#define TESTS_CUT_PIECES_H

#include "base/random.h"
#include "ptx/cut/ptx_cut.h"
#include "ptx/cut/ptx_piece.h"

enum { PIECES_MOST = 64 };

/* Half-open ranges of blocks that make up the grid, in random order. */
struct pieces {
    struct ptx_piece whole;
    uint32_t blocks;
    uint32_t begin[PIECES_MOST], end[PIECES_MOST];
    unsigned n;
};

/* The answer of ptx_piece_of_grid(). */
int pieces_make(struct pieces *ret_pieces, const uint32_t grid[3], struct random_state *random);

/* What a wrapped program has done. */
struct pieces_count {
    size_t launches; /* in pieces */
    size_t pieces;
    size_t whole; /* launches */
};
extern struct pieces_count pieces_count;

#endif
