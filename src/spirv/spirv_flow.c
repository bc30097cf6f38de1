#include "spirv/spirv_flow.h"

#include <errno.h>

struct flow_builder {
    struct arena *arena;
    const struct spirv_module *module;
    struct spirv_flow flow;
};

uint32_t spirv_flow_block_at(const struct spirv_flow *flow, size_t instruction)
{
    uint32_t low = 0;
    uint32_t high = flow->n_blocks;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (flow->blocks[middle].end < instruction)
            low = middle + 1;
        else
            high = middle;
    }
    return low < flow->n_blocks && flow->blocks[low].begin <= instruction ? low : SPIRV_NO_BLOCK;
}

static uint32_t block_of_label(const struct flow_builder *b, uint32_t label)
{
    const struct spirv_module *module = b->module;
    uint32_t at =
        label < module->bound && module->definition[label] ? module->definition[label] - 1 : SPIRV_NO_BLOCK;
    uint32_t block = at == SPIRV_NO_BLOCK ? SPIRV_NO_BLOCK : spirv_flow_block_at(&b->flow, at);

    return block != SPIRV_NO_BLOCK && b->flow.blocks[block].label == label ? block : SPIRV_NO_BLOCK;
}

static int find_blocks(struct flow_builder *b, const struct spirv_function *function)
{
    const struct spirv_instruction *all = b->module->instructions;
    uint32_t n = 0;

    for (size_t i = function->begin; i <= function->end; i++)
        n += all[i].opcode == OP_LABEL;
    b->flow.blocks = arena_calloc(b->arena, n + 1, sizeof *b->flow.blocks);
    b->flow.by_order = arena_calloc(b->arena, n + 1, sizeof *b->flow.by_order);
    if (!b->flow.blocks || !b->flow.by_order)
        return -ENOMEM;
    for (size_t i = function->begin; i <= function->end; i++) {
        struct spirv_flow_block *block = &b->flow.blocks[b->flow.n_blocks];

        if (all[i].opcode != OP_LABEL)
            continue;
        *block = (struct spirv_flow_block){
            .label = all[i].result, .begin = i, .dominator = SPIRV_NO_BLOCK, .order = SPIRV_NO_BLOCK};
        for (block->end = i;
             !(all[block->end].opcode >= OP_BRANCH && all[block->end].opcode <= OP_UNREACHABLE);)
            block->end++;
        b->flow.n_blocks++;
        i = block->end;
    }
    return 0;
}

/* Words per literal of a switch: two for 64-bit selectors. */
static size_t literal_words(const struct spirv_module *module, uint32_t selector)
{
    const struct spirv_instruction *value = spirv_definition(module, selector);
    const struct spirv_instruction *type = value ? spirv_definition(module, value->type) : NULL;

    return type && type->opcode == OP_TYPE_INT && type->n_words >= 3 && type->words[2] > 32 ? 2 : 1;
}

static int add_successor(const struct flow_builder *b, struct spirv_flow_block *block, uint32_t label)
{
    uint32_t to = block_of_label(b, label);

    if (to == SPIRV_NO_BLOCK)
        return 1;
    block->successors[block->n_successors++] = to;
    return 0;
}

static int link_block(struct flow_builder *b, struct spirv_flow_block *block)
{
    const struct spirv_instruction *last = &b->module->instructions[block->end];
    size_t step = 1;
    size_t at = 1;
    size_t until = last->n_words;

    switch (last->opcode) {
    case OP_BRANCH:
        break;
    case OP_BRANCH_CONDITIONAL:
        at = 2;
        until = 4;
        break;
    case OP_SWITCH:
        step = last->n_words > 1 ? literal_words(b->module, last->words[1]) + 1 : 1;
        at = 2;
        break;
    default:
        return 0;
    }
    if (last->n_words < at + 1 || last->n_words < until)
        return 1;
    block->successors = arena_calloc(b->arena, last->n_words, sizeof *block->successors);
    if (!block->successors)
        return -ENOMEM;
    for (; at < until; at += step) /* of a switch: the default, then each label behind its literal */
        if (add_successor(b, block, last->words[at]))
            return 1;
    return 0;
}

/* Reverse post-order from the entry, without recursion. */
static int order_blocks(struct flow_builder *b)
{
    struct spirv_flow *flow = &b->flow;
    uint32_t *stack = arena_calloc(b->arena, flow->n_blocks + 1, sizeof *stack);
    uint32_t *next = arena_calloc(b->arena, flow->n_blocks + 1, sizeof *next);
    uint32_t *post = arena_calloc(b->arena, flow->n_blocks + 1, sizeof *post);
    uint32_t depth = 0;

    if (!stack || !next || !post)
        return -ENOMEM;
    stack[depth++] = 0;
    flow->blocks[0].order = 0;
    while (depth) {
        struct spirv_flow_block *block = &flow->blocks[stack[depth - 1]];
        uint32_t *at = &next[stack[depth - 1]];

        if (*at == block->n_successors) {
            post[flow->n_reached++] = stack[--depth];
        } else if (flow->blocks[block->successors[*at]].order == SPIRV_NO_BLOCK) {
            flow->blocks[block->successors[*at]].order = 0;
            stack[depth++] = block->successors[(*at)++];
        } else {
            ++*at;
        }
    }
    for (uint32_t i = 0; i < flow->n_reached; i++) {
        flow->by_order[i] = post[flow->n_reached - 1 - i];
        flow->blocks[flow->by_order[i]].order = i;
    }
    return 0;
}

static uint32_t meet(const struct spirv_flow *flow, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (flow->blocks[a].order > flow->blocks[b].order)
            a = flow->blocks[a].dominator;
        while (flow->blocks[b].order > flow->blocks[a].order)
            b = flow->blocks[b].dominator;
    }
    return a;
}

/* Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm". */
static void find_dominators(struct spirv_flow *flow)
{
    bool changed = true;

    flow->blocks[0].dominator = 0;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < flow->n_reached; i++) {
            uint32_t from = flow->by_order[i];

            for (uint32_t s = 0; s < flow->blocks[from].n_successors; s++) {
                struct spirv_flow_block *to = &flow->blocks[flow->blocks[from].successors[s]];
                uint32_t above;

                if (to == &flow->blocks[0] || flow->blocks[from].dominator == SPIRV_NO_BLOCK)
                    continue;
                above = to->dominator == SPIRV_NO_BLOCK ? from : meet(flow, from, to->dominator);
                changed = changed || above != to->dominator;
                to->dominator = above;
            }
        }
    }
}

bool spirv_flow_dominates(const struct spirv_flow *flow, uint32_t above, uint32_t below)
{
    if (flow->blocks[below].dominator == SPIRV_NO_BLOCK)
        return false;
    while (below != above && below != 0)
        below = flow->blocks[below].dominator;
    return below == above;
}

/* Tarjan's strongly connected sets, without recursion. */
struct scc {
    const struct spirv_flow *flow;
    const bool *in_region;
    uint32_t *index, *low, *stack, *path, *next;
    bool *on_stack;
    uint32_t n_index, n_stack, n_path, n_loops;
    uint32_t *loop;
};

static bool loops_to_itself(const struct spirv_flow_block *block, uint32_t self)
{
    for (uint32_t s = 0; s < block->n_successors; s++)
        if (block->successors[s] == self)
            return true;
    return false;
}

static void close_set(struct scc *scc, uint32_t root)
{
    bool single = scc->stack[scc->n_stack - 1] == root;
    bool is_loop = !single || loops_to_itself(&scc->flow->blocks[root], root);
    uint32_t block;

    do {
        block = scc->stack[--scc->n_stack];
        scc->on_stack[block] = false;
        scc->loop[block] = is_loop ? scc->n_loops : SPIRV_NO_BLOCK;
    } while (block != root);
    scc->n_loops += is_loop;
}

static void visit(struct scc *scc, uint32_t block)
{
    scc->index[block] = scc->low[block] = ++scc->n_index;
    scc->stack[scc->n_stack++] = block;
    scc->on_stack[block] = true;
    scc->path[scc->n_path++] = block;
}

static void find_sets(struct scc *scc, uint32_t from)
{
    const struct spirv_flow *flow = scc->flow;

    visit(scc, from);
    while (scc->n_path) {
        uint32_t block = scc->path[scc->n_path - 1];

        if (scc->next[block] < flow->blocks[block].n_successors) {
            uint32_t to = flow->blocks[block].successors[scc->next[block]++];

            if (scc->in_region[to] && !scc->index[to])
                visit(scc, to);
            else if (scc->on_stack[to] && scc->index[to] < scc->low[block])
                scc->low[block] = scc->index[to];
            continue;
        }
        if (scc->low[block] == scc->index[block])
            close_set(scc, block);
        if (--scc->n_path && scc->low[block] < scc->low[scc->path[scc->n_path - 1]])
            scc->low[scc->path[scc->n_path - 1]] = scc->low[block];
    }
}

int64_t spirv_flow_loops(struct arena *arena, const struct spirv_flow *flow, const bool *in_region,
                         uint32_t *ret_loop)
{
    uint32_t n = flow->n_blocks;
    uint32_t *numbers = arena_calloc(arena, (size_t)5 * n + 1, sizeof *numbers);
    struct scc scc = {.flow = flow, .in_region = in_region, .loop = ret_loop};

    scc.on_stack = arena_calloc(arena, n + 1, sizeof *scc.on_stack);
    if (!numbers || !scc.on_stack)
        return -ENOMEM;
    scc.index = numbers;
    scc.low = numbers + n;
    scc.stack = numbers + (size_t)2 * n;
    scc.path = numbers + (size_t)3 * n;
    scc.next = numbers + (size_t)4 * n;
    for (uint32_t i = 0; i < n; i++)
        ret_loop[i] = SPIRV_NO_BLOCK;
    for (uint32_t i = 0; i < n; i++)
        if (in_region[i] && !scc.index[i])
            find_sets(&scc, i);
    return scc.n_loops;
}

int spirv_flow_build(struct arena *arena, const struct spirv_module *module,
                     const struct spirv_function *function, struct spirv_flow *ret_flow)
{
    struct flow_builder b = {.arena = arena, .module = module};
    int result = find_blocks(&b, function);

    for (uint32_t i = 0; !result && i < b.flow.n_blocks; i++)
        result = link_block(&b, &b.flow.blocks[i]);
    if (!result && b.flow.n_blocks) {
        result = order_blocks(&b);
        if (!result)
            find_dominators(&b.flow);
    }
    if (!result)
        *ret_flow = b.flow;
    return result;
}
