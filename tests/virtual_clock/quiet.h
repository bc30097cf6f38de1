/*
 * Could any thread of any program under the virtual clock do something now? The conductor asks
 * before it moves the clock, thousands of times a second, so the files of /proc that answer stay
 * open.
 */
#ifndef VIRTUAL_CLOCK_QUIET_H
#define VIRTUAL_CLOCK_QUIET_H

#include <stdbool.h>

#include "clock.h"

/*
 * Two passes over all threads: each sleeps in both, and has not run in between. The spans between a
 * thread's two looks all contain the moment between the passes. So at that moment no thread ran,
 * and only the wake-up of a sleeper, or something from outside, can change that. Sleepers of
 * programs that have ended are freed.
 */
bool quiet_all(struct virtual_clock *clock);

#endif
