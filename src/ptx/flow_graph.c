#include "ptx/flow_graph.h"

#include <errno.h>
#include <stdlib.h>

bool ptx_diverts(const struct ptx_statement *statement)
{
    if (statement->kind == PTX_STATEMENT_LABEL)
        return false;
    switch (statement->match.row->family) {
    case PTX_BRANCH:
    case PTX_INDEXED:
    case PTX_RETURN:
    case PTX_EXIT:
    case PTX_TRAP:
        return true;
    default:
        return false;
    }
}

void ptx_successors(const struct ptx_routine *routine, size_t i,
                    void (*visit)(void *context, size_t successor), void *context)
{
    const struct ptx_statement *statement = &routine->statements[i];

    if (statement->kind == PTX_STATEMENT_OPERATION) {
        if (statement->match.row->family == PTX_BRANCH && statement->n_operands > 0 &&
            statement->operands[0].kind == PTX_OP_LABEL)
            visit(context, statement->operands[0].label);
        for (unsigned k = 0; k < statement->n_targets; k++)
            visit(context, statement->targets[k].label);
    }
    if ((statement->guard || !ptx_diverts(statement)) && i + 1 < routine->n)
        visit(context, i + 1);
}

/* Tarjan's algorithm without recursion: a kernel may have a million statements. */
struct visit_frame {
    size_t node;
    uint32_t next; /* successor to look at */
};

struct graph_search {
    const struct ptx_routine *routine;
    uint32_t *index, *low; /* 0: not visited */
    uint32_t *component;
    bool *cyclic, *on_stack;
    size_t *stack;
    struct visit_frame *frames;
    size_t n_stack, n_frames;
    uint32_t counter, components;
    /* of the successor that is looked for: */
    uint32_t wanted, seen;
    size_t found;
};

static void pick(void *context, size_t successor)
{
    struct graph_search *search = context;

    if (search->seen++ == search->wanted)
        search->found = successor;
}

static void enter(struct graph_search *search, size_t node)
{
    search->index[node] = search->low[node] = ++search->counter;
    search->stack[search->n_stack++] = node;
    search->on_stack[node] = true;
    search->frames[search->n_frames++] = (struct visit_frame){node, 0};
}

static void finish(struct graph_search *search, size_t node)
{
    size_t member;
    size_t first = search->n_stack;

    if (search->low[node] != search->index[node])
        return;
    do {
        member = search->stack[--search->n_stack];
        search->on_stack[member] = false;
        search->component[member] = search->components;
    } while (member != node);
    for (size_t i = search->n_stack; first - search->n_stack > 1 && i < first; i++)
        search->cyclic[search->stack[i]] = true;
    search->components++;
}

static void walk(struct graph_search *search, size_t root)
{
    enter(search, root);
    while (search->n_frames) {
        struct visit_frame *frame = &search->frames[search->n_frames - 1];
        size_t node = frame->node;

        search->wanted = frame->next++;
        search->seen = 0;
        ptx_successors(search->routine, node, pick, search);
        if (search->wanted >= search->seen) {
            finish(search, node);
            search->n_frames--;
            if (search->n_frames) {
                size_t parent = search->frames[search->n_frames - 1].node;

                if (search->low[node] < search->low[parent])
                    search->low[parent] = search->low[node];
            }
        } else if (!search->index[search->found]) {
            enter(search, search->found);
        } else if (search->on_stack[search->found]) {
            if (search->found == node)
                search->cyclic[node] = true;
            if (search->index[search->found] < search->low[node])
                search->low[node] = search->index[search->found];
        }
    }
}

int ptx_components(const struct ptx_routine *routine, uint32_t ret_component[], bool ret_cyclic[])
{
    size_t n = routine->n ? routine->n : 1;
    struct graph_search search = {.routine = routine, .component = ret_component, .cyclic = ret_cyclic};
    int r = -ENOMEM;

    search.index = calloc(n, sizeof *search.index);
    search.low = calloc(n, sizeof *search.low);
    search.on_stack = calloc(n, sizeof *search.on_stack);
    search.stack = calloc(n, sizeof *search.stack);
    search.frames = calloc(n, sizeof *search.frames);
    if (search.index && search.low && search.on_stack && search.stack && search.frames) {
        for (size_t i = 0; i < routine->n; i++)
            ret_cyclic[i] = false;
        for (size_t i = 0; i < routine->n; i++)
            if (!search.index[i])
                walk(&search, i);
        r = 0;
    }
    free(search.index);
    free(search.low);
    free(search.on_stack);
    free(search.stack);
    free(search.frames);
    return r;
}
