#include "study/stopping.h"

#include <math.h>

#define Z 1.959963984540054 /* the 97.5 % quantile of the normal distribution */

double stopping_width(uint32_t yes, uint32_t n)
{
    double count = n;
    double p = (double)yes / count;

    return 2 * Z / (1 + Z * Z / count) * sqrt(p * (1 - p) / count + Z * Z / (4 * count * count));
}

bool stopping_enough(const struct study_stopping *stopping, uint32_t yes, uint32_t n)
{
    if (n < stopping->least)
        return false;
    return n >= stopping->most || stopping_width(yes, n) <= stopping->interval;
}
