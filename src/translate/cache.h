/*
 * Answers kept on disk, a file each, named by the hash of the question. Only the user's own folder
 * is trusted; an entry that is damaged in any way is no entry; writing is by rename, so readers in
 * other processes see all or nothing; nothing that goes wrong here is worth more than not having a
 * cache.
 */
#ifndef TRANSLATE_CACHE_H
#define TRANSLATE_CACHE_H

#include <stddef.h>
#include <stdint.h>

enum { CACHE_MOST_ENTRIES = 4000 };

/*
 * The folder, made if need be; the caller frees it. NULL: no cache (no HOME, set-user-id, a
 * folder of another user).
 */
char *cache_folder(void);

/* The entry's bytes, the caller's to free. -ENOENT or another -errno when there is none. */
int cache_read(const char *folder, const char *key, uint8_t **ret_bytes, size_t *ret_n);

/*
 * -errno when it could not be written; nothing is left behind then. Now and then removes the oldest
 * entries.
 */
int cache_write(const char *folder, const char *key, const uint8_t *bytes, size_t n);

/* The entry was of use: it counts as written now, so that others are removed before it. */
void cache_touch(const char *folder, const char *key);

/*
 * What the folder is called for as long as it exists, made on the first call: eight hexadecimal
 * digits that no other folder, or the same after its removal, has. -errno when it cannot be kept.
 */
enum { CACHE_MARK = 9 };
int cache_mark(const char *folder, char ret_mark[CACHE_MARK]);

/* Removes the entries that were written longest ago until at most `most` are left. */
void cache_prune(const char *folder, size_t most);

#endif
