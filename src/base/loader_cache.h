/*
 * Where a library is according to the dynamic loader's cache (/etc/ld.so.cache). For a library that
 * must be opened although another library of the same name is loaded.
 */
#ifndef BASE_LOADER_CACHE_H
#define BASE_LOADER_CACHE_H

#include <stddef.h>

/*
 *  The path of a 64-bit library of that name. 0, -ENOENT (not listed, or no cache), -ENAMETOOLONG.
 */
int loader_cache_find(const char *name, char *ret_path, size_t room);

#endif
