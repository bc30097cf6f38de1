/*
 * Memory that is freed all at once: a parsed document, a task set. Blocks are zeroed and aligned
 * for any type. An arena with a limit answers NULL beyond it, so that hostile input cannot exhaust
 * the machine.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_chunk *chunks; /* owned; the newest first */
    size_t used;                /* bytes allocated from it */
    size_t limit;               /* most bytes to allocate; 0: no limit */
};

void arena_init(struct arena *arena, size_t limit);
void arena_done(struct arena *arena);

/*
 * A zeroed block of n * size bytes, or NULL (no memory, beyond the limit, or n * size overflows).
 */
void *arena_calloc(struct arena *arena, size_t n, size_t size);

/* A copy of text[0..length) with a terminating 0, or NULL. */
char *arena_strndup(struct arena *arena, const char *text, size_t length);

#endif
