/* Functions and entries: their heads, and the frame of their bodies. */
#include "ptx/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_three(struct ptx_reader *reader, uint32_t ret_three[3])
{
    ret_three[0] = ret_three[1] = ret_three[2] = 1;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t value;
        int r = ptx_constant(reader, &value);

        if (!r && (value == 0 || value > UINT32_MAX)) {
            reader->at--;
            r = ptx_bad(reader, "a number of threads");
        }
        if (r)
            return r;
        ret_three[i] = (uint32_t)value;
        if (!ptx_accept(reader, ","))
            break;
    }
    return 0;
}

static int refuse(struct ptx_reader *reader, const char *what)
{
    reader->refused = true;
    return ptx_bad(reader, "what this device has (not %s)", what);
}

/* A directive of a head that an outline need not understand, and its values. */
static int skip_values(struct ptx_reader *reader)
{
    do
        reader->at++;
    while (reader->at->kind == PTX_TOKEN_INT || reader->at->kind == PTX_TOKEN_STRING || ptx_at(reader, ","));
    return 0;
}

/* .maxntid and its relatives, between the parameters and the body. */
static int read_directives(struct ptx_reader *reader, struct ptx_routine *routine)
{
    int r = 0;

    while (!r && reader->at->kind == PTX_TOKEN_DOT) {
        uint32_t ignored[3];
        uint64_t value = 0;

        if (ptx_accept(reader, ".maxntid")) {
            r = read_three(reader, routine->max_threads);
        } else if (ptx_accept(reader, ".reqntid")) {
            r = read_three(reader, routine->required_threads);
        } else if (ptx_accept(reader, ".maxnreg")) {
            r = ptx_constant(reader, &value);
            routine->max_registers = (uint32_t)value;
        } else if (ptx_accept(reader, ".minnctapersm") || ptx_accept(reader, ".maxnctapersm")) {
            r = read_three(reader, ignored);
        } else if (ptx_accept(reader, ".pragma")) {
            while (reader->at->kind == PTX_TOKEN_STRING || ptx_at(reader, ","))
                reader->at++;
            r = ptx_expect(reader, ";");
        } else if (ptx_at(reader, ".reqnctapercluster") || ptx_at(reader, ".explicitcluster") ||
                   ptx_at(reader, ".maxclusterrank") || ptx_at(reader, ".blocksareclusters")) {
            routine->cluster = reader->at;
            r = reader->is_outline ? skip_values(reader) : refuse(reader, "thread block clusters");
        } else if (!ptx_accept(reader, ".noreturn")) {
            r = reader->is_outline ? skip_values(reader) : ptx_bad(reader, "a performance directive, ; or {");
        }
    }
    return r;
}

/* Entry parameters lie one behind the other in one buffer, each at its alignment. */
static void place_parameters(struct ptx_routine *routine)
{
    uint64_t offset = 0;

    for (struct ptx_variable *p = routine->parameters; p; p = p->next) {
        offset = (offset + p->alignment - 1) / p->alignment * p->alignment;
        p->offset = (uint32_t)offset;
        offset += p->size;
    }
    routine->parameter_bytes = (uint32_t)offset;
}

static int check_parameters(struct ptx_reader *reader, const struct ptx_routine *routine)
{
    uint64_t bytes = 0;

    for (const struct ptx_variable *p = routine->parameters; p; p = p->next) {
        bytes += p->size + p->alignment;
        if (bytes > 1 << 20 || p->size == 0)
            return ptx_reject(&reader->module->source, p->token, reader->error,
                              "parameters of 1 byte to 1 MiB");
    }
    for (const struct ptx_variable *p = routine->returns; p; p = p->next)
        if (p->size == 0 || p->size > 1 << 20)
            return ptx_reject(&reader->module->source, p->token, reader->error, "results of 1 byte to 1 MiB");
    return 0;
}

static bool same_list(const struct ptx_variable *a, const struct ptx_variable *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (a->size != b->size)
            return false;
    return !a && !b;
}

/* The routine of this name: new, or the declaration that came before. */
static int find_or_add(struct ptx_reader *reader, const struct ptx_token *token, struct ptx_routine *head,
                       struct ptx_routine **ret_routine)
{
    const struct ptx_symbol *symbol = ptx_find(reader, ptx_name_of(reader, token));
    struct ptx_routine *routine = symbol && symbol->kind == PTX_SYMBOL_ROUTINE ? symbol->object : NULL;
    bool defines = ptx_at(reader, "{");

    if (routine) {
        if ((defines && routine->has_body) || routine->is_entry != head->is_entry ||
            !same_list(routine->parameters, head->parameters) || !same_list(routine->returns, head->returns))
            return ptx_reject(&reader->module->source, token, reader->error,
                              "one definition that agrees with its declarations");
        if (defines) {
            struct ptx_routine *next = routine->next;
            uint32_t id = routine->id;

            *routine = *head;
            routine->id = id;
            routine->next = next;
        }
        *ret_routine = routine;
        return 0;
    }
    routine = arena_calloc(&reader->module->arena, 1, sizeof *routine);
    if (!routine)
        return -ENOMEM;
    *routine = *head;
    routine->id = reader->next_id++;
    *reader->routines_end = routine;
    reader->routines_end = &routine->next;
    *ret_routine = routine;
    return ptx_declare(reader, PTX_SYMBOL_ROUTINE, token, routine);
}

int ptx_read_routine(struct ptx_reader *reader, enum ptx_linkage linkage)
{
    struct ptx_routine head = {.linkage = linkage, .is_entry = ptx_at(reader, ".entry"), .first = reader->at};
    struct ptx_routine *routine = NULL;
    const struct ptx_token *token;
    int r = 0;

    reader->at++;
    while (!r && ptx_at(reader, ".attribute")) {
        head.attribute = reader->at;
        while (!ptx_accept(reader, ")") && reader->at->kind != PTX_TOKEN_END)
            reader->at++;
    }
    if (!head.is_entry && ptx_at(reader, "("))
        r = ptx_read_parameters(reader, &head.returns, &head.n_returns);
    token = reader->at;
    head.token = token;
    if (!r)
        r = ptx_expect_word(reader, "a function's name", &head.name);
    if (!r && ptx_at(reader, "("))
        r = ptx_read_parameters(reader, &head.parameters, &head.n_parameters);
    if (!r)
        r = read_directives(reader, &head);
    if (!r)
        r = check_parameters(reader, &head);
    if (r)
        return r;
    place_parameters(&head);
    r = find_or_add(reader, token, &head, &routine);
    if (r || ptx_accept(reader, ";"))
        return r;
    if (linkage == PTX_EXTERN)
        return ptx_bad(reader, "; behind an extern function");
    return ptx_read_body(reader, routine);
}

int ptx_read_prototype(struct ptx_reader *reader, const struct ptx_token *name)
{
    struct ptx_prototype *prototype = arena_calloc(&reader->module->arena, 1, sizeof *prototype);
    struct ptx_name ignored;
    unsigned n;
    int r = prototype ? 0 : -ENOMEM;

    if (!r && ptx_at(reader, "("))
        r = ptx_read_parameters(reader, &prototype->returns, &n);
    if (!r)
        r = ptx_expect_word(reader, "_", &ignored);
    if (!r && ptx_at(reader, "("))
        r = ptx_read_parameters(reader, &prototype->parameters, &n);
    while (!r && (ptx_accept(reader, ".noreturn") || ptx_accept(reader, ".abi_preserve")))
        ;
    if (!r)
        r = ptx_expect(reader, ";");
    if (r)
        return r;
    prototype->name = ptx_name_of(reader, name);
    prototype->token = name;
    prototype->next = reader->routine->prototypes;
    reader->routine->prototypes = prototype;
    return ptx_declare(reader, PTX_SYMBOL_PROTOTYPE, name, prototype);
}

static int declare_list(struct ptx_reader *reader, struct ptx_variable *list)
{
    int r = 0;

    for (struct ptx_variable *v = list; v && !r; v = v->next) {
        v->routine = reader->routine;
        if (!ptx_name_is(v->name, "_"))
            r = ptx_declare(reader, PTX_SYMBOL_VARIABLE, v->token, v);
    }
    return r;
}

struct ptx_statement *ptx_add_statement(struct ptx_reader *reader)
{
    if (reader->n == reader->room) {
        size_t room = reader->room ? 2 * reader->room : 256;
        struct ptx_statement *more = realloc(reader->statements, room * sizeof *more);

        if (!more)
            return NULL;
        reader->statements = more;
        reader->room = room;
    }
    reader->statements[reader->n] = (struct ptx_statement){.first = reader->at};
    return &reader->statements[reader->n++];
}

static int read_label(struct ptx_reader *reader)
{
    const struct ptx_token *name = reader->at;
    struct ptx_statement *statement;
    int r;

    reader->at += 2;
    if (ptx_accept(reader, ".callprototype"))
        return ptx_read_prototype(reader, name);
    if (ptx_at(reader, ".branchtargets"))
        return ptx_read_targets(reader, name);
    if (ptx_accept(reader, ".calltargets")) { /* a hint: calls are checked against every function */
        while (!ptx_at(reader, ";") && reader->at->kind != PTX_TOKEN_END)
            reader->at++;
        return ptx_expect(reader, ";");
    }
    statement = ptx_add_statement(reader);
    if (!statement)
        return -ENOMEM;
    statement->kind = PTX_STATEMENT_LABEL;
    statement->first = name;
    statement->end = reader->at;
    statement->label = ptx_name_of(reader, name);
    r = ptx_declare(reader, PTX_SYMBOL_LABEL, name, NULL);
    if (!r)
        reader->scopes[reader->depth]->index = reader->n - 1;
    return r;
}

/* Declarations and hints in a body; *ret_done: there was one. */
static int read_in_body(struct ptx_reader *reader, struct ptx_variable ***locals_end, bool *ret_done)
{
    *ret_done = true;
    if (ptx_at(reader, ".reg"))
        return ptx_read_registers(reader);
    if (ptx_at(reader, ".local") || ptx_at(reader, ".shared") || ptx_at(reader, ".param"))
        return ptx_read_variable(reader, PTX_PRIVATE, locals_end);
    if (ptx_at(reader, ".global") || ptx_at(reader, ".const"))
        return ptx_read_variable(reader, PTX_PRIVATE, &reader->variables_end);
    if (ptx_at(reader, ".loc") || ptx_at(reader, ".file")) {
        reader->at = ptx_location_end(&reader->module->source, reader->at);
        return 0;
    }
    if (ptx_accept(reader, ".pragma")) {
        while (reader->at->kind == PTX_TOKEN_STRING || ptx_at(reader, ","))
            reader->at++;
        return ptx_expect(reader, ";");
    }
    if (reader->is_outline && reader->at->kind == PTX_TOKEN_DOT)
        return ptx_skip_directive(reader);
    *ret_done = false;
    return 0;
}

static int read_statements(struct ptx_reader *reader, struct ptx_routine *routine)
{
    struct ptx_variable **locals_end = &routine->variables;
    unsigned base = reader->depth;
    int r = 0;

    while (!r) {
        bool done = false;

        if (ptx_accept(reader, "{")) {
            r = ptx_open_scope(reader);
        } else if (ptx_at(reader, "}") && reader->depth > base) {
            reader->at++;
            r = ptx_close_scope(reader);
        } else if (ptx_accept(reader, "}")) {
            return 0;
        } else if (!ptx_accept(reader, ";") && !(r = read_in_body(reader, &locals_end, &done)) && !done) {
            if (reader->at->kind == PTX_TOKEN_WORD &&
                ptx_token_is(&reader->module->source, reader->at + 1, ":"))
                r = read_label(reader);
            else
                r = ptx_read_operation(reader);
        }
    }
    return r;
}

int ptx_read_body(struct ptx_reader *reader, struct ptx_routine *routine)
{
    int r = ptx_expect(reader, "{");

    reader->routine = routine;
    reader->n = 0;
    routine->has_body = true;
    if (!r)
        r = ptx_open_scope(reader);
    if (!r)
        r = declare_list(reader, routine->returns);
    if (!r)
        r = declare_list(reader, routine->parameters);
    if (!r)
        r = read_statements(reader, routine);
    if (!r)
        r = ptx_close_scope(reader);
    if (!r) {
        routine->end = reader->at;
        routine->n = reader->n;
        routine->statements =
            arena_calloc(&reader->module->arena, reader->n ? reader->n : 1, sizeof *routine->statements);
        if (routine->statements && reader->n)
            memcpy(routine->statements, reader->statements, reader->n * sizeof *routine->statements);
        r = routine->statements ? 0 : -ENOMEM;
    }
    reader->routine = NULL;
    return r;
}
