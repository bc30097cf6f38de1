/*
 * Simulated annealing over pseudo-precedence strings (Makespan, sec. V to VII). Its result is a
 * lower bound on the worst case, with the string that attains it.
 *
 * Instances are independent, and each has its own stream of random numbers. For a given seed the
 * result therefore does not depend on the number of threads (unless time runs out).
 */
#ifndef MAKESPAN_ANNEAL_H
#define MAKESPAN_ANNEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "makespan/kernel.h"

/* How a neighbour is made: take one entry out and put it elsewhere, or exchange two entries. */
enum anneal_move { ANNEAL_REINSERT, ANNEAL_SWAP };

#define ANNEAL_MAX_INSTANCES 4096u

struct anneal_settings {
    uint64_t iterations; /* per instance; the temperature falls linearly over them */
    /* 1 to ANNEAL_MAX_INSTANCES; their starts take turns in the order of enum start */
    unsigned instances;
    unsigned threads;   /* 0: one per processor */
    double temperature; /* T0 */
    enum anneal_move move;
    uint64_t seed;
    baton_nsec until_at; /* 0: no limit */
    /* stop an instance at this makespan: it is known to be the worst; 0: never */
    unsigned enough;
};

/* An instance found a longer schedule than it had. */
struct anneal_improvement {
    unsigned instance;
    unsigned makespan;
    baton_nsec after; /* since the annealing began */
};

struct anneal_result {
    unsigned makespan;
    unsigned instance; /* that found it: the lowest if several did */
    uint16_t *order;   /* owned; n * W entries, warps from 0 */
    /* Owned; by instance, then by time; each instance's start is its first. */
    struct anneal_improvement *improvements;
    size_t n_improvements;
    uint64_t iterations; /* done by all instances together */
    bool timed_out;      /* until_at ended at least one instance */
};

/* 0 or -errno (no memory, no thread). */
int anneal_run(const struct problem *problem, const struct anneal_settings *settings,
               struct anneal_result *ret_result);

void anneal_result_done(struct anneal_result *result);

#endif
