/* What the analysis answers for one kernel `k`. */
#ifndef TESTS_ANSWERING_H
#define TESTS_ANSWERING_H

#include <stdbool.h>

#include "translate/translate.h"

extern struct translate_result result; /* of the latest call */

int answer_for(const char *text, const char *options);
/* Translates the text and finds its kernel k; the caller ends `result`. */
const struct translate_kernel *kernel_of(const char *text);
/* Is the kernel k cut? */
void expect_sliceable(const char *text, bool sliceable);

#endif
