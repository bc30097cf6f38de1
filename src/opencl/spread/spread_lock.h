/*
 * The spread lock, and what is done when it is given back.
 *
 * A worker ends commands while it stays on an engine, for which the holder of the lock may wait. So
 * the end of a command never waits for the lock: it leaves a note, and whichever thread holds the
 * lock acts on it.
 */
#ifndef OPENCL_SPREAD_SPREAD_LOCK_H
#define OPENCL_SPREAD_SPREAD_LOCK_H

#include <stdbool.h>

struct mem_record;

/* With no other lock held and no engine entered. */
void spread_lock(void);
/* The same, without waiting. */
bool spread_trylock(void);
/* Drops the results that no command needs any more, then unlocks. */
void spread_unlock(void);

/*
 * No handle and no command is left that could need the contents of this root. Never waits; any lock
 * may be held.
 */
void spread_unused(struct mem_record *root);

#endif
