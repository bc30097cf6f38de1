/*
 * The answer of baton-translate: metadata as JSON (read by translate/metadata.c) beside the text.
 */
#ifndef TRANSLATE_TOOL_TOOL_REPORT_H
#define TRANSLATE_TOOL_TOOL_REPORT_H

#include <jansson.h>

#include "translate/tool/syntax.h"
#include "translate/translate.h"

struct report {
    struct refusal refusal; /* empty: translated */
    struct syntax syntax;
    /* of a program without a syntax tree (intermediate.h); NULL: the syntax has them */
    json_t *kernels;
    struct text source;
    struct text dependencies;
    const char *options; /* left for the driver */
};

/* Any text of a program as JSON, which allows only UTF-8. */
json_t *report_string(const char *text);

/* An argument of a kernel, as metadata.c reads it. */
json_t *report_argument(const struct translate_arg *arg);

/* {"translated","reason","options","kernels":[...]} */
char *tool_report_json(const struct report *report);

#endif
