#include "spirv/spirv_loop.h"

bool spirv_loop_has(const struct spirv_loop *loop, const struct spirv_instruction *i)
{
    size_t at = (size_t)(i - loop->finder->module->instructions);
    uint32_t block = spirv_flow_block_at(loop->flow, at);

    return block != SPIRV_NO_BLOCK && loop->loop_of[block] == loop->number;
}

static bool is_chain(uint16_t opcode)
{
    return opcode == OP_ACCESS_CHAIN || opcode == OP_IN_BOUNDS_ACCESS_CHAIN ||
           opcode == OP_PTR_ACCESS_CHAIN || opcode == OP_IN_BOUNDS_PTR_ACCESS_CHAIN || opcode == OP_BITCAST;
}

uint32_t spirv_loop_variable(const struct spirv_module *module, uint32_t pointer)
{
    for (int depth = 0; depth < LOOP_DEEPEST; depth++) {
        const struct spirv_instruction *i = spirv_definition(module, pointer);

        if (i && i->opcode == OP_VARIABLE)
            return i->result;
        if (!i || !is_chain(i->opcode) || i->n_words < 4)
            return 0;
        pointer = i->words[3];
    }
    return 0;
}

bool spirv_loop_escapes(const struct spirv_loop *loop, uint32_t variable)
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
                spirv_loop_variable(module, i->words[at]) == variable)
                return true;
    }
    return false;
}

static void follow(struct spirv_loop *loop, uint32_t id)
{
    if (id >= loop->finder->module->bound || loop->finder->seen[id] == loop->stamp)
        return;
    loop->finder->seen[id] = loop->stamp;
    loop->finder->queue[loop->n_queue++] = id;
}

static void follow_stores(struct spirv_loop *loop, uint32_t variable)
{
    const struct spirv_module *module = loop->finder->module;

    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        for (size_t n = loop->flow->blocks[b].begin;
             loop->loop_of[b] == loop->number && n < loop->flow->blocks[b].end; n++) {
            const struct spirv_instruction *i = &module->instructions[n];

            if (i->opcode == OP_STORE && i->n_words >= 3 &&
                spirv_loop_variable(module, i->words[1]) == variable)
                follow(loop, i->words[2]);
        }
}

static void follow_load(struct spirv_loop *loop, const struct spirv_instruction *i)
{
    uint32_t storage = spirv_storage_of(loop->finder->module, i->words[3]);
    uint32_t variable;

    if (storage == STORAGE_WORKGROUP || storage == STORAGE_INPUT || storage == STORAGE_CONSTANT)
        return; /* a group runs whole within a piece, and other groups do not change this */
    variable = storage == STORAGE_FUNCTION ? spirv_loop_variable(loop->finder->module, i->words[3]) : 0;
    if (!variable || spirv_loop_escapes(loop, variable))
        loop->foreign = true;
    else
        follow_stores(loop, variable);
}

size_t spirv_function_index(const struct spirv_module *module, uint32_t id)
{
    const struct spirv_function *function = spirv_function_of(module, id);

    return function ? (size_t)(function - module->functions) : SIZE_MAX;
}

static void follow_value(struct spirv_loop *loop, const struct spirv_instruction *i)
{
    const struct spirv_module *module = loop->finder->module;

    if (!spirv_loop_has(loop, i))
        return; /* the value is known before the loop begins */
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
        size_t called = spirv_function_index(module, i->words[3]);

        loop->foreign = loop->foreign || called == SIZE_MAX || loop->finder->functions[called].reads;
    }
    for (size_t at = 1; at < i->n_words; at++)
        if (spirv_uses_id(i, at))
            follow(loop, i->words[at]);
}

/* Follows everything that decides the course of the loop. */
static void follow_course(struct spirv_loop *loop)
{
    const struct spirv_module *module = loop->finder->module;

    for (uint32_t b = 0; b < loop->flow->n_blocks; b++) {
        const struct spirv_instruction *last = &module->instructions[loop->flow->blocks[b].end];

        if (loop->loop_of[b] == loop->number &&
            (last->opcode == OP_BRANCH_CONDITIONAL || last->opcode == OP_SWITCH))
            follow(loop, last->words[1]);
    }
    while (loop->n_queue && !loop->foreign) {
        const struct spirv_instruction *i = spirv_loop_define(loop, loop->finder->queue[--loop->n_queue]);

        if (i)
            follow_value(loop, i);
    }
}

static bool is_header(const struct spirv_loop *loop, uint32_t block)
{
    if (block == 0)
        return true;
    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        for (uint32_t s = 0; s < loop->flow->blocks[b].n_successors; s++)
            if (loop->flow->blocks[b].successors[s] == block && loop->loop_of[b] != loop->number &&
                loop->flow->blocks[b].order != SPIRV_NO_BLOCK)
                return true;
    return false;
}

static uint32_t find_header(const struct spirv_loop *loop)
{
    uint32_t header = SPIRV_NO_BLOCK;

    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        if (loop->loop_of[b] == loop->number && is_header(loop, b)) {
            if (header != SPIRV_NO_BLOCK)
                return SPIRV_NO_BLOCK;
            header = b;
        }
    return header;
}

void spirv_loop_follow(struct spirv_loop *loop)
{
    loop->header = find_header(loop);
    follow_course(loop);
}
