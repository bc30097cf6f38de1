/* Random kernels, evaluated directly. */
#include "random_program.h"

#include <string.h>

/* The value of each operation; random_program.c has its PTX. */
static uint32_t operate(unsigned operation, uint32_t a, uint32_t b)
{
    int32_t sa = (int32_t)a;
    int32_t sb = (int32_t)b;
    uint64_t both = (uint64_t)b << 32 | a;

    switch (operation) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    case 3:
        return (uint32_t)((uint64_t)a * b >> 32);
    case 4:
        return (uint32_t)(((int64_t)sa * sb) >> 32);
    case 5:
        return a & b;
    case 6:
        return a | b;
    case 7:
        return a ^ b;
    case 8:
        return sa < sb ? a : b;
    case 9:
        return a > b ? a : b;
    case 10:
        return b > 31 ? 0 : a << b;
    case 11:
        return (uint32_t)(sa >> (b > 31 ? 31 : b));
    case 12:
        return b > 31 ? 0 : a >> b;
    case 13:
        return b ? a / b : UINT32_MAX;
    case 14:
        return !b ? a : b == UINT32_MAX ? 0 : (uint32_t)(sa % sb);
    case 15:
        return (uint32_t)(both << 7 >> 32);
    case 16: /* the majority of the three */
        return (a & b) | (a & 0x0f0f1234) | (b & 0x0f0f1234);
    case 17: /* bytes 6, 4, 7 and 1 of the eight, from the lowest place on */
        return (uint32_t)(both >> 48 & 255) | (uint32_t)(both >> 32 & 255) << 8 |
               (uint32_t)(both >> 56 & 255) << 16 | (uint32_t)(both >> 8 & 255) << 24;
    case 18:
        return (b & ~(0x7ffU << 5)) | (a & 0x7ffU) << 5;
    default:
        return 77 + (sa > sb ? a - b : b - a);
    }
}

static bool compare(unsigned which, uint32_t a, uint32_t b)
{
    switch (which) {
    case 0:
        return (int32_t)a < (int32_t)b;
    case 1:
        return a == b;
    case 2:
        return a >= b;
    default:
        return a != b;
    }
}

/* The first values of the registers. */
static uint32_t seed_of(unsigned i, unsigned block, unsigned thread)
{
    return (thread + 1) * (0x9e3779b9U >> i) + block * 0x85ebca6bU;
}

/* One block in evaluation: registers of all threads, and which threads are active. */
struct block {
    const struct program *program;
    uint32_t v[PROGRAM_REGISTERS][PROGRAM_MOST_THREADS];
    uint32_t cells[PROGRAM_COUNTERS];
    uint32_t *counters;
};

typedef uint8_t mask[PROGRAM_MOST_THREADS];

static void evaluate_list(struct block *block, int index, const mask active);

static unsigned warp_end(const struct block *block, unsigned thread)
{
    unsigned end = thread / 32 * 32 + 32;

    return end < block->program->threads ? end : block->program->threads;
}

static uint32_t evaluate_warp(const struct block *block, const struct program_node *n, unsigned i)
{
    unsigned first = i / 32 * 32;
    unsigned lane = i % 32;
    unsigned by = n->constant & 31;
    uint32_t r = 0;

    if (n->kind == PROGRAM_SHUFFLE) {
        unsigned how = n->operation & 3;
        unsigned from = how == 0 ? by : how == 1 ? lane - by : how == 2 ? lane + by : lane ^ by;
        bool inside = how == 1 ? by <= lane : from < 32;

        return inside ? block->v[n->a][first + from] + 1 : block->v[n->a][i];
    }
    for (unsigned k = first; k < warp_end(block, i); k++) {
        uint32_t x = block->v[n->a][k];

        if (n->kind == PROGRAM_VOTE)
            r |= (uint32_t)compare(n->operation & 3, x, block->v[n->b][k]) << (k - first);
        else if (n->kind == PROGRAM_MATCH)
            r |= (uint32_t)((x & 3) == (block->v[n->a][i] & 3)) << (k - first);
        else if (k == first)
            r = x;
        else
            r = (n->operation & 3) == 0   ? r + x
                : (n->operation & 3) == 1 ? ((int32_t)x < (int32_t)r ? x : r)
                : (n->operation & 3) == 2 ? (x > r ? x : r)
                                          : r ^ x;
    }
    return r;
}

static void evaluate_atomic(struct block *block, const struct program_node *n, uint32_t x)
{
    uint32_t *c;

    if (n->kind == PROGRAM_SHARED_ATOMIC) {
        block->cells[n->b % PROGRAM_COUNTERS] += x;
        return;
    }
    c = &block->counters[n->b % 4];
    switch (n->b % 4) {
    case 0:
        *c += x;
        break;
    case 1:
        *c = x > *c ? x : *c;
        break;
    case 2:
        *c ^= x;
        break;
    default:
        *c = (int32_t)x < (int32_t)*c ? x : *c;
        break;
    }
}

static uint32_t evaluate_one(struct block *block, const struct program_node *n, unsigned i)
{
    uint32_t a = block->v[n->a][i];
    uint32_t b = block->v[n->b][i];

    switch (n->kind) {
    case PROGRAM_ASSIGN:
        return n->constant & 1 ? operate(n->operation, a, b) : a ^ n->constant;
    case PROGRAM_EXCHANGE:
        return block->v[n->a][(i + n->constant % block->program->threads) % block->program->threads];
    case PROGRAM_LOCAL: /* the second store hits the same word when the low bits say so */
        return (a & 3) == 1 ? block->v[n->c][i] : b;
    case PROGRAM_CALL:
        return a * 2654435761U ^ (a * 2654435761U) >> 13;
    case PROGRAM_COUNT_BARRIER: {
        uint32_t count = 0;

        for (unsigned k = 0; k < block->program->threads; k++)
            count += compare(n->operation & 3, block->v[n->a][k], block->v[n->b][k]);
        return count;
    }
    case PROGRAM_ATOMIC:
    case PROGRAM_SHARED_ATOMIC:
        evaluate_atomic(block, n, a);
        return block->v[n->d][i];
    default:
        return evaluate_warp(block, n, i);
    }
}

static bool any_of(const mask active, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (active[i])
            return true;
    return false;
}

static void evaluate_nested(struct block *block, const struct program_node *n, const mask active)
{
    unsigned threads = block->program->threads;
    mask inner = {0};
    mask other = {0};
    uint32_t left[PROGRAM_MOST_THREADS];

    if (n->kind == PROGRAM_IF) {
        for (unsigned i = 0; i < threads; i++) {
            inner[i] = active[i] && compare(n->operation & 3, block->v[n->a][i], block->v[n->b][i]);
            other[i] = active[i] && !inner[i];
        }
        evaluate_list(block, n->body, inner);
        evaluate_list(block, n->other, other);
        return;
    }
    for (unsigned i = 0; i < threads; i++)
        left[i] = n->kind == PROGRAM_LOOP ? block->v[n->a][i] & 3 : n->constant % 3 + 1;
    for (;;) {
        for (unsigned i = 0; i < threads; i++)
            inner[i] = active[i] && left[i] > 0;
        if (!any_of(inner, threads))
            return;
        evaluate_list(block, n->body, inner);
        for (unsigned i = 0; i < threads; i++)
            left[i] -= inner[i];
    }
}

static void evaluate_list(struct block *block, int index, const mask active)
{
    for (; index >= 0; index = block->program->nodes[index].next) {
        const struct program_node *n = &block->program->nodes[index];
        uint32_t results[PROGRAM_MOST_THREADS];

        if (n->kind == PROGRAM_IF || n->kind == PROGRAM_LOOP || n->kind == PROGRAM_REPEAT) {
            evaluate_nested(block, n, active);
            continue;
        }
        for (unsigned i = 0; i < block->program->threads; i++)
            results[i] = active[i] ? evaluate_one(block, n, i) : 0;
        for (unsigned i = 0; i < block->program->threads; i++)
            if (active[i])
                block->v[n->d][i] = results[i];
    }
}

void program_evaluate(const struct program *program, uint32_t *ret_out,
                      uint32_t ret_counters[PROGRAM_COUNTERS])
{
    static struct block block;
    mask all;

    memset(all, 1, sizeof all);
    for (unsigned b = 0; b < program->blocks; b++) {
        memset(&block, 0, sizeof block);
        block.program = program;
        block.counters = ret_counters;
        for (unsigned i = 0; i < PROGRAM_REGISTERS; i++)
            for (unsigned t = 0; t < program->threads; t++)
                block.v[i][t] = seed_of(i, b, t);
        evaluate_list(&block, program->first, all);
        for (unsigned t = 0; t < program->threads; t++) {
            uint32_t *out = ret_out + ((size_t)b * program->threads + t) * PROGRAM_WORDS;

            for (unsigned i = 0; i < PROGRAM_REGISTERS; i++)
                out[i] = block.v[i][t];
            out[PROGRAM_REGISTERS] = block.cells[t % PROGRAM_COUNTERS];
        }
    }
}
