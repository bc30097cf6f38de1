/* Reading an overhead set that stands inside another document; the set itself is in model/platform.h. */
#ifndef MODEL_OVERHEADS_H
#define MODEL_OVERHEADS_H

#include "model/platform.h"

int overheads_read(const struct document *document, const struct node *mapping, struct arena *arena,
                   struct overheads *ret_overheads, struct input_error *ret_error);

/*
 * A whole document: one set, or the list `sets:` that `baton measure` writes, of which the one called `set` is taken. set NULL: the only
 * one, else the one with worst_case and loaded, which is what a bound needs.
 */
int overheads_read_any(const struct document *document, const char *set, struct arena *arena,
                       struct overheads *ret_overheads, struct input_error *ret_error);

#endif
