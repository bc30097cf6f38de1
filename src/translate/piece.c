#include "translate/piece.h"

/*
 * Granlund and Montgomery, fig. 4.1: n / d = (t + ((n - t) >> first)) >> second with t = mul_hi(n,
 * magic).
 */
static uint32_t division_of(uint32_t d, uint32_t *ret_magic)
{
    uint32_t log = 0;

    while ((UINT64_C(1) << log) < d)
        log++;
    *ret_magic = (uint32_t)((UINT64_C(1) << 32) * ((UINT64_C(1) << log) - d) / d + 1);
    return log ? 1 | (log - 1) << 8 : 0;
}

int piece_of_launch(const struct piece_launch *launch, struct piece *ret_piece, uint32_t *ret_n_groups)
{
    struct piece piece = {.groups = {1, 1, 1}, .work_dim = launch->work_dim};
    uint64_t n = 1;

    if (launch->work_dim < 1 || launch->work_dim > 3)
        return PIECE_TOO_MANY;
    for (uint32_t d = 0; d < launch->work_dim; d++) {
        uint64_t groups;

        if (!launch->local[d] || !launch->global[d] || launch->global[d] % launch->local[d])
            return PIECE_NOT_UNIFORM;
        groups = launch->global[d] / launch->local[d];
        if (groups > UINT32_MAX || n * groups > UINT32_MAX)
            return PIECE_TOO_MANY;
        n *= groups;
        piece.groups[d] = (uint32_t)groups;
        piece.offset[d] = launch->offset[d];
    }
    piece.shift = division_of(piece.groups[0], &piece.magic[0]);
    piece.shift |= division_of(piece.groups[1], &piece.magic[1]) << 16;
    *ret_piece = piece;
    *ret_n_groups = (uint32_t)n;
    return 0;
}

int piece_range(struct piece *piece, const struct piece_launch *launch, uint32_t begin, uint32_t end,
                uint32_t address_bits, size_t ret_global[3])
{
    size_t width;

    if (__builtin_mul_overflow((size_t)(end - begin), launch->local[0], &width) ||
        (address_bits < 64 && width >> address_bits))
        return PIECE_TOO_MANY;
    piece->first = begin;
    ret_global[0] = width;
    ret_global[1] = launch->work_dim > 1 ? launch->local[1] : 1;
    ret_global[2] = launch->work_dim > 2 ? launch->local[2] : 1;
    return 0;
}
