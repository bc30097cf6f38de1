#include "makespan/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MARK_DISTANCE    16                 /* entries between two kept blocks, at least */
#define MARK_MOST_MEMORY ((size_t)64 << 20) /* for all kept blocks */

struct walk {
    struct slots_layout layout;
    uint16_t *entries; /* owned */
    size_t length;
    size_t distance; /* entries between marks */
    size_t n_marks;  /* mark i: the slots after i * distance entries; the last one after all of them */
    void **marks;    /* [n_marks], of the string as it stands */
    void **tried;    /* [n_marks], spare blocks; of the string being tried where it was evaluated */
    char *blocks;    /* owned; what both point into */
    unsigned makespan, tried_makespan;
    size_t first, last; /* entries that the try changed */
    size_t end;         /* marks first_mark + 1 .. end - 1 were evaluated */
    size_t first_mark;
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
    walk->blocks = malloc(walk->n_marks * 2 * walk->layout.size);
    if (!walk->entries || !walk->marks || !walk->tried || !walk->blocks ||
        entries_make(problem, order, walk->entries)) {
        walk_free(walk);
        return NULL;
    }
    for (size_t i = 0; i < walk->n_marks; i++) {
        walk->marks[i] = walk->blocks + 2 * i * walk->layout.size;
        walk->tried[i] = walk->blocks + (2 * i + 1) * walk->layout.size;
    }
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

/* The string was changed between the entries first and last, inclusive. */
static unsigned evaluate(struct walk *walk, size_t first, size_t last)
{
    size_t mark = first / walk->distance;
    const void *before = walk->marks[mark];

    walk->first_mark = mark;
    walk->tried_makespan = walk->makespan;
    for (mark++; mark < walk->n_marks; mark++) {
        size_t begin = mark_entry(walk, mark - 1);
        size_t end = mark_entry(walk, mark);

        memcpy(walk->tried[mark], before, walk->layout.size);
        slots_insert(&walk->layout, walk->tried[mark], walk->entries + begin, end - begin, NULL);
        before = walk->tried[mark];
        /* The same slots are taken and every warp stands where it stood: the rest is as it was. */
        if (end > last && memcmp(before, walk->marks[mark], walk->layout.size) == 0)
            break;
    }
    walk->end = mark;
    if (mark == walk->n_marks)
        walk->tried_makespan = slots_makespan(&walk->layout, before);
    return walk->tried_makespan;
}

/*
 * Moves one entry. The k-th occurrence of a warp stays its k-th instruction, so the units of its occurrences in between
 * move on by one.
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

/* Puts `entry` where the entry at the other end was, its warp's units in between moving on as above. */
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

unsigned walk_try_reinsert(struct walk *walk, size_t from, size_t to)
{
    walk->tried_move = TRIED_REINSERT;
    walk->from = from;
    walk->to = to;
    reinsert(walk, from, to);
    return evaluate(walk, from < to ? from : to, from < to ? to : from);
}

unsigned walk_try_swap(struct walk *walk, size_t one, size_t other)
{
    walk->tried_move = TRIED_SWAP;
    walk->from = one;
    walk->to = other;
    swap(walk, one, other);
    return evaluate(walk, one < other ? one : other, one < other ? other : one);
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
