#include "makespan/schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "makespan/search/bound.h"

#define COUNTED_WORDS 3

static size_t parts(size_t horizon)
{
    return horizon / 64 + 1;
}

int entries_make(const struct problem *problem, const uint16_t order[], uint16_t ret_entries[])
{
    uint32_t *next = calloc(problem->warps, sizeof next[0]);

    if (!next)
        return -ENOMEM;
    for (size_t i = 0; i < problem->n * problem->warps; i++)
        ret_entries[i] = entry_make(order[i], problem->units[next[order[i]]++]);
    free(next);
    return 0;
}

void slots_layout(const struct problem *problem, struct slots_layout *ret_layout)
{
    struct slots_layout layout = {
        .problem = problem, .horizon = bound_cheap(problem), .words = COUNTED_WORDS};
    size_t at = (problem->warps * sizeof(uint32_t) + 7) / 8 * 8;
    size_t count[N_UNITS];

    kernel_count(problem->units, problem->n, count);
    for (size_t u = 0; u <= N_UNITS; u++) {
        if (u < N_UNITS ? count[u] == 0 : problem->issue == 0)
            continue;
        layout.capacity[u] = (uint8_t)(u < N_UNITS ? problem->capacity[u] : problem->issue);
        if (layout.capacity[u] > SLOTS_LEVELS)
            layout.words = 1;
    }
    for (size_t u = 0; u <= N_UNITS; u++) {
        if (layout.capacity[u] == 0)
            continue;
        layout.free_map[u] = at;
        at += parts(layout.horizon) * layout.words * sizeof(uint64_t);
        layout.taken[u] = at;
        if (layout.words == 1)
            at += (layout.horizon + 7) / 8 * 8;
    }
    layout.size = at;
    *ret_layout = layout;
}

void slots_clear(const struct slots_layout *layout, void *block)
{
    memset(block, 0, layout->size);
    for (size_t u = 0; u <= N_UNITS; u++) {
        uint64_t *map = (uint64_t *)(void *)((char *)block + layout->free_map[u]);

        /* The counter begins so that it goes over, from 3 to 0, with the last slot. */
        for (size_t i = 0; layout->capacity[u] && i < parts(layout->horizon); i++, map += layout->words) {
            map[0] = UINT64_MAX;
            for (size_t j = 1; j < layout->words; j++)
                map[j] = (SLOTS_LEVELS - layout->capacity[u]) >> (j - 1) & 1 ? UINT64_MAX : 0;
        }
    }
}

/* Takes one slot from the cycle of the given bit. */
static inline void take_bit(uint64_t part[], uint64_t bit)
{
    uint64_t carry = part[1] & bit;

    part[1] ^= bit;
    bit = part[2] & carry;
    part[2] ^= carry;
    part[0] ^= bit;
}

static inline void take_counted(uint64_t part[], uint64_t bit, uint8_t *taken, uint8_t capacity)
{
    if (++*taken == capacity)
        part[0] ^= bit;
}

/*
 * One step of Fig. 4: takes the first cycle from ready[warp] on with room on the unit, and under
 * the cap if there is one. By bound_cheap() there is such a cycle below the horizon. `words` and
 * `is_capped` are constants where this is called, so that each case gets code of its own.
 */
static inline __attribute__((always_inline)) size_t insert_one(const struct slots_layout *layout, void *block,
                                                               uint16_t entry, size_t words, bool is_capped)
{
    unsigned unit = (unsigned)entry >> ENTRY_WARP_BITS;
    uint32_t *ready = (uint32_t *)block + (entry & ENTRY_WARP);
    size_t from = *ready;
    uint64_t *part = (uint64_t *)(void *)((char *)block + layout->free_map[unit]) + from / 64 * words;
    uint64_t *issue = (uint64_t *)(void *)((char *)block + layout->free_map[N_UNITS]) + from / 64 * words;
    uint64_t room = part[0] & (is_capped ? issue[0] : UINT64_MAX) & UINT64_MAX << (from % 64);
    size_t cycle = from / 64 * 64;
    uint64_t bit;

    while (room == 0) {
        part += words;
        issue += words;
        cycle += 64;
        room = part[0] & (is_capped ? issue[0] : UINT64_MAX);
    }
    bit = room & -room;
    cycle += (size_t)__builtin_ctzll(room);
    if (words > 1) {
        take_bit(part, bit);
        if (is_capped)
            take_bit(issue, bit);
    } else {
        take_counted(part, bit, (uint8_t *)block + layout->taken[unit] + cycle, layout->capacity[unit]);
        if (is_capped)
            take_counted(issue, bit, (uint8_t *)block + layout->taken[N_UNITS] + cycle,
                         layout->capacity[N_UNITS]);
    }
    *ready = (uint32_t)cycle + 1;
    return cycle;
}

static inline __attribute__((always_inline)) void insert(const struct slots_layout *layout,
                                                         const struct slots_lane *lane, size_t from,
                                                         size_t words, bool is_capped, uint32_t ret_cycles[])
{
    for (size_t i = from; i < lane->n; i++) {
        size_t cycle = insert_one(layout, lane->block, lane->entries[i], words, is_capped);

        if (ret_cycles)
            ret_cycles[i] = (uint32_t)cycle;
    }
}

/*
 * Each step depends on the previous one, mostly through memory just written. Steps of different
 * lanes are independent, so taking them in turn keeps the processor busy. Lanes advance together as
 * long as all have entries; then each advances alone.
 */
static inline __attribute__((always_inline)) void insert_in_turns(const struct slots_layout *layout,
                                                                  const struct slots_lane lanes[SLOTS_LANES],
                                                                  size_t words, bool is_capped)
{
    const struct slots_lane a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
    size_t n = a.n;

    n = b.n < n ? b.n : n;
    n = c.n < n ? c.n : n;
    n = d.n < n ? d.n : n;
    for (size_t i = 0; i < n; i++) {
        (void)insert_one(layout, a.block, a.entries[i], words, is_capped);
        (void)insert_one(layout, b.block, b.entries[i], words, is_capped);
        (void)insert_one(layout, c.block, c.entries[i], words, is_capped);
        (void)insert_one(layout, d.block, d.entries[i], words, is_capped);
    }
    for (size_t i = 0; i < SLOTS_LANES; i++)
        insert(layout, &lanes[i], n, words, is_capped, NULL);
}

static inline __attribute__((always_inline)) void insert_any(const struct slots_layout *layout,
                                                             const struct slots_lane lanes[], size_t n_lanes,
                                                             uint32_t ret_cycles[])
{
    bool is_capped = layout->capacity[N_UNITS] > 0;

    if (n_lanes == SLOTS_LANES && layout->words > 1) {
        if (is_capped)
            insert_in_turns(layout, lanes, COUNTED_WORDS, true);
        else
            insert_in_turns(layout, lanes, COUNTED_WORDS, false);
        return;
    }
    for (size_t i = 0; i < n_lanes; i++) {
        if (layout->words == 1)
            insert(layout, &lanes[i], 0, 1, is_capped, ret_cycles);
        else if (is_capped)
            insert(layout, &lanes[i], 0, COUNTED_WORDS, true, ret_cycles);
        else
            insert(layout, &lanes[i], 0, COUNTED_WORDS, false, ret_cycles);
    }
}

#if defined(__x86_64__)
/* The same for processors that shift and count zeros in one step: a fifth faster. */
__attribute__((target("bmi,bmi2"))) static void insert_bmi2(const struct slots_layout *layout,
                                                            const struct slots_lane lanes[], size_t n_lanes,
                                                            uint32_t ret_cycles[])
{
    insert_any(layout, lanes, n_lanes, ret_cycles);
}
#endif

static void insert_lanes(const struct slots_layout *layout, const struct slots_lane lanes[], size_t n_lanes,
                         uint32_t ret_cycles[])
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("bmi2")) {
        insert_bmi2(layout, lanes, n_lanes, ret_cycles);
        return;
    }
#endif
    insert_any(layout, lanes, n_lanes, ret_cycles);
}

void slots_insert(const struct slots_layout *layout, void *block, const uint16_t entries[], size_t n,
                  uint32_t ret_cycles[])
{
    const struct slots_lane lane = {.block = block, .entries = entries, .n = n};

    insert_lanes(layout, &lane, 1, ret_cycles);
}

void slots_insert_lanes(const struct slots_layout *layout, const struct slots_lane lanes[], size_t n_lanes)
{
    insert_lanes(layout, lanes, n_lanes, NULL);
}

unsigned slots_makespan(const struct slots_layout *layout, const void *block)
{
    const uint32_t *ready = block;
    unsigned last = 0;

    for (unsigned w = 0; w < layout->problem->warps; w++)
        last = ready[w] > last ? ready[w] : last;
    return last;
}

int schedule_evaluate(const struct problem *problem, const uint16_t order[], uint32_t ret_cycles[],
                      unsigned *ret_makespan)
{
    size_t length = problem->n * problem->warps;
    uint16_t *entries = malloc(length * sizeof entries[0]);
    struct slots_layout layout;
    void *block;
    int result = -ENOMEM;

    slots_layout(problem, &layout);
    block = malloc(layout.size);
    if (block && entries)
        result = entries_make(problem, order, entries);
    if (result == 0) {
        slots_clear(&layout, block);
        slots_insert(&layout, block, entries, length, ret_cycles);
        *ret_makespan = slots_makespan(&layout, block);
    }
    free(entries);
    free(block);
    return result;
}

/*
 * One number at *at, skipping blanks and commas before it: 0, 1 at the end, or INPUT_REJECTED via
 * -1.
 */
static int read_warp(const char *text, size_t *at, unsigned *ret_warp)
{
    unsigned value = 0;

    while (isspace((unsigned char)text[*at]) || text[*at] == ',')
        ++*at;
    if (!text[*at])
        return 1;
    if (!isdigit((unsigned char)text[*at]))
        return -1;
    for (size_t i = *at; isdigit((unsigned char)text[i]); i++) {
        value = value * 10 + (unsigned)(text[i] - '0');
        if (value > KERNEL_MAX_WARPS)
            return -1;
    }
    *ret_warp = value;
    return value ? 0 : -1;
}

/* Each of the warps must occur n times. */
static int check_counts(const uint16_t order[], size_t length, size_t n, unsigned warps,
                        struct input_error *ret_error)
{
    uint32_t *count = calloc(warps ? warps : 1, sizeof count[0]);
    int result = 0;

    if (!count)
        return -ENOMEM;
    for (size_t i = 0; i < length; i++)
        count[order[i]]++;
    for (unsigned w = 0; w < warps && result == 0; w++) {
        if (count[w] != n) {
            char found[64];

            (void)snprintf(found, sizeof found, "warp %u %u times", w + 1, count[w]);
            result = input_reject(ret_error, "evaluate", 1, 1, found,
                                  "each warp from 1 to %u exactly %zu times, once per instruction", warps, n);
        }
    }
    free(count);
    return result;
}

int schedule_parse(const char *text, size_t n, uint16_t **ret_order, unsigned *ret_warps,
                   struct input_error *ret_error)
{
    uint16_t *order = malloc((strlen(text) / 2 + 1) * sizeof order[0]);
    size_t length = 0;
    size_t at = 0;
    unsigned warps = 0;
    unsigned warp = 0;
    int result;

    if (!order)
        return -ENOMEM;
    while ((result = read_warp(text, &at, &warp)) == 0) {
        order[length++] = (uint16_t)(warp - 1);
        warps = warp > warps ? warp : warps;
        at += strspn(text + at, "0123456789");
    }
    if (result < 0) {
        char found[17];

        (void)snprintf(found, sizeof found, "%.16s", text + at);
        result = input_reject(ret_error, "evaluate", 1, (unsigned)(at + 1), found, "a warp from 1 to %u",
                              KERNEL_MAX_WARPS);
    } else if (length == 0) {
        result =
            input_reject(ret_error, "evaluate", 1, 1, "nothing", "a pseudo-precedence string: 1 1 2 2 ...");
    } else {
        result = check_counts(order, length, n, warps, ret_error);
    }
    if (result) {
        free(order);
        return result;
    }
    *ret_order = order;
    *ret_warps = warps;
    return 0;
}
