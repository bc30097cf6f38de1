/*
 * From a warp pseudo-precedence string to a schedule (Makespan, Fig. 4). Warps are taken in the
 * order of the string. The next instruction of each goes into the earliest cycle that its unit, the
 * cap on issue and its own previous instruction allow. The result is always a work-conserving
 * schedule, and every work-conserving schedule has such a string.
 *
 * Warps and cycles count from 0 here; people see them from 1.
 */
#ifndef MAKESPAN_SCHEDULE_H
#define MAKESPAN_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "makespan/kernel.h"

/*
 * One entry of a string that is being evaluated: the warp, and the unit that its instruction at
 * this place needs.
 */
#define ENTRY_WARP_BITS 12
#define ENTRY_WARP      ((1u << ENTRY_WARP_BITS) - 1)

static inline uint16_t entry_make(unsigned warp, unsigned unit)
{
    return (uint16_t)(warp | unit << ENTRY_WARP_BITS);
}

/*
 * Adds the units to order[0..n * W): the k-th occurrence of a warp is its k-th instruction. 0 or
 * -ENOMEM.
 */
int entries_make(const struct problem *problem, const uint16_t order[], uint16_t ret_entries[]);

/*
 * The occupied slots after a part of the string. One block of memory without pointers, so that it
 * can be copied and compared as a whole. It begins with uint32_t[warps], the first cycle in which
 * each warp may execute. Then follows, for each unit in use and for the cap on issue, a map of 64
 * cycles at a time. Bit c of its first word says that cycle c has room. If all capacities are small
 * (SLOTS_LEVELS), bit c of the next two words is a counter that overflows when the room is used up.
 * Otherwise the map has a counter per cycle beside it.
 */
#define SLOTS_LEVELS 4

struct slots_layout {
    const struct problem *problem; /* borrowed */
    size_t horizon;                /* cycles that any schedule may need */
    size_t words;                  /* per 64 cycles: 3, or 1 with counters beside */
    /* byte offset of uint64_t[horizon / 64 + 1][words]; N_UNITS: the cap */
    size_t free_map[N_UNITS + 1];
    size_t taken[N_UNITS + 1];     /* of uint8_t[horizon], with counters */
    uint8_t capacity[N_UNITS + 1]; /* 1 to KERNEL_MAX_UNITS; 0: not in use */
    size_t size;                   /* bytes of a block, a multiple of 8 */
};

void slots_layout(const struct problem *problem, struct slots_layout *ret_layout);

/* Clears the block: nothing is occupied. */
void slots_clear(const struct slots_layout *layout, void *block);

/*
 * Inserts entries[0..n) into the block, in this order. Writes the cycle of each if ret_cycles is
 * not NULL: the warp cycle string of sec. VII.
 */
void slots_insert(const struct slots_layout *layout, void *block, const uint16_t entries[], size_t n,
                  uint32_t ret_cycles[]);

/*
 * The same for up to SLOTS_LANES blocks of one layout at a time: that many at once take little
 * longer than one.
 */
#define SLOTS_LANES 4

struct slots_lane {
    void *block;
    const uint16_t *entries; /* [n] */
    size_t n;
};

void slots_insert_lanes(const struct slots_layout *layout, const struct slots_lane lanes[], size_t n_lanes);

/* The cycle after the last one occupied. */
unsigned slots_makespan(const struct slots_layout *layout, const void *block);

/*
 * Evaluates a whole string: order has n * W entries, each warp n times. 0 or -ENOMEM; ret_cycles
 * may be NULL.
 */
int schedule_evaluate(const struct problem *problem, const uint16_t order[], uint32_t ret_cycles[],
                      unsigned *ret_makespan);

/*
 * Reads "1 1 2 2 ..." (commas allowed) into order[] (owned by the caller, freed with free) and the
 * number of warps it is about. 0, -ENOMEM or INPUT_REJECTED: not a number, a warp too many or too
 * few times for n instructions.
 */
int schedule_parse(const char *text, size_t n, uint16_t **ret_order, unsigned *ret_warps,
                   struct input_error *ret_error);

#endif
