#include "spirv/spirv_cut.h"

#include <errno.h>
#include <string.h>

#include "spirv/cut_private.h"

static struct spirv_plan *plan_of(struct spirv_cutter *cutter, uint32_t function)
{
    const struct spirv_function *found = spirv_function_of(&cutter->module, function);

    return found ? &cutter->plans[found - cutter->module.functions] : NULL;
}

/* Finds the variables of built-ins that pieces change. */
static int find_variables(struct spirv_cutter *cutter)
{
    const struct spirv_module *module = &cutter->module;

    for (uint32_t id = 1; id < module->bound; id++) {
        const struct spirv_instruction *i = spirv_definition(module, id);
        int field = module->builtin[id] ? spirv_view_field(module->builtin[id]) : -1;

        if (field < 0)
            continue;
        if (!i || i->opcode != OP_VARIABLE || i->n_words < 4 || i->words[3] != STORAGE_INPUT) {
            spirv_refuse(cutter->refusal, "a built-in is no input variable");
            return 1;
        }
        if (i->type != spirv_writer_pointer(&cutter->writer, STORAGE_INPUT, cutter->view.field_type[field])) {
            spirv_refuse(cutter->refusal, "a built-in variable has an unusual type");
            return 1;
        }
        cutter->field[id] = (int8_t)(field + 1);
    }
    return 0;
}

/* Does the module use the local size, or what follows from it, in any way? In doubt yes. */
static bool observes_local_size(const struct spirv_module *module)
{
    for (uint32_t id = 1; id < module->bound; id++) {
        uint32_t builtin = module->builtin[id];

        if (builtin && builtin != BUILTIN_GLOBAL_ID && builtin != BUILTIN_GLOBAL_SIZE &&
            builtin != BUILTIN_GLOBAL_OFFSET && builtin != BUILTIN_GLOBAL_LINEAR_ID &&
            builtin != BUILTIN_WORK_DIM)
            return true;
    }
    for (size_t n = 0; n < module->n_instructions; n++) {
        uint16_t opcode = module->instructions[n].opcode;

        if (opcode == OP_CONTROL_BARRIER || (opcode >= 259 && opcode <= OP_GROUP_SMAX) ||
            (opcode >= OP_MEMORY_NAMED_BARRIER - 1 && opcode < 400) || opcode >= 4421)
            return true;
        if (opcode == OP_TYPE_POINTER && module->instructions[n].n_words == 4 &&
            module->instructions[n].words[2] == STORAGE_WORKGROUP)
            return true;
    }
    return false;
}

static bool is_component_chain(const struct spirv_instruction *i)
{
    bool element = i->opcode == OP_PTR_ACCESS_CHAIN || i->opcode == OP_IN_BOUNDS_PTR_ACCESS_CHAIN;
    bool chain = i->opcode == OP_ACCESS_CHAIN || i->opcode == OP_IN_BOUNDS_ACCESS_CHAIN;

    return (chain && i->n_words == 5) || (element && i->n_words == 6);
}

/* A pointer to one component of a built-in. 1: it is used in an unknown way. */
static int note_chain(struct spirv_cutter *cutter, const struct spirv_instruction *i)
{
    bool element = i->n_words == 6;
    const struct spirv_instruction *first = element ? spirv_definition(&cutter->module, i->words[4]) : NULL;

    if (cutter->index[i->words[3]] ||
        (element && (!first || first->opcode != OP_CONSTANT || first->words[3])))
        return 1;
    cutter->field[i->result] = cutter->field[i->words[3]];
    cutter->index[i->result] = i->words[i->n_words - 1];
    return 0;
}

/*
 * Checks that every use of a built-in that pieces change is a load, of the whole or of a component.
 */
static int check_uses(struct spirv_cutter *cutter, struct spirv_plan *plan, const struct spirv_instruction *i)
{
    for (size_t at = 1; at < i->n_words; at++) {
        uint32_t id = spirv_uses_id(i, at) ? i->words[at] : 0;

        if (!id || id >= cutter->module.bound || !cutter->field[id])
            continue;
        plan->loads = plan->needs_piece = true;
        if (i->opcode == OP_LOAD && at == 3)
            continue;
        if (is_component_chain(i) && at == 3 && !note_chain(cutter, i))
            continue;
        spirv_refuse(cutter->refusal, "a built-in variable is not just loaded (opcode %u)", i->opcode);
        return 1;
    }
    return 0;
}

static int check_functions(struct spirv_cutter *cutter)
{
    const struct spirv_module *module = &cutter->module;

    for (size_t f = 0; f < module->n_functions; f++)
        for (size_t n = module->functions[f].begin; n <= module->functions[f].end; n++) {
            const struct spirv_instruction *i = &module->instructions[n];

            if (check_uses(cutter, &cutter->plans[f], i))
                return 1;
            for (size_t at = 1; at < i->n_words; at++)
                if (spirv_uses_id(i, at) && i->words[at] != module->functions[f].id &&
                    spirv_function_of(module, i->words[at]) && !(i->opcode == OP_FUNCTION_CALL && at == 3)) {
                    spirv_refuse(cutter->refusal, "the address of a function is used");
                    return 1;
                }
        }
    return 0;
}

static bool is_global_use(uint16_t opcode)
{
    return opcode == OP_NAME || opcode == OP_DECORATE || opcode == OP_ENTRY_POINT ||
           opcode == OP_EXECUTION_MODE || opcode == OP_CONSTANT || opcode == OP_CAPABILITY ||
           opcode == OP_STRING || opcode <= OP_LINE ||
           (opcode >= OP_TYPE_VOID && opcode <= OP_TYPE_FORWARD_POINTER) || opcode == OP_MEMBER_DECORATE;
}

/* Checks that outside of functions the built-ins are only named and decorated. */
static int check_globals(struct spirv_cutter *cutter)
{
    const struct spirv_module *module = &cutter->module;

    for (size_t n = 0; n < module->first_function; n++) {
        const struct spirv_instruction *i = &module->instructions[n];

        for (size_t at = 1; at < i->n_words && !is_global_use(i->opcode); at++)
            if (spirv_uses_id(i, at) && i->words[at] < module->bound && cutter->field[i->words[at]]) {
                spirv_refuse(cutter->refusal, "a built-in variable is used outside of functions");
                return 1;
            }
    }
    return 0;
}

static void spread_needs(struct spirv_cutter *cutter)
{
    const struct spirv_module *module = &cutter->module;
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t f = 0; f < module->n_functions; f++)
            for (size_t n = module->functions[f].begin;
                 !cutter->plans[f].needs_piece && n <= module->functions[f].end; n++) {
                const struct spirv_instruction *i = &module->instructions[n];
                const struct spirv_plan *called =
                    i->opcode == OP_FUNCTION_CALL && i->n_words >= 4 ? plan_of(cutter, i->words[3]) : NULL;

                if (called && called->needs_piece)
                    cutter->plans[f].needs_piece = changed = true;
            }
    }
}

/* The type of the function with one more parameter. */
static int widen_type(struct spirv_cutter *cutter, const struct spirv_function *function,
                      struct spirv_plan *plan)
{
    const struct spirv_instruction *begin = &cutter->module.instructions[function->begin];
    const struct spirv_instruction *type = spirv_definition(&cutter->module, begin->words[4]);
    uint32_t *words;

    if (!type || type->opcode != OP_TYPE_FUNCTION || type->n_words != function->n_parameters + 3) {
        spirv_refuse(cutter->refusal, "a function has no type of its own");
        return 1;
    }
    words = arena_calloc(cutter->arena, type->n_words, sizeof *words);
    if (!words)
        return -ENOMEM;
    memcpy(words, type->words + 2, (size_t)(type->n_words - 2) * sizeof *words);
    words[type->n_words - 2] = cutter->view.piece_pointer;
    plan->type = spirv_writer_type(&cutter->writer, OP_TYPE_FUNCTION, words, (size_t)type->n_words - 1);
    plan->parameter = spirv_writer_id(&cutter->writer);
    plan->view = plan->loads ? spirv_writer_id(&cutter->writer) : 0;
    spirv_writer_put(&cutter->writer, &cutter->writer.decorations, OP_DECORATE, plan->parameter,
                     DECORATION_PARAMETER, PARAMETER_BY_VALUE);
    return 0;
}

/*
 * A function that a kernel calls gets the parameter in any case: a consumer may take it for the
 * kernel.
 */
static int plan_called(struct spirv_cutter *cutter, const struct spirv_function *function, bool by_kernel)
{
    for (size_t n = function->begin; n <= function->end; n++) {
        const struct spirv_instruction *i = &cutter->module.instructions[n];
        struct spirv_plan *called =
            i->opcode == OP_FUNCTION_CALL && i->n_words >= 4 ? plan_of(cutter, i->words[3]) : NULL;

        if (called && called->kernel) {
            spirv_refuse(cutter->refusal, "a kernel is called");
            return 1;
        }
        if (called && by_kernel)
            called->needs_piece = true;
    }
    return 0;
}

static int plan_functions(struct spirv_cutter *cutter)
{
    const struct spirv_module *module = &cutter->module;
    int result = 0;

    for (size_t f = 0; f < module->n_functions && !result; f++)
        result = plan_called(cutter, &module->functions[f], cutter->plans[f].kernel);
    for (size_t f = 0; f < module->n_functions && !result; f++)
        if (cutter->plans[f].kernel || cutter->plans[f].needs_piece)
            result = widen_type(cutter, &module->functions[f], &cutter->plans[f]);
    return result;
}

static void copy(struct spirv_cutter *cutter, const struct spirv_instruction *i)
{
    spirv_writer_add(&cutter->writer, &cutter->writer.code, i->words, i->n_words);
}

/* A load of a built-in that pieces change. */
static void rewrite_load(struct spirv_cutter *cutter, const struct spirv_plan *plan,
                         const struct spirv_instruction *i)
{
    struct spirv_writer *writer = &cutter->writer;
    int field = cutter->field[i->words[3]] - 1;
    uint32_t whole;

    if (!cutter->index[i->words[3]]) {
        spirv_view_load(writer, &cutter->view, plan->view, field, i->result);
        return;
    }
    whole = spirv_writer_id(writer);
    spirv_view_load(writer, &cutter->view, plan->view, field, whole);
    spirv_writer_put(writer, &writer->code, OP_VECTOR_EXTRACT_DYNAMIC, i->type, i->result, whole,
                     cutter->index[i->words[3]]);
}

static void rewrite_call(struct spirv_cutter *cutter, const struct spirv_plan *plan,
                         const struct spirv_instruction *i)
{
    const struct spirv_plan *called = plan_of(cutter, i->words[3]);
    uint32_t first = (uint32_t)(i->n_words + 1) << 16 | i->opcode;

    if (!called || !called->parameter) {
        copy(cutter, i);
        return;
    }
    spirv_writer_add(&cutter->writer, &cutter->writer.code, &first, 1);
    spirv_writer_add(&cutter->writer, &cutter->writer.code, i->words + 1, (size_t)i->n_words - 1);
    spirv_writer_add(&cutter->writer, &cutter->writer.code, &plan->parameter, 1);
}

/* OpFunction with the new type. Reading the piece reads memory, so the function is not Const. */
static void rewrite_begin(struct spirv_cutter *cutter, const struct spirv_plan *plan,
                          const struct spirv_instruction *i)
{
    uint32_t control = i->words[3];

    if (!plan->parameter) {
        copy(cutter, i);
        return;
    }
    if (control & CONTROL_CONST)
        control = (control & ~(uint32_t)CONTROL_CONST) | CONTROL_PURE;
    spirv_writer_put(&cutter->writer, &cutter->writer.code, OP_FUNCTION, i->type, i->result, control,
                     plan->type);
}

static void add_parameter(struct spirv_cutter *cutter, const struct spirv_plan *plan)
{
    if (plan->parameter)
        spirv_writer_put(&cutter->writer, &cutter->writer.code, OP_FUNCTION_PARAMETER,
                         cutter->view.piece_pointer, plan->parameter);
}

static bool starts_code(uint16_t opcode)
{
    return opcode != OP_VARIABLE && opcode != OP_LINE && opcode != OP_NO_LINE;
}

/* Is it a load or a chain of a built-in that pieces change? */
static bool is_view_access(const struct spirv_cutter *cutter, const struct spirv_instruction *i)
{
    return (i->opcode == OP_LOAD || is_component_chain(i)) && i->n_words >= 4 &&
           i->words[3] < cutter->module.bound && cutter->field[i->words[3]];
}

static void rewrite_function(struct spirv_cutter *cutter, size_t f)
{
    const struct spirv_module *module = &cutter->module;
    const struct spirv_function *function = &module->functions[f];
    const struct spirv_plan *plan = &cutter->plans[f];
    struct spirv_writer *writer = &cutter->writer;
    enum { HEAD, VARIABLES, CODE } place = HEAD;

    for (size_t n = function->begin; n <= function->end; n++) {
        const struct spirv_instruction *i = &module->instructions[n];

        if (place == HEAD && (i->opcode == OP_LABEL || i->opcode == OP_FUNCTION_END))
            add_parameter(cutter, plan);
        if (place == VARIABLES && starts_code(i->opcode)) {
            if (plan->view)
                spirv_view_fill(writer, &cutter->view, plan->parameter, plan->view);
            place = CODE;
        }
        if (i->opcode == OP_FUNCTION)
            rewrite_begin(cutter, plan, i);
        else if (i->opcode == OP_FUNCTION_CALL)
            rewrite_call(cutter, plan, i);
        else if (!is_view_access(cutter, i))
            copy(cutter, i);
        else if (i->opcode == OP_LOAD)
            rewrite_load(cutter, plan, i);
        if (place == HEAD && i->opcode == OP_LABEL) {
            if (plan->view)
                spirv_writer_put(writer, &writer->code, OP_VARIABLE, cutter->view.view_pointer, plan->view,
                                 STORAGE_FUNCTION);
            place = VARIABLES;
        }
    }
}

static bool has_capability(const struct spirv_module *module, uint32_t capability)
{
    for (size_t n = 0; n < module->first_function; n++)
        if (module->instructions[n].opcode == OP_CAPABILITY && module->instructions[n].n_words == 2 &&
            module->instructions[n].words[1] == capability)
            return true;
    return false;
}

/* An entry point names the variables that it reaches. The view reads three more. */
static void write_entry_point(struct spirv_cutter *cutter, const struct spirv_instruction *i)
{
    const uint32_t more[] = {cutter->view.raw_group, cutter->view.local_id, cutter->view.local_size};
    struct spirv_writer *writer = &cutter->writer;
    size_t name_words = 0;
    uint32_t added[3];
    size_t n = 0;
    uint32_t first;

    (void)spirv_entry_name(cutter->arena, i, &name_words);
    for (size_t m = 0; m < 3; m++) {
        bool there = false;

        for (size_t at = 3 + name_words; at < i->n_words; at++)
            there = there || i->words[at] == more[m];
        if (!there)
            added[n++] = more[m];
    }
    first = (uint32_t)(i->n_words + n) << 16 | i->opcode;
    spirv_writer_add(writer, &cutter->out, &first, 1);
    spirv_writer_add(writer, &cutter->out, i->words + 1, (size_t)i->n_words - 1);
    spirv_writer_add(writer, &cutter->out, added, n);
}

/*
 * Types of arguments as text, for queries of the original. They do not fit the rewritten kernel,
 * which has one more argument.
 */
static bool describes_arguments(const struct spirv_instruction *i)
{
    static const char prefix[] = "kernel_arg_type";

    return i->opcode == OP_STRING && i->n_words >= 6 && !memcmp(i->words + 2, prefix, sizeof prefix - 1);
}

static void write_head(struct spirv_cutter *cutter)
{
    const struct spirv_module *module = &cutter->module;
    struct spirv_writer *writer = &cutter->writer;
    bool capabilities = false;
    bool decorated = false;

    spirv_writer_add(writer, &cutter->out, module->words, SPIRV_HEADER);
    for (size_t n = 0; n < module->first_function; n++) {
        const struct spirv_instruction *i = &module->instructions[n];

        if (!capabilities && i->opcode != OP_CAPABILITY) {
            capabilities = true;
            if (!has_capability(module, CAPABILITY_INT64))
                spirv_writer_put(writer, &cutter->out, OP_CAPABILITY, CAPABILITY_INT64);
            if (!has_capability(module, CAPABILITY_LINKAGE))
                spirv_writer_put(writer, &cutter->out, OP_CAPABILITY, CAPABILITY_LINKAGE);
        }
        if (!decorated && i->opcode >= OP_TYPE_VOID && i->opcode <= OP_VARIABLE) {
            decorated = true;
            spirv_writer_add(writer, &cutter->out, writer->decorations.words, writer->decorations.n);
        }
        if (i->opcode == OP_ENTRY_POINT)
            write_entry_point(cutter, i);
        else if (!describes_arguments(i))
            spirv_writer_add(writer, &cutter->out, i->words, i->n_words);
    }
    spirv_writer_add(writer, &cutter->out, writer->types.words, writer->types.n);
}

static int rewrite(struct spirv_cutter *cutter, struct spirv_cut *cut)
{
    struct spirv_writer *writer = &cutter->writer;

    for (size_t f = 0; f < cutter->module.n_functions; f++)
        rewrite_function(cutter, f);
    write_head(cutter);
    spirv_writer_add(writer, &cutter->out, writer->code.words, writer->code.n);
    if (writer->failed)
        return -ENOMEM;
    if (writer->bound > SPIRV_MOST_IDS) {
        spirv_refuse(cutter->refusal, "too many ids");
        return 1;
    }
    cutter->out.words[3] = writer->bound;
    cut->words = cutter->out.words;
    cut->n_words = cutter->out.n;
    return 0;
}

static int prepare(struct spirv_cutter *cutter)
{
    const struct spirv_module *module = &cutter->module;

    cutter->plans = arena_calloc(cutter->arena, module->n_functions + 1, sizeof *cutter->plans);
    cutter->waits = arena_calloc(cutter->arena, module->n_functions + 1, sizeof *cutter->waits);
    cutter->field = arena_calloc(cutter->arena, module->bound, sizeof *cutter->field);
    cutter->index = arena_calloc(cutter->arena, module->bound, sizeof *cutter->index);
    if (!cutter->plans || !cutter->waits || !cutter->field || !cutter->index)
        return -ENOMEM;
    cutter->writer = (struct spirv_writer){.arena = cutter->arena, .module = module, .bound = module->bound};
    spirv_view_begin(&cutter->writer, &cutter->view);
    return cutter->writer.failed ? -ENOMEM
                                 : spirv_waits_find(cutter->arena, module, cutter->waits, cutter->refusal);
}

int spirv_cut(struct arena *arena, const void *bytes, size_t n, struct spirv_cut *ret_cut,
              struct spirv_refusal *ret_refusal)
{
    struct spirv_cutter cutter = {.arena = arena, .refusal = ret_refusal};
    struct spirv_cut cut = {0};
    int result;

    ret_refusal->reason[0] = 0;
    result = spirv_read(arena, bytes, n, &cutter.module, ret_refusal);
    result = result ? result : prepare(&cutter);
    result = result ? result : find_variables(&cutter);
    result = result ? result : check_globals(&cutter);
    result = result ? result : check_functions(&cutter);
    if (!result)
        spread_needs(&cutter);
    result = result ? result : spirv_find_kernels(&cutter, &cut);
    result = result ? result : plan_functions(&cutter);
    result = result ? result : rewrite(&cutter, &cut);
    if (!result) {
        cut.observes_local_size = observes_local_size(&cutter.module);
        *ret_cut = cut;
    }
    return result;
}
