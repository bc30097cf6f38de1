#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 * 1024)

struct arena_chunk {
    struct arena_chunk *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

void arena_init(struct arena *arena, size_t limit)
{
    *arena = (struct arena){.limit = limit};
}

void arena_done(struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunks;

    while (chunk) {
        struct arena_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
    *arena = (struct arena){0};
}

void *arena_calloc(struct arena *arena, size_t n, size_t size)
{
    const size_t align = alignof(max_align_t);
    struct arena_chunk *chunk = arena->chunks;
    size_t bytes;
    void *block;

    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + align - 1) / align * align;
    if (arena->limit && (bytes > arena->limit || arena->used > arena->limit - bytes))
        return NULL;
    if (!chunk || chunk->size - chunk->used < bytes) {
        size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

        chunk = calloc(1, sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->size = room;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    block = chunk->bytes + chunk->used;
    chunk->used += bytes;
    arena->used += bytes;
    return block;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_calloc(arena, length + 1, 1);

    if (copy)
        memcpy(copy, text, length);
    return copy;
}
