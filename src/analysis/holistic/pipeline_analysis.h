/*
 * `holistic` and `holistic-printed` over a task set: the pipeline, a workspace and the test in one
 * object. For callers that need more than the verdict of analysis.run: planning, explanations,
 * sensitivity.
 */
#ifndef ANALYSIS_PIPELINE_ANALYSIS_H
#define ANALYSIS_PIPELINE_ANALYSIS_H

#include "analysis/analysis.h"
#include "analysis/holistic/holistic.h"
#include "analysis/holistic/holistic_printed.h"
#include "analysis/pipeline/mode_test.h"
#include "analysis/pipeline/pipeline.h"

struct pipeline_analysis {
    struct arena arena;
    struct pipeline pipeline;
    struct holistic *holistic;        /* the sound one, or NULL */
    struct holistic_printed *printed; /* the printed one, or NULL */
    struct mode_test test;
    baton_nsec *responses; /* by task of the pipeline */
};

/*
 * Builds the pipeline of the set. 0 (the caller calls pipeline_analysis_done), INPUT_REJECTED when
 * the set does not meet the model, or -ENOMEM.
 */
int pipeline_analysis_open(const struct task_set *set, bool printed, const struct pipeline_rules *rules,
                           struct pipeline_analysis *ret_analysis, struct input_error *ret_error);
void pipeline_analysis_done(struct pipeline_analysis *analysis);

/*
 * Responses under the choice (by task of the pipeline) as results by index in the set. No bound is
 * claimed for tasks after the first unbounded one: the sound analysis assumes that every job ends
 * before the next release. 0 or -ENOMEM.
 */
int pipeline_analysis_result(struct pipeline_analysis *analysis, const unsigned char choice[],
                             struct analysis_result *ret_result);

/*
 *  The terms of the bound of one task (index in the set) after pipeline_analysis_result(). Sound
 *  analysis only. 0 or -ENOMEM.
 */
int pipeline_analysis_explain(struct pipeline_analysis *analysis, size_t task,
                              struct analysis_explanation *ret_explanation);

/* The position of a task of the set in the pipeline. */
size_t pipeline_analysis_rank(const struct pipeline_analysis *analysis, size_t task);

extern const struct analysis analysis_holistic;
extern const struct analysis analysis_holistic_printed;

#endif
