/*
 * Reads the answer of `baton plan --json -o PIPE`: an object on its standard output, the plan on
 * the pipe.
 */
#ifndef DAEMON_PLANNING_H
#define DAEMON_PLANNING_H

#include "daemon/admission.h"
#include "daemon/server.h"
#include "model/plan.h"

#define PLANNING_REJECTED 1 /* not schedulable: the cause is in the decision */
#define PLANNING_FAILED   2 /* no answer that makes sense */

/*
 * about: the task in question; of several tasks that miss their deadlines, it is named first. 0:
 * schedulable, *ret_plan is to be freed by plan_done(). The decision has REASON_TARDY if response
 * times are bounded, but not every deadline is met.
 */
int planning_read(const struct planning *planning, const char *about, struct plan *ret_plan,
                  struct decision *decision);

#endif
