#include "makespan/ptx/ptx.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "makespan/ptx/ptx_graph.h"

#define MAX_NESTING 64                /* of loops, and of calls */
#define ARENA_LIMIT ((size_t)1 << 30) /* what a file of PTX_FILE_LIMIT may take */
#define NO_BLOCK    SIZE_MAX

/* The heaviest way from the start of a region to each block in it; a region is a function, or the body of a loop. */
struct way {
    size_t region; /* the region of this level that the block is in; 0: none */
    double weight; /* from the region's start up to and with the block; below 0: not reached */
    size_t head;   /* the block through which its loop is entered, itself if it is in none */
    size_t from;   /* of a head: the block before it on the way; NO_BLOCK: it is the start */
    size_t passes; /* of a loop's head: how often it is passed; 0: no loop */
    size_t latch;  /* of a loop's head: where the heaviest round ends */
};

/* A block on the stack of Tarjan's algorithm for strongly connected components. */
struct visit {
    size_t block, next; /* next: successor to look at */
};

struct walker {
    const char *path;
    const struct ptx_settings *settings;
    struct input_error *error;
    struct arena *arena;
    struct ptx_function *functions;
    struct kernel *strings; /* [functions]: done if n > 0 */
    double *weights;        /* [functions]: of the string */
    bool *is_used;          /* [bounds] */
    size_t calls;           /* depth */
};

/* One function being walked. */
struct walk_function {
    struct walker *walker;
    const struct ptx_function *function;
    struct ptx_graph graph;
    struct way *ways[MAX_NESTING + 1]; /* [level][block] */
    size_t regions;                    /* made so far */
    size_t *number, *low;              /* Tarjan: [block] */
    bool *is_open;
};

static int reject(struct walker *walker, unsigned line, unsigned column, struct ptx_text found,
                  const char *expected)
{
    char text[80];

    (void)snprintf(text, sizeof text, "%.*s", found.length < 70 ? (int)found.length : 70, found.begin);
    return input_reject(walker->error, walker->path, line, column, text, "%s", expected);
}

static int reject_block(struct walk_function *walk, size_t block, const char *expected)
{
    const struct ptx_block *at = &walk->graph.blocks[block];

    if (at->label)
        return reject(walk->walker, at->label->line, at->label->column, at->label->name, expected);
    return reject(walk->walker, walk->function->line, 1, walk->function->name, expected);
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

static struct ptx_function *find_function(struct walker *walker, struct ptx_text name)
{
    for (struct ptx_function *function = walker->functions; function; function = function->next) {
        if (function->has_body && ptx_text_equals(function->name, name.begin, name.length))
            return function;
    }
    return NULL;
}

/* How often the loop at this block is passed, from the settings. */
static int find_passes(struct walk_function *walk, size_t block, size_t *ret_passes)
{
    struct walker *walker = walk->walker;
    const struct ptx_label *label = walk->graph.blocks[block].label;

    for (size_t i = 0; label && i < walker->settings->n_bounds; i++) {
        const struct ptx_bound *bound = &walker->settings->bounds[i];

        if (ptx_text_equals(label->name, bound->label, strlen(bound->label))) {
            walker->is_used[i] = true;
            *ret_passes = bound->passes;
            return 0;
        }
    }
    *ret_passes = 1;
    if (walker->settings->first_iteration)
        return 0;
    return reject_block(walk, block, "a bound for this loop (--loop LABEL=N)");
}

/* Does the edge to `to` stay in the region? Edges back to its start are the loop's own and are left out. */
static bool is_inside(const struct walk_function *walk, size_t level, size_t region, size_t start, size_t to)
{
    return to != start && walk->ways[level][to].region == region;
}

/*
 * Tarjan's algorithm, without recursion, over the blocks of a region: order[] gets them by component, the components so that each comes before
 * those that lead to it; last[i] marks the last of a component. Returns how many were reached.
 */
static size_t components(struct walk_function *walk, size_t level, size_t region, size_t start,
                         struct visit stack[], size_t open[], size_t order[], bool last[])
{
    size_t depth = 0, n_open = 0, counter = 0, n = 0;

    stack[depth++] = (struct visit){.block = start};
    walk->number[start] = walk->low[start] = ++counter;
    open[n_open++] = start;
    walk->is_open[start] = true;
    while (depth) {
        struct visit *top = &stack[depth - 1];
        const struct ptx_block *block = &walk->graph.blocks[top->block];

        if (top->next < block->n) {
            size_t to = walk->graph.successors[block->first + top->next++];

            if (!is_inside(walk, level, region, start, to))
                continue;
            if (walk->number[to] == 0) {
                walk->number[to] = walk->low[to] = ++counter;
                open[n_open++] = to;
                walk->is_open[to] = true;
                stack[depth++] = (struct visit){.block = to};
            } else if (walk->is_open[to] && walk->number[to] < walk->low[top->block]) {
                walk->low[top->block] = walk->number[to];
            }
            continue;
        }
        if (walk->low[top->block] == walk->number[top->block]) {
            size_t member;

            do {
                member = open[--n_open];
                walk->is_open[member] = false;
                last[n] = member == top->block;
                order[n++] = member;
            } while (member != top->block);
        }
        depth--;
        if (depth && walk->low[top->block] < walk->low[stack[depth - 1].block])
            walk->low[stack[depth - 1].block] = walk->low[top->block];
    }
    for (size_t i = 0; i < n; i++)
        walk->number[order[i]] = 0;
    return n;
}

static int walk_region(struct walk_function *walk, size_t level, size_t region, size_t start);

/* A component that is a loop: its head, the heaviest round through it, and the ways from the head to its blocks. */
static int walk_loop(struct walk_function *walk, size_t level, const size_t members[], size_t n)
{
    struct way *ways = walk->ways[level];
    size_t region = ++walk->regions;
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
    if (!walk->ways[level + 1]) {
        walk->ways[level + 1] = arena_calloc(walk->walker->arena, walk->graph.n, sizeof ways[0]);
        if (!walk->ways[level + 1])
            return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        walk->ways[level + 1][members[i]].region = region;
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

static bool is_loop(const struct walk_function *walk, const size_t members[], size_t n)
{
    const struct ptx_block *block = &walk->graph.blocks[members[0]];

    for (size_t i = 0; i < block->n; i++) {
        if (walk->graph.successors[block->first + i] == members[0])
            return true;
    }
    return n > 1;
}

/* The ways from members of a component on to blocks outside of it. */
static void go_on(struct walk_function *walk, size_t level, size_t region, size_t start, size_t from)
{
    const struct ptx_block *block = &walk->graph.blocks[from];
    struct way *ways = walk->ways[level];

    for (size_t i = 0; i < block->n; i++) {
        size_t to = walk->graph.successors[block->first + i];

        /* Heads of components still ahead hold the weight of the way up to them, without their own. */
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
    struct visit *stack = malloc(room * sizeof stack[0]);
    size_t *open = malloc(room * sizeof open[0]);
    size_t *order = malloc(room * sizeof order[0]);
    bool *last = malloc(room * sizeof last[0]);
    struct way *ways = walk->ways[level];
    size_t n = 0;
    int result = stack && open && order && last ? 0 : -ENOMEM;

    if (result == 0)
        n = components(walk, level, region, start, stack, open, order, last);
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
        if (order[begin] != start && is_loop(walk, order + begin, end - begin)) {
            result = walk_loop(walk, level, order + begin, end - begin);
        } else {
            ways[order[begin]].weight += walk->graph.blocks[order[begin]].weight;
            ways[order[begin]].head = order[begin];
        }
        for (size_t i = begin; result == 0 && i < end; i++)
            go_on(walk, level, region, start, order[i]);
        end = begin;
    }
    free(stack);
    free(open);
    free(order);
    free(last);
    return result;
}

/* Appends the instructions of a block, and of what it calls. */
static int emit_block(struct walk_function *walk, size_t block, struct kernel *kernel, size_t *room)
{
    int result = 0;

    for (size_t i = walk->graph.blocks[block].begin; result == 0 && i < walk->graph.blocks[block].end; i++) {
        const struct ptx_instruction *instruction = &walk->function->instructions[i];
        uint8_t unit = (uint8_t)(instruction->unit | (instruction->is_barrier ? KERNEL_BARRIER : 0));

        result = append(kernel, room, &unit, 1);
        if (result == 0 && instruction->flow == PTX_CALL) {
            const struct kernel *called =
                &walk->walker->strings[find_function(walk->walker, instruction->target)->index];

            result = append(kernel, room, called->units, called->n);
        }
    }
    return result;
}

/* Appends the heaviest way from the start of the region around `to` up to and with it. */
static int emit(struct walk_function *walk, size_t level, size_t to, struct kernel *kernel, size_t *room)
{
    const struct way *ways = walk->ways[level];
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

static int walk_calls(struct walker *walker, struct ptx_function *function);

/* The weight of each block; what is called is walked first. */
static int weigh(struct walk_function *walk)
{
    struct walker *walker = walk->walker;

    for (size_t b = 0; b < walk->graph.n; b++) {
        struct ptx_block *block = &walk->graph.blocks[b];

        for (size_t i = block->begin; i < block->end; i++) {
            const struct ptx_instruction *instruction = &walk->function->instructions[i];
            struct ptx_function *function;
            int result;

            block->weight += walker->settings->weight[instruction->unit];
            if (instruction->flow != PTX_CALL)
                continue;
            function = find_function(walker, instruction->target);
            if (!function)
                return reject(walker, instruction->line, instruction->column, instruction->target,
                              "a call to a function whose body is in the file");
            result = walk_calls(walker, function);
            if (result)
                return result;
            block->weight += walker->weights[function->index];
        }
    }
    return 0;
}

/* The string of one function into walker->strings. */
static int walk_one(struct walker *walker, struct ptx_function *function)
{
    struct walk_function walk = {.walker = walker, .function = function};
    struct kernel kernel = {0};
    size_t room = 0, end = NO_BLOCK;
    int result = ptx_graph_make(walker->path, function, walker->arena, &walk.graph, walker->error);

    if (result == 0)
        result = weigh(&walk);
    if (result)
        return result;
    walk.ways[0] = arena_calloc(walker->arena, walk.graph.n, sizeof walk.ways[0][0]);
    walk.number = arena_calloc(walker->arena, walk.graph.n, sizeof walk.number[0]);
    walk.low = arena_calloc(walker->arena, walk.graph.n, sizeof walk.low[0]);
    walk.is_open = arena_calloc(walker->arena, walk.graph.n, sizeof walk.is_open[0]);
    if (!walk.ways[0] || !walk.number || !walk.low || !walk.is_open)
        return -ENOMEM;
    for (size_t i = 0; i < walk.graph.n; i++) {
        walk.ways[0][i].weight = -1;
        walk.ways[0][i].region = 1;
    }
    walk.regions = 1;
    result = walk_region(&walk, 0, 1, 0);
    for (size_t i = 0; result == 0 && i < walk.graph.n; i++) {
        if (walk.graph.blocks[i].is_end && walk.ways[0][i].weight >= 0 &&
            (end == NO_BLOCK || walk.ways[0][i].weight > walk.ways[0][end].weight))
            end = i;
    }
    if (result == 0 && end == NO_BLOCK)
        result = reject(walker, function->line, 1, function->name, "a function that comes to an end");
    if (result == 0)
        result = emit(&walk, 0, end, &kernel, &room);
    if (result == -EFBIG)
        result = reject(walker, function->line, 1, function->name, "a path of at most 1048576 instructions");
    if (result) {
        kernel_done(&kernel);
        return result;
    }
    walker->strings[function->index] = kernel;
    for (size_t i = 0; i < kernel.n; i++)
        walker->weights[function->index] += walker->settings->weight[KERNEL_UNIT(kernel.units[i])];
    return 0;
}

/* Walks a function unless that was done; one that calls itself is found by the depth. */
static int walk_calls(struct walker *walker, struct ptx_function *function)
{
    int result;

    if (walker->strings[function->index].n)
        return 0;
    if (walker->calls == MAX_NESTING)
        return reject(walker, function->line, 1, function->name,
                      "calls nested at most 64 deep, without recursion");
    walker->calls++;
    result = walk_one(walker, function);
    walker->calls--;
    return result;
}

/* The entry of that name, or the only one. */
static int find_entry(struct walker *walker, const char *name, struct ptx_function **ret_entry)
{
    struct ptx_function *entry = NULL;
    size_t n = 0;

    for (struct ptx_function *at = walker->functions; at; at = at->next) {
        if (!at->is_entry || !at->has_body)
            continue;
        if (name && !ptx_text_equals(at->name, name, strlen(name)))
            continue;
        entry = at;
        n++;
    }
    if (n == 1) {
        *ret_entry = entry;
        return 0;
    }
    if (name)
        return input_reject(walker->error, walker->path, 0, 0, "none", "an entry named %s", name);
    return input_reject(walker->error, walker->path, 0, 0, n ? "several" : "none",
                        "one entry, or --entry with the name of one");
}

static int check_used(struct walker *walker)
{
    for (size_t i = 0; i < walker->settings->n_bounds; i++) {
        if (!walker->is_used[i])
            return input_reject(walker->error, walker->path, 0, 0, "none", "a loop at label %s",
                                walker->settings->bounds[i].label);
    }
    return 0;
}

static int walk_entry(struct walker *walker, const char *name, struct kernel *ret_kernel)
{
    struct ptx_function *entry;
    size_t n = 0;
    int result = find_entry(walker, name, &entry);

    if (result)
        return result;
    for (struct ptx_function *at = walker->functions; at; at = at->next)
        n++;
    walker->strings = calloc(n + 1, sizeof walker->strings[0]);
    walker->weights = calloc(n + 1, sizeof walker->weights[0]);
    walker->is_used = calloc(walker->settings->n_bounds + 1, sizeof walker->is_used[0]);
    result = walker->strings && walker->weights && walker->is_used ? walk_calls(walker, entry) : -ENOMEM;
    if (result == 0)
        result = check_used(walker);
    if (result == 0 && walker->strings[entry->index].n == 0)
        result = reject(walker, entry->line, 1, entry->name, "an entry with instructions");
    if (result == 0) {
        *ret_kernel = walker->strings[entry->index];
        walker->strings[entry->index] = (struct kernel){0};
    }
    for (size_t i = 0; walker->strings && i < n; i++)
        kernel_done(&walker->strings[i]);
    free(walker->strings);
    free(walker->weights);
    free(walker->is_used);
    return result;
}

int ptx_read(const char *path, const char *text, size_t size, const char *entry,
             const struct ptx_settings *settings, struct kernel *ret_kernel, struct input_error *ret_error)
{
    struct arena arena;
    struct walker walker = {.path = path, .settings = settings, .error = ret_error, .arena = &arena};
    int result;

    arena_init(&arena, ARENA_LIMIT);
    result = ptx_scan(path, text, size, &arena, &walker.functions, ret_error);
    if (result == 0)
        result = walk_entry(&walker, entry, ret_kernel);
    arena_done(&arena);
    return result;
}
