/*
 * Programs that come as SPIR-V instead of OpenCL C (clCreateProgramWithIL). src/spirv rewrites
 * them; the answer has the same form as for rewritten source.
 */
#ifndef TRANSLATE_TOOL_INTERMEDIATE_H
#define TRANSLATE_TOOL_INTERMEDIATE_H

#include "translate/tool/tool_report.h"
#include "translate/translate.h"

/* Is the source a SPIR-V module? */
bool intermediate_is(const struct text *source);

/*
 * Fills the report: the rewritten module as its source and a description of every kernel, or a
 * refusal.
 */
void intermediate_translate(const struct text *source, enum translate_mode mode, struct report *ret_report);

#endif
