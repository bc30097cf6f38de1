/*
 * Sound response-time bounds for pipelines of CPU, bus and GPU stages: the holistic analysis of
 * GPU-SPARC (Sec. IV-B) with its three flaws corrected. Kernels start on any free GPU, on a fixed
 * set, or on GPUs chosen at dispatch. GPUs may be unequal and stages may be cut into pieces.
 * Stage-level and job-level bounds are combined. docs/analysis.md has the formulas and proofs.
 *
 * Model. CPUs: global preemptive fixed priorities. Bus: one unit, priorities, preemptive at piece
 * borders. GPUs: the same, one kernel piece at a time each; a free GPU goes to the most urgent
 * request eligible there. Releases are at least a period apart, deadlines are at most the period,
 * and executions take any time between best and worst case.
 *
 * This is the direct interface for hot loops: one workspace, no allocation after holistic_new(). A
 * planner changes one option and runs again; unchanged results are not computed again.
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

/* Attaches a pipeline (borrowed until the next call) and forgets all results. */
void holistic_attach(struct holistic *holistic, const struct pipeline *pipeline);

/*
 * After a run over all tasks: finish-offset bounds F of a task's stages from its release (borrowed
 * until the next run).
 */
const baton_nsec *holistic_finishes(const struct holistic *holistic, size_t task);
/* Stage-level delay bounds w of a task's stages, MODE_UNBOUNDED where they diverge. */
const baton_nsec *holistic_delays(const struct holistic *holistic, size_t task);

/*
 * How the bound of one task is composed, for reports. The bound has two parts. One is the job-level
 * finish of stage `job_stages` - 1 (0 if stage-level bounds are better everywhere). The other is
 * the stage-level delays of the later stages.
 */
enum holistic_why {
    WHY_OWN,          /* its own execution */
    WHY_INTERFERENCE, /* work of a more urgent task */
    WHY_BLOCKING,     /* a piece of a less urgent task that had started */
    WHY_SELF,         /* its own further sub-kernels that find no free GPU, and rounding */
};

struct holistic_term {
    /* the stage that waits; HOLISTIC_JOB: all stages of the job-level part that use the unit */
    size_t stage;
    size_t cause;      /* task (pipeline order) of the interfering or blocking work */
    baton_nsec amount; /* its part of the bound */
    enum pipeline_unit unit;
    enum holistic_why why;
};

#define HOLISTIC_JOB ((size_t)-1)

/*
 * Writes at most max terms of the task's bound under the choice of the last run. Their amounts sum
 * up to the response time; *ret_n is their number. Answers false and writes nothing if the task is
 * not bounded.
 */
bool holistic_explain(struct holistic *holistic, size_t task, struct holistic_term ret_terms[], size_t max,
                      size_t *ret_n, size_t *ret_job_stages);

#endif
