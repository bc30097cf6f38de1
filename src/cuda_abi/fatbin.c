#include "cuda_abi/fatbin.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define WRAPPER_MAGIC   UINT32_C(0x466243b1)
#define CONTAINER_MAGIC UINT32_C(0xba55ed50)
#define FLAG_LZ4        UINT64_C(0x2000)
#define FLAG_ZSTD       UINT64_C(0x8000)
#define FLAG_SUFFIX     UINT64_C(0x300000) /* code of an architecture's own: sm_90a, sm_100f */
#define MOST_TEXT       ((uint64_t)1 << 30)

enum { KIND_PTX = 1, KIND_MACHINE_CODE = 2, WRAPPER_LINKED = 2 };

/* In the program's data. */
struct fatbin_wrapper {
    uint32_t magic, version;
    const void *data;
    const void *parts; /* of WRAPPER_LINKED: containers, up to a NULL */
};

struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* behind the header */
};

struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size;       /* behind this header, with padding */
    uint32_t compressed; /* bytes; 0: the entry is not compressed */
    uint32_t unknown;
    uint16_t minor, major;
    uint32_t architecture; /* 80: sm_80 */
    uint32_t name_offset, name_size;
    uint64_t flags, zero;
    uint64_t uncompressed;
};

/* Compares byte by byte: a text may be shorter than the number, and then differs before it ends. */
static bool begins_with(const void *image, uint32_t magic)
{
    const unsigned char *expected = (const unsigned char *)&magic;
    const unsigned char *found = image;

    for (size_t i = 0; i < sizeof magic; i++)
        if (found[i] != expected[i])
            return false;
    return true;
}

bool fatbin_is(const void *image)
{
    return begins_with(image, WRAPPER_MAGIC) || begins_with(image, CONTAINER_MAGIC);
}

const void *const *fatbin_parts(const void *image)
{
    struct fatbin_wrapper wrapper;

    if (!begins_with(image, WRAPPER_MAGIC))
        return NULL;
    memcpy(&wrapper, image, sizeof wrapper);
    return wrapper.version == WRAPPER_LINKED ? wrapper.parts : NULL;
}

/* --- LZ4 blocks, as older toolkits compress --- */

/* A length: 15 in the token's half is continued by bytes of 255 and one below. */
static bool read_length(const unsigned char **at, const unsigned char *end, size_t *length)
{
    unsigned char byte = 255;

    if (*length < 15)
        return true;
    while (byte == 255) {
        if (*at == end)
            return false;
        byte = *(*at)++;
        *length += byte;
    }
    return true;
}

static int lz4_expand(const unsigned char *from, size_t size, unsigned char *to, size_t room,
                      size_t *ret_size)
{
    const unsigned char *end = from + size;
    size_t n = 0, length, distance;

    while (from < end) {
        unsigned char token = *from++;

        length = token >> 4;
        if (!read_length(&from, end, &length) || length > (size_t)(end - from) || length > room - n)
            return FATBIN_MALFORMED;
        memcpy(to + n, from, length);
        n += length;
        from += length;
        if (from == end) /* the last sequence has literals only */
            break;
        if (end - from < 2)
            return FATBIN_MALFORMED;
        distance = from[0] | (size_t)from[1] << 8;
        from += 2;
        length = token & 15;
        if (!read_length(&from, end, &length) || !distance || distance > n || length + 4 > room - n)
            return FATBIN_MALFORMED;
        for (length += 4; length > 0; length--, n++)
            to[n] = to[n - distance];
    }
    *ret_size = n;
    return 0;
}

/* --- entries --- */

static int expand(const struct fatbin_entry *entry, const unsigned char *payload, char **ret_text,
                  size_t *ret_size)
{
    bool packed = entry->flags & (FLAG_LZ4 | FLAG_ZSTD);
    uint64_t size = packed ? entry->uncompressed : entry->size;
    char *text = size <= MOST_TEXT ? malloc(size + 1) : NULL;
    size_t n = size;
    int result = 0;

    if (!text)
        return size <= MOST_TEXT ? -ENOMEM : FATBIN_MALFORMED;
    if (packed && entry->compressed > entry->size) {
        result = FATBIN_MALFORMED;
    } else if (entry->flags & FLAG_ZSTD) {
        n = ZSTD_decompress(text, size, payload, entry->compressed);
        result = ZSTD_isError(n) ? FATBIN_MALFORMED : 0;
    } else if (entry->flags & FLAG_LZ4) {
        result = lz4_expand(payload, entry->compressed, (unsigned char *)text, size, &n);
    } else {
        memcpy(text, payload, size);
    }
    if (result != 0) {
        free(text);
        return result;
    }
    text[n] = 0;
    *ret_text = text;
    *ret_size = strlen(text); /* padding ends in zeros */
    return 0;
}

/*
 * Chooses as a driver does: the newest architecture that is not above the device's. If there are
 * only later ones, takes the oldest of them: it is refused if it needs what the device lacks, and
 * runs otherwise.
 */
static bool is_better(uint32_t architecture, uint32_t chosen, uint32_t device)
{
    bool fits = architecture <= device, chosen_fits = chosen <= device;

    if (fits != chosen_fits)
        return fits;
    return fits ? architecture > chosen : architecture < chosen;
}

/* What is left of a container, entry by entry. */
struct cursor {
    const unsigned char *at, *end;
};

static int open_container(const void *image, struct cursor *ret_cursor)
{
    const unsigned char *at = image;
    struct fatbin_wrapper wrapper;
    struct fatbin_header header;

    if (begins_with(image, WRAPPER_MAGIC)) {
        memcpy(&wrapper, image, sizeof wrapper);
        at = wrapper.data;
    }
    if (!at)
        return FATBIN_MALFORMED;
    memcpy(&header, at, sizeof header);
    if (header.magic != CONTAINER_MAGIC || header.header_size < sizeof header || header.size > MOST_TEXT)
        return FATBIN_MALFORMED;
    at += header.header_size;
    *ret_cursor = (struct cursor){at, at + header.size};
    return 0;
}

static bool at_end(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at) < sizeof(struct fatbin_entry);
}

static int next_entry(struct cursor *cursor, struct fatbin_entry *ret_entry,
                      const unsigned char **ret_payload)
{
    struct fatbin_entry entry;
    size_t room = (size_t)(cursor->end - cursor->at);

    memcpy(&entry, cursor->at, sizeof entry);
    if (entry.header_size < sizeof entry || entry.header_size > room || entry.size > room - entry.header_size)
        return FATBIN_MALFORMED;
    *ret_payload = cursor->at + entry.header_size;
    cursor->at += entry.header_size + entry.size;
    *ret_entry = entry;
    return 0;
}

int fatbin_ptx(const void *image, unsigned architecture, char **ret_text, size_t *ret_size)
{
    const unsigned char *payload, *best = NULL;
    struct fatbin_entry entry, chosen = {0};
    struct cursor cursor;
    int result = open_container(image, &cursor);

    while (result == 0 && !at_end(&cursor)) {
        result = next_entry(&cursor, &entry, &payload);
        if (result == 0 && entry.kind == KIND_PTX &&
            (!best || is_better(entry.architecture, chosen.architecture, architecture))) {
            best = payload;
            chosen = entry;
        }
    }
    if (result != 0)
        return result;
    return best ? expand(&chosen, best, ret_text, ret_size) : FATBIN_NO_PTX;
}

/* --- what a driver runs --- */

/* Machine code, and PTX of an architecture's own, run on later devices of one major number only. */
static bool same_major(uint32_t architecture, uint32_t device)
{
    return architecture <= device && architecture / 10 == device / 10;
}

/* The architecture whose code the device runs. 0: that is not certain, or there is none. */
static int find_run(struct cursor cursor, uint32_t device, uint32_t *ret_architecture)
{
    uint32_t machine = 0, ptx = 0;
    bool own_machine = false, own_ptx = false;
    struct fatbin_entry entry;
    const unsigned char *payload;

    while (!at_end(&cursor)) {
        int result = next_entry(&cursor, &entry, &payload);
        bool fits = same_major(entry.architecture, device);

        if (result != 0)
            return result;
        if (entry.kind != KIND_PTX && fits) {
            machine = entry.architecture > machine ? entry.architecture : machine;
            own_machine = own_machine || entry.kind != KIND_MACHINE_CODE || (entry.flags & FLAG_SUFFIX);
        } else if (entry.kind == KIND_PTX && (entry.flags & FLAG_SUFFIX)) {
            own_ptx = own_ptx || fits;
        } else if (entry.kind == KIND_PTX && entry.architecture <= device && entry.architecture > ptx) {
            ptx = entry.architecture;
        }
    }
    *ret_architecture = machine ? machine : ptx;
    if (machine ? own_machine : own_ptx)
        *ret_architecture = 0;
    return 0;
}

int fatbin_ptx_run(const void *image, const unsigned devices[], size_t n, char **ret_text, size_t *ret_size)
{
    const unsigned char *payload, *best = NULL;
    struct fatbin_entry entry, chosen = {0};
    uint32_t wanted = 0, other = 0;
    struct cursor cursor;
    int result = open_container(image, &cursor);

    for (size_t i = 0; i < n && result == 0; i++) {
        result = find_run(cursor, devices[i], &other);
        if (result == 0 && (!other || (i > 0 && other != wanted)))
            return FATBIN_NO_PTX;
        wanted = other;
    }
    while (result == 0 && !best && !at_end(&cursor)) {
        result = next_entry(&cursor, &entry, &payload);
        if (result == 0 && entry.kind == KIND_PTX && entry.architecture == wanted &&
            !(entry.flags & FLAG_SUFFIX)) {
            best = payload;
            chosen = entry;
        }
    }
    if (result != 0)
        return result;
    return best ? expand(&chosen, best, ret_text, ret_size) : FATBIN_NO_PTX;
}
