/* The types of PTX. One row of types.def each: name, size in bytes, class. */
#ifndef PTX_TYPE_H
#define PTX_TYPE_H

#include <stdbool.h>
#include <stddef.h>

enum ptx_type {
    PTX_NONE,
#define PTX_TYPE(id, name, size, class, c_name) PTX_##id,
#include "ptx/types.def"
#undef PTX_TYPE
    PTX_N_TYPES
};

enum ptx_class { PTX_BITS, PTX_UNSIGNED, PTX_SIGNED, PTX_FLOAT, PTX_PACKED, PTX_PREDICATE, PTX_OPAQUE };

/* without the dot; PTX_NONE: no type */
enum ptx_type ptx_type_named(const char *name, size_t length);
const char *ptx_type_name(enum ptx_type type);
unsigned ptx_type_size(enum ptx_type type); /* bytes; a predicate has 1 */
enum ptx_class ptx_type_class(enum ptx_type type);

/*
 * May a register of type `declared` be an operand of an instruction of type `used`? wider: a larger
 * register will do.
 */
bool ptx_type_fits(enum ptx_type declared, enum ptx_type used, bool wider);

#endif
