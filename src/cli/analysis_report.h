/* The output of `baton analyze` and `baton plan`: a table for people, one object for scripts. */
#ifndef CLI_ANALYSIS_REPORT_H
#define CLI_ANALYSIS_REPORT_H

#include <jansson.h>

#include "analysis/analysis.h"
#include "cli/subcommand.h"
#include "model/plan.h"

/* Nanoseconds as a number of ms; ANALYSIS_UNBOUNDED as null. */
json_t *report_ms(baton_nsec duration);

/*
 * {"analysis", "schedulable", "deadlines_met", "verdict", "tasks": [...]}; NULL when memory is
 * short.
 */
json_t *report_json(const struct task_set *set, const struct analysis *analysis,
                    const struct analysis_result *result);

/*
 * Adds "placement" to each task of such an object that uses a GPU: "any", "chosen", or the list of
 * its GPUs.
 */
void report_json_placements(const struct task_set *set, const struct placement *placements, json_t *object);

/*
 *  The table: one line per task in order of urgency, and the verdict. placements by task, or NULL.
 */
int report_table(const struct task_set *set, const struct analysis *analysis,
                 const struct analysis_result *result, const struct placement *placements);

/* The terms of one bound, grouped by the unit that the task waits for; and the same as JSON. */
void report_explanation(const struct task_set *set, size_t task, const struct analysis_result *result,
                        const struct analysis_explanation *explanation);
json_t *report_explanation_json(const struct task_set *set, const struct analysis_explanation *explanation);

/* CLI_YES: every deadline is met. CLI_TARDY: bounded, but some job may be late. CLI_NO: neither. */
int report_status(const struct task_set *set, const struct analysis_result *result);

/*
 * Prints the object on one line and releases it. The exit status: `otherwise`, unless memory was
 * short.
 */
int report_print(const struct cli_args *args, json_t *object, int otherwise);

/* Index of the task of this name; CLI_USAGE after a message to the user. */
int report_find_task(const struct cli_args *args, const struct task_set *set, const char *name,
                     size_t *ret_task);

/* The analysis that --analysis names; NULL after a message that lists the analyses. */
const struct analysis *report_find_analysis(const struct cli_args *args);

/* Like cli_input_result, for errors of an analysis, which does not know the file's name. */
/*
 * An analysis of deadline order cannot handle a task without a deadline: 0, or CLI_USAGE after a
 * message.
 */
int report_check_deadlines(const struct cli_args *args, const struct task_set *set,
                           const struct analysis *analysis);

int report_input_result(const struct cli_args *args, int result, const char *path, struct input_error *error);

#endif
