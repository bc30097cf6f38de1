/* Names in scope, and small steps over tokens. */
#include "ptx/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool ptx_name_is(struct ptx_name name, const char *text)
{
    return strlen(text) == name.length && memcmp(name.text, text, name.length) == 0;
}

bool ptx_names_equal(struct ptx_name a, struct ptx_name b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

struct ptx_name ptx_name_of(const struct ptx_reader *reader, const struct ptx_token *token)
{
    return (struct ptx_name){reader->module->source.text + token->offset, token->length};
}

bool ptx_at(const struct ptx_reader *reader, const char *text)
{
    return reader->at->kind != PTX_TOKEN_STRING && ptx_token_is(&reader->module->source, reader->at, text);
}

bool ptx_accept(struct ptx_reader *reader, const char *text)
{
    if (!ptx_at(reader, text))
        return false;
    reader->at++;
    return true;
}

int ptx_bad(struct ptx_reader *reader, const char *format, ...)
{
    char text[180];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return ptx_reject(&reader->module->source, reader->at, reader->error, "%s", text);
}

int ptx_expect(struct ptx_reader *reader, const char *text)
{
    return ptx_accept(reader, text) ? 0 : ptx_bad(reader, "%s", text);
}

int ptx_expect_word(struct ptx_reader *reader, const char *what, struct ptx_name *ret_name)
{
    if (reader->at->kind != PTX_TOKEN_WORD)
        return ptx_bad(reader, "%s", what);
    *ret_name = ptx_name_of(reader, reader->at++);
    return 0;
}

static int constant_term(struct ptx_reader *reader, uint64_t *ret_value, unsigned depth)
{
    bool is_negative = false;
    uint64_t value;

    while (ptx_at(reader, "-") || ptx_at(reader, "+"))
        is_negative ^= ptx_token_is(&reader->module->source, reader->at++, "-");
    if (reader->at->kind == PTX_TOKEN_INT) {
        value = reader->at->value;
        reader->at++;
    } else if (depth < 16 && ptx_accept(reader, "(")) {
        int r = constant_term(reader, &value, depth + 1);

        while (!r && (ptx_at(reader, "+") || ptx_at(reader, "-"))) {
            uint64_t more;

            r = constant_term(reader, &more, depth + 1);
            value += r ? 0 : more;
        }
        if (!r)
            r = ptx_expect(reader, ")");
        if (r)
            return r;
    } else {
        return ptx_bad(reader, "an integer");
    }
    *ret_value = is_negative ? 0 - value : value;
    return 0;
}

/* Terms with a sign each; products of two. */
int ptx_constant(struct ptx_reader *reader, uint64_t *ret_value)
{
    uint64_t sum = 0;
    uint64_t term;
    int r;

    do {
        r = constant_term(reader, &term, 0);
        while (!r && ptx_accept(reader, "*")) {
            uint64_t factor;

            r = constant_term(reader, &factor, 0);
            term *= r ? 1 : factor;
        }
        sum += r ? 0 : term;
    } while (!r && (ptx_at(reader, "+") || ptx_at(reader, "-")));
    if (!r)
        *ret_value = sum;
    return r;
}

static unsigned bucket_of(struct ptx_name name)
{
    uint32_t hash = 2166136261U;

    for (uint32_t i = 0; i < name.length; i++)
        hash = (hash ^ (unsigned char)name.text[i]) * 16777619U;
    return (hash ^ hash >> 16) % PTX_BUCKETS;
}

struct ptx_symbol *ptx_find(const struct ptx_reader *reader, struct ptx_name name)
{
    struct ptx_symbol *symbol = reader->buckets[bucket_of(name)];

    while (symbol && !ptx_names_equal(symbol->name, name))
        symbol = symbol->next;
    return symbol;
}

int ptx_declare(struct ptx_reader *reader, enum ptx_symbol_kind kind, const struct ptx_token *token,
                void *object)
{
    struct ptx_name name = ptx_name_of(reader, token);
    struct ptx_symbol *symbol = ptx_find(reader, name);
    unsigned bucket = bucket_of(name);

    if (symbol && symbol->scope == reader->depth) {
        char found[80];

        (void)snprintf(found, sizeof found, "%.*s again", name.length < 60 ? (int)name.length : 60,
                       name.text);
        return input_reject(reader->error, reader->module->source.name, token->line,
                            ptx_token_column(&reader->module->source, token), found,
                            "a name that is not taken in this scope");
    }
    symbol = arena_calloc(&reader->module->arena, 1, sizeof *symbol);
    if (!symbol)
        return -ENOMEM;
    *symbol = (struct ptx_symbol){.name = name,
                                  .kind = kind,
                                  .scope = reader->depth,
                                  .object = object,
                                  .next = reader->buckets[bucket],
                                  .sibling = reader->scopes[reader->depth]};
    reader->buckets[bucket] = symbol;
    reader->scopes[reader->depth] = symbol;
    return 0;
}

int ptx_open_scope(struct ptx_reader *reader)
{
    if (reader->depth + 1 >= PTX_DEEPEST)
        return ptx_bad(reader, "blocks nested at most %d deep", PTX_DEEPEST - 1);
    reader->scopes[++reader->depth] = NULL;
    return 0;
}

/* A label of this scope, by name; NULL when the name is none. */
static const struct ptx_symbol *label_here(const struct ptx_reader *reader, const struct ptx_operand *operand)
{
    const struct ptx_symbol *symbol = ptx_find(reader, ptx_name_of(reader, operand->token));

    return symbol && symbol->scope == reader->depth && symbol->kind == PTX_SYMBOL_LABEL ? symbol : NULL;
}

/*
 * Labels that were used before they were defined are known now, or belong to a scope around this
 * one.
 */
int ptx_close_scope(struct ptx_reader *reader)
{
    struct ptx_pending *next;

    for (struct ptx_pending *pending = reader->pending[reader->depth]; pending; pending = next) {
        const struct ptx_symbol *symbol = label_here(reader, pending->operand);

        next = pending->next;
        if (symbol) {
            pending->operand->label = symbol->index;
        } else if (reader->depth > 1) {
            pending->next = reader->pending[reader->depth - 1];
            reader->pending[reader->depth - 1] = pending;
        } else if (reader->is_outline) {
            pending->operand->kind = PTX_OP_NAME;
        } else {
            return ptx_reject(&reader->module->source, pending->operand->token, reader->error,
                              "a declared register, variable, function or label");
        }
    }
    for (struct ptx_symbol *symbol = reader->scopes[reader->depth]; symbol; symbol = symbol->sibling)
        reader->buckets[bucket_of(symbol->name)] = symbol->next;
    reader->pending[reader->depth] = NULL;
    reader->depth--;
    return 0;
}

int ptx_expect_label(struct ptx_reader *reader, struct ptx_operand *operand)
{
    struct ptx_pending *pending = arena_calloc(&reader->module->arena, 1, sizeof *pending);

    if (!pending)
        return -ENOMEM;
    *pending = (struct ptx_pending){operand, reader->pending[reader->depth]};
    reader->pending[reader->depth] = pending;
    return 0;
}

struct ptx_register *ptx_find_register(const struct ptx_reader *reader, struct ptx_name name,
                                       uint32_t *ret_index)
{
    struct ptx_symbol *symbol = ptx_find(reader, name);
    struct ptx_name stem = name;
    uint64_t index = 0;
    struct ptx_register *reg;

    *ret_index = 0;
    if (symbol)
        return symbol->kind == PTX_SYMBOL_REGISTER && !((struct ptx_register *)symbol->object)->count
                   ? symbol->object
                   : NULL;
    while (stem.length > 0 && stem.text[stem.length - 1] >= '0' && stem.text[stem.length - 1] <= '9')
        stem.length--;
    if (stem.length == name.length || name.length - stem.length > 9 ||
        (name.text[stem.length] == '0' && name.length - stem.length > 1))
        return NULL;
    for (uint32_t i = stem.length; i < name.length; i++)
        index = index * 10 + (unsigned)(name.text[i] - '0');
    symbol = ptx_find(reader, stem);
    if (!symbol || symbol->kind != PTX_SYMBOL_REGISTER)
        return NULL;
    reg = symbol->object;
    if (index >= reg->count)
        return NULL;
    *ret_index = (uint32_t)index;
    return reg;
}

static const struct ptx_special specials[] = {
    {"%tid", PTX_U32, true},
    {"%ntid", PTX_U32, true},
    {"%ctaid", PTX_U32, true},
    {"%nctaid", PTX_U32, true},
    {"%laneid", PTX_U32, false},
    {"%warpid", PTX_U32, false},
    {"%nwarpid", PTX_U32, false},
    {"%smid", PTX_U32, false},
    {"%nsmid", PTX_U32, false},
    {"%gridid", PTX_U64, false},
    {"%lanemask_eq", PTX_U32, false},
    {"%lanemask_le", PTX_U32, false},
    {"%lanemask_lt", PTX_U32, false},
    {"%lanemask_ge", PTX_U32, false},
    {"%lanemask_gt", PTX_U32, false},
    {"%clock", PTX_U32, false},
    {"%clock_hi", PTX_U32, false},
    {"%clock64", PTX_U64, false},
    {"%globaltimer", PTX_U64, false},
    {"%globaltimer_lo", PTX_U32, false},
    {"%globaltimer_hi", PTX_U32, false},
    {"%total_smem_size", PTX_U32, false},
    {"%dynamic_smem_size", PTX_U32, false},
    {"%aggr_smem_size", PTX_U32, false},
    {"%clusterid", PTX_U32, true},
    {"%nclusterid", PTX_U32, true},
    {"%cluster_ctaid", PTX_U32, true},
    {"%cluster_nctaid", PTX_U32, true},
    {"%cluster_ctarank", PTX_U32, false},
    {"%cluster_nctarank", PTX_U32, false},
    {"%is_explicit_cluster", PTX_PRED, false},
    {"%current_graph_exec", PTX_U64, false},
    {"%reserved_smem_offset_begin", PTX_U32, false},
    {"%reserved_smem_offset_end", PTX_U32, false},
    {"%reserved_smem_offset_cap", PTX_U32, false},
    {"%reserved_smem_offset_", PTX_U32, false},
    {"%envreg", PTX_U32, false},
    {"%pm", PTX_U32, false},
    {"WARP_SZ", PTX_U32, false},
};

/* %envreg0 to 31 and %pm0 to 7 (and their 64-bit forms) share a row each. */
const struct ptx_special *ptx_find_special(struct ptx_name name)
{
    struct ptx_name stem = name;

    for (unsigned i = 0; i < sizeof specials / sizeof specials[0]; i++)
        if (ptx_name_is(name, specials[i].name))
            return &specials[i];
    while (stem.length > 3 && stem.text[stem.length - 1] >= '0' && stem.text[stem.length - 1] <= '9')
        stem.length--;
    if (stem.length == name.length || name.length - stem.length > 2)
        return NULL;
    for (unsigned i = 0; i < sizeof specials / sizeof specials[0]; i++)
        if (ptx_name_is(stem, specials[i].name) &&
            (ptx_name_is(stem, "%envreg") || ptx_name_is(stem, "%pm") ||
             ptx_name_is(stem, "%reserved_smem_offset_")))
            return &specials[i];
    return NULL;
}
