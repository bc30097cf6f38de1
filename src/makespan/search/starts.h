/*
 * The four initial solutions (Makespan, sec. VI), as pseudo-precedence strings of n * W entries
 * with warps from 0.
 */
#ifndef MAKESPAN_STARTS_H
#define MAKESPAN_STARTS_H

#include "base/random.h"
#include "makespan/kernel.h"

enum start { START_ROUND_ROBIN, START_FIXED_PRIORITY, START_MOST_PENDING, START_RANDOM, N_STARTS };

/* The name in reports: "round_robin" and so on. */
const char *start_name(enum start start);

/* Writes the string; random is used by START_RANDOM only. 0 or -ENOMEM. */
int start_make(const struct problem *problem, enum start start, struct random_state *random,
               uint16_t ret_order[]);

#endif
