#include "makespan/schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "makespan/bound.h"

static size_t words(size_t horizon)
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
        .problem = problem, .horizon = bound_cheap(problem), .levels = SLOTS_LEVELS};
    size_t at = (problem->warps * sizeof(uint32_t) + 7) / 8 * 8;
    size_t count[N_UNITS];

    kernel_count(problem->units, problem->n, count);
    for (size_t u = 0; u <= N_UNITS; u++) {
        if (u < N_UNITS ? count[u] == 0 : problem->issue == 0)
            continue;
        layout.capacity[u] = (uint8_t)(u < N_UNITS ? problem->capacity[u] : problem->issue);
        if (layout.capacity[u] > SLOTS_LEVELS)
            layout.levels = 1;
    }
    for (size_t u = 0; u <= N_UNITS; u++) {
        if (layout.capacity[u] == 0)
            continue;
        layout.free_map[u] = at;
        at += words(layout.horizon) * layout.levels * sizeof(uint64_t);
        layout.taken[u] = at;
        if (layout.levels == 1)
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

        for (size_t i = 0; layout->capacity[u] && i < words(layout->horizon) * layout->levels; i++)
            map[i] = i % layout->levels < layout->capacity[u] ? UINT64_MAX : 0;
    }
}

/*
 * The first cycle from `from` on with room on the unit, and under the cap if there is one (issue is not NULL); bound_cheap() says
 * that there is one below the horizon.
 */
static inline size_t first_free(const uint64_t map[], const uint64_t issue[], size_t levels, size_t from)
{
    size_t word = from / 64;
    uint64_t bits = (map[word * levels] & (issue ? issue[word * levels] : UINT64_MAX)) >> (from % 64);

    if (bits)
        return from + (size_t)__builtin_ctzll(bits);
    do {
        word++;
        bits = map[word * levels] & (issue ? issue[word * levels] : UINT64_MAX);
    } while (bits == 0);
    return word * 64 + (size_t)__builtin_ctzll(bits);
}

/* One slot fewer in the cycle: each level takes over what the next one says. */
static inline void take_level(uint64_t map[], size_t cycle)
{
    uint64_t *level = map + cycle / 64 * SLOTS_LEVELS;
    uint64_t others = ~(UINT64_C(1) << (cycle % 64));

    level[0] &= others | level[1];
    level[1] &= others | level[2];
    level[2] &= others | level[3];
    level[3] &= others;
}

static inline void take_counted(uint64_t map[], uint8_t taken[], size_t cycle, uint8_t capacity)
{
    if (++taken[cycle] == capacity)
        map[cycle / 64] &= ~(UINT64_C(1) << (cycle % 64));
}

/* The loop of Fig. 4; levels and is_capped are constants where this is called, so that each case gets code of its own. */
static inline __attribute__((always_inline)) void insert(const struct slots_layout *layout, void *block,
                                                         const uint16_t entries[], size_t n, size_t levels,
                                                         bool is_capped, uint32_t ret_cycles[])
{
    uint32_t *ready = block;
    uint64_t *issue = is_capped ? (uint64_t *)(void *)((char *)block + layout->free_map[N_UNITS]) : NULL;
    uint64_t *map[N_UNITS];

    for (size_t u = 0; u < N_UNITS; u++)
        map[u] = (uint64_t *)(void *)((char *)block + layout->free_map[u]);
    for (size_t i = 0; i < n; i++) {
        unsigned warp = entries[i] & ENTRY_WARP;
        unsigned unit = entries[i] >> ENTRY_WARP_BITS;
        size_t cycle = first_free(map[unit], issue, levels, ready[warp]);

        if (levels > 1) {
            take_level(map[unit], cycle);
            if (is_capped)
                take_level(issue, cycle);
        } else {
            take_counted(map[unit], (uint8_t *)block + layout->taken[unit], cycle, layout->capacity[unit]);
            if (is_capped)
                take_counted(issue, (uint8_t *)block + layout->taken[N_UNITS], cycle,
                             layout->capacity[N_UNITS]);
        }
        ready[warp] = (uint32_t)cycle + 1;
        if (ret_cycles)
            ret_cycles[i] = (uint32_t)cycle;
    }
}

static inline __attribute__((always_inline)) void insert_any(const struct slots_layout *layout, void *block,
                                                             const uint16_t entries[], size_t n,
                                                             uint32_t ret_cycles[])
{
    bool is_capped = layout->capacity[N_UNITS] > 0;

    if (layout->levels == 1)
        insert(layout, block, entries, n, 1, is_capped, ret_cycles);
    else if (is_capped)
        insert(layout, block, entries, n, SLOTS_LEVELS, true, ret_cycles);
    else
        insert(layout, block, entries, n, SLOTS_LEVELS, false, ret_cycles);
}

#if defined(__x86_64__)
/* The same for processors that shift and count zeros in one step: a fifth faster. */
__attribute__((target("bmi,bmi2"))) static void insert_bmi2(const struct slots_layout *layout, void *block,
                                                            const uint16_t entries[], size_t n,
                                                            uint32_t ret_cycles[])
{
    insert_any(layout, block, entries, n, ret_cycles);
}
#endif

void slots_insert(const struct slots_layout *layout, void *block, const uint16_t entries[], size_t n,
                  uint32_t ret_cycles[])
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("bmi2")) {
        insert_bmi2(layout, block, entries, n, ret_cycles);
        return;
    }
#endif
    insert_any(layout, block, entries, n, ret_cycles);
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

/* One number at *at, skipping blanks and commas before it: 0, 1 at the end, or INPUT_REJECTED via -1. */
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
