/*
 * The view: what a rewritten function knows of the whole launch, in one variable of the function.
 * Its fields replace built-in variables (spirv/spirv_cut.h).
 */
#ifndef SPIRV_VIEW_H
#define SPIRV_VIEW_H

#include "spirv/writer.h"

enum { VIEW_FIELDS = 7, PIECE_FIELDS = 11 };

struct spirv_view {
    uint32_t size, size3, u32, u64; /* types */
    uint32_t piece, piece_pointer;  /* struct piece, and a pointer to one */
    uint32_t view, view_pointer;
    uint32_t field_pointer[VIEW_FIELDS], field_type[VIEW_FIELDS], field_index[VIEW_FIELDS];
    uint32_t piece_u64_pointer, piece_u32_pointer, piece_index[PIECE_FIELDS];
    uint32_t raw_group, local_id, local_size; /* variables */
    uint32_t zero;                            /* a vector */
    uint32_t constant_32;                     /* of 64 bits */
    uint32_t constant_8, constant_mask;
};

/* Makes the types, constants and variables. */
void spirv_view_begin(struct spirv_writer *writer, struct spirv_view *ret_view);

/* The field that replaces the built-in; -1: pieces do not change it. */
int spirv_view_field(uint32_t builtin);

/* Writes code that fills the view variable from the piece parameter. Both are pointers. */
void spirv_view_fill(struct spirv_writer *writer, const struct spirv_view *view, uint32_t piece,
                     uint32_t variable);

/* Writes code that loads a field of the view into `result`. */
void spirv_view_load(struct spirv_writer *writer, const struct spirv_view *view, uint32_t variable, int field,
                     uint32_t result);

#endif
