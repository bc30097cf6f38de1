#include "makespan/path/classify.h"

#include <errno.h>

#include "makespan/path/units.h"

static int reject(const struct ptx_module *module, const struct ptx_token *token,
                  struct input_error *ret_error, const char *expected)
{
    return ptx_reject(&module->source, token, ret_error, "%s", expected);
}

/* Operands, by the commas between them. */
static size_t count_operands(const struct ptx_module *module, const struct ptx_statement *statement)
{
    const struct ptx_token *at = statement->opcode + statement->n_modifiers + 1;
    size_t n = 1;
    int depth = 0;

    for (; at < statement->end; at++) {
        depth += ptx_token_is(&module->source, at, "{") || ptx_token_is(&module->source, at, "[");
        depth -= ptx_token_is(&module->source, at, "}") || ptx_token_is(&module->source, at, "]");
        n += depth == 0 && ptx_token_is(&module->source, at, ",");
    }
    return n;
}

/*
 * `bar.sync a` and `bar.red d, a, c` are barriers of the whole group; one operand more is a number
 * of threads. A predicate may leave some warps out. Neither is in the model.
 */
static int check_barrier(const struct ptx_module *module, const struct ptx_statement *statement,
                         struct input_error *ret_error)
{
    size_t expected = ptx_has(module, statement, "red") ? 3 : 1;

    if (count_operands(module, statement) == expected && !statement->guard)
        return 0;
    return input_reject(ret_error, module->source.name, statement->first->line,
                        ptx_token_column(&module->source, statement->first),
                        statement->guard ? "a predicated one" : "one of some threads",
                        "a barrier of all threads of the group, without a number of threads or a predicate");
}

/* The targets of control flow must be visible in the file. */
static int check_control(const struct ptx_module *module, const struct ptx_statement *statement,
                         struct input_error *ret_error)
{
    static const char label[] = "a branch to a label of the same function";
    static const char known[] = "a label or function that is known before the kernel runs";

    switch (statement->match.row->family) {
    case PTX_BRANCH:
        if (statement->n_operands && statement->operands[0].kind == PTX_OP_LABEL)
            return 0;
        return statement->n_operands && statement->operands[0].kind == PTX_OP_NAME
                   ? reject(module, statement->operands[0].token, ret_error, label)
                   : reject(module, statement->opcode, ret_error, known);
    case PTX_INDEXED:
        for (unsigned i = 0; i < statement->n_targets; i++)
            if (statement->targets[i].kind != PTX_OP_LABEL)
                return reject(module, statement->targets[i].token, ret_error, label);
        return statement->n_targets ? 0 : reject(module, statement->opcode, ret_error, label);
    case PTX_CALL:
        return statement->callee->kind == PTX_OP_REGISTER
                   ? reject(module, statement->callee->token, ret_error, known)
                   : 0;
    default:
        return 0;
    }
}

static int classify(const struct ptx_module *module, const struct ptx_statement *statement, uint8_t *ret_unit,
                    struct input_error *ret_error)
{
    const struct ptx_token *last = statement->opcode + statement->n_modifiers;
    const char *opcode = module->source.text + statement->opcode->offset;
    size_t length = last->offset + last->length - statement->opcode->offset;
    enum units_wait wait;
    enum kernel_unit unit;
    int r = 0;

    if (!units_of(opcode, length, &unit))
        return reject(module, statement->opcode, ret_error, "a PTX instruction");
    wait = units_wait_of(opcode, length);
    if (wait == UNITS_WAIT_OTHER)
        return reject(module, statement->opcode, ret_error,
                      "no wait for other warps or for time but barriers of the whole group");
    if (wait == UNITS_WAIT_GROUP)
        r = check_barrier(module, statement, ret_error);
    if (!r)
        r = check_control(module, statement, ret_error);
    *ret_unit = (uint8_t)(unit | (wait == UNITS_WAIT_GROUP ? KERNEL_BARRIER : 0));
    return r;
}

int classify_routine(const struct ptx_module *module, const struct ptx_routine *routine, struct arena *arena,
                     const uint8_t **ret_units, struct input_error *ret_error)
{
    uint8_t *units = arena_calloc(arena, routine->n + 1, sizeof *units);

    if (!units)
        return -ENOMEM;
    for (size_t i = 0; i < routine->n; i++) {
        int r = routine->statements[i].kind == PTX_STATEMENT_LABEL
                    ? 0
                    : classify(module, &routine->statements[i], &units[i], ret_error);

        if (r)
            return r;
    }
    *ret_units = units;
    return 0;
}

int classify_all(const struct ptx_module *module, struct arena *arena, struct input_error *ret_error)
{
    const uint8_t *ignored;
    int r = 0;

    for (const struct ptx_routine *routine = module->routines; routine && !r; routine = routine->next)
        r = classify_routine(module, routine, arena, &ignored, ret_error);
    return r;
}
