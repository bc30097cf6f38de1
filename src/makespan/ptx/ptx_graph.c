#include "makespan/ptx/ptx_graph.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct maker {
    const char *path;
    const struct ptx_function *function;
    struct arena *arena;
    struct input_error *error;
    size_t *block_of; /* [n + 1]: the block that begins at this instruction, from 1; 0: none does */
    struct ptx_graph graph;
    size_t n_successors, room;
};

static int reject_target(struct maker *maker, const struct ptx_instruction *instruction, struct ptx_text name)
{
    char found[80];

    (void)snprintf(found, sizeof found, "%.*s", name.length < 70 ? (int)name.length : 70, name.begin);
    return input_reject(maker->error, maker->path, instruction->line, instruction->column, found,
                        "a branch to a label of the same function");
}

/* The next name of a list such as "$A, $B"; false at its end. */
static bool next_name(struct ptx_text *list, struct ptx_text *ret_name)
{
    const char *at = list->begin;
    const char *end = list->begin + list->length;
    const char *begin;

    while (at < end && (isspace((unsigned char)*at) || *at == ','))
        at++;
    begin = at;
    while (at < end && !isspace((unsigned char)*at) && *at != ',')
        at++;
    *ret_name = (struct ptx_text){.begin = begin, .length = (size_t)(at - begin)};
    *list = (struct ptx_text){.begin = at, .length = (size_t)(end - at)};
    return ret_name->length > 0;
}

/* Calls visit(maker, label's instruction) for each place the instruction may jump to. */
static int for_targets(struct maker *maker, const struct ptx_instruction *instruction,
                       int (*visit)(struct maker *maker, size_t at))
{
    const struct ptx_label *label;
    struct ptx_text list, name;
    int result = 0;

    if (instruction->flow != PTX_BRANCH && instruction->flow != PTX_TABLE)
        return 0;
    label = ptx_find_label(maker->function, instruction->target);
    if (!label)
        return reject_target(maker, instruction, instruction->target);
    if (instruction->flow == PTX_BRANCH)
        return visit(maker, label->at);
    list = label->targets;
    if (list.length == 0)
        return reject_target(maker, instruction, instruction->target);
    while (result == 0 && next_name(&list, &name)) {
        label = ptx_find_label(maker->function, name);
        result = label ? visit(maker, label->at) : reject_target(maker, instruction, name);
    }
    return result;
}

static int mark(struct maker *maker, size_t at)
{
    maker->block_of[at] = 1;
    return 0;
}

static int add_successor(struct maker *maker, size_t at)
{
    if (maker->n_successors == maker->room) {
        size_t room = maker->room ? 2 * maker->room : 64;
        size_t *more = arena_calloc(maker->arena, room, sizeof more[0]);

        if (!more)
            return -ENOMEM;
        if (maker->n_successors)
            memcpy(more, maker->graph.successors, maker->n_successors * sizeof more[0]);
        maker->graph.successors = more;
        maker->room = room;
    }
    maker->graph.successors[maker->n_successors++] = maker->block_of[at] - 1;
    return 0;
}

/*
 * Blocks begin at the first instruction, where a branch goes, and behind each one that may not fall through. An empty one
 * comes first, so that the function is entered at a block to which nothing leads.
 */
static int find_blocks(struct maker *maker)
{
    const struct ptx_function *function = maker->function;
    size_t n = 1; /* the empty block before all others */

    maker->block_of[0] = 1;
    for (size_t i = 0; i < function->n; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        int result = for_targets(maker, instruction, mark);

        if (result)
            return result;
        if (instruction->flow != PTX_NEXT && instruction->flow != PTX_CALL)
            maker->block_of[i + 1] = 1;
    }
    for (size_t i = 0; i <= function->n; i++) {
        if (maker->block_of[i])
            maker->block_of[i] = ++n;
    }
    maker->graph.n = n;
    maker->graph.blocks = arena_calloc(maker->arena, n, sizeof maker->graph.blocks[0]);
    return maker->graph.blocks ? 0 : -ENOMEM;
}

static int close_block(struct maker *maker, struct ptx_block *block)
{
    const struct ptx_instruction *last =
        block->end > block->begin ? &maker->function->instructions[block->end - 1] : NULL;
    bool falls = !last || last->flow == PTX_NEXT || last->flow == PTX_CALL || last->is_predicated;
    int result = 0;

    block->first = maker->n_successors;
    block->is_end = last && last->flow == PTX_END;
    if (last)
        result = for_targets(maker, last, add_successor);
    if (result == 0 && falls && block->end < maker->function->n)
        result = add_successor(maker, block->end);
    else if (falls && block->end == maker->function->n)
        block->is_end = true; /* what follows the last instruction is the end of the function */
    block->n = maker->n_successors - block->first;
    return result;
}

int ptx_graph_make(const char *path, const struct ptx_function *function, struct arena *arena,
                   struct ptx_graph *ret_graph, struct input_error *ret_error)
{
    struct maker maker = {.path = path, .function = function, .arena = arena, .error = ret_error};
    int result;

    maker.block_of = arena_calloc(arena, function->n + 1, sizeof maker.block_of[0]);
    result = maker.block_of ? find_blocks(&maker) : -ENOMEM;
    for (size_t i = 0, block = 1; result == 0 && i <= function->n; i++) {
        if (maker.block_of[i] == 0)
            continue;
        maker.graph.blocks[block - 1].end = i;
        maker.graph.blocks[block].begin = i;
        maker.graph.blocks[block++].end = function->n;
    }
    for (size_t i = 0; result == 0 && i < function->n_labels; i++) {
        size_t block = maker.block_of[function->labels[i].at];

        if (block)
            maker.graph.blocks[block - 1].label = &function->labels[i];
    }
    for (size_t i = 0; result == 0 && i < maker.graph.n; i++)
        result = close_block(&maker, &maker.graph.blocks[i]);
    if (result == 0)
        *ret_graph = maker.graph;
    return result;
}
