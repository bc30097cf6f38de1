#include "ptx/type.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned size;
    enum ptx_class class;
} types[] = {
    [PTX_NONE] = {"", 0, PTX_OPAQUE},
#define PTX_TYPE(id, name, size, class, c_name) [PTX_##id] = {name, size, class},
#include "ptx/types.def"
#undef PTX_TYPE
};

enum ptx_type ptx_type_named(const char *name, size_t length)
{
    for (unsigned i = 1; i < PTX_N_TYPES; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
            return (enum ptx_type)i;
    return PTX_NONE;
}

const char *ptx_type_name(enum ptx_type type)
{
    return types[type].name;
}

unsigned ptx_type_size(enum ptx_type type)
{
    return types[type].size;
}

enum ptx_class ptx_type_class(enum ptx_type type)
{
    return types[type].class;
}

static bool is_integer(enum ptx_class class)
{
    return class == PTX_UNSIGNED || class == PTX_SIGNED;
}

bool ptx_type_fits(enum ptx_type declared, enum ptx_type used, bool wider)
{
    enum ptx_class d = ptx_type_class(declared);
    enum ptx_class u = ptx_type_class(used);

    if (d == PTX_PREDICATE || u == PTX_PREDICATE)
        return d == u;
    if (d == PTX_OPAQUE || u == PTX_OPAQUE)
        return declared == used;
    if (wider ? ptx_type_size(declared) < ptx_type_size(used)
              : ptx_type_size(declared) != ptx_type_size(used))
        return false;
    if (d == PTX_BITS || u == PTX_BITS || d == u)
        return true;
    /* Packed and half values live in bit and integer registers of their size. */
    if (u == PTX_PACKED || d == PTX_PACKED)
        return d != PTX_FLOAT && u != PTX_FLOAT ? true : ptx_type_size(used) == ptx_type_size(declared);
    if (ptx_type_size(used) == 2 && u == PTX_FLOAT)
        return is_integer(d);
    return is_integer(d) && is_integer(u);
}
