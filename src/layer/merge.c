#include "layer/merge.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BLOCK                                                                                                \
    ((size_t)4096) /* bytes judged at a time: stays in the first cache; a multiple of every granule */
#define THREAD_BYTES ((size_t)1 << 20) /* a thread for less than this costs more than it gains */
#define MAX_THREADS  64

struct share {
    unsigned char *out;
    const unsigned char *shadow;
    const unsigned char *copies[MERGE_MAX_COPIES];
    size_t n, begin, end, granule;
    size_t conflict_at; /* SIZE_MAX: none */
};

/* Do two of the writers disagree about a granule that both changed? Answers its offset, or bytes. */
static size_t find_conflict(const unsigned char *shadow, const unsigned char *const writers[], size_t n,
                            size_t bytes, size_t granule)
{
    for (size_t at = 0; at < bytes; at += granule) {
        size_t length = bytes - at < granule ? bytes - at : granule;
        const unsigned char *first = NULL;

        for (size_t w = 0; w < n; w++) {
            if (memcmp(writers[w] + at, shadow + at, length) == 0)
                continue;
            if (first && memcmp(writers[w] + at, first, length) != 0)
                return at;
            first = writers[w] + at;
        }
    }
    return bytes;
}

/* merged = shadow xor the union of all changes: right wherever changes are disjoint or equal. Loops that vectorise. */
static void unite(unsigned char *restrict merged, const unsigned char *restrict shadow,
                  const unsigned char *const writers[], size_t n, size_t bytes)
{
    memset(merged, 0, bytes);
    for (size_t w = 0; w < n; w++) {
        const unsigned char *restrict copy = writers[w];

        for (size_t i = 0; i < bytes; i++)
            merged[i] |= copy[i] ^ shadow[i];
    }
    for (size_t i = 0; i < bytes; i++)
        merged[i] ^= shadow[i];
}

/*
 * Block by block. Shares of a split kernel mostly write apart from each other, so nearly every block has one writer at most: two
 * fast comparisons and a copy, or no copy at all where the output already is that writer's.
 */
static void merge_range(struct share *share)
{
    unsigned char merged[BLOCK];

    for (size_t at = share->begin; at < share->end; at += BLOCK) {
        size_t bytes = share->end - at < BLOCK ? share->end - at : BLOCK;
        const unsigned char *shadow = share->shadow + at;
        const unsigned char *writers[MERGE_MAX_COPIES];
        const unsigned char *from = shadow;
        size_t n = 0;

        for (size_t c = 0; c < share->n; c++) {
            if (memcmp(share->copies[c] + at, shadow, bytes) != 0)
                writers[n++] = share->copies[c] + at;
        }
        if (n > 1) {
            size_t conflict = find_conflict(shadow, writers, n, bytes, share->granule);

            if (conflict < bytes) {
                share->conflict_at = at + conflict;
                return;
            }
            unite(merged, shadow, writers, n, bytes);
            from = merged;
        } else if (n == 1) {
            from = writers[0];
        }
        if (from != share->out + at)
            memcpy(share->out + at, from, bytes);
    }
}

static void *merge_thread(void *share)
{
    merge_range(share);
    return NULL;
}

int merge_copies(void *ret_out, const void *shadow, const void *const copies[], size_t n, size_t size,
                 size_t granule, unsigned threads, size_t *ret_at)
{
    struct share shares[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    bool started[MAX_THREADS] = {false};
    size_t wanted = size / THREAD_BYTES < threads ? size / THREAD_BYTES : threads;
    size_t parts = wanted < 1 ? 1 : wanted > MAX_THREADS ? MAX_THREADS : wanted;
    size_t blocks = (size + BLOCK - 1) / BLOCK;
    int result = 0;

    assert(n >= 2 && n <= MERGE_MAX_COPIES && granule >= 1 && granule <= MERGE_MAX_GRANULE &&
           (granule & (granule - 1)) == 0);
    for (size_t p = 0; p < parts; p++) {
        size_t end = blocks * (p + 1) / parts * BLOCK;

        shares[p] = (struct share){.out = ret_out,
                                   .shadow = shadow,
                                   .n = n,
                                   .begin = blocks * p / parts * BLOCK,
                                   .end = end < size ? end : size,
                                   .granule = granule,
                                   .conflict_at = SIZE_MAX};
        memcpy(shares[p].copies, copies, n * sizeof copies[0]);
        /* The last part is ours; a part whose thread cannot be had is ours as well. */
        if (p + 1 < parts)
            started[p] = pthread_create(&ids[p], NULL, merge_thread, &shares[p]) == 0;
    }
    for (size_t p = parts; p-- > 0;) {
        if (started[p])
            pthread_join(ids[p], NULL);
        else
            merge_range(&shares[p]);
        if (shares[p].conflict_at != SIZE_MAX) {
            *ret_at = shares[p].conflict_at;
            result = MERGE_CONFLICT;
        }
    }
    return result;
}
