/* Parts of the reader of studies; for spec.c only. */
#ifndef STUDY_SPEC_READ_H
#define STUDY_SPEC_READ_H

#include "model/document.h"
#include "study/spec/spec.h"

/* Each takes the node of its key. NULL, if the file lacks the key, means the paper's values. */
int spec_read_platforms(const struct document *document, const struct node *node, struct study_spec *spec,
                        struct input_error *ret_error);
int spec_read_parameters(const struct document *document, const struct node *node, struct study_spec *spec,
                         struct input_error *ret_error);
/* path: of the study, because overhead files are relative to it. There is no default. */
int spec_read_overheads(const struct document *document, const char *path, const struct node *node,
                        struct study_spec *spec, struct input_error *ret_error);

/* Copies text into the arena; NULL when memory is short. */
const char *spec_keep(struct study_spec *spec, const char *text);

#endif
