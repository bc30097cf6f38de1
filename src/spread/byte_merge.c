#include "spread/byte_merge.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define THREAD_BYTES ((size_t)1 << 20) /* a thread for fewer bytes costs more than it gains */
#define MAX_THREADS  64

struct part {
    unsigned char *out;
    const unsigned char *shadow;
    const unsigned char *copies[MERGE_MAX_COPIES];
    uint16_t *writers;
    size_t n, begin, end, granule;
    bool apart;
    size_t conflict_at; /* SIZE_MAX: none */
};

/*
 * Joins the changes of two writers. The answer is nonzero if both changed a granule to different
 * values. Has no branch, so that the compiler can vectorise it; the memory may have any alignment.
 */
#define JOIN(type)                                                                                           \
    static inline __attribute__((always_inline)) bool join_##type(                                           \
        unsigned char *restrict merged, const unsigned char *restrict shadow,                                \
        const unsigned char *restrict first, const unsigned char *restrict second, size_t n)                 \
    {                                                                                                        \
        type conflict = 0;                                                                                   \
                                                                                                             \
        for (size_t i = 0; i < n; i++) {                                                                     \
            type s, a, b, wrote_a, wrote_b;                                                                  \
            memcpy(&s, shadow + i * sizeof s, sizeof s);                                                     \
            memcpy(&a, first + i * sizeof a, sizeof a);                                                      \
            memcpy(&b, second + i * sizeof b, sizeof b);                                                     \
            wrote_a = (type) - (type)(a != s);                                                               \
            wrote_b = (type) - (type)(b != s);                                                               \
            conflict |= (type)(wrote_a & wrote_b & (a ^ b));                                                 \
            s = (type)((b & wrote_b) | (a & (type)~wrote_b));                                                \
            memcpy(merged + i * sizeof s, &s, sizeof s);                                                     \
        }                                                                                                    \
        return conflict != 0;                                                                                \
    }
JOIN(uint8_t)
JOIN(uint16_t)
JOIN(uint32_t)
JOIN(uint64_t)

static uint64_t word_at(const unsigned char *bytes, size_t word)
{
    uint64_t value;

    memcpy(&value, bytes + word * sizeof value, sizeof value);
    return value;
}

/* The same for granules of several words: a granule counts as changed as a whole. */
static inline __attribute__((always_inline)) bool
join_wide(unsigned char *restrict merged, const unsigned char *restrict shadow,
          const unsigned char *restrict first, const unsigned char *restrict second, size_t n, size_t words)
{
    uint64_t conflict = 0;

    for (size_t at = 0; at < n; at += words) {
        uint64_t wrote_a = 0, wrote_b = 0, apart = 0;

        for (size_t i = at; i < at + words; i++) {
            wrote_a |= word_at(first, i) ^ word_at(shadow, i);
            wrote_b |= word_at(second, i) ^ word_at(shadow, i);
            apart |= word_at(first, i) ^ word_at(second, i);
        }
        conflict |= wrote_a && wrote_b ? apart : 0;
        memcpy(merged + at * 8, (wrote_b ? second : first) + at * 8, words * 8);
    }
    return conflict != 0;
}

/* bytes: a multiple of the granule. */
static inline __attribute__((always_inline)) bool join(unsigned char *merged, const unsigned char *shadow,
                                                       const unsigned char *first,
                                                       const unsigned char *second, size_t bytes,
                                                       size_t granule)
{
    switch (granule) {
    case 1:
        return join_uint8_t(merged, shadow, first, second, bytes);
    case 2:
        return join_uint16_t(merged, shadow, first, second, bytes / 2);
    case 4:
        return join_uint32_t(merged, shadow, first, second, bytes / 4);
    case 8:
        return join_uint64_t(merged, shadow, first, second, bytes / 8);
    default:
        return join_wide(merged, shadow, first, second, bytes / 8, granule / 8);
    }
}

/*
 * Several writers in one block. A granule that is cut off at the end is checked in a padded local
 * copy.
 */
static inline __attribute__((always_inline)) bool unite(unsigned char merged[MERGE_BLOCK],
                                                        const unsigned char *shadow,
                                                        const unsigned char *const writers[], size_t n,
                                                        size_t bytes, size_t granule)
{
    unsigned char other[MERGE_BLOCK], rest[3][MERGE_MAX_GRANULE] = {{0}}, end[MERGE_MAX_GRANULE];
    size_t whole = bytes / granule * granule, cut = bytes - whole;
    unsigned char *const turns[] = {other, merged};
    const unsigned char *first = writers[0];
    bool conflict = false;

    /* alternates between the two blocks, so that the result ends in `merged` */
    for (size_t w = 1; w < n; w++) {
        unsigned char *into = turns[(n - w) % 2];

        conflict |= join(into, shadow, first, writers[w], whole, granule);
        if (cut) {
            memcpy(rest[0], shadow + whole, cut);
            memcpy(rest[1], first + whole, cut);
            memcpy(rest[2], writers[w] + whole, cut);
            conflict |= join(end, rest[0], rest[1], rest[2], granule, granule);
            memcpy(into + whole, end, cut);
        }
        first = into;
    }
    return !conflict;
}

/*
 * Finds the conflict in a block by a slow scan; `bytes`: there is none. apart: as for
 * merge_copies().
 */
static size_t find_conflict(const unsigned char *shadow, const unsigned char *const writers[], size_t n,
                            size_t bytes, size_t granule, bool apart)
{
    for (size_t at = 0; at < bytes; at += granule) {
        size_t length = bytes - at < granule ? bytes - at : granule;
        const unsigned char *first = NULL;

        for (size_t w = 0; w < n; w++) {
            if (memcmp(writers[w] + at, shadow + at, length) == 0)
                continue;
            if (first && (apart || memcmp(writers[w] + at, first, length) != 0))
                return at;
            first = writers[w] + at;
        }
    }
    return bytes;
}

/*
 * Which copies changed the block: one bit each. The comparison reads all copies and the shadow
 * together, so that the memory has several streams to fetch. It prefetches the next block early,
 * because the processor's own prefetching stops at the end of a page, which is a block.
 */
#define LINE 64u
/* bytes: about as many lines as a core can have in flight, over three streams */
#define AHEAD 1024u

typedef uint64_t vector __attribute__((vector_size(32), aligned(1), may_alias));

static inline __attribute__((always_inline)) unsigned compare_two(const unsigned char *shadow,
                                                                  const unsigned char *first,
                                                                  const unsigned char *second, size_t bytes)
{
    vector in_first = {0}, in_second = {0};
    size_t at = 0;
    unsigned writers;

    for (; at + LINE <= bytes; at += LINE) {
        __builtin_prefetch(shadow + at + AHEAD);
        __builtin_prefetch(first + at + AHEAD);
        __builtin_prefetch(second + at + AHEAD);
        for (size_t half = at; half < at + LINE; half += sizeof(vector)) {
            vector s = *(const vector *)(shadow + half);

            in_first |= *(const vector *)(first + half) ^ s;
            in_second |= *(const vector *)(second + half) ^ s;
        }
    }
    writers = (in_first[0] | in_first[1] | in_first[2] | in_first[3]) != 0 ? 1 : 0;
    writers |= (in_second[0] | in_second[1] | in_second[2] | in_second[3]) != 0 ? 2 : 0;
    if (at < bytes) {
        writers |= memcmp(first + at, shadow + at, bytes - at) != 0 ? 1 : 0;
        writers |= memcmp(second + at, shadow + at, bytes - at) != 0 ? 2 : 0;
    }
    return writers;
}

/* The same loops for each instruction set; the widest that the processor supports is used. */
struct way {
    unsigned (*compare)(const unsigned char *shadow, const unsigned char *first, const unsigned char *second,
                        size_t bytes);
    bool (*unite)(unsigned char merged[MERGE_BLOCK], const unsigned char *shadow,
                  const unsigned char *const writers[], size_t n, size_t bytes, size_t granule);
};

#define WAY(name, attribute)                                                                                 \
    attribute static unsigned compare_##name(const unsigned char *shadow, const unsigned char *first,        \
                                             const unsigned char *second, size_t bytes)                      \
    {                                                                                                        \
        return compare_two(shadow, first, second, bytes);                                                    \
    }                                                                                                        \
    attribute static bool unite_##name(unsigned char merged[MERGE_BLOCK], const unsigned char *shadow,       \
                                       const unsigned char *const writers[], size_t n, size_t bytes,         \
                                       size_t granule)                                                       \
    {                                                                                                        \
        return unite(merged, shadow, writers, n, bytes, granule);                                            \
    }                                                                                                        \
    static const struct way way_##name = {compare_##name, unite_##name};
WAY(plain, )
#ifdef __x86_64__
WAY(avx2, __attribute__((target("avx2"))))
#endif

static const struct way *fastest(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return &way_avx2;
#endif
    return &way_plain;
}

/* Compares two copies at a time; the last of an odd number is compared twice. */
static unsigned find_writers(const struct part *part, const struct way *way, size_t at, size_t bytes)
{
    const unsigned char *shadow = part->shadow + at;
    unsigned writers = 0;

    for (size_t c = 0; c < part->n; c += 2) {
        size_t next = c + 1 < part->n ? c + 1 : c;
        unsigned pair = way->compare(shadow, part->copies[c] + at, part->copies[next] + at, bytes);

        writers |= (pair & 1) << c | (pair >> 1 & 1) << next;
    }
    return writers;
}

/*
 * Works block by block. Shares of a split kernel mostly write to different places, so nearly every
 * block has at most one writer. Such a block needs a fast comparison and a copy, or no copy if the
 * output is that writer's own.
 */
static void merge_part(struct part *part)
{
    _Alignas(64) unsigned char merged[MERGE_BLOCK];
    const struct way *way = fastest();

    for (size_t at = part->begin; at < part->end; at += MERGE_BLOCK) {
        size_t bytes = part->end - at < MERGE_BLOCK ? part->end - at : MERGE_BLOCK;
        const unsigned char *shadow = part->shadow + at;
        const unsigned char *writers[MERGE_MAX_COPIES];
        const unsigned char *from = shadow;
        unsigned changed = find_writers(part, way, at, bytes);
        size_t n = 0;

        for (size_t c = 0; c < part->n; c++)
            if (changed >> c & 1)
                writers[n++] = part->copies[c] + at;
        if (part->writers)
            part->writers[at / MERGE_BLOCK] = (uint16_t)changed;
        if (n > 1) {
            size_t conflict = bytes;

            if (!way->unite(merged, shadow, writers, n, bytes, part->granule) || part->apart)
                conflict = find_conflict(shadow, writers, n, bytes, part->granule, part->apart);
            if (conflict < bytes) {
                part->conflict_at = at + conflict;
                return;
            }
            from = merged;
        } else if (n == 1) {
            from = writers[0];
        }
        if (from != part->out + at)
            memcpy(part->out + at, from, bytes);
    }
}

static void *merge_thread(void *part)
{
    merge_part(part);
    return NULL;
}

int merge_copies(void *ret_out, const void *shadow, const void *const copies[], size_t n, size_t size,
                 size_t granule, bool apart, unsigned threads, uint16_t *ret_writers, size_t *ret_at)
{
    struct part parts[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    bool started[MAX_THREADS] = {false};
    size_t wanted = size / THREAD_BYTES < threads ? size / THREAD_BYTES : threads;
    size_t n_parts = wanted < 1 ? 1 : wanted > MAX_THREADS ? MAX_THREADS : wanted;
    size_t blocks = (size + MERGE_BLOCK - 1) / MERGE_BLOCK;
    int result = 0;

    assert(n >= 2 && n <= MERGE_MAX_COPIES && granule >= 1 && granule <= MERGE_MAX_GRANULE &&
           (granule & (granule - 1)) == 0);
    for (size_t p = 0; p < n_parts; p++) {
        size_t end = blocks * (p + 1) / n_parts * MERGE_BLOCK;

        parts[p] = (struct part){.out = ret_out,
                                 .shadow = shadow,
                                 .writers = ret_writers,
                                 .n = n,
                                 .begin = blocks * p / n_parts * MERGE_BLOCK,
                                 .end = end < size ? end : size,
                                 .granule = granule,
                                 .apart = apart,
                                 .conflict_at = SIZE_MAX};
        memcpy(parts[p].copies, copies, n * sizeof copies[0]);
        /* The calling thread does the last part, and any part whose thread cannot be created. */
        if (p + 1 < n_parts)
            started[p] = pthread_create(&ids[p], NULL, merge_thread, &parts[p]) == 0;
    }
    for (size_t p = n_parts; p-- > 0;) {
        if (started[p])
            pthread_join(ids[p], NULL);
        else
            merge_part(&parts[p]);
        if (parts[p].conflict_at != SIZE_MAX) {
            *ret_at = parts[p].conflict_at;
            result = MERGE_CONFLICT;
        }
    }
    return result;
}
