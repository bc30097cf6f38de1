#include "ptx/blocks.h"
#include "ptx/flow_graph.h"

#include <errno.h>

struct maker {
    const struct ptx_routine *routine;
    struct ptx_blocks made;
    size_t block; /* whose successors are looked for */
    size_t *seen; /* [block]: 1 + the last block that has it as a successor */
    size_t n_successors;
};

static bool leaves(const struct ptx_statement *statement)
{
    return ptx_diverts(statement) && statement->match.row->family != PTX_BRANCH &&
           statement->match.row->family != PTX_INDEXED;
}

static bool begins_block(const struct ptx_routine *routine, size_t i)
{
    const struct ptx_statement *at = &routine->statements[i];

    if (i == 0 || ptx_diverts(at - 1))
        return true;
    return at->kind == PTX_STATEMENT_LABEL && (at - 1)->kind != PTX_STATEMENT_LABEL;
}

static void count(void *context, size_t successor)
{
    (void)successor;
    ++*(size_t *)context;
}

static void add(void *context, size_t successor)
{
    struct maker *maker = context;
    size_t to = maker->made.block_of[successor];

    if (maker->seen[to] == maker->block + 1)
        return;
    maker->seen[to] = maker->block + 1;
    maker->made.successors[maker->n_successors++] = to;
}

static void close_block(struct maker *maker, struct ptx_block *block)
{
    const struct ptx_routine *routine = maker->routine;
    const struct ptx_statement *last =
        block->end > block->begin ? &routine->statements[block->end - 1] : NULL;

    block->first = maker->n_successors;
    maker->block = (size_t)(block - maker->made.blocks);
    if (last)
        ptx_successors(routine, block->end - 1, add, maker);
    else if (routine->n)
        add(maker, 0);
    block->n = maker->n_successors - block->first;
    block->is_end = !last ? !routine->n
                          : leaves(last) || (block->end == routine->n && (!ptx_diverts(last) || last->guard));
}

int ptx_blocks_make(const struct ptx_routine *routine, struct arena *arena, struct ptx_blocks *ret_blocks)
{
    struct maker maker = {.routine = routine};
    size_t n_successors = 1;
    size_t n = 1;

    for (size_t i = 0; i < routine->n; i++) {
        n += begins_block(routine, i);
        if (i + 1 == routine->n || begins_block(routine, i + 1))
            ptx_successors(routine, i, count, &n_successors);
    }
    maker.made.blocks = arena_calloc(arena, n, sizeof *maker.made.blocks);
    maker.made.successors = arena_calloc(arena, n_successors, sizeof *maker.made.successors);
    maker.made.block_of = arena_calloc(arena, routine->n + 1, sizeof *maker.made.block_of);
    maker.seen = arena_calloc(arena, n, sizeof *maker.seen);
    if (!maker.seen || !maker.made.blocks || !maker.made.successors || !maker.made.block_of)
        return -ENOMEM;
    maker.made.n = n;
    n = 0;
    for (size_t i = 0; i < routine->n; i++) {
        if (begins_block(routine, i))
            maker.made.blocks[++n].begin = i;
        maker.made.block_of[i] = n;
        maker.made.blocks[n].end = i + 1;
    }
    for (size_t i = 0; i < maker.made.n; i++)
        close_block(&maker, &maker.made.blocks[i]);
    *ret_blocks = maker.made;
    return 0;
}

/* A block on the stack of the search. */
struct ptx_blocks_visit {
    size_t block, next; /* next: successor to look at */
};

int ptx_blocks_search_make(const struct ptx_blocks *blocks, struct arena *arena,
                           struct ptx_blocks_search *ret_search)
{
    ret_search->number = arena_calloc(arena, blocks->n, sizeof *ret_search->number);
    ret_search->low = arena_calloc(arena, blocks->n, sizeof *ret_search->low);
    ret_search->open = arena_calloc(arena, blocks->n, sizeof *ret_search->open);
    ret_search->is_open = arena_calloc(arena, blocks->n, sizeof *ret_search->is_open);
    ret_search->stack = arena_calloc(arena, blocks->n, sizeof *ret_search->stack);
    return ret_search->number && ret_search->low && ret_search->open && ret_search->is_open &&
                   ret_search->stack
               ? 0
               : -ENOMEM;
}

/* Moves the component of `top`, which is complete, from the open blocks to ret_order[n...]. */
static size_t close_component(struct ptx_blocks_search *search, size_t top, size_t *n_open, size_t n,
                              size_t ret_order[], bool ret_last[])
{
    size_t member;

    do {
        member = search->open[--*n_open];
        search->is_open[member] = false;
        ret_last[n] = member == top;
        ret_order[n++] = member;
    } while (member != top);
    return n;
}

size_t ptx_blocks_components(const struct ptx_blocks *blocks, struct ptx_blocks_search *search,
                             const size_t region[], size_t id, size_t start, size_t ret_order[],
                             bool ret_last[])
{
    size_t depth = 0, n_open = 0, counter = 0, n = 0, next = start;

    for (;;) {
        struct ptx_blocks_visit *top;
        const struct ptx_block *block;

        if (search->number[next] == 0) {
            search->number[next] = search->low[next] = ++counter;
            search->open[n_open++] = next;
            search->is_open[next] = true;
            search->stack[depth++] = (struct ptx_blocks_visit){.block = next};
        }
        top = &search->stack[depth - 1];
        block = &blocks->blocks[top->block];
        if (top->next < block->n) {
            size_t to = blocks->successors[block->first + top->next++];

            if (to == start || region[to] != id)
                continue;
            if (search->number[to] == 0)
                next = to;
            else if (search->is_open[to] && search->number[to] < search->low[top->block])
                search->low[top->block] = search->number[to];
            continue;
        }
        if (search->low[top->block] == search->number[top->block])
            n = close_component(search, top->block, &n_open, n, ret_order, ret_last);
        if (--depth == 0)
            break;
        if (search->low[top->block] < search->low[search->stack[depth - 1].block])
            search->low[search->stack[depth - 1].block] = search->low[top->block];
    }
    for (size_t i = 0; i < n; i++)
        search->number[ret_order[i]] = 0;
    return n;
}

bool ptx_blocks_is_cycle(const struct ptx_blocks *blocks, const size_t members[], size_t n)
{
    const struct ptx_block *block = &blocks->blocks[members[0]];

    for (size_t i = 0; i < block->n; i++)
        if (blocks->successors[block->first + i] == members[0])
            return true;
    return n > 1;
}
