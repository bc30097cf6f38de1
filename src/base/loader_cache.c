#include "base/loader_cache.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define CACHE_PATH  "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
#define CACHE_64BIT 0x0300 /* flags of an entry: x86-64; of AArch64: 0x0a00 */
#define CACHE_ARM64 0x0a00
#define CACHE_LIMIT ((size_t)16 << 20)

/* As glibc writes it (its <dl-cache.h> describes the format): offsets count from the header. */
struct cache_entry {
    int32_t flags;
    uint32_t key, value;
    uint32_t os_version;
    uint64_t hardware;
};

struct cache_header {
    char magic[20];
    uint32_t n, strings;
    uint8_t flags, padding[3];
    uint32_t extension, unused[3];
};

/* A text at an offset, if it ends within the file. */
static const char *text_at(const char *cache, size_t size, uint32_t offset)
{
    return offset < size && memchr(cache + offset, 0, size - offset) ? cache + offset : NULL;
}

static int find_in(const char *cache, size_t size, const char *name, char *ret_path, size_t room)
{
    struct cache_header header;

    if (size < sizeof header)
        return -ENOENT;
    memcpy(&header, cache, sizeof header);
    if (memcmp(header.magic, CACHE_MAGIC, sizeof header.magic) != 0 ||
        header.n > (size - sizeof header) / sizeof(struct cache_entry))
        return -ENOENT;
    for (uint32_t i = 0; i < header.n; i++) {
        struct cache_entry entry;
        const char *key, *value;

        memcpy(&entry, cache + sizeof header + i * sizeof entry, sizeof entry);
        key = text_at(cache, size, entry.key);
        value = text_at(cache, size, entry.value);
        if (!key || !value || strcmp(key, name) != 0)
            continue;
        if ((entry.flags & 0xff00) != CACHE_64BIT && (entry.flags & 0xff00) != CACHE_ARM64)
            continue;
        if (strlen(value) >= room)
            return -ENAMETOOLONG;
        memcpy(ret_path, value, strlen(value) + 1);
        return 0;
    }
    return -ENOENT;
}

int loader_cache_find(const char *name, char *ret_path, size_t room)
{
    char *cache = NULL;
    size_t size = 0;
    int result = file_read(CACHE_PATH, CACHE_LIMIT, &cache, &size);

    if (result)
        return -ENOENT;
    result = find_in(cache, size, name, ret_path, room);
    free(cache);
    return result;
}
