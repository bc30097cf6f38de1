/*
 * Ranks as Linux sees them. A rank is (task of the plan or not, priority); the scheduling core
 * compares it for engines (docs/protocols.md G1). For the threads of real-time programs it becomes
 * one number 0..99 here, which daemon and client map into the SCHED_FIFO band. Every task of the
 * plan, 17..99, is above every other program, 0..16. Tasks have the larger part, because a plan's
 * bounds also rest on different priorities with Linux. In the default band tasks are 15..40, and
 * the others 10..14.
 */
#ifndef WIRE_RANK_H
#define WIRE_RANK_H

#include <stdbool.h>

#define RANK_LEVELS 99u /* the highest */

/* priority: 0..99. */
static inline unsigned rank_level(bool admitted, unsigned priority)
{
    return admitted ? 17 + priority * 82 / 99 : priority / 6;
}

#endif
