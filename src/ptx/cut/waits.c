#include "ptx/cut/ptx_loop.h"

#include <errno.h>

enum { DEEPEST_LOOP = 128 };

struct wait_search {
    const struct waits_request *request;
    struct arena arena;
    struct loop_scratch scratch;
    struct ptx_blocks_search components;
    size_t source; /* a strong source of the routine, or a load from shared memory */
    size_t n_regions;
    size_t found_source, found_head;
};

/* The slice of registers that decide about the loop's end, while it grows. */
struct slice {
    struct ptx_loop *loop;
    const struct wait_search *search;
    size_t n; /* on the stack */
    bool has_control;
};

static void add(void *context, uint32_t reg, bool is_write)
{
    struct slice *slice = context;
    struct loop_scratch *scratch = slice->loop->scratch;

    if (is_write || scratch->in_slice[reg] == slice->loop->id)
        return;
    scratch->in_slice[reg] = slice->loop->id;
    scratch->registers[slice->n++] = reg;
}

static uint8_t counting(const struct waits_request *request, uint8_t sources)
{
    return request->kernel_writes ? sources : sources & (uint8_t)~SOURCE_PLAIN;
}

static void note(struct ptx_loop *loop, uint8_t sources, size_t statement)
{
    if (sources & ~loop->sources) {
        loop->sources |= sources;
        loop->source = statement;
    }
}

static const struct ptx_statement *last_of(const struct ptx_loop *loop, size_t block)
{
    const struct ptx_block *at = &loop->flow->blocks.blocks[block];
    const struct ptx_statement *last =
        at->end > at->begin ? &loop->flow->routine->statements[at->end - 1] : NULL;

    return last && last->kind == PTX_STATEMENT_OPERATION ? last : NULL;
}

/* Adds everything that a branch, a return or the like at the end of a block depends on. */
static void add_decision(struct slice *slice, size_t block)
{
    const struct ptx_block *at = &slice->loop->flow->blocks.blocks[block];
    const struct ptx_statement *last = last_of(slice->loop, block);

    if (last && (last->guard || last->match.row->family == PTX_INDEXED))
        flow_visit(slice->loop->flow, at->end - 1, add, slice);
}

static bool leaves_loop(const struct ptx_loop *loop, size_t block)
{
    const struct ptx_blocks *blocks = &loop->flow->blocks;
    const struct ptx_block *at = &blocks->blocks[block];

    for (size_t i = 0; i < at->n; i++)
        if (loop->scratch->region[blocks->successors[at->first + i]] != loop->id)
            return true;
    return at->is_end;
}

/*
 * A call of a function that may end the thread is an exit. It depends on all that the function
 * reads.
 */
static void add_call(struct slice *slice, size_t i)
{
    const struct flow *flow = slice->loop->flow;
    const struct ptx_statement *statement = &flow->routine->statements[i];

    if (statement->kind != PTX_STATEMENT_OPERATION || statement->match.row->family != PTX_CALL ||
        !statement->callee || statement->callee->kind != PTX_OP_ROUTINE ||
        !statement->callee->routine->has_body)
        return;
    if (slice->search->request->summaries[statement->callee->routine->user].may_exit) {
        note(slice->loop, counting(slice->search->request, flow->effects[i].sources), i);
        flow_visit(flow, i, add, slice);
    }
}

/*
 * Do the branches of the loop decide which definition of the register holds? They do, unless there
 * is only one definition and every round passes it. (A guard is among what the statement reads.)
 */
static bool is_controlled(const struct ptx_loop *loop, uint32_t reg, size_t statement)
{
    size_t ignored;

    return loop_defs(loop, reg, &ignored) > 1 || !loop_passes(loop, loop->flow->blocks.block_of[statement]);
}

static void add_control(struct slice *slice)
{
    slice->has_control = true;
    for (size_t i = 0; i < slice->loop->n; i++)
        add_decision(slice, slice->loop->members[i]);
}

/* Adds what the register is computed from within the loop. */
static void add_origins(struct slice *slice, uint32_t reg)
{
    struct ptx_loop *loop = slice->loop;
    const struct flow *flow = loop->flow;

    /* Other threads of the block may have stored there what they read elsewhere in the kernel. */
    if (reg == CELL_SHARED && loop->request->kernel_polls)
        note(loop, SOURCE_STRONG, slice->search->source);
    for (uint32_t i = flow->def_first[reg]; i < flow->def_first[reg + 1]; i++) {
        size_t statement = flow->defs[i];

        if (!loop_spend(loop, 1))
            return;
        if (!loop_has(loop, statement))
            continue;
        note(loop, counting(loop->request, flow->effects[statement].sources), statement);
        flow_visit(flow, statement, add, slice);
        if (!slice->has_control && is_controlled(loop, reg, statement))
            add_control(slice);
    }
}

static void find_sources(struct ptx_loop *loop, const struct wait_search *search)
{
    struct slice slice = {.loop = loop, .search = search};

    for (size_t i = 0; i < loop->n; i++) {
        const struct ptx_block *block = &loop->flow->blocks.blocks[loop->members[i]];

        if (leaves_loop(loop, loop->members[i])) {
            add_decision(&slice, loop->members[i]);
            if (!slice.has_control && !loop_passes(loop, loop->members[i]))
                add_control(&slice); /* other branches decide whether the exit is reached */
        }
        for (size_t k = block->begin; k < block->end; k++)
            add_call(&slice, k);
    }
    while (slice.n)
        add_origins(&slice, loop->scratch->registers[--slice.n]);
}

static int examine(struct wait_search *search, struct ptx_loop *loop)
{
    bool ends;

    find_sources(loop, search);
    ends = !loop->sources || loop_leaves(loop) || (!(loop->sources & SOURCE_STRONG) && loop_moves(loop));
    if (*search->request->budget == 0)
        return WAITS_TOO_LARGE;
    if (ends)
        return WAITS_NO;
    search->found_source = loop->source;
    search->found_head = loop->flow->blocks.blocks[loop->head].begin;
    return WAITS_MAYBE;
}

static bool has_source(const struct wait_search *search, const size_t members[], size_t n)
{
    const struct flow *flow = search->request->flow;

    for (size_t i = 0; i < n; i++) {
        const struct ptx_block *block = &flow->blocks.blocks[members[i]];

        for (size_t k = block->begin; k < block->end; k++)
            if (counting(search->request, flow->effects[k].sources) ||
                (search->request->kernel_polls && flow->effects[k].reads >> CELL_SHARED & 1))
                return true;
    }
    return false;
}

static int search_region(struct wait_search *search, size_t id, size_t start, size_t n, unsigned depth);

static int search_loop(struct wait_search *search, const size_t members[], size_t n, unsigned depth)
{
    const struct waits_request *request = search->request;
    struct ptx_loop loop = {.flow = request->flow,
                            .request = request,
                            .scratch = &search->scratch,
                            .id = ++search->n_regions,
                            .head = members[n - 1], /* where the search entered it, from outside */
                            .members = members,
                            .n = n};
    int r;

    if (!has_source(search, members, n))
        return WAITS_NO;
    if (depth > DEEPEST_LOOP)
        return WAITS_TOO_LARGE;
    for (size_t i = 0; i < n; i++)
        search->scratch.region[members[i]] = loop.id;
    r = examine(search, &loop);
    return r == WAITS_NO ? search_region(search, loop.id, loop.head, n, depth + 1) : r;
}

/* All loops within a region: the routine, or a loop without the edges back to its head. */
static int search_region(struct wait_search *search, size_t id, size_t start, size_t n, unsigned depth)
{
    const struct ptx_blocks *blocks = &search->request->flow->blocks;
    size_t *order = arena_calloc(&search->arena, n, sizeof *order);
    bool *last = arena_calloc(&search->arena, n, sizeof *last);
    size_t reached;
    size_t begin = 0;
    int r = WAITS_NO;

    if (!order || !last)
        return -ENOMEM;
    if (*search->request->budget <= n)
        return WAITS_TOO_LARGE;
    *search->request->budget -= n;
    reached =
        ptx_blocks_components(blocks, &search->components, search->scratch.region, id, start, order, last);
    for (size_t i = 0; i < reached && r == WAITS_NO; i++) {
        if (!last[i])
            continue;
        /* The start's own back edges belong to the loop around. */
        if (order[i] != start && ptx_blocks_is_cycle(blocks, order + begin, i + 1 - begin))
            r = search_loop(search, order + begin, i + 1 - begin, depth);
        begin = i + 1;
    }
    return r;
}

static int make_scratch(struct wait_search *search)
{
    const struct flow *flow = search->request->flow;
    struct loop_scratch *scratch = &search->scratch;
    size_t n = flow->blocks.n;

    scratch->region = arena_calloc(&search->arena, n, sizeof *scratch->region);
    scratch->passed = arena_calloc(&search->arena, n, sizeof *scratch->passed);
    scratch->is_passed = arena_calloc(&search->arena, n, sizeof *scratch->is_passed);
    scratch->visited = arena_calloc(&search->arena, n, sizeof *scratch->visited);
    scratch->moving = arena_calloc(&search->arena, n, sizeof *scratch->moving);
    scratch->work = arena_calloc(&search->arena, n, sizeof *scratch->work);
    scratch->in_slice = arena_calloc(&search->arena, flow->n_registers, sizeof *scratch->in_slice);
    scratch->registers = arena_calloc(&search->arena, flow->n_registers, sizeof *scratch->registers);
    if (!scratch->region || !scratch->passed || !scratch->is_passed || !scratch->visited ||
        !scratch->moving || !scratch->work || !scratch->in_slice || !scratch->registers)
        return -ENOMEM;
    return ptx_blocks_search_make(&flow->blocks, &search->arena, &search->components);
}

int ptx_waits_find(const struct waits_request *request, size_t *ret_source, size_t *ret_head)
{
    const struct flow *flow = request->flow;
    struct wait_search search = {.request = request};
    bool has_strong = false;
    bool any = false;
    int r;

    for (size_t i = 0; i < flow->routine->n; i++) {
        bool reads_shared = request->kernel_polls && flow->effects[i].reads >> CELL_SHARED & 1;

        any |= counting(request, flow->effects[i].sources) || reads_shared;
        if (flow->effects[i].sources & SOURCE_STRONG || (reads_shared && !has_strong))
            search.source = i;
        has_strong |= flow->effects[i].sources & SOURCE_STRONG;
    }
    if (!any)
        return WAITS_NO;
    arena_init(&search.arena, (size_t)1 << 30);
    r = make_scratch(&search);
    if (!r)
        r = search_region(&search, 0, 0, flow->blocks.n, 0);
    arena_done(&search.arena);
    if (r == WAITS_MAYBE) {
        *ret_source = search.found_source;
        *ret_head = search.found_head;
    }
    return r;
}
