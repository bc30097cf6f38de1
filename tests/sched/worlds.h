/* The worlds that are explored. */
#ifndef TESTS_SCHED_WORLDS_H
#define TESTS_SCHED_WORLDS_H

#include "world.h"

struct engine_set set_of(unsigned bits);

/* Three clients, two GPUs, every kind of request. */
struct world engines_world(enum sched_profile_id profile);

/*
 * Equals among which time passes: that ask for one engine (1), also for copies (2), or for batches
 * (3), which have no bound.
 */
struct world equals_world(unsigned kind);

/* Clients that only want tokens of so many GPUs with rho tokens each, from c CPUs. */
struct world tokens_world(enum sched_lock_id lock, unsigned clients, unsigned gpus, unsigned rho, unsigned c);

#endif
