/* Reads and prints one segment of a task; model/task_set.h defines the type. */
#ifndef MODEL_SEGMENT_H
#define MODEL_SEGMENT_H

#include "model/task_set.h"

int segment_read(const struct document *document, const struct node *mapping, const struct platform *platform,
                 const struct placement *task_placement, struct arena *arena, struct segment *ret_segment,
                 struct input_error *ret_error);
void segment_print(const struct segment *segment, FILE *out);

/* `any`, `chosen`, or a list of GPUs. */
int placement_read(const struct document *document, const struct node *node, const struct platform *platform,
                   struct placement *ret_placement, struct input_error *ret_error);
void placement_print(const struct placement *placement, FILE *out);

#endif
