/*
 * Answers kept on disk, one file each, named by the hash of the question. Only the user's own
 * folder is trusted. A damaged entry counts as absent. Entries are written by rename, so readers in
 * other processes see all or nothing. A failure here only means that there is no cache.
 */
#ifndef TRANSLATE_CACHE_H
#define TRANSLATE_CACHE_H

#include <stddef.h>
#include <stdint.h>

enum { CACHE_MOST_ENTRIES = 4000 };

/*
 * The folder, made if necessary; the caller frees it. NULL: no cache (no HOME, set-user-id, a
 * folder of another user).
 */
char *cache_folder(void);

/* The entry's bytes, for the caller to free. -ENOENT or another -errno if there is none. */
int cache_read(const char *folder, const char *key, uint8_t **ret_bytes, size_t *ret_n);

/*
 * -errno if it could not be written; nothing is left behind then. From time to time it removes the
 * oldest entries.
 */
int cache_write(const char *folder, const char *key, const uint8_t *bytes, size_t n);

/* The entry was used: it counts as written now, so that others are removed first. */
void cache_touch(const char *folder, const char *key);

/*
 * An identity of the folder for as long as it exists, made on the first call: eight hexadecimal
 * digits. No other folder has them, nor the same folder made again after its removal. -errno if it
 * cannot be stored.
 */
enum { CACHE_MARK = 9 };
int cache_mark(const char *folder, char ret_mark[CACHE_MARK]);

/*
 * Removes the entries that were written longest ago until at most `most` are left. Also removes
 * what dead processes began to write an hour ago or earlier.
 */
void cache_prune(const char *folder, size_t most);

#endif
