/*
 * Jobs of a program that does not report its own. A job begins with the first command of an idle
 * process, and ends when the program has waited for everything. Any thread, no lock held.
 */
#ifndef ENGINE_INFERRED_JOB_H
#define ENGINE_INFERRED_JOB_H

#include "engine/runtime.h"

/* inferred_job_begins() where no job seems to run. */
void inferred_job_begin(void);

static inline void inferred_job_begins(void)
{
    if (!atomic_load_explicit(&runtime.job.open, memory_order_relaxed))
        inferred_job_begin();
}
/*
 * A call that waited for commands returns: the job ends if nothing of the process is queued or in
 * flight.
 */
void inferred_job_waited(void);
unsigned inferred_job_number(void); /* of the latest */

#endif
