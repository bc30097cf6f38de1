/* Asks translate_program() for text, with a cache of the test's own. */
#ifndef TESTS_ASKING_H
#define TESTS_ASKING_H

#include <stddef.h>

#include "translate/translate.h"

extern const char simple[]; /* a kernel that can be cut */
extern char folder[64];     /* the cache */

/* An empty cache of the test's own, in `folder`. */
void fresh_cache(void);

/* translate_program() for a device like PoCL's. */
int translate_bytes(const char *text, size_t length, const char *options, struct translate_result *ret);
int translate_text(const char *text, const char *options, struct translate_result *ret);

/* How many entries the cache has; the path of one of them. */
size_t entries(char *ret_path, size_t room);

/* The answer is TRANSLATE_WHOLE with this reason in it. */
void expect_whole(const char *text, const char *options, const char *reason);

#endif
