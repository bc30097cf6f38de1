/*
 * Binaries that the program got from us and may load again, in this process or a later one: by their hash, the text and
 * options they came from are kept in the translator's cache folder. So a program that caches binaries stays sliceable.
 */
#ifndef LAYER_PROGRAM_HANDED_OUT_H
#define LAYER_PROGRAM_HANDED_OUT_H

#include <stddef.h>

struct program_record;

void handed_out_remember(const struct program_record *program, unsigned char *const binaries[], size_t n);

/* Fills in source, options and files if all n binaries are known and came from the same. */
void handed_out_find(struct program_record *program, const unsigned char *const binaries[],
                     const size_t lengths[], size_t n);

#endif
