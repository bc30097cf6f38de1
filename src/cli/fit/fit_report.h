/* Prints what cli/fit/fit.h finds, as text and as JSON. */
#ifndef CLI_FIT_REPORT_H
#define CLI_FIT_REPORT_H

#include <jansson.h>

#include "cli/fit/fit.h"

void fit_print(const struct task_set *set, const struct fit *fit);

/* For a set that does not fit: a hint that --explain says why. */
void fit_hint(const struct task_set *set, const struct analysis_result *result);

/*
 * The whole answer to --explain for a task: the terms of its bound and, if fit->tests > 0, why the
 * set does not fit.
 */
void fit_explain(const struct task_set *set, size_t task, const struct analysis_result *result,
                 const struct analysis_explanation *explanation, const struct fit *fit);

/*
 * {"task", "bound_ms", "deadline_ms", "over_ms", "segment", "kind", "finish_ms", "in_the_way":
 * [{"task", "where", "why", "ms"}], "changes": [{"change", "task", "key", "from", "to"}]}; NULL
 * without memory.
 */
json_t *fit_json(const struct task_set *set, const struct fit *fit);

#endif
