#include "spirv/waits.h"

#include <errno.h>

enum { DEEPEST = 64 }; /* conversions, additions or conditions that are followed */

struct finder {
    struct arena *arena;
    const struct spirv_module *module;
    struct waits_function *functions;
    uint32_t *seen;  /* [bound]: the last loop, counted from 1, whose course the id decides */
    uint32_t *queue; /* [bound]: ids to be followed */
    uint32_t n_loops;
};

/* One loop of one function. */
struct loop {
    struct finder *finder;
    const struct flow *flow;
    const uint32_t *loop_of;
    uint32_t number;
    uint32_t header; /* FLOW_NONE: it can be entered in two places */
    uint32_t stamp;  /* in finder->seen */
    size_t n_queue;
    bool foreign; /* its course depends on memory that others write */
};

static const struct spirv_instruction *define(const struct loop *loop, uint32_t id)
{
    return spirv_definition(loop->finder->module, id);
}

static bool in_loop(const struct loop *loop, const struct spirv_instruction *i)
{
    size_t at = (size_t)(i - loop->finder->module->instructions);
    uint32_t block = flow_block_at(loop->flow, at);

    return block != FLOW_NONE && loop->loop_of[block] == loop->number;
}

static bool is_chain(uint16_t opcode)
{
    return opcode == OP_ACCESS_CHAIN || opcode == OP_IN_BOUNDS_ACCESS_CHAIN ||
           opcode == OP_PTR_ACCESS_CHAIN || opcode == OP_IN_BOUNDS_PTR_ACCESS_CHAIN || opcode == OP_BITCAST;
}

/* The variable of a function that the pointer points into; 0: not known. */
static uint32_t variable_of(const struct spirv_module *module, uint32_t pointer)
{
    for (int depth = 0; depth < DEEPEST; depth++) {
        const struct spirv_instruction *i = spirv_definition(module, pointer);

        if (i && i->opcode == OP_VARIABLE)
            return i->result;
        if (!i || !is_chain(i->opcode) || i->n_words < 4)
            return 0;
        pointer = i->words[3];
    }
    return 0;
}

/* Does the variable's address go anywhere but into loads, stores and chains? */
static bool escapes(const struct loop *loop, uint32_t variable)
{
    const struct spirv_module *module = loop->finder->module;
    size_t begin = loop->flow->blocks[0].begin;
    size_t end = loop->flow->blocks[loop->flow->n_blocks - 1].end;

    for (size_t n = begin; n <= end; n++) {
        const struct spirv_instruction *i = &module->instructions[n];
        bool harmless = i->opcode == OP_LOAD || is_chain(i->opcode) || i->opcode == OP_LIFETIME_START ||
                        i->opcode == OP_LIFETIME_STOP;

        for (size_t at = 1; at < i->n_words && !harmless; at++)
            if (spirv_uses_id(i, at) && !(i->opcode == OP_STORE && at == 1) &&
                spirv_storage_of(module, i->words[at]) == STORAGE_FUNCTION &&
                variable_of(module, i->words[at]) == variable)
                return true;
    }
    return false;
}

static void follow(struct loop *loop, uint32_t id)
{
    if (id >= loop->finder->module->bound || loop->finder->seen[id] == loop->stamp)
        return;
    loop->finder->seen[id] = loop->stamp;
    loop->finder->queue[loop->n_queue++] = id;
}

static void follow_stores(struct loop *loop, uint32_t variable)
{
    const struct spirv_module *module = loop->finder->module;

    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        for (size_t n = loop->flow->blocks[b].begin;
             loop->loop_of[b] == loop->number && n < loop->flow->blocks[b].end; n++) {
            const struct spirv_instruction *i = &module->instructions[n];

            if (i->opcode == OP_STORE && i->n_words >= 3 && variable_of(module, i->words[1]) == variable)
                follow(loop, i->words[2]);
        }
}

static void follow_load(struct loop *loop, const struct spirv_instruction *i)
{
    uint32_t storage = spirv_storage_of(loop->finder->module, i->words[3]);
    uint32_t variable;

    if (storage == STORAGE_WORKGROUP || storage == STORAGE_INPUT || storage == STORAGE_CONSTANT)
        return; /* a group runs whole within a piece; the others do not change */
    variable = storage == STORAGE_FUNCTION ? variable_of(loop->finder->module, i->words[3]) : 0;
    if (!variable || escapes(loop, variable))
        loop->foreign = true;
    else
        follow_stores(loop, variable);
}

static size_t function_index(const struct spirv_module *module, uint32_t id)
{
    const struct spirv_function *function = spirv_function_of(module, id);

    return function ? (size_t)(function - module->functions) : SIZE_MAX;
}

static void follow_value(struct loop *loop, const struct spirv_instruction *i)
{
    const struct spirv_module *module = loop->finder->module;

    if (!in_loop(loop, i))
        return; /* known before the loop began */
    if (i->opcode == OP_LOAD && i->n_words >= 4) {
        follow_load(loop, i);
        return;
    }
    if (spirv_is_atomic(i->opcode) && i->n_words >= 4) {
        loop->foreign = loop->foreign || spirv_storage_of(module, i->words[3]) != STORAGE_WORKGROUP;
        return;
    }
    if (i->opcode == OP_IMAGE_READ) {
        loop->foreign = true;
        return;
    }
    if (i->opcode == OP_FUNCTION_CALL && i->n_words >= 4) {
        size_t called = function_index(module, i->words[3]);

        loop->foreign = loop->foreign || called == SIZE_MAX || loop->finder->functions[called].reads;
    }
    for (size_t at = 1; at < i->n_words; at++)
        if (spirv_uses_id(i, at))
            follow(loop, i->words[at]);
}

/* Everything that decides which way the loop goes. */
static void follow_course(struct loop *loop)
{
    const struct spirv_module *module = loop->finder->module;

    for (uint32_t b = 0; b < loop->flow->n_blocks; b++) {
        const struct spirv_instruction *last = &module->instructions[loop->flow->blocks[b].end];

        if (loop->loop_of[b] == loop->number &&
            (last->opcode == OP_BRANCH_CONDITIONAL || last->opcode == OP_SWITCH))
            follow(loop, last->words[1]);
    }
    while (loop->n_queue && !loop->foreign) {
        const struct spirv_instruction *i = define(loop, loop->finder->queue[--loop->n_queue]);

        if (i)
            follow_value(loop, i);
    }
}

static bool is_header(const struct loop *loop, uint32_t block)
{
    if (block == 0)
        return true;
    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        for (uint32_t s = 0; s < loop->flow->blocks[b].n_successors; s++)
            if (loop->flow->blocks[b].successors[s] == block && loop->loop_of[b] != loop->number &&
                loop->flow->blocks[b].order != FLOW_NONE)
                return true;
    return false;
}

static uint32_t find_header(const struct loop *loop)
{
    uint32_t header = FLOW_NONE;

    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        if (loop->loop_of[b] == loop->number && is_header(loop, b)) {
            if (header != FLOW_NONE)
                return FLOW_NONE;
            header = b;
        }
    return header;
}

/* Does every round pass the block? */
static bool on_every_round(const struct loop *loop, uint32_t block)
{
    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        for (uint32_t s = 0; loop->loop_of[b] == loop->number && s < loop->flow->blocks[b].n_successors; s++)
            if (loop->flow->blocks[b].successors[s] == loop->header && !flow_dominates(loop->flow, block, b))
                return false;
    return true;
}

static bool is_zero(const struct spirv_instruction *i)
{
    for (size_t at = 3; at < i->n_words; at++)
        if (i->words[at])
            return false;
    return true;
}

/* Something that does not change in the loop, and is not the constant 0. */
static bool is_step(const struct loop *loop, uint32_t id)
{
    const struct spirv_instruction *i = define(loop, id);

    for (int depth = 0; i && depth < DEEPEST; depth++) {
        if (i->opcode == OP_CONSTANT)
            return !is_zero(i);
        if (i->opcode == OP_LOAD && i->n_words >= 4 &&
            spirv_storage_of(loop->finder->module, i->words[3]) == STORAGE_INPUT)
            return true;
        if (!in_loop(loop, i))
            return true;
        if (i->opcode != OP_UCONVERT && i->opcode != OP_SCONVERT && i->opcode != OP_COMPOSITE_EXTRACT)
            return false;
        i = define(loop, i->words[3]);
    }
    return false;
}

/* Through conversions and additions of constants: the value that it is made of. */
static const struct spirv_instruction *stripped(const struct loop *loop, uint32_t id)
{
    const struct spirv_instruction *i = define(loop, id);

    for (int depth = 0; i && depth < DEEPEST && i->n_words >= 4; depth++) {
        const struct spirv_instruction *second = i->n_words >= 5 ? define(loop, i->words[4]) : NULL;
        bool shifted =
            (i->opcode == OP_IADD || i->opcode == OP_ISUB) && second && second->opcode == OP_CONSTANT;

        if (!shifted && i->opcode != OP_UCONVERT && i->opcode != OP_SCONVERT && i->opcode != OP_BITCAST)
            break;
        i = define(loop, i->words[3]);
    }
    return i;
}

static bool reads_variable(const struct loop *loop, uint32_t id, uint32_t variable)
{
    const struct spirv_instruction *i = define(loop, id);

    return i && i->opcode == OP_LOAD && i->n_words >= 4 && i->words[3] == variable;
}

/* Is the value `from` plus or minus a step? from: a phi, or a variable that is loaded. */
static bool is_moved(const struct loop *loop, uint32_t id, uint32_t from, bool variable)
{
    const struct spirv_instruction *i = define(loop, id);

    for (int depth = 0; i && depth < DEEPEST && i->n_words >= 4; depth++) {
        if ((i->opcode == OP_IADD || i->opcode == OP_ISUB) && i->n_words >= 5) {
            bool first = variable ? reads_variable(loop, i->words[3], from) : i->words[3] == from;
            bool second = variable ? reads_variable(loop, i->words[4], from) : i->words[4] == from;

            return (first && is_step(loop, i->words[4])) ||
                   (second && i->opcode == OP_IADD && is_step(loop, i->words[3]));
        }
        if (i->opcode != OP_UCONVERT && i->opcode != OP_SCONVERT)
            return false;
        i = define(loop, i->words[3]);
    }
    return false;
}

static bool phi_moves(const struct loop *loop, const struct spirv_instruction *phi)
{
    size_t at = (size_t)(phi - loop->finder->module->instructions);

    if (flow_block_at(loop->flow, at) != loop->header)
        return false;
    for (size_t w = 3; w + 1 < phi->n_words; w += 2) {
        const struct spirv_instruction *label = define(loop, phi->words[w + 1]);

        if (label && in_loop(loop, label) && !is_moved(loop, phi->words[w], phi->result, false))
            return false;
    }
    return true;
}

/* Each round stores the variable moved by a step, and nothing else is stored there in the loop. */
static bool variable_moves(const struct loop *loop, uint32_t variable)
{
    const struct spirv_module *module = loop->finder->module;
    bool every_round = false;

    if (escapes(loop, variable))
        return false;
    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        for (size_t n = loop->flow->blocks[b].begin;
             loop->loop_of[b] == loop->number && n < loop->flow->blocks[b].end; n++) {
            const struct spirv_instruction *i = &module->instructions[n];

            if (i->opcode != OP_STORE || i->n_words < 3 || variable_of(module, i->words[1]) != variable)
                continue;
            if (i->words[1] != variable || !is_moved(loop, i->words[2], variable, true))
                return false;
            every_round = every_round || on_every_round(loop, b);
        }
    return every_round;
}

static bool moves(const struct loop *loop, uint32_t id)
{
    const struct spirv_instruction *i = stripped(loop, id);
    const struct spirv_instruction *variable;

    if (!i || !in_loop(loop, i))
        return false;
    if (i->opcode == OP_PHI)
        return phi_moves(loop, i);
    if (i->opcode != OP_LOAD || i->n_words < 4)
        return false;
    variable = define(loop, i->words[3]);
    return variable && variable->opcode == OP_VARIABLE && variable->words[3] == STORAGE_FUNCTION &&
           variable_moves(loop, variable->result);
}

/* cas == what it was compared with, and that was read from the same place in this round or the last. */
static bool is_retry(const struct loop *loop, uint32_t result, uint32_t compared)
{
    const struct spirv_instruction *cas = stripped(loop, result);
    const struct spirv_instruction *value = stripped(loop, compared);

    if (!cas || cas->opcode != OP_ATOMIC_LOAD + 3 || cas->n_words < 9 || !in_loop(loop, cas) || !value ||
        stripped(loop, cas->words[8]) != value || !in_loop(loop, value))
        return false;
    if ((value->opcode == OP_LOAD || value->opcode == OP_ATOMIC_LOAD) && value->n_words >= 4)
        return value->words[3] == cas->words[3];
    if (value->opcode != OP_PHI)
        return false;
    for (size_t w = 3; w + 1 < value->n_words; w += 2) {
        const struct spirv_instruction *label = define(loop, value->words[w + 1]);

        if (label && in_loop(loop, label) && stripped(loop, value->words[w]) != cas)
            return false;
    }
    return true;
}

static bool compares_moving(const struct loop *loop, const struct spirv_instruction *i)
{
    if (i->opcode < OP_IEQUAL || i->opcode > OP_SLESS_THAN_EQUAL || i->n_words < 5)
        return false;
    if (moves(loop, i->words[3]) || moves(loop, i->words[4]))
        return true;
    return (i->opcode == OP_IEQUAL || i->opcode == OP_INOT_EQUAL) &&
           (is_retry(loop, i->words[3], i->words[4]) || is_retry(loop, i->words[4], i->words[3]));
}

/* Does the condition become `leaving` by itself? Of "and" and "or" one side is enough where it decides alone. */
static bool ends_by_itself(const struct loop *loop, uint32_t condition, bool leaving, int depth)
{
    enum { LOGICAL_OR = 166, LOGICAL_AND = 167, LOGICAL_NOT = 168 };
    const struct spirv_instruction *i = define(loop, condition);

    if (!i || i->n_words < 4 || depth > 8)
        return false;
    if (i->opcode == LOGICAL_NOT)
        return ends_by_itself(loop, i->words[3], !leaving, depth + 1);
    if (i->opcode == (leaving ? LOGICAL_OR : LOGICAL_AND) && i->n_words >= 5)
        return ends_by_itself(loop, i->words[3], leaving, depth + 1) ||
               ends_by_itself(loop, i->words[4], leaving, depth + 1);
    return compares_moving(loop, i);
}

static bool has_own_end(const struct loop *loop)
{
    const struct spirv_module *module = loop->finder->module;

    for (uint32_t b = 0; loop->header != FLOW_NONE && b < loop->flow->n_blocks; b++) {
        const struct flow_block *block = &loop->flow->blocks[b];
        const struct spirv_instruction *last = &module->instructions[block->end];

        if (loop->loop_of[b] != loop->number || last->opcode != OP_BRANCH_CONDITIONAL ||
            !on_every_round(loop, b))
            continue;
        for (uint32_t s = 0; s < 2; s++)
            if (loop->loop_of[block->successors[s]] != loop->number &&
                ends_by_itself(loop, last->words[1], s == 0, 0))
                return true;
    }
    return false;
}

/* The loops of a region, then those inside of each once its header is taken away. 1: one of them may wait. */
static int check_region(struct finder *finder, const struct flow *flow, bool *in_region, int depth)
{
    uint32_t *loop_of = arena_calloc(finder->arena, flow->n_blocks + 1, sizeof *loop_of);
    bool *inner = arena_calloc(finder->arena, flow->n_blocks + 1, sizeof *inner);
    int64_t n_loops = loop_of && inner ? flow_loops(finder->arena, flow, in_region, loop_of) : -ENOMEM;
    bool any = false;

    for (int64_t number = 0; number < n_loops; number++) {
        struct loop loop = {.finder = finder,
                            .flow = flow,
                            .loop_of = loop_of,
                            .number = (uint32_t)number,
                            .stamp = ++finder->n_loops};

        loop.header = find_header(&loop);
        follow_course(&loop);
        if (loop.foreign && !has_own_end(&loop))
            return 1;
        for (uint32_t b = 0; b < flow->n_blocks; b++)
            if (loop_of[b] == loop.number && b != loop.header) {
                inner[b] = true;
                any = true;
            }
        if (loop.header == FLOW_NONE && loop.foreign)
            return 1;
    }
    if (n_loops <= 0 || !any)
        return n_loops < 0 ? (int)n_loops : 0;
    return depth > DEEPEST ? 1 : check_region(finder, flow, inner, depth + 1);
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

/* One pass over the instructions; true: something is known that was not. */
static bool note_function(struct finder *finder, size_t index)
{
    const struct spirv_module *module = finder->module;
    const struct spirv_function *function = &module->functions[index];
    struct waits_function *known = &finder->functions[index];
    struct waits_function before = *known;

    for (size_t n = function->begin; n <= function->end; n++) {
        const struct spirv_instruction *i = &module->instructions[n];
        size_t called =
            i->opcode == OP_FUNCTION_CALL && i->n_words >= 4 ? function_index(module, i->words[3]) : SIZE_MAX;

        known->waits = known->waits ? known->waits : obstacle_of(module, i);
        known->reads = known->reads || reads_foreign(module, i);
        known->atomics = known->atomics || (spirv_is_atomic(i->opcode) && reads_foreign(module, i));
        if (called == SIZE_MAX)
            continue;
        known->reads = known->reads || finder->functions[called].reads;
        known->atomics = known->atomics || finder->functions[called].atomics;
        if (!module->functions[called].defined && !known->waits)
            known->waits = "calls a function of another object";
        if (finder->functions[called].waits && !known->waits)
            known->waits = finder->functions[called].waits;
    }
    return before.reads != known->reads || before.atomics != known->atomics || before.waits != known->waits;
}

/* Depth of calls from each function, at most n: a cycle never stops growing. */
static bool calls_itself(const struct finder *finder, size_t *depth)
{
    const struct spirv_module *module = finder->module;
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t f = 0; f < module->n_functions; f++)
            for (size_t n = module->functions[f].begin; n <= module->functions[f].end; n++) {
                const struct spirv_instruction *i = &module->instructions[n];
                size_t called = i->opcode == OP_FUNCTION_CALL && i->n_words >= 4
                                    ? function_index(module, i->words[3])
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

static int check_function(struct finder *finder, size_t index, struct spirv_refusal *ret_refusal)
{
    const struct spirv_module *module = finder->module;
    struct flow flow;
    bool *all;
    int result;

    if (!module->functions[index].defined)
        return 0;
    result = flow_build(finder->arena, module, &module->functions[index], &flow);
    if (result) {
        spirv_refuse(ret_refusal, "function %u branches out of itself", module->functions[index].id);
        return result;
    }
    all = arena_calloc(finder->arena, flow.n_blocks + 1, sizeof *all);
    if (!all)
        return -ENOMEM;
    for (uint32_t b = 0; b < flow.n_blocks; b++)
        all[b] = flow.blocks[b].order != FLOW_NONE;
    result = check_region(finder, &flow, all, 0);
    if (result == 1)
        finder->functions[index].waits = "may wait for other groups";
    return result < 0 ? result : 0;
}

int waits_find(struct arena *arena, const struct spirv_module *module, struct waits_function *ret_functions,
               struct spirv_refusal *ret_refusal)
{
    struct finder finder = {.arena = arena, .module = module, .functions = ret_functions};
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
    while (changed) { /* what is read, through calls */
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
