/*
 * The answer of baton-translate as structs: a pure function over any bytes, such as a damaged cache
 * entry.
 */
#ifndef TRANSLATE_METADATA_H
#define TRANSLATE_METADATA_H

#include "translate/translate.h"

const char *metadata_access_name(enum translate_access access);

/*
 * Decodes a whole message (translate/record.h). 0: translated. TRANSLATE_WHOLE: a refusal, with its
 * reason in ret_result->reason. -EBADMSG: not an answer. -ENOMEM. *ret_deps lists the files from
 * which it was made, one line each (hash or -, space, path). It is borrowed from bytes and has
 * *ret_n_deps bytes.
 */
int metadata_decode(const uint8_t *bytes, size_t n, struct translate_result *ret_result,
                    const char **ret_deps, size_t *ret_n_deps);

#endif
