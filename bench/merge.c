/*
 * Merging what a split kernel wrote (src/spread/byte_merge.h) beside memcpy, both counted in bytes
 * read plus bytes written. A merge of two copies into the shadow reads three times its size and
 * writes what was changed. Medians of 9 rounds, with the extremes; both are measured in turn within
 * a round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "figure.h"
#include "spread/byte_merge.h"

enum { ROUNDS = 9 };

static const size_t size = (size_t)32 << 20;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

enum pattern { NOTHING, HALVES, BLOCKS, WORDS };
static const char *const pattern_names[] = {"nothing written", "two halves", "alternate 4 KiB",
                                            "alternate words"};

/* Which copy writes the word? -1: none. */
static int writer_of(enum pattern pattern, size_t word)
{
    switch (pattern) {
    case HALVES:
        return word >= size / 8;
    case BLOCKS:
        return word / 1024 % 2 != 0;
    case WORDS:
        return word % 2 != 0;
    default:
        return -1;
    }
}

static void prepare(enum pattern pattern, unsigned *shadow, unsigned *a, unsigned *b)
{
    for (size_t i = 0; i < size / 4; i++) {
        int writer = writer_of(pattern, i);

        shadow[i] = a[i] = b[i] = (unsigned)i;
        if (writer >= 0)
            (writer ? b : a)[i] = ~(unsigned)i;
    }
}

static void measure(enum pattern pattern, unsigned threads, unsigned *shadow, unsigned *a, unsigned *b,
                    unsigned *out)
{
    double merge[ROUNDS], copy[ROUNDS], ratio[ROUNDS];
    const void *copies[] = {a, b};
    double bytes = 3.0 * (double)size + (pattern == NOTHING ? 0 : (double)size);

    for (int r = 0; r < ROUNDS; r++) {
        baton_nsec begin_at;
        size_t at;

        prepare(pattern, shadow, a, b);
        begin_at = clock_now();
        memcpy(out, a, size);
        copy[r] = 2.0 * (double)size / (double)(clock_now() - begin_at);
        begin_at = clock_now();
        if (merge_copies(shadow, shadow, copies, 2, size, 4, false, threads, NULL, &at) != 0)
            exit(1);
        merge[r] = bytes / (double)(clock_now() - begin_at);
        ratio[r] = merge[r] / copy[r];
    }
    qsort(merge, ROUNDS, sizeof merge[0], by_value);
    qsort(copy, ROUNDS, sizeof copy[0], by_value);
    qsort(ratio, ROUNDS, sizeof ratio[0], by_value);
    printf("%-16s %u thread%s  merge %5.1f GB/s  memcpy %5.1f GB/s  ratio %.2f (%.2f .. %.2f)\n",
           pattern_names[pattern], threads, threads > 1 ? "s" : " ", merge[ROUNDS / 2], copy[ROUNDS / 2],
           ratio[ROUNDS / 2], ratio[0], ratio[ROUNDS - 1]);
    if (pattern == HALVES)
        figure_sorted(threads == 1 ? "merge-one-thread" : "merge-two-threads", ratio, ROUNDS);
}

int main(void)
{
    unsigned *memory[4];

    for (int i = 0; i < 4; i++) {
        memory[i] = aligned_alloc(4096, size);
        if (!memory[i])
            return 3;
        memset(memory[i], 1, size);
    }
    printf("merge of two copies of %zu MiB, bytes read plus written\n", size >> 20);
    for (enum pattern pattern = NOTHING; pattern <= WORDS; pattern++)
        for (unsigned threads = 1; threads <= 2; threads++)
            measure(pattern, threads, memory[0], memory[1], memory[2], memory[3]);
    for (int i = 0; i < 4; i++)
        free(memory[i]);
    return 0;
}
