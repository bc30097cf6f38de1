/*
 * Readable names of kernels. A C++ compiler writes `ns::scale<float, 4>(float*)` as
 * `_ZN2ns5scaleIfLi4EEEvPT_` (Itanium C++ ABI, section 5.1). This reads the part of that grammar
 * that kernels use. Names: nested and unnamed scopes, templates and packs, lambdas, literals,
 * substitutions. Types: builtin ones, pointers, references, arrays, functions. Names come from
 * programs, so any bytes are answered: time and memory are bounded. Each call allocates for its
 * duration only.
 */
#ifndef BASE_DEMANGLE_H
#define BASE_DEMANGLE_H

#include <stddef.h>

enum { DEMANGLE_SIZE = 192 }; /* room for a readable name; longer ones are shortened */

/*
 * The short form, for people: `ns::scale<float, 4>`, without parameters and return type. Template
 * arguments that cannot be read, that do not fit or that were cut off with the end of the name
 * become `<...>`. A name is copied as it is if it is not mangled, if its scopes cannot be read, or
 * if there is no memory. A longer name is cut to its first size - 1 bytes. size > 0.
 */
void demangle_kernel(const char *name, char *ret_text, size_t size);

/*
 * The whole declaration, as c++filt of GNU binutils prints it. -EINVAL: not a mangled name, or
 * beyond the subset; -ENAMETOOLONG: it does not fit; -ENOMEM.
 */
int demangle_declaration(const char *name, char *ret_text, size_t size);

#endif
