/* For calls that use memory where it is, and are no commands: it does not move meanwhile. */
#ifndef CUDA_MIGRATE_INSIDE_H
#define CUDA_MIGRATE_INSIDE_H

#include <stdbool.h>

/* False: the program stays at home. In both cases inside_end() follows. */
bool inside_begin(void);
void inside_end(void);

#endif
