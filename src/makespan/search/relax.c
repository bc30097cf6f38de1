#include "makespan/search/relax.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "makespan/search/bound.h"
#include "makespan/warp_step.h"

#define STEPS_PER_CLOCK_CHECK 65536
#define VALUES_PER_STEP       64 /* of a row, which vector instructions fill */

/* One row being filled: all coordinates but the last w. */
struct row {
    struct relax *relax;
    unsigned k[RELAX_MAX_SEGMENTS], w[RELAX_MAX_SEGMENTS];
    unsigned later[RELAX_MAX_SEGMENTS]; /* warps in later segments of the same unit */
    uint64_t begin;                     /* index of its first state */
    uint64_t n;                         /* states in it */
    unsigned self;                      /* step within the row, 0: none */
    unsigned most;                      /* no value is larger */
    const struct relax_settings *settings;
    uint64_t steps;
    uint64_t check_at; /* steps at which the limits are looked at again */
    int stopped;       /* the relax_answer that ends it, or 0 */
    /* owned; with skips: the best value after one omission, for every state of a row */
    void *skipped;
};

/*
 * Counts steps; false once a limit is exceeded. The limit on effort is checked exactly, so that it
 * stops every table that needs more and no other.
 */
static bool spend(struct row *row, uint64_t steps)
{
    const struct relax_settings *settings = row->settings;

    row->steps += steps;
    if (row->steps < row->check_at)
        return !row->stopped;
    if (settings->effort && row->steps > settings->effort)
        row->stopped = RELAX_OUT_OF_EFFORT;
    else if (settings->until_at && clock_now() > settings->until_at)
        row->stopped = RELAX_TIMED_OUT;
    row->check_at = row->steps + STEPS_PER_CLOCK_CHECK;
    if (settings->effort && settings->effort < row->check_at)
        row->check_at = settings->effort + 1;
    return !row->stopped;
}

/* Possible values of w for k warps in a segment. */
static uint64_t spreads(unsigned k, unsigned length)
{
    return (uint64_t)k * (length - 1) + 1;
}

static int cut(const struct problem *problem, const uint8_t cuts[], struct relax *relax)
{
    relax->n_segments = 0;
    for (size_t i = 0, run; i < problem->n; i += run) {
        for (run = 1; i + run < problem->n && problem->units[i + run] == problem->units[i];) {
            if (cuts && cuts[i + run])
                break;
            run++;
        }
        if (relax->n_segments == RELAX_MAX_SEGMENTS || run > UINT16_MAX)
            return RELAX_TOO_LARGE;
        relax->segments[relax->n_segments++] =
            (struct relax_segment){.unit = problem->units[i], .begin = (unsigned)i, .length = (unsigned)run};
    }
    return 0;
}

/* Fills base[] and number[]; RELAX_TOO_LARGE when the states exceed `most`. */
static int count_states(struct relax *relax, uint64_t most)
{
    size_t stride = relax->warps + 1;

    for (size_t c = 0; c < stride; c++)
        relax->number[relax->n_segments * stride + c] = 1;
    for (size_t s = relax->n_segments; s-- > 0;) {
        for (size_t c = 0; c < stride; c++) {
            uint64_t sum = 0;

            for (size_t k = 0; k <= c; k++) {
                uint64_t rest = relax->number[(s + 1) * stride + (c - k)];
                uint64_t here = spreads((unsigned)k, relax->segments[s].length);

                relax->base[(s * stride + c) * stride + k] = sum;
                if (rest > (most - sum) / here)
                    return RELAX_TOO_LARGE;
                sum += rest * here;
            }
            relax->number[s * stride + c] = sum;
        }
    }
    relax->n_states = relax->number[relax->warps];
    return 0;
}

/* Cuts the string and counts its states. effort: steps that the counting may take, 0: no limit. */
static int prepare(const struct problem *problem, const uint8_t cuts[], size_t memory, uint64_t effort,
                   struct relax *relax)
{
    size_t stride = (size_t)problem->warps + 1;
    int result;

    *relax = (struct relax){.problem = problem, .warps = problem->warps};
    relax->value_size = bound_cheap(problem) < UINT8_MAX ? 1 : 2;
    if (problem->warps > RELAX_MAX_WARPS || bound_cheap(problem) >= UINT16_MAX)
        return RELAX_TOO_LARGE;
    result = cut(problem, cuts, relax);
    if (result)
        return result;
    if (effort && relax->n_segments * stride * stride / VALUES_PER_STEP > effort)
        return RELAX_OUT_OF_EFFORT;
    relax->base = calloc((relax->n_segments + 1) * stride * stride, sizeof relax->base[0]);
    relax->number = calloc((relax->n_segments + 1) * stride, sizeof relax->number[0]);
    if (!relax->base || !relax->number)
        return -ENOMEM;
    return count_states(relax, memory / relax->value_size);
}

size_t relax_size(const struct problem *problem, const uint8_t cuts[])
{
    struct relax relax;
    size_t size = SIZE_MAX;

    if (prepare(problem, cuts, SIZE_MAX / 4, 0, &relax) == 0)
        size = relax.n_states * relax.value_size;
    relax_done(&relax);
    return size;
}

/*
 * best[i] = max(best[i], from[i]) and the closing steps of a row, for both value sizes. The loops
 * are written so that the compiler turns them into vector instructions.
 */
#define DEFINE_ROW(type)                                                                                     \
    static void raise_##type(type *restrict best, const type *restrict from, size_t n)                       \
    {                                                                                                        \
        for (size_t i = 0; i < n; i++)                                                                       \
            best[i] = best[i] < from[i] ? from[i] : best[i];                                                 \
    }                                                                                                        \
    static void close_##type(type *row, size_t n, type most, unsigned self, size_t self_to)                  \
    {                                                                                                        \
        if (self == 0) {                                                                                     \
            for (size_t i = 0; i < n; i++)                                                                   \
                row[i] = row[i] < most ? (type)(row[i] + 1) : most;                                          \
            return;                                                                                          \
        }                                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                                     \
            type best = row[i];                                                                              \
                                                                                                             \
            if (i >= self && i <= self_to && row[i - self] > best)                                           \
                best = row[i - self];                                                                        \
            row[i] = best < most ? (type)(best + 1) : most;                                                  \
        }                                                                                                    \
    }                                                                                                        \
    /* With omissions: a state is worth at least its value after one, in the row or before. */               \
    static void close_skips_##type(type *row, const type *skipped, size_t n, type most, unsigned self,       \
                                   size_t self_to)                                                           \
    {                                                                                                        \
        for (size_t i = 0; i < n; i++) {                                                                     \
            type best = row[i];                                                                              \
                                                                                                             \
            if (self && i >= self && i <= self_to && row[i - self] > best)                                   \
                best = row[i - self];                                                                        \
            best = best < most ? (type)(best + 1) : most;                                                    \
            best = best < skipped[i] ? skipped[i] : best;                                                    \
            row[i] = i && best < row[i - 1] ? row[i - 1] : best;                                             \
        }                                                                                                    \
    }
DEFINE_ROW(uint8_t)
DEFINE_ROW(uint16_t)

/* The last segment: e execute, m of them leave it; every w of the row that allows this at once. */
static void apply_last(struct row *row, unsigned c, uint64_t offset, unsigned e, unsigned arriving)
{
    struct relax *relax = row->relax;
    size_t s = relax->n_segments - 1;
    unsigned length = relax->segments[s].length;
    unsigned k = row->k[s];

    for (unsigned m = 0; m <= e; m++) {
        unsigned low = k - m + e;
        unsigned high = (k - m) * length + m;
        unsigned after = k - m + arriving;
        uint64_t target;

        low = low < k ? k : low;
        high = high > k * length ? k * length : high;
        if (low > high)
            continue;
        if (!spend(row, 1 + (high - low) / VALUES_PER_STEP))
            return;
        target = offset + relax->base[(s * (relax->warps + 1) + c) * (relax->warps + 1) + after];
        if (target == row->begin) {
            row->self = e;
            continue;
        }
        target += low - e + arriving * length - after;
        if (relax->value_size == 1)
            raise_uint8_t((uint8_t *)relax->values + row->begin + (low - k),
                          (uint8_t *)relax->values + target, high - low + 1);
        else
            raise_uint16_t((uint16_t *)relax->values + row->begin + (low - k),
                           (uint16_t *)relax->values + target, high - low + 1);
    }
}

/*
 * Spreads the share of each unit over its segments from s on. c: warps not yet placed in the
 * successor.
 */
static void spread(struct row *row, size_t s, unsigned c, uint64_t offset, unsigned share[N_UNITS],
                   unsigned arriving)
{
    const struct relax_segment *segment;
    unsigned left, k, w, most, least;

    if (!spend(row, 1))
        return;
    /* A segment where no warp is and none comes adds nothing to the index. */
    while (s + 1 < row->relax->n_segments && row->k[s] == 0 && arriving == 0)
        s++;
    segment = &row->relax->segments[s];
    left = share[segment->unit];
    k = row->k[s];
    w = row->w[s];
    most = left < k ? left : k;
    least = left > row->later[s] ? left - row->later[s] : 0;
    if (s + 1 == row->relax->n_segments) {
        apply_last(row, c, offset, left, arriving);
        return;
    }
    for (unsigned e = least; e <= most; e++) {
        unsigned leave_least = k + e > w ? k + e - w : 0;
        unsigned leave_most = e;

        if (segment->length > 1 && (k * segment->length - w) / (segment->length - 1) < leave_most)
            leave_most = (k * segment->length - w) / (segment->length - 1);
        share[segment->unit] = left - e;
        for (unsigned m = leave_least; m <= leave_most; m++) {
            unsigned k_after = k - m + arriving;
            unsigned w_after = w - e + arriving * segment->length;

            spread(row, s + 1, c - k_after, offset + relax_part(row->relax, s, c, k_after, w_after), share,
                   m);
        }
    }
    share[segment->unit] = left;
}

/* Raises row->skipped[0..n) by the values from index `from` on. */
static void raise_skipped(struct row *row, uint64_t from, size_t n)
{
    struct relax *relax = row->relax;

    if (!spend(row, 1 + n / VALUES_PER_STEP))
        return;
    if (relax->value_size == 1)
        raise_uint8_t(row->skipped, (uint8_t *)relax->values + from, n);
    else
        raise_uint16_t(row->skipped, (uint16_t *)relax->values + from, n);
}

/*
 * The index of the first state in the row with these coordinates; those of the last segment's w do
 * not matter.
 */
static uint64_t row_begin(const struct relax *relax, const unsigned k[], const unsigned w[])
{
    size_t last = relax->n_segments - 1;
    uint64_t index = 0;
    unsigned c = relax->warps;

    for (size_t s = 0; s < last; s++) {
        index += relax_part(relax, s, c, k[s], w[s]);
        c -= k[s];
    }
    return index + relax_part(relax, last, c, k[last], k[last]);
}

/*
 * Every way to omit one instruction but that within the last segment, which stays in the row. A
 * warp of segment s has one instruction less there, or omits its last one and enters the next
 * segment. In the last segment w is that of the row's states, whichever it is.
 */
static void try_skips(struct row *row)
{
    struct relax *relax = row->relax;
    size_t last = relax->n_segments - 1;
    unsigned k[RELAX_MAX_SEGMENTS], w[RELAX_MAX_SEGMENTS];

    memset(row->skipped, 0, row->n * relax->value_size);
    memcpy(k, row->k, sizeof k);
    memcpy(w, row->w, sizeof w);
    for (size_t s = 0; s < last; s++) {
        unsigned length = relax->segments[s].length;
        unsigned next = relax->segments[s + 1].length;

        if (k[s] == 0)
            continue;
        if (w[s] > k[s]) {
            w[s]--;
            raise_skipped(row, row_begin(relax, k, w), row->n);
            w[s]++;
        }
        if (w[s] - 1 > (k[s] - 1) * length)
            continue;
        k[s]--;
        w[s]--;
        k[s + 1]++;
        w[s + 1] += next;
        /*
         * Into the last segment: its w is larger by its length, its k by one, for every state of
         * the row.
         */
        raise_skipped(row, row_begin(relax, k, w) + (s + 1 == last ? next - 1 : 0), row->n);
        k[s]++;
        w[s]++;
        k[s + 1]--;
        w[s + 1] -= next;
    }
    if (k[last]) {
        k[last]--;
        raise_skipped(row, row_begin(relax, k, w), spreads(k[last], relax->segments[last].length));
    }
}

/*
 * The row's values from the best of their successors, which stand in the row. No value exceeds the
 * cheap bound of the start: no state that can be reached from the start is followed by more cycles.
 * So no value overflows either, though relaxed runs may be longer.
 */
static void close_row(struct row *row)
{
    struct relax *relax = row->relax;
    size_t last = relax->n_segments - 1;
    size_t self_to = (size_t)row->k[last] * (relax->segments[last].length - 1);
    uint8_t *bytes = (uint8_t *)relax->values + row->begin;
    uint16_t *words = (uint16_t *)relax->values + row->begin;

    if (row->skipped)
        try_skips(row);
    if (row->skipped && relax->value_size == 1)
        close_skips_uint8_t(bytes, row->skipped, row->n, (uint8_t)row->most, row->self, self_to);
    else if (row->skipped)
        close_skips_uint16_t(words, row->skipped, row->n, (uint16_t)row->most, row->self, self_to);
    else if (relax->value_size == 1)
        close_uint8_t(bytes, row->n, (uint8_t)row->most, row->self, self_to);
    else
        close_uint16_t(words, row->n, (uint16_t)row->most, row->self, self_to);
}

/* Fills the row with the coordinates in *row. */
static void fill_row(struct row *row)
{
    struct relax *relax = row->relax;
    unsigned waiting[N_UNITS] = {0};
    unsigned shares[STEP_MAX_SHARES][N_UNITS];
    size_t n_shares;

    for (size_t s = relax->n_segments; s-- > 0;) {
        row->later[s] = waiting[relax->segments[s].unit];
        waiting[relax->segments[s].unit] += row->k[s];
    }
    if (waiting[UNIT_L] + waiting[UNIT_C] + waiting[UNIT_S] + waiting[UNIT_D] == 0)
        return; /* all done: 0 cycles left */
    row->self = 0;
    n_shares = step_shares(relax->problem, waiting, shares);
    for (size_t i = 0; i < n_shares; i++)
        spread(row, 0, relax->warps, 0, shares[i], 0);
    close_row(row);
}

/* All rows below the coordinates chosen for the segments before s, c warps being left. */
static int fill(struct row *row, size_t s, unsigned c)
{
    struct relax *relax = row->relax;
    unsigned length = relax->segments[s].length;
    int result;

    for (unsigned k = 0; k <= c; k++) {
        row->k[s] = k;
        if (s + 1 == relax->n_segments) {
            row->n = spreads(k, length);
            fill_row(row);
            row->begin += row->n;
            if (row->stopped)
                return row->stopped;
            continue;
        }
        for (unsigned w = k; w <= k * length; w++) {
            row->w[s] = w;
            result = fill(row, s + 1, c - k);
            if (result)
                return result;
        }
    }
    return 0;
}

int relax_build(const struct problem *problem, const uint8_t cuts[], const struct relax_settings *settings,
                struct relax *ret_relax)
{
    struct relax relax;
    struct row row = {.relax = &relax, .settings = settings};
    unsigned waiting[N_UNITS];
    unsigned shares[STEP_MAX_SHARES][N_UNITS];
    int result = prepare(problem, cuts, settings->memory, settings->effort, &relax);

    if (result)
        goto fail;
    for (size_t u = 0; u < N_UNITS; u++)
        waiting[u] = problem->warps;
    if (step_shares(problem, waiting, shares) == 0) {
        result = RELAX_TOO_LARGE;
        goto fail;
    }
    row.most = (unsigned)bound_cheap(problem);
    relax.values = calloc(relax.n_states, relax.value_size);
    if (settings->skips)
        row.skipped =
            calloc(spreads(relax.warps, relax.segments[relax.n_segments - 1].length), relax.value_size);
    result = relax.values && (row.skipped || !settings->skips) ? fill(&row, 0, relax.warps) : -ENOMEM;
    if (result)
        goto fail;
    free(row.skipped);
    *ret_relax = relax;
    return 0;
fail:
    free(row.skipped);
    relax_done(&relax);
    return result;
}

void relax_done(struct relax *relax)
{
    free(relax->base);
    free(relax->number);
    free(relax->values);
    *relax = (struct relax){0};
}

unsigned relax_value(const struct relax *relax, const unsigned k[], const unsigned w[])
{
    uint64_t index = 0;
    unsigned c = relax->warps;

    for (size_t s = 0; s < relax->n_segments; s++) {
        index += relax_part(relax, s, c, k[s], w[s]);
        c -= k[s];
    }
    return relax_at(relax, index);
}

unsigned relax_start(const struct relax *relax)
{
    unsigned k[RELAX_MAX_SEGMENTS] = {relax->warps};
    unsigned w[RELAX_MAX_SEGMENTS] = {relax->warps * relax->segments[0].length};

    return relax_value(relax, k, w);
}
