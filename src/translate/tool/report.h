/*
 * The answer of baton-translate: metadata as JSON (read by translate/metadata.c) beside the text.
 */
#ifndef TRANSLATE_TOOL_REPORT_H
#define TRANSLATE_TOOL_REPORT_H

#include "translate/tool/syntax.h"

struct report {
    struct refusal refusal; /* empty: translated */
    struct syntax syntax;
    struct text source;
    struct text dependencies;
    const char *options; /* left for the driver */
};

/* {"translated","reason","options","kernels":[...]} */
char *report_json(const struct report *report);

#endif
