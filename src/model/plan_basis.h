/*
 * What the bounds of a plan rest on: one value per line of model/plan_basis.def. Values are text,
 * so that reading, printing, sealing and comparing are the same for every field. "" means that the
 * plan has no value.
 */
#ifndef MODEL_PLAN_BASIS_H
#define MODEL_PLAN_BASIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "model/document.h"
#include "model/platform.h"

enum plan_basis_field {
#define BASIS(identifier, key, shape, help) BASIS_##identifier,
#include "model/plan_basis.def"
#undef BASIS
    PLAN_BASIS_FIELDS
};

#define PLAN_VALUE_SIZE 32 /* characters of a value, including its end */

struct plan_basis {
    char values[PLAN_BASIS_FIELDS][PLAN_VALUE_SIZE];
};

extern const char *const plan_basis_keys[PLAN_BASIS_FIELDS + 1]; /* NULL-ended */

void plan_basis_set(struct plan_basis *basis, enum plan_basis_field field, const char *value);
void plan_basis_set_count(struct plan_basis *basis, enum plan_basis_field field, unsigned value);
/* TOKENS_UNLIMITED as `inf`. */
void plan_basis_set_tokens(struct plan_basis *basis, unsigned tokens_per_gpu);

/* The machine as the platform gives it: CPUs, GPUs, clusters, copy engines, buses. */
void plan_basis_set_machine(struct plan_basis *basis, const struct platform *platform);

/* "none" without an overhead set, else sixteen digits that are equal for equal sets. */
void plan_basis_set_overheads(struct plan_basis *basis, const struct platform *platform);

/*
 * Reads the keys that are in the mapping; INPUT_REJECTED for a value that is no count or no word.
 */
int plan_basis_read(const struct document *document, const struct node *mapping, struct plan_basis *ret_basis,
                    struct input_error *ret_error);

/* One `key: value` line per field that has a value. */
void plan_basis_print(const struct plan_basis *basis, FILE *out);

#endif
