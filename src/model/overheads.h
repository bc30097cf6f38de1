/* Reading an overhead set that stands inside another document; the set itself is in model/platform.h. */
#ifndef MODEL_OVERHEADS_H
#define MODEL_OVERHEADS_H

#include "model/platform.h"

int overheads_read(const struct document *document, const struct node *mapping, struct arena *arena,
                   struct overheads *ret_overheads, struct input_error *ret_error);

#endif
