/* Whole files: read within a limit, written so that a reader sees the old one or the new one, never half. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

/*
 * Reads the whole file ("-" is standard input) into a fresh buffer with a terminating 0 that is not counted in
 * *ret_size; the caller frees it. -EFBIG past limit bytes, else -errno.
 */
int file_read(const char *path, size_t limit, char **ret_text, size_t *ret_size);

/*
 * Writes text to path by way of a temporary file in the same folder and rename(), after fsync(). On failure path
 * is as it was and nothing is left behind. "-" writes to standard output. A path that exists and is not a regular file
 * (a pipe, /dev/null) is written in place.
 */
int file_write_atomic(const char *path, const void *text, size_t size);

#endif
