/*
 * The answer of baton-translate as structs: a pure function over bytes, which may be anything (a
 * damaged cache entry).
 */
#ifndef TRANSLATE_METADATA_H
#define TRANSLATE_METADATA_H

#include "translate/translate.h"

const char *metadata_access_name(enum translate_access access);

/*
 * Decodes a whole message (translate/record.h). 0: translated; TRANSLATE_WHOLE: a refusal,
 * ret_result->reason says why; -EBADMSG: not an answer; -ENOMEM. *ret_deps gets the files it was
 * made from, a line each (hash or -, space, path), borrowed from bytes, *ret_n_deps bytes of it.
 */
int metadata_decode(const uint8_t *bytes, size_t n, struct translate_result *ret_result,
                    const char **ret_deps, size_t *ret_n_deps);

#endif
