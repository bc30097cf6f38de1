/*
 * One walker through the space of pseudo-precedence strings: tries a neighbour and knows its makespan without evaluating it from the start.
 *
 * The paper re-evaluates from the first changed entry on (sec. VII). Here the occupied slots are kept at every few entries, so
 * neither is the part before the change rebuilt nor the part behind it evaluated once the slots are again what they were.
 */
#ifndef MAKESPAN_WALK_H
#define MAKESPAN_WALK_H

#include <stdint.h>

#include "makespan/schedule.h"

struct walk;

/* Starts at order[0..n * W), which is copied. NULL: no memory. */
struct walk *walk_new(const struct problem *problem, const uint16_t order[]);
void walk_free(struct walk *walk);

/* Copies the string as it stands. */
void walk_order(const struct walk *walk, uint16_t ret_order[]);

/* Its makespan. */
unsigned walk_makespan(const struct walk *walk);

/* Takes the entry at `from` out and puts it back so that it stands at `to`; returns the makespan. Must be followed by accept or reject. */
unsigned walk_try_reinsert(struct walk *walk, size_t from, size_t to);

/* Exchanges two entries; otherwise the same. */
unsigned walk_try_swap(struct walk *walk, size_t one, size_t other);

void walk_accept(struct walk *walk);
void walk_reject(struct walk *walk);

#endif
