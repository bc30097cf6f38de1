/*
 * Whole files: read up to a limit, written so that a reader sees the old file or the new one, never
 * a mixture.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

/*
 * Reads the whole file ("-" is standard input) into a new buffer with a terminating 0 that is not
 * counted in *ret_size; the caller frees it. -EFBIG beyond limit bytes, else -errno.
 */
int file_read(const char *path, size_t limit, char **ret_text, size_t *ret_size);

/*
 * Writes text to path through a temporary file in the same folder, fsync() and rename(). On failure
 * path is unchanged and no temporary file remains. "-" writes to standard output. An existing path
 * that is not a regular file (a pipe, /dev/null) is written in place.
 */
int file_write_atomic(const char *path, const void *text, size_t size);

/*
 * Could file_write_atomic() create its file now? 0, or the error that it would return. The path and
 * its folder are as before. For commands that work for long before they write.
 */
int file_check_output(const char *path);

/* Writes all of it to an open file, however often write() takes a part only. 0 or -errno. */
int file_write_all(int fd, const void *text, size_t size);

/* Removes a folder and everything in it, as far as that is allowed; links are not followed. */
void file_remove_folder(const char *path);

#endif
