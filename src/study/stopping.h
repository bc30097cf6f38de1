/* Decides when a point has been tested often enough (GPUSync Sec. V, footnote 5). */
#ifndef STUDY_STOPPING_H
#define STUDY_STOPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "study/spec/spec.h"

/*
 * Full width of the 95 % confidence interval of a fraction after `yes` of n; n > 0. It is Wilson's
 * score interval, which is also valid near 0 and 1, unlike the normal one.
 */
double stopping_width(uint32_t yes, uint32_t n);

bool stopping_enough(const struct study_stopping *stopping, uint32_t yes, uint32_t n);

#endif
