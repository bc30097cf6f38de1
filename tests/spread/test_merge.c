/* The merge against one that looks at a granule at a time and writes down what it sees. */
#include "harness.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spread/byte_merge.h"

/* What merge.h says, granule by granule: 0 and the merged bytes, or MERGE_CONFLICT. */
static int naive(unsigned char *ret_out, const unsigned char *shadow, const void *const copies[], size_t n,
                 size_t size, size_t granule)
{
    for (size_t at = 0; at < size; at += granule) {
        size_t length = size - at < granule ? size - at : granule;
        const unsigned char *writer = NULL;

        for (size_t c = 0; c < n; c++) {
            const unsigned char *copy = (const unsigned char *)copies[c] + at;
            bool changed = false, same = true;

            for (size_t i = 0; i < length; i++)
                changed = changed || copy[i] != shadow[at + i];
            if (!changed)
                continue;
            for (size_t i = 0; writer && i < length; i++)
                same = same && copy[i] == writer[i];
            if (!same)
                return MERGE_CONFLICT;
            writer = copy;
        }
        for (size_t i = 0; i < length; i++)
            ret_out[at + i] = writer ? writer[i] : shadow[at + i];
    }
    return 0;
}

struct fixture {
    size_t size, n, granule;
    unsigned char *shadow, *out, *expected, *copies[MERGE_MAX_COPIES];
    const void *list[MERGE_MAX_COPIES];
    uint16_t *writers;
};

static void make(struct fixture *f, struct random_state *random, size_t size, size_t n, size_t granule)
{
    *f = (struct fixture){.size = size, .n = n, .granule = granule};
    f->shadow = malloc(size + 1);
    f->out = malloc(size + 1);
    f->expected = malloc(size + 1);
    f->writers = calloc(size / MERGE_BLOCK + 1, sizeof *f->writers);
    for (size_t i = 0; i < size; i++)
        f->shadow[i] = (unsigned char)random_below(random, 3);
    for (size_t c = 0; c < n; c++) {
        f->copies[c] = malloc(size + 1);
        memcpy(f->copies[c], f->shadow, size);
        f->list[c] = f->copies[c];
    }
}

static void drop(struct fixture *f)
{
    for (size_t c = 0; c < f->n; c++)
        free(f->copies[c]);
    free(f->shadow);
    free(f->out);
    free(f->expected);
    free(f->writers);
}

/* Stores of one device: in its own granules, or anywhere. */
static void scribble(struct fixture *f, struct random_state *random, bool apart)
{
    size_t granules = (f->size + f->granule - 1) / f->granule;

    for (size_t k = 0; k < granules; k++) {
        size_t c = apart ? random_below(random, f->n) : 0;
        size_t length = f->size - k * f->granule < f->granule ? f->size - k * f->granule : f->granule;

        for (size_t other = 0; other < (apart ? 1 : f->n); other++) {
            unsigned char *at = f->copies[apart ? c : other] + k * f->granule;
            if (random_below(random, 4) == 0)
                at[random_below(random, length)] = (unsigned char)random_below(random, 3);
        }
    }
}

static void check(struct fixture *f, unsigned threads)
{
    size_t at = SIZE_MAX;
    int wanted = naive(f->expected, f->shadow, f->list, f->n, f->size, f->granule);
    int found =
        merge_copies(f->out, f->shadow, f->list, f->n, f->size, f->granule, false, threads, f->writers, &at);

    ck_assert_int_eq(found, wanted);
    if (found == 0) {
        ck_assert(f->size == 0 || memcmp(f->out, f->expected, f->size) == 0);
    } else {
        ck_assert_uint_lt(at, f->size);
        ck_assert_uint_eq(at % f->granule, 0);
        /* That granule alone is a conflict too. */
        size_t length = f->size - at < f->granule ? f->size - at : f->granule;
        const void *alone[MERGE_MAX_COPIES];
        for (size_t c = 0; c < f->n; c++)
            alone[c] = f->copies[c] + at;
        ck_assert_int_eq(naive(f->expected, f->shadow + at, alone, f->n, length, f->granule), MERGE_CONFLICT);
    }
}

START_TEST(merging_agrees_with_looking_at_each_granule)
{
    struct random_state random;
    struct fixture f;
    unsigned conflicts = 0;

    random_init(&random, 8, 0);
    for (size_t i = 0; i < harness_scale(3000, 60000); i++) {
        size_t granule = (size_t)1 << random_below(&random, 8);
        make(&f, &random,
             random_below(&random, 3) ? random_below(&random, 300) : random_below(&random, 20000),
             2 + random_below(&random, 4), granule);
        scribble(&f, &random, random_below(&random, 3) != 0);
        check(&f, 1);
        conflicts += naive(f.expected, f.shadow, f.list, f.n, f.size, f.granule) == MERGE_CONFLICT;
        drop(&f);
    }
    ck_assert_uint_gt(conflicts, 100); /* both answers were tried */
    ck_assert_uint_lt(conflicts, 2900 * harness_scale(1, 20));
}
END_TEST

START_TEST(merging_on_several_threads_gives_the_same)
{
    struct random_state random;
    struct fixture f;

    random_init(&random, 9, 0);
    for (unsigned i = 0; i < 6; i++) {
        make(&f, &random, ((size_t)3 << 20) + random_below(&random, 5000), 2 + i % 3, (size_t)4 << i % 3);
        scribble(&f, &random, true);
        if (i == 5) { /* one disagreement far inside */
            f.copies[0][2000000] = 7;
            f.copies[1][2000000] = 8;
        }
        check(&f, 3);
        drop(&f);
    }
}
END_TEST

START_TEST(the_output_may_be_the_shadow_or_a_copy)
{
    struct random_state random;
    struct fixture f;
    size_t at;

    random_init(&random, 10, 0);
    for (unsigned i = 0; i < 200; i++) {
        make(&f, &random, 1 + random_below(&random, 12000), 3, 4);
        scribble(&f, &random, true);
        ck_assert_int_eq(naive(f.expected, f.shadow, f.list, f.n, f.size, 4), 0);
        unsigned char *out = i % 2 ? f.shadow : f.copies[i % 3];
        ck_assert_int_eq(merge_copies(out, f.shadow, f.list, f.n, f.size, 4, false, 1, NULL, &at), 0);
        ck_assert_mem_eq(out, f.expected, f.size);
        drop(&f);
    }
}
END_TEST

START_TEST(each_block_knows_who_wrote_it)
{
    unsigned char shadow[3 * MERGE_BLOCK] = {0}, a[3 * MERGE_BLOCK] = {0}, b[3 * MERGE_BLOCK] = {0};
    unsigned char out[3 * MERGE_BLOCK];
    const void *copies[] = {a, b};
    uint16_t writers[3];
    size_t at;

    a[5] = 1;
    b[MERGE_BLOCK + 5] = 1;
    a[MERGE_BLOCK + 6] = 1;
    ck_assert_int_eq(merge_copies(out, shadow, copies, 2, sizeof shadow, 1, false, 1, writers, &at), 0);
    ck_assert_uint_eq(writers[0], 1);
    ck_assert_uint_eq(writers[1], 3);
    ck_assert_uint_eq(writers[2], 0);
}
END_TEST

START_TEST(two_halves_of_one_element_are_not_mixed)
{
    uint32_t shadow = 0, a = 0x00000100, b = 0x00000001, out = 0;
    const void *copies[] = {&a, &b};
    size_t at = 9;

    ck_assert_int_eq(merge_copies(&out, &shadow, copies, 2, 4, 4, false, 1, NULL, &at), MERGE_CONFLICT);
    ck_assert_uint_eq(at, 0);
    ck_assert_int_eq(merge_copies(&out, &shadow, copies, 2, 4, 1, false, 1, NULL, &at),
                     0); /* as bytes they are apart */
    ck_assert_uint_eq(out, 0x101);
}
END_TEST

START_TEST(two_writers_that_also_read_must_be_apart)
{
    uint32_t shadow[] = {5, 7}, a[] = {6, 7}, b[] = {6, 9}, c[] = {5, 9}, out[2];
    const void *both[] = {a, b}, *one_each[] = {a, c};
    size_t at = 9;

    ck_assert_int_eq(merge_copies(out, shadow, both, 2, 8, 4, false, 1, NULL, &at), 0); /* both wrote 6 */
    ck_assert_int_eq(merge_copies(out, shadow, both, 2, 8, 4, true, 1, NULL, &at), MERGE_CONFLICT);
    ck_assert_uint_eq(at, 0);
    ck_assert_int_eq(merge_copies(out, shadow, one_each, 2, 8, 4, true, 1, NULL, &at), 0);
    ck_assert_uint_eq(out[0], 6);
    ck_assert_uint_eq(out[1], 9);
}
END_TEST

HARNESS_MAIN("merge", 60, two_writers_that_also_read_must_be_apart,
             merging_agrees_with_looking_at_each_granule, merging_on_several_threads_gives_the_same,
             the_output_may_be_the_shadow_or_a_copy, each_block_knows_who_wrote_it,
             two_halves_of_one_element_are_not_mixed)
