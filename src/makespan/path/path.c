#include "makespan/path/path.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "makespan/path/classify.h"
#include "ptx/blocks.h"

#define MAX_NESTING 64                /* of loops, and of calls */
#define ARENA_LIMIT ((size_t)1 << 30) /* memory for a file of PATH_FILE_LIMIT */
#define NO_BLOCK    SIZE_MAX

/*
 * The heaviest way from the start of a region to each block in it; a region is a function, or the
 * body of a loop.
 */
struct path_way {
    double weight; /* from the region's start up to and including the block; below 0: not reached */
    size_t head;   /* the block through which its loop is entered, itself if it is in none */
    size_t from;   /* of a head: the block before it on the way; NO_BLOCK: it is the start */
    size_t passes; /* of a loop's head: how often it is passed; 0: no loop */
    size_t latch;  /* of a loop's head: where the heaviest round ends */
};

struct walker {
    const struct ptx_module *module;
    const struct path_settings *settings;
    struct input_error *error;
    struct arena *arena;
    struct kernel *strings; /* [routine]: done if n > 0 */
    double *weights;        /* [routine]: of the string */
    bool *is_used;          /* [bounds] */
    size_t calls;           /* depth */
};

/* One function being walked. */
struct walk_function {
    struct walker *walker;
    const struct ptx_routine *routine;
    const uint8_t *units; /* [statement]: classify.h */
    struct ptx_blocks graph;
    struct ptx_blocks_search search;
    double *weights;                        /* [block]: of its instructions, calls included */
    struct path_way *ways[MAX_NESTING + 1]; /* [level][block] */
    size_t *regions[MAX_NESTING + 1];       /* [level][block]: the region of this level; 0: none */
    size_t n_regions;                       /* made so far */
};

static int reject(struct walker *walker, const struct ptx_token *token, const char *expected)
{
    return ptx_reject(&walker->module->source, token, walker->error, "%s", expected);
}

/* The first of the labels that stand before the block; NULL: there is none. */
static const struct ptx_statement *label_of(const struct walk_function *walk, size_t block)
{
    const struct ptx_block *at = &walk->graph.blocks[block];
    const struct ptx_statement *first = at->end > at->begin ? &walk->routine->statements[at->begin] : NULL;

    return first && first->kind == PTX_STATEMENT_LABEL ? first : NULL;
}

static int reject_block(struct walk_function *walk, size_t block, const char *expected)
{
    const struct ptx_statement *label = label_of(walk, block);

    return reject(walk->walker, label ? label->first : walk->routine->token, expected);
}

static int append(struct kernel *kernel, size_t *room, const uint8_t units[], size_t n)
{
    if (n > KERNEL_MAX_INSTRUCTIONS - kernel->n)
        return -EFBIG;
    if (kernel->n + n > *room) {
        size_t wanted = *room ? *room : 256;
        uint8_t *more;

        while (wanted < kernel->n + n)
            wanted *= 2;
        more = realloc(kernel->units, wanted);
        if (!more)
            return -ENOMEM;
        kernel->units = more;
        *room = wanted;
    }
    if (n)
        memcpy(kernel->units + kernel->n, units, n);
    kernel->n += n;
    return 0;
}

/* How often the loop at this block is passed, from the settings. */
static int find_passes(struct walk_function *walk, size_t block, size_t *ret_passes)
{
    struct walker *walker = walk->walker;
    const struct ptx_block *at = &walk->graph.blocks[block];

    for (size_t k = at->begin; k < at->end; k++) {
        const struct ptx_statement *label = &walk->routine->statements[k];

        if (label->kind != PTX_STATEMENT_LABEL)
            break;
        for (size_t i = 0; i < walker->settings->n_bounds; i++) {
            const struct path_bound *bound = &walker->settings->bounds[i];

            if (ptx_name_is(label->label, bound->label)) {
                walker->is_used[i] = true;
                *ret_passes = bound->passes;
                return 0;
            }
        }
    }
    *ret_passes = 1;
    if (walker->settings->first_iteration)
        return 0;
    return reject_block(walk, block, "a bound for this loop (--loop LABEL=N)");
}

/* Does the edge to `to` stay in the region? Edges back to its start are the loop's own. */
static bool is_inside(const struct walk_function *walk, size_t level, size_t region, size_t start, size_t to)
{
    return to != start && walk->regions[level][to] == region;
}

static int walk_region(struct walk_function *walk, size_t level, size_t region, size_t start);

static int make_level(struct walk_function *walk, size_t level)
{
    struct arena *arena = walk->walker->arena;

    if (walk->ways[level])
        return 0;
    walk->regions[level] = arena_calloc(arena, walk->graph.n, sizeof walk->regions[0][0]);
    walk->ways[level] = arena_calloc(arena, walk->graph.n, sizeof walk->ways[0][0]);
    return walk->regions[level] && walk->ways[level] ? 0 : -ENOMEM;
}

/*
 * A component that is a loop: its head, the heaviest round through it, and the ways from the head
 * to its blocks.
 */
static int walk_loop(struct walk_function *walk, size_t level, const size_t members[], size_t n)
{
    struct path_way *ways = walk->ways[level];
    size_t region = ++walk->n_regions;
    size_t head = NO_BLOCK;
    double round = -1;
    int result;

    if (level + 1 > MAX_NESTING)
        return reject_block(walk, members[0], "loops nested at most 64 deep");
    for (size_t i = 0; i < n; i++) {
        if (ways[members[i]].from == NO_BLOCK && ways[members[i]].weight < 0)
            continue;
        if (head != NO_BLOCK)
            return reject_block(walk, members[i], "a loop that is entered at one label only");
        head = members[i];
    }
    result = make_level(walk, level + 1);
    if (result)
        return result;
    for (size_t i = 0; i < n; i++)
        walk->regions[level + 1][members[i]] = region;
    result = find_passes(walk, head, &ways[head].passes);
    if (result == 0)
        result = walk_region(walk, level + 1, region, head);
    for (size_t i = 0; result == 0 && i < n; i++) {
        const struct ptx_block *block = &walk->graph.blocks[members[i]];
        double weight = walk->ways[level + 1][members[i]].weight;

        ways[members[i]].head = head;
        for (size_t j = 0; j < block->n; j++) {
            if (walk->graph.successors[block->first + j] == head && weight > round) {
                round = weight;
                ways[head].latch = members[i];
            }
        }
    }
    if (result == 0) {
        double before = ways[head].weight + (double)(ways[head].passes - 1) * round;

        for (size_t i = 0; i < n; i++)
            ways[members[i]].weight = before + walk->ways[level + 1][members[i]].weight;
    }
    return result;
}

/* Extends the ways of a component's members to blocks outside of it. */
static void go_on(struct walk_function *walk, size_t level, size_t region, size_t start, size_t from)
{
    const struct ptx_block *block = &walk->graph.blocks[from];
    struct path_way *ways = walk->ways[level];

    for (size_t i = 0; i < block->n; i++) {
        size_t to = walk->graph.successors[block->first + i];

        /*
         * Heads of components still ahead hold the weight of the way up to them, without their own.
         */
        if (is_inside(walk, level, region, start, to) && ways[to].head == NO_BLOCK &&
            ways[from].weight > ways[to].weight) {
            ways[to].weight = ways[from].weight;
            ways[to].from = from;
        }
    }
}

/* Components in topological order; a loop is a region of its own, one level deeper. */
static int walk_region(struct walk_function *walk, size_t level, size_t region, size_t start)
{
    size_t room = walk->graph.n;
    size_t *order = malloc(room * sizeof order[0]);
    bool *last = malloc(room * sizeof last[0]);
    struct path_way *ways = walk->ways[level];
    size_t n = 0;
    int result = order && last ? 0 : -ENOMEM;

    if (result == 0)
        n = ptx_blocks_components(&walk->graph, &walk->search, walk->regions[level], region, start, order,
                                  last);
    for (size_t i = 0; i < n; i++) {
        ways[order[i]].weight = order[i] == start ? 0 : -1;
        ways[order[i]].head = ways[order[i]].from = NO_BLOCK;
        ways[order[i]].passes = 0;
    }
    for (size_t end = n; result == 0 && end > 0;) {
        size_t begin = end - 1;

        while (begin > 0 && !last[begin - 1])
            begin--;
        /* The start's own back edges belong to the level above, so it is never a loop here. */
        if (order[begin] != start && ptx_blocks_is_cycle(&walk->graph, order + begin, end - begin)) {
            result = walk_loop(walk, level, order + begin, end - begin);
        } else {
            ways[order[begin]].weight += walk->weights[order[begin]];
            ways[order[begin]].head = order[begin];
        }
        for (size_t i = begin; result == 0 && i < end; i++)
            go_on(walk, level, region, start, order[i]);
        end = begin;
    }
    free(order);
    free(last);
    return result;
}

/* Appends the instructions of a block, and of what it calls. */
static int emit_block(struct walk_function *walk, size_t block, struct kernel *kernel, size_t *room)
{
    int result = 0;

    for (size_t i = walk->graph.blocks[block].begin; result == 0 && i < walk->graph.blocks[block].end; i++) {
        const struct ptx_statement *statement = &walk->routine->statements[i];

        if (statement->kind == PTX_STATEMENT_LABEL)
            continue;
        result = append(kernel, room, &walk->units[i], 1);
        if (result == 0 && statement->match.row->family == PTX_CALL) {
            const struct kernel *called = &walk->walker->strings[statement->callee->routine->user];

            result = append(kernel, room, called->units, called->n);
        }
    }
    return result;
}

/* Appends the heaviest way from the start of the region around `to` up to and with it. */
static int emit(struct walk_function *walk, size_t level, size_t to, struct kernel *kernel, size_t *room)
{
    const struct path_way *ways = walk->ways[level];
    size_t n = 0;
    size_t *chain;
    int result = 0;

    for (size_t at = to; at != NO_BLOCK; at = ways[ways[at].head].from)
        n++;
    chain = malloc((n + 1) * sizeof chain[0]);
    if (!chain)
        return -ENOMEM;
    for (size_t at = to, i = n; at != NO_BLOCK; at = ways[ways[at].head].from)
        chain[--i] = at;
    for (size_t i = 0; result == 0 && i < n; i++) {
        size_t head = ways[chain[i]].head;

        if (ways[head].passes == 0) {
            result = emit_block(walk, head, kernel, room);
            continue;
        }
        for (size_t pass = 1; result == 0 && pass < ways[head].passes; pass++)
            result = emit(walk, level + 1, ways[head].latch, kernel, room);
        if (result == 0)
            result = emit(walk, level + 1, chain[i], kernel, room);
    }
    free(chain);
    return result;
}

static int walk_calls(struct walker *walker, const struct ptx_routine *routine);

static int weigh_call(struct walker *walker, const struct ptx_statement *call, double *weight)
{
    const struct ptx_routine *called = call->callee->kind == PTX_OP_ROUTINE && call->callee->routine->has_body
                                           ? call->callee->routine
                                           : NULL;
    int result;

    if (!called)
        return reject(walker, call->callee->token, "a call to a function whose body is in the file");
    result = walk_calls(walker, called);
    if (result == 0)
        *weight += walker->weights[called->user];
    return result;
}

/* The weight of each block; what is called is walked first. */
static int weigh(struct walk_function *walk)
{
    struct walker *walker = walk->walker;

    for (size_t b = 0; b < walk->graph.n; b++) {
        const struct ptx_block *block = &walk->graph.blocks[b];

        for (size_t i = block->begin; i < block->end; i++) {
            const struct ptx_statement *statement = &walk->routine->statements[i];
            int result = 0;

            if (statement->kind == PTX_STATEMENT_LABEL)
                continue;
            walk->weights[b] += walker->settings->weight[KERNEL_UNIT(walk->units[i])];
            if (statement->match.row->family == PTX_CALL)
                result = weigh_call(walker, statement, &walk->weights[b]);
            if (result)
                return result;
        }
    }
    return 0;
}

static int make_walk(struct walk_function *walk)
{
    struct arena *arena = walk->walker->arena;
    int result = ptx_blocks_make(walk->routine, arena, &walk->graph);

    if (result == 0)
        result = ptx_blocks_search_make(&walk->graph, arena, &walk->search);
    if (result == 0)
        result = make_level(walk, 0);
    if (result)
        return result;
    walk->weights = arena_calloc(arena, walk->graph.n, sizeof walk->weights[0]);
    if (!walk->weights)
        return -ENOMEM;
    for (size_t i = 0; i < walk->graph.n; i++) {
        walk->ways[0][i].weight = -1;
        walk->regions[0][i] = 1;
    }
    walk->n_regions = 1;
    return weigh(walk);
}

/* The block at which the heaviest way through the function ends; NO_BLOCK: it has no end. */
static size_t heaviest_end(const struct walk_function *walk)
{
    size_t end = NO_BLOCK;

    for (size_t i = 0; i < walk->graph.n; i++)
        if (walk->graph.blocks[i].is_end && walk->ways[0][i].weight >= 0 &&
            (end == NO_BLOCK || walk->ways[0][i].weight > walk->ways[0][end].weight))
            end = i;
    return end;
}

/* The string of one function into walker->strings. */
static int walk_one(struct walker *walker, const struct ptx_routine *routine)
{
    struct walk_function walk = {.walker = walker, .routine = routine};
    struct kernel kernel = {0};
    size_t room = 0, end;
    int result = classify_routine(walker->module, routine, walker->arena, &walk.units, walker->error);

    if (result == 0)
        result = make_walk(&walk);
    if (result == 0)
        result = walk_region(&walk, 0, 1, 0);
    if (result)
        return result;
    end = heaviest_end(&walk);
    if (end == NO_BLOCK)
        return reject(walker, routine->token, "a function that comes to an end");
    result = emit(&walk, 0, end, &kernel, &room);
    if (result == -EFBIG)
        result = reject(walker, routine->token, "a path of at most 1048576 instructions");
    if (result) {
        kernel_done(&kernel);
        return result;
    }
    walker->strings[routine->user] = kernel;
    for (size_t i = 0; i < kernel.n; i++)
        walker->weights[routine->user] += walker->settings->weight[KERNEL_UNIT(kernel.units[i])];
    return 0;
}

/* Walks a function unless that was done; one that calls itself is found by the depth. */
static int walk_calls(struct walker *walker, const struct ptx_routine *routine)
{
    int result;

    if (walker->strings[routine->user].n)
        return 0;
    if (walker->calls == MAX_NESTING)
        return reject(walker, routine->token, "calls nested at most 64 deep, without recursion");
    walker->calls++;
    result = walk_one(walker, routine);
    walker->calls--;
    return result;
}

/* The entry of that name, or the only one. */
static int find_entry(struct walker *walker, const char *name, const struct ptx_routine **ret_entry)
{
    const char *path = walker->module->source.name;
    size_t n = 0;

    for (const struct ptx_routine *at = walker->module->routines; at; at = at->next) {
        if (!at->is_entry || !at->has_body || (name && !ptx_name_is(at->name, name)))
            continue;
        *ret_entry = at;
        n++;
    }
    if (n == 1)
        return 0;
    return name ? input_reject(walker->error, path, 0, 0, "none", "an entry named %s", name)
                : input_reject(walker->error, path, 0, 0, n ? "several" : "none",
                               "one entry, or --entry with the name of one");
}

static int check_used(struct walker *walker)
{
    for (size_t i = 0; i < walker->settings->n_bounds; i++) {
        if (!walker->is_used[i])
            return input_reject(walker->error, walker->module->source.name, 0, 0, "none",
                                "a loop at label %s", walker->settings->bounds[i].label);
    }
    return 0;
}

static int walk_entry(struct walker *walker, const char *name, struct kernel *ret_kernel)
{
    const struct ptx_routine *entry = NULL;
    size_t n = walker->module->n_routines;
    int result = find_entry(walker, name, &entry);

    if (result)
        return result;
    walker->strings = calloc(n + 1, sizeof walker->strings[0]);
    walker->weights = calloc(n + 1, sizeof walker->weights[0]);
    walker->is_used = calloc(walker->settings->n_bounds + 1, sizeof walker->is_used[0]);
    result = walker->strings && walker->weights && walker->is_used ? walk_calls(walker, entry) : -ENOMEM;
    if (result == 0)
        result = check_used(walker);
    if (result == 0 && walker->strings[entry->user].n == 0)
        result = reject(walker, entry->token, "an entry with instructions");
    if (result == 0) {
        *ret_kernel = walker->strings[entry->user];
        walker->strings[entry->user] = (struct kernel){0};
    }
    for (size_t i = 0; walker->strings && i < n; i++)
        kernel_done(&walker->strings[i]);
    free(walker->strings);
    free(walker->weights);
    free(walker->is_used);
    return result;
}

int path_read(const char *path, const char *text, size_t size, const char *entry,
              const struct path_settings *settings, struct kernel *ret_kernel, struct input_error *ret_error)
{
    struct arena arena;
    struct ptx_module module;
    struct walker walker = {.module = &module, .settings = settings, .error = ret_error, .arena = &arena};
    uint32_t n = 0;
    int result = ptx_module_outline(&module, path, text, size, ret_error);

    arena_init(&arena, ARENA_LIMIT);
    if (result == INPUT_REJECTED && !module.source.n &&
        strstr(ret_error->expected, ".version")) /* some other file */
        (void)snprintf(ret_error->expected, sizeof ret_error->expected, "PTX, which begins with .version");
    for (struct ptx_routine *routine = module.routines; result == 0 && routine; routine = routine->next)
        routine->user = n++;
    if (result == 0)
        result = classify_all(&module, &arena, ret_error);
    if (result == 0)
        result = walk_entry(&walker, entry, ret_kernel);
    arena_done(&arena);
    ptx_module_done(&module);
    return result;
}
