/*
 * Sound response-time bounds for pipelines of CPU, bus and GPU stages: the holistic analysis of GPU-SPARC (Sec. IV-B) with its
 * three flaws repaired, for kernels that start on any free GPU, on a fixed set, or on GPUs chosen at dispatch, for unequal
 * GPUs, for stages cut into pieces, with stage-level and job-level bounds combined. docs/analysis.md has the formulas and proofs.
 *
 * Model. CPUs: global preemptive fixed priorities. Bus: one unit, priorities, preemptive at piece borders. GPUs: the same, one
 * kernel piece at a time each; a freed GPU goes to the most urgent request eligible there. Release times at least a period
 * apart, deadlines at most the period, executions anywhere between best and worst case.
 *
 * This is the direct interface for hot loops: one workspace, no allocation after holistic_new(). A planner changes one option and
 * runs again; what did not change is not computed again.
 */
#ifndef ANALYSIS_HOLISTIC_H
#define ANALYSIS_HOLISTIC_H

#include "analysis/pipeline/mode_test.h"
#include "analysis/pipeline/pipeline.h"

struct holistic;

/* A workspace for pipelines of at most so many tasks and stages in total, NULL without memory. */
struct holistic *holistic_new(size_t max_tasks, size_t max_stages, size_t max_options);
void holistic_free(struct holistic *holistic);

/* The planners' view of it (analysis/pipeline/mode_test.h). */
extern const struct mode_test_class holistic_class;

/* Takes up a pipeline (borrowed until the next call) and forgets all results. */
void holistic_attach(struct holistic *holistic, const struct pipeline *pipeline);

/* After a run over all tasks: finish-offset bounds F of a task's stages, from its release (borrowed until the next run). */
const baton_nsec *holistic_finishes(const struct holistic *holistic, size_t task);
/* Stage-level delay bounds w of a task's stages, MODE_UNBOUNDED where they diverge. */
const baton_nsec *holistic_delays(const struct holistic *holistic, size_t task);

/*
 * How the bound of one task comes about, for people. The bound is the finish of stage `job_stages` - 1 by the job-level analysis (or 0 if
 * none was better), plus the stage-level delays of the stages after it.
 */
enum holistic_why {
    WHY_OWN,          /* its own execution */
    WHY_INTERFERENCE, /* work of a more urgent task */
    WHY_BLOCKING,     /* a piece of a less urgent task that had started */
    WHY_SELF,         /* further sub-kernels of its own that find no GPU free, and what rounding adds */
};

struct holistic_term {
    size_t stage; /* the stage that waits; HOLISTIC_JOB: all stages of the job-level part that use the unit */
    size_t cause; /* task (pipeline order) of the interfering or blocking work */
    baton_nsec amount; /* its part of the bound */
    enum pipeline_unit unit;
    enum holistic_why why;
};

#define HOLISTIC_JOB ((size_t)-1)

/*
 * Writes the terms of task's bound under the choice of the last run, at most max; their amounts sum up to the response time, and
 * *ret_n says how many. Answers false (and nothing) if the task is not bounded.
 */
bool holistic_explain(struct holistic *holistic, size_t task, struct holistic_term ret_terms[], size_t max,
                      size_t *ret_n, size_t *ret_job_stages);

#endif
