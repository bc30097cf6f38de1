/* What cli/fit/fit.h found, in words and as JSON. */
#ifndef CLI_FIT_REPORT_H
#define CLI_FIT_REPORT_H

#include <jansson.h>

#include "cli/fit/fit.h"

void fit_print(const struct task_set *set, const struct fit *fit);

/* Of a set that does not fit: that --explain would say why. */
void fit_hint(const struct task_set *set, const struct analysis_result *result);

/* All that --explain has to say about a task: the terms of its bound, and (fit->tests above 0) why the set does not fit. */
void fit_explain(const struct task_set *set, size_t task, const struct analysis_result *result,
                 const struct analysis_explanation *explanation, const struct fit *fit);

/*
 * {"task", "bound_ms", "deadline_ms", "over_ms", "segment", "kind", "finish_ms", "in_the_way": [{"task", "where", "why", "ms"}],
 * "changes": [{"change", "task", "key", "from", "to"}]}; NULL without memory.
 */
json_t *fit_json(const struct task_set *set, const struct fit *fit);

#endif
