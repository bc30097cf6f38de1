/* Reads an overhead set inside another document; model/platform.h defines the set. */
#ifndef MODEL_OVERHEADS_H
#define MODEL_OVERHEADS_H

#include "model/platform.h"

int overheads_read(const struct document *document, const struct node *mapping, struct arena *arena,
                   struct overheads *ret_overheads, struct input_error *ret_error);

/*
 * Reads a whole document: one set, or the list `sets:` that `baton measure` writes. From a list it
 * takes the set named `set`. set NULL: the only set, else the one with worst_case and loaded,
 * because a bound needs that one.
 */
int overheads_read_any(const struct document *document, const char *set, struct arena *arena,
                       struct overheads *ret_overheads, struct input_error *ret_error);

#endif
