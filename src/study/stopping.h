/* When a point has been tested often enough (GPUSync Sec. V, footnote 5). */
#ifndef STUDY_STOPPING_H
#define STUDY_STOPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "study/spec/spec.h"

/*
 * Full width of the 95 % confidence interval of a fraction after `yes` of n (Wilson's score interval, which unlike the normal one is right
 * near 0 and 1); n > 0.
 */
double stopping_width(uint32_t yes, uint32_t n);

bool stopping_enough(const struct study_stopping *stopping, uint32_t yes, uint32_t n);

#endif
