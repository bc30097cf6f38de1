/*
 * Random kernels in random grids of one, two and three dimensions: pieces in any order leave the
 * same bytes as the whole launch.
 */
#include "../cuda_cpu/device.h"
#include "../cuda_cpu/random_program.h"
#include "pieces.h"

#include "base/draft.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

enum { PER_MODULE = 25, MOST_BLOCKS = 60, GRIDS = 4 };
enum { WORDS = MOST_BLOCKS * PROGRAM_MOST_THREADS * PROGRAM_WORDS + 64 };

static struct program programs[PER_MODULE];

/*
 * The generator's kernels know one dimension. Here the number of the block is made of all three,
 * and every other mention of it is a hash of all six numbers.
 */
static const char flat[] = "mad.lo.u32 %t0, %ctaid.z, %nctaid.y, %ctaid.y;\n"
                           "mad.lo.u32 %t0, %t0, %nctaid.x, %ctaid.x;\n";
static const char hash[] =
    "mul.lo.u32 %t0, %ctaid.z, 0x27d4eb2f;\nmad.lo.u32 %t0, %ctaid.y, 0x165667b1, %t0;\n"
    "add.u32 %t0, %t0, %ctaid.x;\nmad.lo.u32 %t0, %nctaid.x, 31, %t0;\n"
    "mad.lo.u32 %t0, %nctaid.y, 101, %t0;\nmad.lo.u32 %t0, %nctaid.z, 1009, %t0;\n";

static void print_wide(const struct program *program, FILE *out)
{
    static const char from[] = "mov.u32 %t0, %ctaid.x;\n";
    struct draft draft;
    char *text;
    char *at;
    size_t size;

    ck_assert_int_eq(draft_begin(&draft), 0);
    program_print(program, draft.out);
    ck_assert_int_eq(draft_take(&draft, 0, &text, &size), 0);
    at = text;
    for (char *next = strstr(at, from); next; next = strstr(at, from)) {
        bool is_last = strstr(next + 1, from) == NULL; /* where results go */

        (void)fwrite(at, 1, (size_t)(next - at), out);
        fputs(is_last ? flat : hash, out);
        at = next + strlen(from);
    }
    fputs(at, out);
    free(text);
}

static void print_module(char **ret_text, size_t *ret_size)
{
    struct draft draft;

    ck_assert_int_eq(draft_begin(&draft), 0);
    fputs(".version 8.0\n.target sm_80\n.address_size 64\n\n", draft.out);
    for (unsigned i = 0; i < PER_MODULE; i++)
        print_wide(&programs[i], draft.out);
    ck_assert_int_eq(draft_take(&draft, 0, ret_text, ret_size), 0);
}

static void random_grid(struct random_state *random, uint32_t ret_grid[3])
{
    unsigned dimensions = 1 + (unsigned)random_below(random, 3);
    uint32_t left = MOST_BLOCKS;

    for (unsigned i = 0; i < 3; i++) {
        ret_grid[i] = i < dimensions ? 1 + (uint32_t)random_below(random, left < 9 ? left : 9) : 1;
        left /= ret_grid[i];
    }
}

/* Parameters of the generator's kernels, and the descriptor. */
struct parameters {
    uint32_t *out, *counters;
    struct ptx_piece piece;
};

struct memory {
    uint32_t *out, *counters;
    uint32_t *expected; /* on the host: both, one behind the other */
};

static void clear(const struct memory *memory)
{
    memset(memory->out, 0x5a, WORDS * sizeof *memory->out);
    memset(memory->counters, 0, PROGRAM_COUNTERS * sizeof *memory->counters);
}

static void run(struct device *device, const char *name, const uint32_t grid[3], unsigned threads,
                const struct parameters *parameters)
{
    const unsigned block[3] = {threads, 1, 1};

    ck_assert_msg(device_run_3d(device, name, grid, block, parameters) == CPU_OK, "%s: %s", name,
                  device->fault.text);
}

/* One grid of one kernel: whole, then in pieces. */
static void compare(struct device *device, const struct ptx_cut_entry *entry, const struct program *program,
                    const struct memory *memory, struct random_state *random)
{
    struct parameters parameters = {.out = memory->out, .counters = memory->counters};
    struct pieces pieces;
    uint32_t grid[3];

    random_grid(random, grid);
    clear(memory);
    run(device, entry->name, grid, program->threads, &parameters);
    memcpy(memory->expected, memory->out, WORDS * 4);
    memcpy(memory->expected + WORDS, memory->counters, PROGRAM_COUNTERS * 4);
    clear(memory);
    ck_assert_int_eq(pieces_make(&pieces, grid, random), 0);
    ck_assert_uint_eq(pieces.blocks, grid[0] * grid[1] * grid[2]);
    for (unsigned i = 0; i < pieces.n; i++) {
        const uint32_t line[3] = {pieces.end[i] - pieces.begin[i], 1, 1};

        parameters.piece = pieces.whole;
        parameters.piece.first = pieces.begin[i];
        run(device, entry->piece_name, line, program->threads, &parameters);
    }
    ck_assert_msg(!memcmp(memory->expected, memory->out, WORDS * 4) &&
                      !memcmp(memory->expected + WORDS, memory->counters, PROGRAM_COUNTERS * 4),
                  "%s in a grid of %u x %u x %u, %u pieces: other bytes", entry->name, grid[0], grid[1],
                  grid[2], pieces.n);
}

static void check_module(struct random_state *random, unsigned *seen)
{
    static struct device device;
    struct memory memory;
    struct ptx_cut cut;
    char *text;
    size_t size;

    for (unsigned i = 0; i < PER_MODULE; i++) {
        program_make(&programs[i], random, i);
        *seen |= programs[i].seen;
    }
    print_module(&text, &size);
    ck_assert_int_eq(ptx_cut(text, size, &cut), 0);
    ck_assert_uint_eq(cut.n_entries, PER_MODULE);
    device.haste = IMAGE_SOON;
    device_open(&device, cut.text, cut.size);
    memory.out = device_memory(&device, WORDS * 4);
    memory.counters = device_memory(&device, PROGRAM_COUNTERS * 4);
    memory.expected = malloc((WORDS + PROGRAM_COUNTERS) * sizeof *memory.expected);
    ck_assert(memory.expected != NULL);
    for (unsigned i = 0; i < PER_MODULE; i++) {
        const struct ptx_cut_entry *entry = &cut.entries[i];

        ck_assert_msg(entry->reason == PTX_CUT, "%s: %s: %s", entry->name, ptx_whole_sentence(entry->reason),
                      entry->detail);
        ck_assert_uint_eq(entry->piece_offset, 16);
        for (unsigned k = 0; k < GRIDS; k++)
            compare(&device, entry, &programs[i], &memory, random);
    }
    free(memory.expected);
    device_close(&device);
    ptx_cut_done(&cut);
    free(text);
}

START_TEST(pieces_of_random_kernels_leave_the_bytes_of_the_whole)
{
    size_t modules = harness_scale(4, 4000);
    unsigned seen = 0;

    for (size_t m = 0; m < modules; m++) {
        struct random_state random;

        random_init(&random, 22, m);
        check_module(&random, &seen);
    }
    ck_assert_uint_eq(seen, (1U << PROGRAM_N_KINDS) - 1); /* every kind of statement occurs */
}
END_TEST

/*
 * n / grid[i] for every n below 2^31: at the ends of each quotient, for small and large divisors.
 */
static void check_division(uint32_t d)
{
    const uint32_t grid[3] = {d, 1, 1};
    struct ptx_piece piece;
    uint32_t blocks;
    struct random_state random;

    ck_assert_int_eq(ptx_piece_of_grid(grid, &piece, &blocks), 0);
    random_init(&random, 23, d);
    for (unsigned i = 0; i < 300; i++) {
        uint32_t most = INT32_MAX / d;
        uint32_t q = i < 2 ? i * most : (uint32_t)random_below(&random, (uint64_t)most + 1);

        for (uint32_t k = 0; k < 3; k++) {
            uint64_t n = (uint64_t)q * d + (k == 0 ? 0 : k == 1 ? d - 1 : d / 2);

            if (n > INT32_MAX)
                continue;
            ck_assert_uint_eq((uint32_t)((2 * n * piece.magic[0]) >> 32) >> piece.shift[0], n / d);
        }
    }
}

START_TEST(descriptors_divide_every_block_number)
{
    struct random_state random;

    random_init(&random, 24, 0);
    for (uint32_t d = 1; d < 2000; d++)
        check_division(d);
    for (unsigned log = 0; log < 31; log++)
        for (uint32_t near = 0; near < 3; near++)
            if ((UINT32_C(1) << log) + near >= 2 && (UINT32_C(1) << log) + near - 1 <= INT32_MAX)
                check_division((UINT32_C(1) << log) + near - 1);
    for (unsigned i = 0; i < 2000; i++)
        check_division(1 + (uint32_t)random_below(&random, INT32_MAX));
}
END_TEST

START_TEST(grids_that_cannot_be_cut_are_named)
{
    static const struct {
        uint32_t grid[3];
        int answer;
    } grids[] = {{{0, 1, 1}, PTX_PIECE_TOO_MANY},
                 {{1, 1, 0}, PTX_PIECE_TOO_MANY},
                 {{INT32_MAX, 1, 1}, 0},
                 {{UINT32_C(1) << 31, 1, 1}, PTX_PIECE_TOO_MANY},
                 {{INT32_MAX, 65535, 65535}, PTX_PIECE_TOO_MANY},
                 {{UINT32_MAX, UINT32_MAX, UINT32_MAX}, PTX_PIECE_TOO_MANY},
                 {{65536, 32767, 1}, 0},
                 {{65536, 32768, 1}, PTX_PIECE_TOO_MANY}};
    struct ptx_piece piece;
    uint32_t blocks;

    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++)
        ck_assert_int_eq(ptx_piece_of_grid(grids[i].grid, &piece, &blocks), grids[i].answer);
    ck_assert_uint_eq(sizeof(struct ptx_piece), 32);
}
END_TEST

HARNESS_MAIN("cut pieces", 86400, pieces_of_random_kernels_leave_the_bytes_of_the_whole,
             descriptors_divide_every_block_number, grids_that_cannot_be_cut_are_named)
