/*
 * The build options of OpenCL (clBuildProgram), as far as the rewriting needs to understand them.
 */
#ifndef TRANSLATE_TOOL_TOOL_OPTIONS_H
#define TRANSLATE_TOOL_TOOL_OPTIONS_H

#include "translate/tool/text.h"

struct options {
    const char **defines; /* -D and -U in order; a -U begins with '-' */
    size_t n_defines;
    const char **folders; /* of -I */
    size_t n_folders;
    const char *standard; /* of -cl-std, e.g. "CL1.2"; NULL when not given */
    bool fast_relaxed_math;
    struct text rest; /* everything else, for the driver */
};

/* Refuses options that change the meaning of the text in unknown ways. */
void tool_options_parse(struct options *options, const char *text, size_t length, struct refusal *refusal);

#endif
