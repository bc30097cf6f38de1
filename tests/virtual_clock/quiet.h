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
 * Two passes over all threads. In the second one each thread sleeps, and its schedstat is that of
 * the first: it has not run in between, so it slept all the time. These spans all contain the
 * moment between the passes. So at that moment no thread was awake, and only the wake-up of a
 * sleeper, or something from outside, can change that. Sleepers of programs that have ended are
 * freed.
 */
bool quiet_all(struct virtual_clock *clock);

#endif
