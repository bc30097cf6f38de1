/* The module: header directives, then variables and functions. */
#include "ptx/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_version(struct ptx_reader *reader)
{
    const struct ptx_token *token = reader->at;
    const char *text = reader->module->source.text + token->offset;
    unsigned part[2] = {0, 0};
    unsigned which = 0;

    if (token->kind != PTX_TOKEN_F64 || token->length > 6)
        return ptx_bad(reader, "a version such as 8.0");
    for (uint32_t i = 0; i < token->length; i++) {
        if (text[i] == '.')
            which = 1;
        else
            part[which] = part[which] * 10 + (unsigned)(text[i] - '0');
    }
    if (part[0] < 3 || part[1] > 9 || part[0] * 10 + part[1] > PTX_NEWEST_VERSION)
        return ptx_bad(reader, "a PTX version from 3.0 to %d.%d", PTX_NEWEST_VERSION / 10,
                       PTX_NEWEST_VERSION % 10);
    reader->module->version = part[0] * 10 + part[1];
    reader->at++;
    return 0;
}

static int read_target(struct ptx_reader *reader)
{
    do {
        struct ptx_name name;
        int r = ptx_expect_word(reader, "a target such as sm_80", &name);

        if (r)
            return r;
        if (name.length > 3 && memcmp(name.text, "sm_", 3) == 0) {
            unsigned target = 0;

            for (uint32_t i = 3;
                 i < name.length && name.text[i] >= '0' && name.text[i] <= '9' && target < 1000; i++)
                target = target * 10 + (unsigned)(name.text[i] - '0');
            if (target < 20 || target > 999) {
                reader->at--;
                return ptx_bad(reader, "a target such as sm_80");
            }
            reader->module->target = target;
        }
    } while (ptx_accept(reader, ","));
    if (reader->module->target)
        return 0;
    reader->at--;
    return ptx_bad(reader, "a target such as sm_80");
}

static int read_header(struct ptx_reader *reader)
{
    uint64_t bits = 64;
    int r = ptx_expect(reader, ".version");

    if (!r)
        r = read_version(reader);
    if (!r)
        r = ptx_expect(reader, ".target");
    if (!r)
        r = read_target(reader);
    if (!r && ptx_accept(reader, ".address_size"))
        r = ptx_constant(reader, &bits);
    if (!r && bits != 64 && !reader->is_outline) {
        reader->at--;
        r = ptx_bad(reader, "64-bit addresses");
    }
    reader->module->address_bits = (unsigned)bits;
    return r;
}

/* Sections of debug information and other blocks that say nothing about execution. */
static int skip_block(struct ptx_reader *reader)
{
    unsigned depth = 0;

    while (reader->at->kind != PTX_TOKEN_END) {
        if (ptx_accept(reader, "{")) {
            depth++;
        } else if (ptx_accept(reader, "}")) {
            if (--depth == 0)
                return 0;
        } else {
            reader->at++;
            if (!depth && (ptx_at(reader, ".visible") || ptx_at(reader, ".entry") || ptx_at(reader, ".func")))
                break;
        }
    }
    return ptx_bad(reader, "a block in braces");
}

int ptx_skip_directive(struct ptx_reader *reader)
{
    while (!ptx_at(reader, ";") && !ptx_at(reader, "{") && reader->at->kind != PTX_TOKEN_END)
        reader->at++;
    return ptx_at(reader, "{") ? skip_block(reader) : ptx_expect(reader, ";");
}

static int read_pragma(struct ptx_reader *reader)
{
    while (reader->at->kind == PTX_TOKEN_STRING || ptx_at(reader, ","))
        reader->at++;
    return ptx_expect(reader, ";");
}

/* A variable; in an outline, one whose type or initial value is not understood is left out. */
static int read_module_variable(struct ptx_reader *reader, enum ptx_linkage linkage)
{
    const struct ptx_token *first = reader->at;
    int r = ptx_read_variable(reader, linkage, &reader->variables_end);

    if (r != INPUT_REJECTED || !reader->is_outline)
        return r;
    for (reader->at = first; !ptx_at(reader, ";"); reader->at++)
        if (reader->at->kind == PTX_TOKEN_END)
            return ptx_bad(reader, "; behind the declaration");
    return ptx_expect(reader, ";");
}

static int read_one(struct ptx_reader *reader)
{
    enum ptx_linkage linkage = PTX_PRIVATE;

    if (ptx_at(reader, ".file") || ptx_at(reader, ".loc")) {
        reader->at = ptx_location_end(&reader->module->source, reader->at);
        return 0;
    }
    if (ptx_accept(reader, ".section"))
        return skip_block(reader);
    if (ptx_accept(reader, ".pragma"))
        return read_pragma(reader);
    if (ptx_accept(reader, ";"))
        return 0;
    if (ptx_accept(reader, ".visible"))
        linkage = PTX_VISIBLE;
    else if (ptx_accept(reader, ".extern"))
        linkage = PTX_EXTERN;
    else if (ptx_accept(reader, ".weak"))
        linkage = PTX_WEAK;
    else if (ptx_accept(reader, ".common"))
        linkage = PTX_COMMON;
    if (ptx_at(reader, ".func") || ptx_at(reader, ".entry"))
        return ptx_read_routine(reader, linkage);
    if (ptx_at(reader, ".global") || ptx_at(reader, ".const") || ptx_at(reader, ".shared"))
        return read_module_variable(reader, linkage);
    if (reader->is_outline && linkage == PTX_PRIVATE && reader->at->kind == PTX_TOKEN_DOT)
        return ptx_skip_directive(reader);
    return ptx_bad(reader, "a directive of a module");
}

static int read_module(struct ptx_reader *reader)
{
    int r = read_header(reader);

    while (!r && reader->at->kind != PTX_TOKEN_END)
        r = read_one(reader);
    return r;
}

static int read_text(struct ptx_module *module, const char *name, const char *text, size_t size,
                     bool is_outline, bool *ret_refused, struct input_error *ret_error)
{
    struct ptx_reader *reader = calloc(1, sizeof *reader);
    int r;

    *module = (struct ptx_module){0};
    *ret_refused = false;
    arena_init(&module->arena, (size_t)4 << 30);
    if (!reader)
        return -ENOMEM;
    while (size > 0 && text[size - 1] == 0)
        size--;
    r = ptx_tokens(&module->arena, name, text, size, &module->source, ret_error);
    if (!r) {
        reader->module = module;
        reader->at = module->source.tokens;
        reader->error = ret_error;
        reader->is_outline = is_outline;
        reader->variables_end = &module->variables;
        reader->routines_end = &module->routines;
        r = read_module(reader);
        *ret_refused = reader->refused;
        for (const struct ptx_variable *v = module->variables; v; v = v->next)
            module->n_variables++;
        for (const struct ptx_routine *f = module->routines; f; f = f->next)
            module->n_routines++;
    }
    free(reader->statements);
    free(reader);
    return r;
}

int ptx_module_read(struct ptx_module *module, const char *name, const char *text, size_t size,
                    bool *ret_refused, struct input_error *ret_error)
{
    return read_text(module, name, text, size, false, ret_refused, ret_error);
}

int ptx_module_outline(struct ptx_module *module, const char *name, const char *text, size_t size,
                       struct input_error *ret_error)
{
    bool refused;

    return read_text(module, name, text, size, true, &refused, ret_error);
}

void ptx_module_done(struct ptx_module *module)
{
    arena_done(&module->arena);
    *module = (struct ptx_module){0};
}

bool ptx_has(const struct ptx_module *module, const struct ptx_statement *statement, const char *modifier)
{
    size_t n = strlen(modifier);

    for (unsigned i = 1; i <= statement->n_modifiers; i++) {
        const struct ptx_token *dot = statement->opcode + i;

        if (dot->length == n + 1 && memcmp(module->source.text + dot->offset + 1, modifier, n) == 0)
            return true;
    }
    return false;
}

enum ptx_space ptx_statement_space(const struct ptx_module *module, const struct ptx_statement *statement)
{
    static const struct {
        const char *name;
        enum ptx_space space;
    } spaces[] = {
        {".global", PTX_GLOBAL},      {".shared", PTX_SHARED},     {".shared::cta", PTX_SHARED},
        {".local", PTX_LOCAL},        {".const", PTX_CONST},       {".param", PTX_PARAM},
        {".param::entry", PTX_PARAM}, {".param::func", PTX_PARAM}, {".shared::cluster", PTX_SHARED}};

    for (unsigned i = 1; i <= statement->n_modifiers; i++)
        for (unsigned k = 0; k < sizeof spaces / sizeof spaces[0]; k++)
            if (ptx_token_is(&module->source, statement->opcode + i, spaces[k].name))
                return spaces[k].space;
    return PTX_GENERIC;
}
