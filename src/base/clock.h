/* The only module that reads the clock. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/nsec.h"

/* The current instant of CLOCK_MONOTONIC. */
baton_nsec clock_now(void);

#endif
