/*
 * Jobs of a program that does not report its own. A job begins with the first command of an idle
 * process, and ends when the program has waited for everything. Any thread, no lock held.
 */
#ifndef ENGINE_INFERRED_JOB_H
#define ENGINE_INFERRED_JOB_H

void inferred_job_begins(void);
/*
 * A call that waited for commands returns: the job ends if nothing of the process is queued or in
 * flight.
 */
void inferred_job_waited(void);
unsigned inferred_job_number(void); /* of the latest */

#endif
