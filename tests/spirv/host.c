/*
 * Runs the kernels of pieces.cl, translated from SPIR-V to this machine's code. The original runs
 * over whole launches, the rewritten one over random pieces of the same launches. Both must leave
 * the same bytes. One work-item runs after the other, which is enough for kernels without barriers.
 *
 * Built by tests/spirv/pieces, which renames the original kernels to whole_NAME.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "translate/piece.h"

enum { MOST_ITEMS = 4096, N_IN = 97, LAUNCHES = 400 };

typedef void whole_kernel(uint64_t *out, const uint32_t *in, uint32_t n);
typedef void piece_kernel(uint64_t *out, const uint32_t *in, uint32_t n, struct piece piece);

#define KERNELS(X) X(ids) X(sizes) X(called) X(chosen) X(rows) X(counted)
#define DECLARE(name)                                                                                        \
    whole_kernel whole_##name;                                                                               \
    piece_kernel name;
KERNELS(DECLARE)

/* Where the running work-item is, as the driver would say. */
static struct {
    uint32_t dim;
    size_t global[3], local[3], offset[3], group[3], item[3];
} at;

#define BUILTIN(type, name, symbol) type name(uint32_t d) __asm__(symbol);
BUILTIN(size_t, global_id, "_Z13get_global_idj")
BUILTIN(size_t, group_id, "_Z12get_group_idj")
BUILTIN(size_t, local_id, "_Z12get_local_idj")
BUILTIN(size_t, local_size, "_Z14get_local_sizej")
BUILTIN(size_t, global_size, "_Z15get_global_sizej")
BUILTIN(size_t, num_groups, "_Z14get_num_groupsj")
BUILTIN(size_t, global_offset, "_Z17get_global_offsetj")
size_t global_linear_id(void) __asm__("_Z20get_global_linear_idv");
uint32_t work_dim(void) __asm__("_Z12get_work_dimv");

size_t group_id(uint32_t d)
{
    return d < 3 ? at.group[d] : 0;
}

size_t local_id(uint32_t d)
{
    return d < 3 ? at.item[d] : 0;
}

size_t local_size(uint32_t d)
{
    return d < 3 ? at.local[d] : 1;
}

size_t global_size(uint32_t d)
{
    return d < 3 ? at.global[d] : 1;
}

size_t num_groups(uint32_t d)
{
    return d < 3 ? at.global[d] / at.local[d] : 1;
}

size_t global_offset(uint32_t d)
{
    return d < 3 ? at.offset[d] : 0;
}

size_t global_id(uint32_t d)
{
    return d < 3 ? at.group[d] * at.local[d] + at.item[d] + at.offset[d] : 0;
}

size_t global_linear_id(void)
{
    return ((global_id(2) - at.offset[2]) * at.global[1] + global_id(1) - at.offset[1]) * at.global[0] +
           global_id(0) - at.offset[0];
}

uint32_t work_dim(void)
{
    return at.dim;
}

static uint64_t state = 88172645463325252;

static uint32_t draw(uint32_t n) /* xorshift, 0 .. n - 1 */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

static uint32_t input[N_IN];

static void run_items(whole_kernel *whole, piece_kernel *pieces, uint64_t *out, const struct piece *piece)
{
    for (at.item[2] = 0; at.item[2] < at.local[2]; at.item[2]++)
        for (at.item[1] = 0; at.item[1] < at.local[1]; at.item[1]++)
            for (at.item[0] = 0; at.item[0] < at.local[0]; at.item[0]++)
                if (whole)
                    whole(out, input, N_IN);
                else
                    pieces(out, input, N_IN, *piece);
}

static void run_grid(whole_kernel *whole, piece_kernel *pieces, uint64_t *out, const struct piece *piece)
{
    for (at.group[2] = 0; at.group[2] < num_groups(2); at.group[2]++)
        for (at.group[1] = 0; at.group[1] < num_groups(1); at.group[1]++)
            for (at.group[0] = 0; at.group[0] < num_groups(0); at.group[0]++)
                run_items(whole, pieces, out, piece);
}

static void random_launch(struct piece_launch *launch)
{
    *launch = (struct piece_launch){.work_dim = 1 + draw(3), .global = {1, 1, 1}, .local = {1, 1, 1}};
    for (uint32_t d = 0; d < launch->work_dim; d++) {
        launch->local[d] = 1 + draw(4);
        launch->global[d] = launch->local[d] * (1 + draw(launch->work_dim == 1 ? 200 : 4));
        launch->offset[d] = draw(2) ? draw(100000) : 0;
    }
}

static void begin(const struct piece_launch *launch, const size_t global[3], bool offset)
{
    at.dim = launch->work_dim;
    memcpy(at.global, global, sizeof at.global);
    memcpy(at.local, launch->local, sizeof at.local);
    memset(at.offset, 0, sizeof at.offset);
    if (offset)
        memcpy(at.offset, launch->offset, sizeof at.offset);
}

static bool same(const char *name, whole_kernel *whole, piece_kernel *pieces)
{
    static uint64_t expected[MOST_ITEMS];
    static uint64_t found[MOST_ITEMS];
    struct piece_launch launch;
    struct piece piece;
    uint32_t n_groups;

    random_launch(&launch);
    memset(expected, 0xee, sizeof expected);
    memset(found, 0xee, sizeof found);
    begin(&launch, launch.global, true);
    run_grid(whole, NULL, expected, NULL);
    if (piece_of_launch(&launch, &piece, &n_groups))
        return false;
    for (uint32_t first = 0, last; first < n_groups; first = last) {
        size_t global[3];

        last = first + 1 + draw(n_groups - first);
        if (piece_range(&piece, &launch, first, last, 64, global))
            return false;
        begin(&launch, global, false);
        run_grid(NULL, pieces, found, &piece);
    }
    if (!memcmp(expected, found, sizeof found))
        return true;
    printf("%s: %u dimensions, groups of %zu x %zu x %zu: other bytes in pieces\n", name, launch.work_dim,
           launch.local[0], launch.local[1], launch.local[2]);
    return false;
}

int main(void)
{
    static const struct {
        const char *name;
        whole_kernel *whole;
        piece_kernel *pieces;
    } kernels[] = {
#define ROW(name) {#name, whole_##name, name},
        KERNELS(ROW)};
    unsigned passed = 0;
    unsigned failed = 0;

    for (size_t i = 0; i < N_IN; i++)
        input[i] = draw(1000);
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        bool all = true;

        for (int i = 0; i < LAUNCHES && all; i++)
            all = same(kernels[k].name, kernels[k].whole, kernels[k].pieces);
        passed += all;
        failed += !all;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
