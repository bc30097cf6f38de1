/*
 * Limits of real time on what takes an instant on a working machine: an answer of another process,
 * or the work of a child. Past its limit the caller goes on without. Tests run beside any load,
 * where an instant may last: they raise all limits by one factor.
 */
#ifndef BASE_PATIENCE_H
#define BASE_PATIENCE_H

#include "base/nsec.h"

/*
 * The limit times the whole number in BATON_TEST_PATIENCE (2 to 1000). Without the variable, or
 * with any other value, the limit itself.
 */
baton_nsec patience_limit(baton_nsec limit);

#endif
