#include "makespan/search/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MARK_DISTANCE    24                 /* entries between two kept blocks, at least */
#define MARK_MOST_MEMORY ((size_t)64 << 20) /* for all kept blocks */

struct walk {
    struct slots_layout layout;
    uint16_t *entries; /* owned */
    size_t length;
    size_t distance; /* entries between marks */
    /* mark i: the slots after i * distance entries; the last one after all of them */
    size_t n_marks;
    void **marks; /* [n_marks], of the present string */
    void **tried; /* [n_marks], spare blocks; of the string being tried, as far as it was evaluated */
    /* a block in which the evaluation continues, so that it need not wait for copies */
    void *work;
    char *blocks; /* owned; the memory of these blocks */
    unsigned makespan, tried_makespan;
    size_t last; /* the last entry that the try changed */
    size_t first_mark;
    size_t end; /* marks first_mark + 1 .. end - 1 were evaluated and differ */
    bool is_evaluated;
    enum { TRIED_REINSERT, TRIED_SWAP } tried_move;
    size_t from, to;
};

static size_t mark_entry(const struct walk *walk, size_t mark)
{
    size_t entry = mark * walk->distance;

    return entry < walk->length ? entry : walk->length;
}

struct walk *walk_new(const struct problem *problem, const uint16_t order[])
{
    struct walk *walk = calloc(1, sizeof *walk);

    if (!walk)
        return NULL;
    slots_layout(problem, &walk->layout);
    walk->length = problem->n * problem->warps;
    walk->distance = MARK_DISTANCE;
    while (walk->distance < walk->length &&
           walk->length / walk->distance * 2 > MARK_MOST_MEMORY / walk->layout.size)
        walk->distance *= 2;
    walk->n_marks = (walk->length + walk->distance - 1) / walk->distance + 1;
    walk->entries = malloc(walk->length * sizeof walk->entries[0]);
    walk->marks = calloc(walk->n_marks, sizeof walk->marks[0]);
    walk->tried = calloc(walk->n_marks, sizeof walk->tried[0]);
    walk->blocks = malloc((walk->n_marks * 2 + 1) * walk->layout.size);
    if (!walk->entries || !walk->marks || !walk->tried || !walk->blocks ||
        entries_make(problem, order, walk->entries)) {
        walk_free(walk);
        return NULL;
    }
    for (size_t i = 0; i < walk->n_marks; i++) {
        walk->marks[i] = walk->blocks + 2 * i * walk->layout.size;
        walk->tried[i] = walk->blocks + (2 * i + 1) * walk->layout.size;
    }
    walk->work = walk->blocks + 2 * walk->n_marks * walk->layout.size;
    slots_clear(&walk->layout, walk->marks[0]);
    for (size_t i = 1; i < walk->n_marks; i++) {
        size_t begin = mark_entry(walk, i - 1);

        memcpy(walk->marks[i], walk->marks[i - 1], walk->layout.size);
        slots_insert(&walk->layout, walk->marks[i], walk->entries + begin, mark_entry(walk, i) - begin, NULL);
    }
    walk->makespan = slots_makespan(&walk->layout, walk->marks[walk->n_marks - 1]);
    return walk;
}

void walk_free(struct walk *walk)
{
    if (!walk)
        return;
    free(walk->entries);
    free(walk->marks);
    free(walk->tried);
    free(walk->blocks);
    free(walk);
}

void walk_order(const struct walk *walk, uint16_t ret_order[])
{
    for (size_t i = 0; i < walk->length; i++)
        ret_order[i] = walk->entries[i] & ENTRY_WARP;
}

unsigned walk_makespan(const struct walk *walk)
{
    return walk->makespan;
}

/*
 * The string was changed between the entries first and last, inclusive. The part before first is
 * unchanged.
 */
static void begin(struct walk *walk, size_t first, size_t last)
{
    walk->last = last;
    walk->first_mark = first / walk->distance;
    walk->end = walk->first_mark + 1;
    walk->tried_makespan = walk->makespan;
    walk->is_evaluated = false;
    memcpy(walk->work, walk->marks[walk->first_mark], walk->layout.size);
}

/* The evaluation up to the next mark. */
static inline struct slots_lane next_lane(const struct walk *walk)
{
    size_t from = mark_entry(walk, walk->end - 1);

    return (struct slots_lane){
        .block = walk->work, .entries = walk->entries + from, .n = mark_entry(walk, walk->end) - from};
}

/* The evaluation has reached a mark: is it complete? */
static inline void pass_mark(struct walk *walk)
{
    size_t mark = walk->end;

    if (mark_entry(walk, mark) > walk->last &&
        memcmp(walk->work, walk->marks[mark], walk->layout.size) == 0) {
        /*
         * The same slots are taken, and every warp is where it was. So the rest of the evaluation
         * is unchanged.
         */
        walk->is_evaluated = true;
        return;
    }
    memcpy(walk->tried[mark], walk->work, walk->layout.size);
    walk->end++;
    if (walk->end == walk->n_marks) {
        walk->tried_makespan = slots_makespan(&walk->layout, walk->work);
        walk->is_evaluated = true;
    }
}

void walk_go_on(struct walk *const walks[], size_t n)
{
    struct slots_lane lanes[SLOTS_LANES] = {{0}};

    for (size_t i = 0; i < n; i++)
        lanes[i] = next_lane(walks[i]);
    slots_insert_lanes(&walks[0]->layout, lanes, n);
    for (size_t i = 0; i < n; i++)
        pass_mark(walks[i]);
}

bool walk_is_evaluated(const struct walk *walk)
{
    return walk->is_evaluated;
}

unsigned walk_tried(const struct walk *walk)
{
    return walk->tried_makespan;
}

/*
 * Moves one entry. The k-th occurrence of a warp stays its k-th instruction, so the units of its
 * occurrences in between shift by one.
 */
static void reinsert(struct walk *walk, size_t from, size_t to)
{
    uint16_t *entries = walk->entries;
    uint16_t carried = entries[from];
    ptrdiff_t step = from < to ? 1 : -1;

    for (size_t i = from; i != to; i += (size_t)step) {
        uint16_t entry = entries[i + (size_t)step];
        bool same = ((entry ^ carried) & ENTRY_WARP) == 0;

        entries[i] = same ? carried : entry;
        carried = same ? entry : carried;
    }
    entries[to] = carried;
}

/* Puts `entry` where the entry at the other end was; its warp's units in between shift as above. */
static uint16_t carry(struct walk *walk, uint16_t entry, size_t from, size_t to)
{
    ptrdiff_t step = from < to ? 1 : -1;

    for (size_t i = from + (size_t)step; i != to; i += (size_t)step) {
        uint16_t other = walk->entries[i];

        if (((other ^ entry) & ENTRY_WARP) == 0) {
            walk->entries[i] = entry;
            entry = other;
        }
    }
    return entry;
}

static void swap(struct walk *walk, size_t from, size_t to)
{
    uint16_t one = walk->entries[from], other = walk->entries[to];

    if (((one ^ other) & ENTRY_WARP) == 0)
        return;
    one = carry(walk, one, from, to);
    other = carry(walk, other, to, from);
    walk->entries[to] = one;
    walk->entries[from] = other;
}

void walk_try_reinsert(struct walk *walk, size_t from, size_t to)
{
    walk->tried_move = TRIED_REINSERT;
    walk->from = from;
    walk->to = to;
    reinsert(walk, from, to);
    begin(walk, from < to ? from : to, from < to ? to : from);
}

void walk_try_swap(struct walk *walk, size_t one, size_t other)
{
    walk->tried_move = TRIED_SWAP;
    walk->from = one;
    walk->to = other;
    swap(walk, one, other);
    begin(walk, one < other ? one : other, one < other ? other : one);
}

void walk_accept(struct walk *walk)
{
    for (size_t i = walk->first_mark + 1; i < walk->end; i++) {
        void *block = walk->marks[i];

        walk->marks[i] = walk->tried[i];
        walk->tried[i] = block;
    }
    walk->makespan = walk->tried_makespan;
}

void walk_reject(struct walk *walk)
{
    if (walk->tried_move == TRIED_REINSERT)
        reinsert(walk, walk->to, walk->from);
    else
        swap(walk, walk->from, walk->to);
}
