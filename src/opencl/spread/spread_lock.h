/*
 * The spread lock, and what is done when it is given back.
 *
 * A worker ends commands while it stays on an engine, for which the holder of the lock may wait. So
 * the end of a command never waits for the lock: it leaves a note, and whichever thread holds the
 * lock acts on it. References to the program's objects are dropped with the lock released. The last
 * one runs destructor callbacks of the program, which may call the layer.
 */
#ifndef OPENCL_SPREAD_SPREAD_LOCK_H
#define OPENCL_SPREAD_SPREAD_LOCK_H

#include <stdbool.h>

struct command_callback;
struct mem_record;

/* With no other lock held and no engine entered. */
void spread_lock(void);
/* The same, without waiting. */
bool spread_trylock(void);
/*
 * Drops the results that no command needs any more, then unlocks, then runs what was left to
 * spread_after().
 */
void spread_unlock(void);

/*
 * With the lock held: to be run when the lock has been released. A thread that drives an engine
 * leaves it to the worker (engine/worker.h).
 */
void spread_after(struct command_callback *callback);

/*
 * No handle and no command is left that could need the contents of this root. Never waits; any lock
 * may be held.
 */
void spread_unused(struct mem_record *root);

#endif
