/*
 * Tells the machine's standstills from the programs' waiting. The host of a virtual machine takes a
 * core away when it likes, for tens of milliseconds; what ran there is late under every scheduler.
 * So a thread on every core, above all others (SCHED_FIFO 99), wakes up every half millisecond and
 * looks at the clock. Where it comes late, nothing else on that core can have run in time.
 *
 * A standstill of WITNESS_STILL + half a millisecond is seen for certain, a shorter one by chance.
 * Costs about 1 % of each core, in every measurement alike. Programs that fill their real-time
 * share of a core (95 %) would be held up by Linux and the witness with them: none here does.
 */
#ifndef BENCH_WITNESS_H
#define BENCH_WITNESS_H

#include <stdbool.h>

#include "base/nsec.h"

#define WITNESS_STILL (300 * NSEC_PER_US) /* so late is a standstill */

/*
 * Begins, forgetting what was seen before. False: SCHED_FIFO is not permitted, and nothing will be
 * seen.
 */
bool witness_begin(void);
void witness_end(void);

/* After the end: did a core stand still in this time (CLOCK_MONOTONIC)? */
bool witness_saw(baton_nsec begin_at, baton_nsec end_at);

#endif
