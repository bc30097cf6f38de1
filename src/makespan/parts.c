#include "makespan/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "makespan/schedule.h"

#define NO_ENTRY UINT32_MAX

static uint64_t print_of(const uint8_t units[], size_t n)
{
    uint64_t print = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (size_t i = 0; i < n; i++)
        print = (print ^ units[i]) * UINT64_C(0x100000001b3);
    return print ^ print >> 32;
}

/* Fills like[] and n_distinct with a hash table of the parts seen so far. */
static int find_like(struct parts *parts)
{
    size_t size = 16;
    size_t *table; /* part + 1; 0: empty */

    while (size < 2 * parts->n_parts)
        size *= 2;
    table = calloc(size, sizeof table[0]);
    if (!table)
        return -ENOMEM;
    for (size_t p = 0; p < parts->n_parts; p++) {
        const uint8_t *units = parts->units + parts->begin[p];
        size_t n = parts->begin[p + 1] - parts->begin[p];
        size_t at = print_of(units, n) & (size - 1);

        for (; table[at]; at = (at + 1) & (size - 1)) {
            size_t other = table[at] - 1;

            if (parts->begin[other + 1] - parts->begin[other] == n &&
                memcmp(parts->units + parts->begin[other], units, n) == 0)
                break;
        }
        if (!table[at]) {
            table[at] = p + 1;
            parts->n_distinct++;
        }
        parts->like[p] = table[at] - 1;
    }
    free(table);
    return 0;
}

int parts_split(const struct kernel *kernel, struct parts *ret_parts)
{
    struct parts parts = {.n = kernel->n, .n_parts = 1};
    int result = -ENOMEM;

    for (size_t i = 0; i + 1 < kernel->n; i++)
        parts.n_parts += (kernel->units[i] & KERNEL_BARRIER) != 0;
    parts.units = malloc(kernel->n);
    parts.begin = calloc(parts.n_parts + 1, sizeof parts.begin[0]);
    parts.like = calloc(parts.n_parts, sizeof parts.like[0]);
    if (parts.units && parts.begin && parts.like) {
        size_t part = 0;

        for (size_t i = 0; i < kernel->n; i++) {
            parts.units[i] = KERNEL_UNIT(kernel->units[i]);
            if (i + 1 == kernel->n || kernel->units[i] & KERNEL_BARRIER)
                parts.begin[++part] = i + 1;
        }
        result = find_like(&parts);
    }
    if (result) {
        parts_done(&parts);
        return result;
    }
    *ret_parts = parts;
    return 0;
}

void parts_done(struct parts *parts)
{
    free(parts->units);
    free(parts->begin);
    free(parts->like);
    *parts = (struct parts){0};
}

struct problem parts_problem(const struct parts *parts, size_t part, const struct problem *whole)
{
    struct problem problem = *whole;

    problem.units = parts->units + parts->begin[part];
    problem.n = parts->begin[part + 1] - parts->begin[part];
    return problem;
}

/* A list of places in the order, linked through course::link. */
struct aside {
    uint32_t first, last;
};

/* One schedule being built. */
struct course {
    const struct problem *problem;
    const struct parts *parts;
    unsigned group_warps;
    struct slots_layout layout;
    void *block;       /* owned; begins with the first cycle in which each warp may execute */
    uint16_t *entries; /* owned */
    struct course_group {
        size_t part;     /* being executed */
        size_t left;     /* instructions of it not yet inserted, of all warps */
    } * groups;          /* owned */
    uint32_t *next;      /* owned; [warps]: instructions read from the order */
    uint32_t *part_of;   /* owned; [n] */
    struct aside *aside; /* owned; [group][part]: entries that wait for the part to begin */
    uint32_t *link;      /* owned; [n * W] */
    uint32_t *cycles;    /* borrowed; [n * W] */
};

static size_t part_work(const struct course *course, size_t part)
{
    return (course->parts->begin[part + 1] - course->parts->begin[part]) * course->group_warps;
}

/*
 * Opens the barrier after the group's part: all of its warps may continue in the cycle after that
 * of the last warp.
 */
static void open_barrier(struct course *course, size_t group)
{
    uint32_t *ready = (uint32_t *)course->block + group * course->group_warps;
    uint32_t last = 0;

    for (unsigned w = 0; w < course->group_warps; w++)
        last = ready[w] > last ? ready[w] : last;
    for (unsigned w = 0; w < course->group_warps; w++)
        ready[w] = last;
}

static void insert(struct course *course, size_t group, size_t at)
{
    slots_insert(&course->layout, course->block, &course->entries[at], 1, &course->cycles[at]);
    course->groups[group].left--;
}

/*
 * Opens barriers of the group while its parts are complete, and inserts the entries that waited for
 * them.
 */
static void advance(struct course *course, size_t group)
{
    struct course_group *state = &course->groups[group];

    while (state->left == 0 && state->part + 1 < course->parts->n_parts) {
        const struct aside *aside;

        open_barrier(course, group);
        state->part++;
        state->left = part_work(course, state->part);
        aside = &course->aside[group * course->parts->n_parts + state->part];
        for (uint32_t at = aside->first; at != NO_ENTRY; at = course->link[at])
            insert(course, group, at);
    }
}

static void put_aside(struct course *course, struct aside *aside, uint32_t at)
{
    course->link[at] = NO_ENTRY;
    if (aside->first == NO_ENTRY)
        aside->first = at;
    else
        course->link[aside->last] = at;
    aside->last = at;
}

static void run(struct course *course, const uint16_t order[])
{
    size_t n_parts = course->parts->n_parts;
    size_t groups = course->problem->warps / course->group_warps;

    for (size_t part = 0; part < n_parts; part++) {
        for (size_t i = course->parts->begin[part]; i < course->parts->begin[part + 1]; i++)
            course->part_of[i] = (uint32_t)part;
    }
    for (size_t i = 0; i < groups * n_parts; i++)
        course->aside[i] = (struct aside){.first = NO_ENTRY};
    for (size_t group = 0; group < groups; group++)
        course->groups[group].left = part_work(course, 0);
    slots_clear(&course->layout, course->block);
    for (size_t at = 0; at < course->problem->n * course->problem->warps; at++) {
        size_t group = order[at] / course->group_warps;
        size_t part = course->part_of[course->next[order[at]]++];

        if (part > course->groups[group].part) {
            put_aside(course, &course->aside[group * n_parts + part], (uint32_t)at);
        } else {
            insert(course, group, at);
            advance(course, group);
        }
    }
}

int parts_evaluate(const struct problem *problem, const struct parts *parts, unsigned groups,
                   const uint16_t order[], uint32_t ret_cycles[], unsigned *ret_makespan)
{
    size_t length = problem->n * problem->warps;
    struct course course = {.problem = problem, .parts = parts, .group_warps = problem->warps / groups};
    uint32_t *own_cycles = ret_cycles ? NULL : malloc(length * sizeof own_cycles[0]);
    int result = -ENOMEM;

    slots_layout(problem, &course.layout);
    course.block = malloc(course.layout.size);
    course.entries = malloc(length * sizeof course.entries[0]);
    course.groups = calloc(groups, sizeof course.groups[0]);
    course.next = calloc(problem->warps, sizeof course.next[0]);
    course.part_of = calloc(problem->n, sizeof course.part_of[0]);
    course.aside = calloc((size_t)groups * parts->n_parts, sizeof course.aside[0]);
    course.link = calloc(length, sizeof course.link[0]);
    course.cycles = ret_cycles ? ret_cycles : own_cycles;
    if (course.block && course.entries && course.groups && course.next && course.part_of && course.aside &&
        course.link && course.cycles)
        result = entries_make(problem, order, course.entries);
    if (result == 0) {
        run(&course, order);
        *ret_makespan = slots_makespan(&course.layout, course.block);
    }
    free(course.block);
    free(course.entries);
    free(course.groups);
    free(course.next);
    free(course.part_of);
    free(course.aside);
    free(course.link);
    free(own_cycles);
    return result;
}
