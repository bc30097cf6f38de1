/*
 * Random kernels: nested control flow, shared memory, barriers, warp operations, atomics. One
 * program is printed as PTX and evaluated directly, statement by statement for all threads of a
 * block at once, so that the two share nothing but the program.
 */
#ifndef TESTS_CUDA_CPU_RANDOM_PROGRAM_H
#define TESTS_CUDA_CPU_RANDOM_PROGRAM_H

#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    PROGRAM_REGISTERS = 6,
    PROGRAM_WORDS = 8, /* of each thread's result: its registers, a word of shared memory, one unused */
    PROGRAM_COUNTERS = 4,
    PROGRAM_MOST_THREADS = 128,
    PROGRAM_MOST_NODES = 64
};

enum program_kind {
    PROGRAM_ASSIGN,
    PROGRAM_IF,       /* by a comparison of registers: threads part */
    PROGRAM_LOOP,     /* (register & 3) times: threads part */
    PROGRAM_REPEAT,   /* a constant number of times */
    PROGRAM_EXCHANGE, /* through shared memory, between barriers */
    PROGRAM_SHUFFLE,
    PROGRAM_VOTE,
    PROGRAM_REDUX,
    PROGRAM_MATCH,
    PROGRAM_COUNT_BARRIER, /* bar.red.popc */
    PROGRAM_ATOMIC,        /* on a counter in global memory */
    PROGRAM_SHARED_ATOMIC,
    PROGRAM_LOCAL, /* through local memory */
    PROGRAM_CALL,  /* a device function of its own */
    PROGRAM_N_KINDS
};

struct program_node {
    enum program_kind kind;
    unsigned operation, d, a, b, c;
    uint32_t constant;
    int body, other, next; /* nodes; -1: none */
};

struct program {
    unsigned number;
    unsigned threads, blocks;
    bool has_warps; /* warp operations: such kernels run with a stack for each thread */
    struct program_node nodes[PROGRAM_MOST_NODES];
    int n, first;
    unsigned seen; /* bits of kinds */
};

void program_make(struct program *program, struct random_state *random, unsigned number);
void program_print(const struct program *program,
                   FILE *out); /* entry k<number>(out, counters) and its function */

/* PROGRAM_WORDS for each block and thread, which ret_out holds as zeros before; then counters. */
void program_evaluate(const struct program *program, uint32_t *ret_out,
                      uint32_t ret_counters[PROGRAM_COUNTERS]);

#endif
