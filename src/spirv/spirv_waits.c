#include "spirv/spirv_waits.h"

#include <errno.h>

#include "spirv/spirv_loop.h"

/*
 * The loops of a region, then the loops inside each once its header is removed. 1: one of them may
 * wait.
 */
static int check_region(struct spirv_finder *finder, const struct spirv_flow *flow, bool *in_region,
                        int depth)
{
    uint32_t *loop_of = arena_calloc(finder->arena, flow->n_blocks + 1, sizeof *loop_of);
    bool *inner = arena_calloc(finder->arena, flow->n_blocks + 1, sizeof *inner);
    int64_t n_loops = loop_of && inner ? spirv_flow_loops(finder->arena, flow, in_region, loop_of) : -ENOMEM;
    bool any = false;

    for (int64_t number = 0; number < n_loops; number++) {
        struct spirv_loop loop = {.finder = finder,
                                  .flow = flow,
                                  .loop_of = loop_of,
                                  .number = (uint32_t)number,
                                  .stamp = ++finder->n_loops};

        spirv_loop_follow(&loop);
        if (loop.foreign && !spirv_loop_ends(&loop))
            return 1;
        for (uint32_t b = 0; b < flow->n_blocks; b++)
            if (loop_of[b] == loop.number && b != loop.header) {
                inner[b] = true;
                any = true;
            }
        if (loop.header == SPIRV_NO_BLOCK && loop.foreign)
            return 1;
    }
    if (n_loops <= 0 || !any)
        return n_loops < 0 ? (int)n_loops : 0;
    return depth > LOOP_DEEPEST ? 1 : check_region(finder, flow, inner, depth + 1);
}

/* What the instruction itself forbids; NULL: nothing. */
static const char *obstacle_of(const struct spirv_module *module, const struct spirv_instruction *i)
{
    const struct spirv_instruction *scope;

    if (i->opcode >= OP_READ_PIPE && i->opcode <= OP_GROUP_COMMIT_WRITE_PIPE)
        return "uses pipes";
    if (i->opcode >= OP_ENQUEUE_MARKER && i->opcode <= OP_BUILD_NDRANGE)
        return "enqueues work from the device";
    if (i->opcode == OP_FUNCTION_POINTER_CALL_INTEL || i->opcode == OP_CONSTANT_FUNCTION_POINTER_INTEL)
        return "calls a function by its address";
    if (i->opcode != OP_CONTROL_BARRIER || i->n_words < 2)
        return NULL;
    scope = spirv_definition(module, i->words[1]);
    if (scope && scope->opcode == OP_CONSTANT && scope->n_words == 4 &&
        (scope->words[3] == SCOPE_WORKGROUP || scope->words[3] == SCOPE_WORKGROUP + 1))
        return NULL;
    return "may wait for other groups";
}

static bool reads_foreign(const struct spirv_module *module, const struct spirv_instruction *i)
{
    uint32_t storage;

    if (i->opcode == OP_IMAGE_READ)
        return true;
    if ((i->opcode != OP_LOAD && !spirv_is_atomic(i->opcode)) || i->n_words < 4)
        return false;
    storage = spirv_storage_of(module, i->words[3]);
    return storage != STORAGE_WORKGROUP && storage != STORAGE_INPUT && storage != STORAGE_CONSTANT &&
           storage != STORAGE_FUNCTION;
}

/* One pass over the instructions; true: it found something new. */
static bool note_function(struct spirv_finder *finder, size_t index)
{
    const struct spirv_module *module = finder->module;
    const struct spirv_function *function = &module->functions[index];
    struct spirv_waits *known = &finder->functions[index];
    struct spirv_waits before = *known;

    for (size_t n = function->begin; n <= function->end; n++) {
        const struct spirv_instruction *i = &module->instructions[n];
        size_t called = i->opcode == OP_FUNCTION_CALL && i->n_words >= 4
                            ? spirv_function_index(module, i->words[3])
                            : SIZE_MAX;

        known->waits = known->waits ? known->waits : obstacle_of(module, i);
        known->reads = known->reads || reads_foreign(module, i);
        if (called == SIZE_MAX)
            continue;
        known->reads = known->reads || finder->functions[called].reads;
        if (!module->functions[called].defined && !known->waits)
            known->waits = "calls a function of another object";
        if (finder->functions[called].waits && !known->waits)
            known->waits = finder->functions[called].waits;
    }
    return before.reads != known->reads || before.waits != known->waits;
}

/* Depth of calls from each function, at most n: in a cycle it grows beyond n. */
static bool calls_itself(const struct spirv_finder *finder, size_t *depth)
{
    const struct spirv_module *module = finder->module;
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t f = 0; f < module->n_functions; f++)
            for (size_t n = module->functions[f].begin; n <= module->functions[f].end; n++) {
                const struct spirv_instruction *i = &module->instructions[n];
                size_t called = i->opcode == OP_FUNCTION_CALL && i->n_words >= 4
                                    ? spirv_function_index(module, i->words[3])
                                    : SIZE_MAX;

                if (called == SIZE_MAX || depth[f] > depth[called])
                    continue;
                depth[f] = depth[called] + 1;
                changed = true;
                if (depth[f] > module->n_functions)
                    return true;
            }
    }
    return false;
}

static int check_function(struct spirv_finder *finder, size_t index, struct spirv_refusal *ret_refusal)
{
    const struct spirv_module *module = finder->module;
    struct spirv_flow flow;
    bool *all;
    int result;

    if (!module->functions[index].defined)
        return 0;
    result = spirv_flow_build(finder->arena, module, &module->functions[index], &flow);
    if (result) {
        spirv_refuse(ret_refusal, "function %u branches out of itself", module->functions[index].id);
        return result;
    }
    all = arena_calloc(finder->arena, flow.n_blocks + 1, sizeof *all);
    if (!all)
        return -ENOMEM;
    for (uint32_t b = 0; b < flow.n_blocks; b++)
        all[b] = flow.blocks[b].order != SPIRV_NO_BLOCK;
    result = check_region(finder, &flow, all, 0);
    if (result == 1)
        finder->functions[index].waits = "may wait for other groups";
    return result < 0 ? result : 0;
}

int spirv_waits_find(struct arena *arena, const struct spirv_module *module,
                     struct spirv_waits *ret_functions, struct spirv_refusal *ret_refusal)
{
    struct spirv_finder finder = {.arena = arena, .module = module, .functions = ret_functions};
    size_t *depth = arena_calloc(arena, module->n_functions + 1, sizeof *depth);
    bool changed = true;
    int result = 0;

    finder.seen = arena_calloc(arena, module->bound, sizeof *finder.seen);
    finder.queue = arena_calloc(arena, module->bound, sizeof *finder.queue);
    if (!depth || !finder.seen || !finder.queue)
        return -ENOMEM;
    if (calls_itself(&finder, depth)) {
        spirv_refuse(ret_refusal, "a function calls itself");
        return 1;
    }
    while (changed) { /* what functions read, through calls */
        changed = false;
        for (size_t f = 0; f < module->n_functions; f++)
            changed = note_function(&finder, f) || changed;
    }
    for (size_t f = 0; f < module->n_functions && !result; f++)
        result = check_function(&finder, f, ret_refusal);
    for (changed = true; changed && !result;) { /* obstacles found in loops reach the callers */
        changed = false;
        for (size_t f = 0; f < module->n_functions; f++)
            changed = note_function(&finder, f) || changed;
    }
    return result;
}
