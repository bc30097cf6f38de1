/*
 * The holistic analysis exactly as GPU-SPARC prints it (Sec. IV-B), for comparison with the paper:
 *     w = C + B + ceil( sum_{k in hp} sum_p ceil((J_kp + w) / T_k) * alpha / m ),   R = sum of w
 *     J_ij = sum_{l<j} (w_il - C_il),  alpha = C of single mode on GPUs, else C of the mode chosen,
 *     B = longest stage of a less urgent task on the same unit, 0 on CPUs; w stops at 20 deadlines.
 * The analysis is unsound for three reasons. A task that needs every GPU is delayed by more than an
 * m-th of the work. Carry-in is missing. Jitter is computed from worst-case times. tests/analysis
 * shows schedules that exceed it. No plan carries its bounds.
 *
 * Option 0 of every task must be single mode. For speed, one sweep serves all stages of a task on a
 * unit: interference there is the same function for all of them. The sweep visits the stages in
 * ascending order of length and has no division in its loop.
 */
#ifndef ANALYSIS_HOLISTIC_PRINTED_H
#define ANALYSIS_HOLISTIC_PRINTED_H

#include "analysis/pipeline/mode_test.h"
#include "analysis/pipeline/pipeline.h"

#define PRINTED_CAP 20 /* deadlines; GPU-SPARC's "predefined value" */

struct holistic_printed;

/* A workspace for pipelines of at most so many tasks and stages in total, NULL without memory. */
struct holistic_printed *holistic_printed_new(size_t max_tasks, size_t max_stages, size_t max_options);
void holistic_printed_free(struct holistic_printed *printed);

/* Attaches a pipeline (borrowed until the next call) and forgets all results. */
void holistic_printed_attach(struct holistic_printed *printed, const struct pipeline *pipeline);

/*
 * run.cap: the number of deadlines at which a w stops. PRINTED_CAP gives the printed numbers; 1
 * suffices for the verdict.
 */
extern const struct mode_test_class holistic_printed_class;

/* After a run: the delays w of a task's stages (borrowed until the next run). */
const baton_nsec *holistic_printed_delays(const struct holistic_printed *printed, size_t task);

#endif
