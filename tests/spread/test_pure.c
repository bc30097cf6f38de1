/* Ranges and coherence against arrays with one entry per byte; shares against arithmetic. */
#include "harness.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/random.h"
#include "spread/boundary.h"
#include "spread/coherence.h"
#include "spread/shares.h"

enum { SIZE = 200 };

/* For innermost loops: the harness writes a message per assertion. */
#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            ck_abort_msg("%s", #condition);                                                                  \
    } while (0)

static struct range pick(struct random_state *random)
{
    size_t a = random_below(random, SIZE + 1), b = random_below(random, SIZE + 1);

    return a < b ? (struct range){a, b} : (struct range){b, a};
}

static void check_ranges(const struct ranges *ranges, const bool bytes[SIZE], struct random_state *random)
{
    struct range within = pick(random), missing = {within.end, within.end}, held = missing;
    size_t n = 0, listed = 0;

    for (unsigned i = 0; i < ranges->n; i++) {
        REQUIRE(ranges->list[i].begin < ranges->list[i].end);
        listed += range_length(ranges->list[i]);
        if (i)
            REQUIRE(ranges->list[i - 1].end < ranges->list[i].begin);
    }
    for (size_t i = 0; i < SIZE; i++)
        n += bytes[i];
    ck_assert_uint_eq(listed, n);
    for (size_t i = within.end; i-- > within.begin;) {
        struct range *part = bytes[i] ? &held : &missing;
        bool goes_on = i + 1 < within.end && bytes[i] == bytes[i + 1];
        *part = (struct range){i, goes_on ? part->end : i + 1};
    }
    ck_assert_uint_eq(ranges_first_missing(ranges, within).begin, missing.begin);
    ck_assert_uint_eq(ranges_first_missing(ranges, within).end, missing.end);
    ck_assert_uint_eq(ranges_first_held(ranges, within).begin, held.begin);
    ck_assert_uint_eq(ranges_first_held(ranges, within).end, held.end);
    ck_assert_int_eq(ranges_holds(ranges, within), missing.begin == missing.end);
}

START_TEST(ranges_are_a_set_of_bytes)
{
    struct random_state random;

    random_init(&random, 1, 0);
    for (unsigned round = 0; round < 300; round++) {
        struct ranges ranges = {0};
        bool bytes[SIZE] = {false};

        for (unsigned i = 0; i < 40; i++) { /* long ranges: the room suffices */
            struct range range = pick(&random);
            bool add = random_below(&random, 2);

            if (add)
                ranges_add(&ranges, range);
            else
                ranges_remove(&ranges, range);
            for (size_t b = range.begin; b < range.end; b++)
                bytes[b] = add;
            check_ranges(&ranges, bytes, &random);
        }
    }
}
END_TEST

START_TEST(ranges_without_room_forget_and_never_invent)
{
    struct random_state random;
    unsigned forgot = 0;

    random_init(&random, 2, 0);
    for (unsigned round = 0; round < 300; round++) {
        struct ranges ranges = {0};
        bool bytes[SIZE] = {false};

        for (unsigned i = 0; i < 150; i++) {
            size_t at = random_below(&random, SIZE);
            struct range one = {at, at + 1};
            bool add = random_below(&random, 4) != 0;

            if (add)
                ranges_add(&ranges, one);
            else
                ranges_remove(&ranges, one);
            bytes[at] = add;
        }
        ck_assert_uint_le(ranges.n, RANGES_MAX);
        for (size_t b = 0; b < SIZE; b++) {
            bool held = ranges_holds(&ranges, (struct range){b, b + 1});
            REQUIRE(!held || bytes[b]);
            forgot += bytes[b] && !held;
        }
    }
    ck_assert_uint_gt(forgot, 0);
}
END_TEST

enum { PLACES = 4 };

/* Places with copies of one buffer, and what one device would hold. */
struct copies {
    struct coherence c;
    unsigned bytes[PLACES][SIZE], truth[SIZE], clock;
};

static void make_valid(struct copies *copies, int place, struct range range)
{
    struct range part;
    int from;

    while ((from = coherence_next_copy(&copies->c, place, range, &part)) != PLACE_NONE) {
        ck_assert_int_ne(from, place);
        ck_assert_uint_gt(range_length(part), 0);
        memcpy(&copies->bytes[place][part.begin], &copies->bytes[from][part.begin],
               range_length(part) * sizeof(unsigned));
        coherence_copied(&copies->c, place, part);
    }
    ck_assert(coherence_valid(&copies->c, place, range));
}

static void write_valid(struct copies *copies, int place, struct range range)
{
    make_valid(copies, place, range);
    copies->clock++;
    for (size_t b = range.begin; b < range.end; b++)
        copies->truth[b] = copies->bytes[place][b] = copies->clock;
    coherence_written(&copies->c, place, range);
}

/* Split over two devices, merged at once at home. */
static void split_and_merge(struct copies *copies, struct range range)
{
    coherence_split(&copies->c, range);
    for (int p = 0; p < PLACES; p++)
        ck_assert(range_length(range) == 0 || !coherence_valid(&copies->c, p, range));
    copies->clock++;
    for (size_t b = range.begin; b < range.end; b++) {
        copies->bytes[2][b] = copies->bytes[3][b] = copies->bytes[PLACE_HOST][b] = 888888;
        copies->truth[b] = copies->bytes[PLACE_HOME][b] = copies->clock;
    }
    coherence_merged(&copies->c, PLACE_HOME, range);
}

static void check_copies(const struct copies *copies)
{
    for (size_t b = 0; b < SIZE; b++) {
        bool somewhere = false;

        for (int p = 0; p < PLACES; p++)
            if (coherence_valid(&copies->c, p, (struct range){b, b + 1})) {
                somewhere = true;
                REQUIRE(copies->bytes[p][b] == copies->truth[b]);
            }
        REQUIRE(somewhere || coherence_tight(&copies->c));
    }
}

/*
 * Copies with real bytes: what the record says is valid must hold what one device alone would hold.
 */
START_TEST(a_valid_copy_holds_what_one_device_would)
{
    const struct range all = {0, SIZE};
    static struct copies copies;
    struct random_state random;

    random_init(&random, 3, 0);
    for (unsigned round = 0; round < 400; round++) {
        copies = (struct copies){.clock = 0};
        coherence_init(&copies.c, SIZE);
        for (unsigned place = 1; place < PLACES; place++)
            for (size_t b = 0; b < SIZE; b++)
                copies.bytes[place][b] = 999999;
        for (unsigned step = 0; step < 60; step++) {
            int place = (int)random_below(&random, PLACES);
            struct range range = pick(&random);

            if (random_below(&random, 3) == 0)
                write_valid(&copies, place, range);
            else if (random_below(&random, 2))
                split_and_merge(&copies, range);
            else
                make_valid(&copies, place, range);
            check_copies(&copies);
            if (coherence_tight(&copies.c)) { /* as the owner does: everything home */
                make_valid(&copies, PLACE_HOME, all);
                coherence_written(&copies.c, PLACE_HOME, all);
            }
        }
    }
}
END_TEST

START_TEST(shares_cover_every_group_once_and_follow_the_speed)
{
    struct random_state random;
    uint32_t ends[SHARES_MAX];

    random_init(&random, 4, 0);
    for (unsigned i = 0; i < 20000; i++) {
        unsigned n = 1 + (unsigned)random_below(&random, SHARES_MAX);
        uint32_t groups = (uint32_t)random_below(&random, i % 2 ? 50 : UINT32_MAX), before = 0;
        uint32_t grain = (uint32_t)random_below(&random, 9);
        double rates[SHARES_MAX], total = 0;

        for (unsigned d = 0; d < n; d++)
            total += rates[d] = 0.1 + random_unit(&random);
        grain = shares_grain(groups, n, grain);
        shares_divide(groups, rates, n, grain, ends);
        for (unsigned d = 0; d < n; d++) {
            double wanted = groups * rates[d] / total;
            REQUIRE(ends[d] >= before);
            REQUIRE(fabs(wanted - (ends[d] - before)) <= (grain > 1 ? grain + 1 : 1.5));
            before = ends[d];
        }
        ck_assert_uint_eq(before, groups);
    }
    /* 3 : 1, and one never measured counts as their average: 3 : 1 : 2. */
    shares_divide(400, (double[]){3, 1}, 2, 1, ends);
    ck_assert_uint_eq(ends[0], 300);
    shares_divide(600, (double[]){3, 1, 0}, 3, 1, ends);
    ck_assert_uint_eq(ends[0], 300);
    ck_assert_uint_eq(ends[1], 400);
    /* (1/10 + 1/30) / 2 */
    ck_assert_double_eq_tol(shares_rate(0.1, 10, 300), 0.0666667, 1e-6);
}
END_TEST

enum { GROUPS = 300 };

/* One history of a boundary: which side takes what, against an array with one entry per group. */
static void check_border(struct random_state *random)
{
    uint32_t begin = (uint32_t)random_below(random, 40),
             end = begin + 2 + (uint32_t)random_below(random, 200);
    uint32_t nominal = begin + 1 + (uint32_t)random_below(random, end - begin - 1);
    uint32_t grain = 1 + (uint32_t)random_below(random, 9), low_end = begin, high_begin = end;
    bool taken[GROUPS] = {false}, over[2] = {false, false};
    struct boundary boundary;

    boundary_init(&boundary, begin, nominal, end, grain);
    boundary.least = begin + (uint32_t)random_below(random, nominal - begin + 1);
    boundary.most = nominal + (uint32_t)random_below(random, end - nominal + 1);
    while (!over[0] || !over[1]) {
        enum boundary_side side = random_below(random, 2) ? BOUNDARY_LOW : BOUNDARY_HIGH;
        uint32_t step = 1 + (uint32_t)random_below(random, 30), from, to, left = high_begin - low_end;
        bool own = side == BOUNDARY_LOW ? low_end < nominal : high_begin > nominal;

        if (!boundary_take(&boundary, side, step, &from, &to)) {
            REQUIRE(left == 0 || !own); /* a side that has groups of its own takes them */
            over[side] = true;
            continue;
        }
        REQUIRE(from < to && (side == BOUNDARY_LOW ? from == low_end : to == high_begin));
        REQUIRE(own ? to - from <= step : to - from <= left / 2 && (to - from) % grain == 0);
        REQUIRE(from >= (side == BOUNDARY_HIGH ? boundary.least : begin) &&
                to <= (side == BOUNDARY_LOW ? boundary.most : end));
        for (uint32_t g = from; g < to; g++) {
            REQUIRE(!taken[g]);
            taken[g] = true;
        }
        *(side == BOUNDARY_LOW ? &low_end : &high_begin) = side == BOUNDARY_LOW ? to : from;
    }
    REQUIRE(low_end == high_begin);
    REQUIRE((low_end > nominal ? low_end - nominal : nominal - low_end) % grain == 0);
    boundary_open(&boundary, &begin, &end);
    REQUIRE(begin == end && begin == low_end);
}

START_TEST(neighbours_take_every_group_once_and_meet_at_a_grain)
{
    struct random_state random;

    random_init(&random, 5, 0);
    for (unsigned i = 0; i < 20000; i++)
        check_border(&random);
}
END_TEST

/*
 * The lower one is done at once. The upper one's part goes over in halves: of 64, 32 + 16 + 8 + 4 +
 * 2 + 1, and the last one stays.
 */
START_TEST(who_is_held_up_gives_half_of_what_is_left)
{
    struct boundary boundary;
    uint32_t from, to, wanted = 32;

    boundary_init(&boundary, 0, 1, 65, 1);
    ck_assert(boundary_take(&boundary, BOUNDARY_LOW, 100, &from, &to));
    ck_assert_uint_eq(to, 1);
    for (uint32_t at = 1; wanted; wanted /= 2) {
        ck_assert(boundary_take(&boundary, BOUNDARY_LOW, 100, &from, &to));
        ck_assert_uint_eq(from, at);
        ck_assert_uint_eq(to - from, wanted);
        at = to;
    }
    ck_assert(!boundary_take(&boundary, BOUNDARY_LOW, 100, &from, &to));
    ck_assert(boundary_take(&boundary, BOUNDARY_HIGH, 100, &from, &to));
    ck_assert_uint_eq(from, 64);
    ck_assert_uint_eq(to, 65);
    ck_assert(!boundary_take(&boundary, BOUNDARY_HIGH, 100, &from, &to));
}
END_TEST

static struct boundary shared_boundary;
static unsigned char shared_taken[1 << 20];

static void *take_all(void *side)
{
    uint32_t from, to;

    while (boundary_take(&shared_boundary, side ? BOUNDARY_HIGH : BOUNDARY_LOW, 3, &from, &to))
        for (uint32_t g = from; g < to; g++)
            shared_taken[g]++;
    return NULL;
}

START_TEST(two_threads_take_every_group_once)
{
    pthread_t other;

    boundary_init(&shared_boundary, 0, 300000, sizeof shared_taken, 32);
    ck_assert_int_eq(pthread_create(&other, NULL, take_all, &shared_boundary), 0);
    (void)take_all(NULL);
    pthread_join(other, NULL);
    for (size_t g = 0; g < sizeof shared_taken; g++)
        REQUIRE(shared_taken[g] == 1);
}
END_TEST

HARNESS_MAIN("spread", 60, ranges_are_a_set_of_bytes, ranges_without_room_forget_and_never_invent,
             a_valid_copy_holds_what_one_device_would, shares_cover_every_group_once_and_follow_the_speed,
             neighbours_take_every_group_once_and_meet_at_a_grain, who_is_held_up_gives_half_of_what_is_left,
             two_threads_take_every_group_once)
