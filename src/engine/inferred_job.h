/*
 * Jobs of a program that does not report its own. A job begins with the first command of an idle
 * process, and ends when the program has waited for everything. Any thread, no lock held.
 */
#ifndef ENGINE_INFERRED_JOB_H
#define ENGINE_INFERRED_JOB_H

#include "engine/runtime.h"

/*
 * Flags of runtime.job.state. While OPEN alone is set, a further command begins no job and is
 * outside of none.
 */
#define INFERRED_JOB_OPEN    1u /* the program has not waited for all its commands */
#define INFERRED_JOB_OUTSIDE 2u /* the program reports its jobs itself, and none runs */

/* inferred_job_begins() where no job seems to run. */
void inferred_job_begin(void);

static inline void inferred_job_begins(void)
{
    if (atomic_load_explicit(&runtime.job.state, memory_order_relaxed) != INFERRED_JOB_OPEN)
        inferred_job_begin();
}

/* struct session_listener::on_explicit_job. */
void inferred_job_on_explicit(void *user, bool begins);

/*
 * A call that waited for commands returns: the job ends if nothing of the process is queued or in
 * flight.
 */
void inferred_job_waited(void);
unsigned inferred_job_number(void); /* of the latest */

#endif
