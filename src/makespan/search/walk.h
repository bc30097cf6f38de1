/*
 * A position in the space of pseudo-precedence strings. It tries a neighbour and knows its makespan
 * without evaluating it from the start.
 *
 * The paper re-evaluates from the first changed entry on (sec. VII). Here the occupied slots are
 * kept at every few entries. So the part before the change is not rebuilt. The part behind the
 * change is not evaluated once the slots are the same again.
 */
#ifndef MAKESPAN_WALK_H
#define MAKESPAN_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "makespan/schedule.h"

struct walk;

/* Starts at order[0..n * W), which is copied. NULL: no memory. */
struct walk *walk_new(const struct problem *problem, const uint16_t order[]);
void walk_free(struct walk *walk);

/* Copies the present string. */
void walk_order(const struct walk *walk, uint16_t ret_order[]);

/* The makespan of the walk. */
unsigned walk_makespan(const struct walk *walk);

/*
 * Begins a try: moves the entry at `from` to `to`. Call walk_go_on() until it is evaluated, then
 * accept or reject.
 */
void walk_try_reinsert(struct walk *walk, size_t from, size_t to);

/* Exchanges two entries; otherwise the same. */
void walk_try_swap(struct walk *walk, size_t one, size_t other);

/*
 * Evaluates the next part of each of the tries, none of which is evaluated yet. They are 1 to
 * SLOTS_LANES walks of the same problem, which do not influence each other. Going on with several
 * at once costs little more than with one.
 */
void walk_go_on(struct walk *const walks[], size_t n);

bool walk_is_evaluated(const struct walk *walk);

/* The makespan of the string tried, once it is evaluated. */
unsigned walk_tried(const struct walk *walk);

void walk_accept(struct walk *walk);
void walk_reject(struct walk *walk);

#endif
