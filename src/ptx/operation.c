/* One instruction: guard, opcode, modifiers, operands; calls have a grammar of their own. */
#include "ptx/reader.h"

#include <errno.h>
#include <string.h>

enum { MOST_OPERANDS = 8, MOST_ARGUMENTS = 1024 };

static int read_guard(struct ptx_reader *reader, struct ptx_statement *statement)
{
    struct ptx_operand guard;
    int r;

    if (!ptx_accept(reader, "@"))
        return 0;
    r = ptx_read_operand(reader, &guard);
    if (r)
        return r;
    if (guard.kind != PTX_OP_REGISTER || (guard.type != PTX_PRED && !guard.reg->is_implicit))
        return ptx_reject(&reader->module->source, guard.token, reader->error, "a predicate");
    statement->guard = arena_calloc(&reader->module->arena, 1, sizeof guard);
    if (!statement->guard)
        return -ENOMEM;
    *statement->guard = guard;
    guard.reg->used[guard.index] |= PTX_IS_READ;
    return 0;
}

/* Labels were not known when the operand was read. From now on the operand stays at its address. */
static int settle_labels(struct ptx_reader *reader, struct ptx_operand *operands, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int r = 0;

        if (operands[i].kind == PTX_OP_LABEL)
            r = ptx_expect_label(reader, &operands[i]);
        else if (operands[i].n_parts)
            r = settle_labels(reader, operands[i].parts, operands[i].n_parts);
        if (r)
            return r;
    }
    return 0;
}

static int keep_operands(struct ptx_reader *reader, struct ptx_statement *statement,
                         const struct ptx_operand *operands, unsigned n)
{
    statement->operands = arena_calloc(&reader->module->arena, n ? n : 1, sizeof *operands);
    if (!statement->operands)
        return -ENOMEM;
    memcpy(statement->operands, operands, n * sizeof *operands);
    statement->n_operands = n;
    return 0;
}

/* brx.idx a, list; */
static int read_indexed(struct ptx_reader *reader, struct ptx_statement *statement)
{
    struct ptx_operand index;
    struct ptx_name name;
    const struct ptx_symbol *symbol;
    int r = ptx_read_operand(reader, &index);

    if (!r)
        r = ptx_expect(reader, ",");
    if (!r)
        r = ptx_expect_word(reader, "a .branchtargets list", &name);
    if (r)
        return r;
    symbol = ptx_find(reader, name);
    if (!symbol || symbol->kind != PTX_SYMBOL_TARGETS) {
        reader->at--;
        return ptx_bad(reader, "a .branchtargets list");
    }
    statement->targets = ((struct ptx_targets *)symbol->object)->labels;
    statement->n_targets = ((struct ptx_targets *)symbol->object)->n;
    return keep_operands(reader, statement, &index, 1);
}

/* (a, b, ...) of a call: parameters that were declared in this body, or constants. */
static int read_list(struct ptx_reader *reader, struct ptx_operand **ret_list, unsigned *ret_n)
{
    const struct ptx_token *end = reader->at;
    unsigned room = 1;
    int r = ptx_expect(reader, "(");

    for (; !ptx_token_is(&reader->module->source, end, ")") && end->kind != PTX_TOKEN_END &&
           room < MOST_ARGUMENTS;
         end++)
        room += ptx_token_is(&reader->module->source, end, ",");
    *ret_n = 0;
    *ret_list = arena_calloc(&reader->module->arena, room, sizeof **ret_list);
    if (!*ret_list)
        return -ENOMEM;
    while (!r && !ptx_at(reader, ")")) {
        struct ptx_operand *operand = &(*ret_list)[*ret_n];

        if (++*ret_n > room)
            return ptx_bad(reader, "at most %d arguments", MOST_ARGUMENTS - 1);
        r = ptx_read_operand(reader, operand);
        if (!r &&
            (operand->kind != PTX_OP_VARIABLE || operand->variable->space != PTX_PARAM || operand->bits))
            return ptx_reject(&reader->module->source, operand->token, reader->error,
                              "a variable in .param space");
        if (!r && !ptx_accept(reader, ","))
            break;
    }
    return r ? r : ptx_expect(reader, ")");
}

static int check_list(struct ptx_reader *reader, const struct ptx_operand *list, unsigned n,
                      const struct ptx_variable *formal, const struct ptx_token *at)
{
    for (unsigned i = 0; i < n; i++, formal = formal->next) {
        if (!formal)
            return ptx_reject(&reader->module->source, list[i].token, reader->error,
                              "no more arguments than the function has");
        if (formal->size != list[i].variable->size)
            return ptx_reject(&reader->module->source, list[i].token, reader->error,
                              "an argument of %llu bytes", (unsigned long long)formal->size);
    }
    return formal ? ptx_reject(&reader->module->source, at, reader->error,
                               "as many arguments as the function has")
                  : 0;
}

static int check_call(struct ptx_reader *reader, const struct ptx_statement *statement)
{
    const struct ptx_operand *callee = statement->callee;
    const struct ptx_variable *returns =
        statement->prototype ? statement->prototype->returns : callee->routine->returns;
    const struct ptx_variable *formal =
        statement->prototype ? statement->prototype->parameters : callee->routine->parameters;
    int r = check_list(reader, statement->results, statement->n_results, returns, statement->opcode);

    return r ? r
             : check_list(reader, statement->arguments, statement->n_arguments, formal, statement->opcode);
}

/* A function that is called by name, or a register and its prototype. */
static int settle_callee(struct ptx_reader *reader, struct ptx_statement *statement)
{
    struct ptx_operand *callee = statement->callee;

    if (statement->prototype) {
        if (callee->kind != PTX_OP_REGISTER || ptx_type_size(callee->type) != 8)
            return ptx_reject(&reader->module->source, callee->token, reader->error, "a 64-bit register");
        callee->reg->used[callee->index] |= PTX_IS_READ;
    } else if (callee->kind != PTX_OP_ROUTINE || callee->routine->is_entry) {
        return ptx_reject(&reader->module->source, callee->token, reader->error,
                          callee->kind == PTX_OP_REGISTER ? "a prototype behind an indirect call"
                                                          : "a declared function");
    }
    return 0;
}

int ptx_read_call(struct ptx_reader *reader, struct ptx_statement *statement)
{
    struct ptx_name name;
    int r = 0;

    statement->callee = arena_calloc(&reader->module->arena, 1, sizeof *statement->callee);
    if (!statement->callee)
        return -ENOMEM;
    if (ptx_at(reader, "(")) {
        r = read_list(reader, &statement->results, &statement->n_results);
        if (!r)
            r = ptx_expect(reader, ",");
    }
    if (!r)
        r = ptx_read_operand(reader, statement->callee);
    if (!r && ptx_accept(reader, ",") && ptx_at(reader, "("))
        r = read_list(reader, &statement->arguments, &statement->n_arguments);
    if (!r && (ptx_accept(reader, ",") || reader->at->kind == PTX_TOKEN_WORD)) {
        const struct ptx_symbol *symbol;

        r = ptx_expect_word(reader, "a prototype", &name);
        symbol = r ? NULL : ptx_find(reader, name);
        if (!r && (!symbol || symbol->kind != PTX_SYMBOL_PROTOTYPE)) {
            reader->at--;
            return ptx_bad(reader, "a .callprototype");
        }
        statement->prototype = r ? NULL : symbol->object;
    }
    if (!r)
        r = settle_callee(reader, statement);
    return r ? r : check_call(reader, statement);
}

static int read_operands(struct ptx_reader *reader, struct ptx_statement *statement)
{
    struct ptx_operand operands[MOST_OPERANDS];
    unsigned n = 0;
    int r = 0;

    while (!r && !ptx_at(reader, ";")) {
        if (n == MOST_OPERANDS)
            return ptx_bad(reader, "at most %d operands", MOST_OPERANDS);
        r = ptx_read_operand(reader, &operands[n++]);
        if (!r && !ptx_accept(reader, ","))
            break;
    }
    if (!r)
        r = keep_operands(reader, statement, operands, n);
    if (!r)
        r = settle_labels(reader, statement->operands, n);
    return r ? r : ptx_check_operands(reader, statement);
}

/* The operands, as the family of the instruction has them. */
static int read_known(struct ptx_reader *reader, struct ptx_statement *statement)
{
    int r;

    if (statement->match.row->family == PTX_REFUSED) {
        struct ptx_token whole = *statement->opcode;

        whole.length = (reader->at - 1)->offset + (reader->at - 1)->length - whole.offset;
        reader->refused = true;
        return ptx_reject(&reader->module->source, &whole, reader->error,
                          "an instruction that this device has (not %s)", statement->match.row->note);
    }
    if (statement->match.row->family == PTX_CALL)
        return ptx_read_call(reader, statement);
    if (statement->match.row->family != PTX_INDEXED)
        return read_operands(reader, statement);
    r = read_indexed(reader, statement);
    return r ? r : ptx_check_operands(reader, statement);
}

/* The function that a flat call names: the first operand outside of parentheses. */
static int find_callee(struct ptx_reader *reader, struct ptx_statement *statement)
{
    const struct ptx_token *at = statement->opcode + statement->n_modifiers + 1;
    unsigned depth = 0;

    statement->callee = NULL;
    statement->prototype = NULL;
    statement->n_results = statement->n_arguments = 0;
    for (; !ptx_token_is(&reader->module->source, at, ";"); at++) {
        depth += ptx_token_is(&reader->module->source, at, "(");
        depth -= depth && ptx_token_is(&reader->module->source, at, ")");
        if (depth || at->kind != PTX_TOKEN_WORD)
            continue;
        for (unsigned i = 0; i < statement->n_operands; i++)
            if (statement->operands[i].token == at)
                statement->callee = &statement->operands[i];
        return 0;
    }
    return ptx_reject(&reader->module->source, statement->opcode, reader->error, "a function that is called");
}

/*
 * In an outline: a statement is flat if the table does not know it, or its operands do not match.
 */
static int read_outline(struct ptx_reader *reader, struct ptx_statement *statement)
{
    const struct ptx_token *operands = reader->at;
    int r = ptx_match(&reader->module->source, statement->opcode, statement->n_modifiers + 1,
                      &statement->match, reader->error);

    if (r == INPUT_REJECTED)
        statement->match = (struct ptx_match){.row = &ptx_unknown_row, .vector = 1};
    else if (!r && statement->match.row->family != PTX_REFUSED)
        r = read_known(reader, statement);
    if (r == -ENOMEM)
        return r;
    if (!r && statement->match.row->family != PTX_REFUSED && ptx_at(reader, ";"))
        return 0;
    reader->at = operands;
    r = ptx_read_flat(reader, statement);
    if (!r && statement->match.row->family == PTX_CALL)
        r = find_callee(reader, statement);
    return r;
}

int ptx_read_operation(struct ptx_reader *reader)
{
    struct ptx_statement *statement = ptx_add_statement(reader);
    int r = statement ? read_guard(reader, statement) : -ENOMEM;

    if (r)
        return r;
    if (reader->at->kind != PTX_TOKEN_WORD)
        return ptx_bad(reader, "an instruction");
    statement->opcode = reader->at++;
    while (reader->at->kind == PTX_TOKEN_DOT)
        reader->at++;
    statement->n_modifiers = (unsigned)(reader->at - statement->opcode) - 1;
    if (reader->is_outline) {
        r = read_outline(reader, statement);
    } else {
        r = ptx_match(&reader->module->source, statement->opcode, statement->n_modifiers + 1,
                      &statement->match, reader->error);
        if (!r)
            r = read_known(reader, statement);
    }
    statement->end = reader->at + 1;
    return r ? r : ptx_expect(reader, ";");
}
