#include "translate/tool/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct edit {
    size_t at;
    size_t remove;
    const char *text;
    size_t order; /* edits at one place keep the order in which they were made */
};

struct rewriting {
    struct syntax *syntax;
    enum translate_mode mode;
    char prefix[24]; /* of every added name; no name of the program begins with it */
    struct edit *edits;
    size_t n_edits;
    size_t room;
    size_t n_virtual; /* uses of built-ins that were replaced */
};

/* The built-ins whose answer differs between a piece and the whole. */
static const char *const virtual_names[] = {"get_global_id",   "get_group_id",      "get_num_groups",
                                            "get_global_size", "get_global_offset", "get_global_linear_id",
                                            "get_work_dim"};

enum { N_VIRTUAL = sizeof virtual_names / sizeof virtual_names[0] };

static bool is_virtual(const char *name, size_t length)
{
    for (size_t i = 0; i < N_VIRTUAL; i++)
        if (strlen(virtual_names[i]) == length && !memcmp(virtual_names[i], name, length))
            return true;
    return false;
}

static void edit(struct rewriting *r, size_t at, size_t remove, const char *text)
{
    if (r->n_edits == r->room) {
        struct edit *more = text_alloc(r->room * 2 + 64, sizeof *more);

        if (r->n_edits)
            memcpy(more, r->edits, r->n_edits * sizeof *more);
        r->edits = more;
        r->room = r->room * 2 + 64;
    }
    r->edits[r->n_edits] = (struct edit){.at = at, .remove = remove, .text = text, .order = r->n_edits};
    r->n_edits++;
}

static int by_place(const void *a, const void *b)
{
    const struct edit *x = a;
    const struct edit *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static const char *format_name(const struct rewriting *r, const char *before, const char *name,
                               const char *after)
{
    struct text text = {0};

    text_print(&text, "%s%s%s%s", before, r->prefix, name, after);
    return text.bytes;
}

/* The ( after a function's name; 0, with a refusal, if something else follows. */
static size_t opening(struct rewriting *r, size_t name, size_t *ret_name_end)
{
    size_t end;
    size_t at;

    (void)syntax_token(r->syntax, name, ret_name_end);
    at = syntax_token(r->syntax, *ret_name_end, &end);
    if (at >= r->syntax->length || r->syntax->text[at] != '(' || !syntax_closing(r->syntax, at)) {
        refuse(&r->syntax->refusal, "a function's name without its parenthesis");
        return 0;
    }
    return at;
}

static bool holds_only(const struct syntax *syntax, size_t begin, size_t end, const char *word)
{
    size_t after;
    size_t at = syntax_token(syntax, begin, &after);

    if (at == end)
        return !word[0];
    return after - at == strlen(word) && !memcmp(syntax->text + at, word, after - at) &&
           syntax_token(syntax, after, &after) == end;
}

static bool renamed(const struct rewriting *r, const struct syntax_function *function)
{
    return r->mode == TRANSLATE_COMPILE && !function->kernel && !function->internal;
}

/* Adds one parameter to a declaration. */
static void edit_declaration(struct rewriting *r, const struct syntax_function *function, size_t name)
{
    size_t name_end;
    size_t open = opening(r, name, &name_end);
    size_t close = open ? syntax_closing(r->syntax, open) : 0;
    const char *type = function->kernel ? "struct " : "__private const struct ";
    const char *param = function->kernel ? "piece " : "piece *";
    struct text text = {0};

    if (!open)
        return;
    if (renamed(r, function))
        edit(r, name, 0, format_name(r, "", "x_", ""));
    text_print(&text, "%s%s%s%s%s", type, r->prefix, param, r->prefix, function->kernel ? "whole" : "at");
    if (holds_only(r->syntax, open + 1, close, "void")) {
        edit(r, open + 1, close - open - 1, text.bytes);
    } else if (holds_only(r->syntax, open + 1, close, "")) {
        edit(r, close, 0, text.bytes);
    } else {
        edit(r, close, 0, ", ");
        edit(r, close, 0, text.bytes);
    }
}

static const struct syntax_function *function_around(const struct syntax_node *node)
{
    while (node && !(node->kind == NODE_FUNCTION && node->symbol && node->symbol->function->body == node))
        node = node->parent;
    return node ? node->symbol->function : NULL;
}

/*
 * Replaces the call of a built-in by a call of the rewritten one, with the descriptor as its first
 * argument.
 */
static void edit_builtin(struct rewriting *r, const struct syntax_node *name,
                         const struct syntax_function *around)
{
    size_t name_end;
    size_t open = opening(r, name->at, &name_end);
    bool empty;

    if (!open)
        return;
    empty = holds_only(r->syntax, open + 1, syntax_closing(r->syntax, open), "");
    edit(r, name->at, 0, r->prefix);
    edit(r, open + 1, 0,
         format_name(r, around->kernel ? "&" : "", around->kernel ? "whole" : "at", empty ? "" : ", "));
    r->n_virtual++;
}

/* Adds the descriptor as the last argument to the call of a function that takes it. */
static void edit_call(struct rewriting *r, const struct syntax_node *name,
                      const struct syntax_function *callee, const struct syntax_function *around)
{
    size_t name_end;
    size_t open = opening(r, name->at, &name_end);
    size_t close = open ? syntax_closing(r->syntax, open) : 0;
    const char *how = "";

    if (!open)
        return;
    if (renamed(r, callee))
        edit(r, name->at, 0, format_name(r, "", "x_", ""));
    if (callee->kernel && !around->kernel)
        how = "*"; /* a kernel takes it by value */
    if (!callee->kernel && around->kernel)
        how = "&";
    if (!holds_only(r->syntax, open + 1, close, ""))
        edit(r, close, 0, ", ");
    edit(r, close, 0, format_name(r, how, around->kernel ? "whole" : "at", ""));
}

static bool is_callee(struct syntax_node *name)
{
    struct syntax_node *child;
    const struct syntax_node *parent = syntax_parent(name, &child);

    return parent && parent->kind == NODE_CALL && child == parent->children;
}

static void edit_name(struct rewriting *r, struct syntax_node *name)
{
    const struct symbol *symbol = name->symbol;
    bool builtin = symbol->kind == SYMBOL_BUILTIN && is_virtual(symbol->name, strlen(symbol->name));
    bool threaded = symbol->kind == SYMBOL_FUNCTION && symbol->function->threaded;
    const struct syntax_function *around;

    if (!builtin && !threaded)
        return;
    around = function_around(name);
    if (!name->in_text || !is_callee(name) || !around || !around->threaded) {
        refuse(&r->syntax->refusal, "%s is used in a way that cannot be followed", symbol->name);
        return;
    }
    if (builtin)
        edit_builtin(r, name, around);
    else
        edit_call(r, name, symbol->function, around);
}

static bool word_is(const struct syntax *syntax, size_t at, size_t end, const char *word)
{
    return strlen(word) == end - at && !memcmp(syntax->text + at, word, end - at);
}

/*
 * A string of the program contains a function's name or its parameters: the rewriting would be
 * visible there.
 */
static bool tells_function(const struct rewriting *r, size_t at, size_t end)
{
    if (r->mode == TRANSLATE_COMPILE &&
        (word_is(r->syntax, at, end, "__func__") || word_is(r->syntax, at, end, "__FUNCTION__")))
        return true;
    return word_is(r->syntax, at, end, "__PRETTY_FUNCTION__");
}

/*
 * No use of such a built-in may remain: one that the tree does not show would silently answer for
 * the piece.
 */
static void check_all_replaced(struct rewriting *r)
{
    size_t found = 0;
    size_t end;

    for (size_t at = 0; at < r->syntax->length; at = end) {
        at = syntax_token(r->syntax, at, &end);
        if (end == at)
            break;
        found += is_virtual(r->syntax->text + at, end - at);
        if (tells_function(r, at, end))
            refuse(&r->syntax->refusal, "uses %.*s", (int)(end - at), r->syntax->text + at);
    }
    if (found != r->n_virtual)
        refuse(&r->syntax->refusal, "an id function is used in a way that cannot be followed");
}

static void choose_prefix(struct rewriting *r)
{
    (void)snprintf(r->prefix, sizeof r->prefix, "baton_");
    for (unsigned i = 1; strstr(r->syntax->text, r->prefix); i++)
        (void)snprintf(r->prefix, sizeof r->prefix, "baton%u_", i);
}

/*
 * The text of struct piece and of the built-ins' replacements; @ stands for the prefix. Dimensions
 * past the third are left to the driver's built-in.
 */
static const char prelude[] =
    "struct @piece { ulong offset[3]; uint groups[3]; uint first; uint magic[2]; uint work_dim; uint shift; "
    "};\n"
    "!uint @divide(uint n, uint magic, uint shift)\n"
    "{ uint t = mul_hi(n, magic); return (t + ((n - t) >> (shift & 255u))) >> ((shift >> 8) & 255u); }\n"
    "!size_t @get_group_id(%, uint d)\n"
    "{ uint n = p->first + (uint)get_group_id(0); uint q = @divide(n, p->magic[0], p->shift);\n"
    "  uint z = @divide(q, p->magic[1], p->shift >> 16);\n"
    "  return d == 0 ? n - q * p->groups[0] : d == 1 ? q - z * p->groups[1] : d == 2 ? z : get_group_id(d); "
    "}\n"
    "!size_t @get_num_groups(%, uint d)\n"
    "{ return d == 0 ? p->groups[0] : d == 1 ? p->groups[1] : d == 2 ? p->groups[2] : get_num_groups(d); }\n"
    "!size_t @get_global_size(%, uint d)\n"
    "{ return d < 3 ? @get_num_groups(p, d) * get_local_size(d) : get_global_size(d); }\n"
    "!size_t @get_global_offset(%, uint d)\n"
    "{ return d == 0 ? p->offset[0] : d == 1 ? p->offset[1] : d == 2 ? p->offset[2] : get_global_offset(d); "
    "}\n"
    "!size_t @get_global_id(%, uint d)\n"
    "{ return d < 3 ? @get_global_offset(p, d) + @get_group_id(p, d) * get_local_size(d) + get_local_id(d) : "
    "get_global_id(d); }\n"
    "!size_t @get_global_linear_id(%)\n"
    "{ size_t y = @get_global_id(p, 1) - @get_global_offset(p, 1); size_t z = @get_global_id(p, 2) - "
    "@get_global_offset(p, 2);\n"
    "  return (z * @get_global_size(p, 1) + y) * @get_global_size(p, 0) + @get_global_id(p, 0) - "
    "@get_global_offset(p, 0); }\n"
    "!uint @get_work_dim(%)\n"
    "{ return p->work_dim; }\n";

static void write_prelude(const struct rewriting *r, struct text *out)
{
    for (const char *c = prelude; *c; c++) {
        if (*c == '@')
            text_print(out, "%s", r->prefix);
        else if (*c == '!') /* `static` is not allowed before OpenCL C 1.2 */
            text_print(out, "__attribute__((always_inline, internal_linkage)) ");
        else if (*c == '%')
            text_print(out, "__private const struct %spiece *p", r->prefix);
        else
            text_add(out, c, 1);
    }
}

static void write_edited(const struct rewriting *r, struct text *out)
{
    size_t at = 0;

    for (size_t i = 0; i < r->n_edits; i++) {
        const struct edit *edit = &r->edits[i];

        text_add(out, r->syntax->text + at, edit->at - at);
        text_print(out, "%s", edit->text);
        at = edit->at + edit->remove;
    }
    text_add(out, r->syntax->text + at, r->syntax->length - at);
}

void rewrite(struct syntax *syntax, enum translate_mode mode, struct text *out)
{
    struct rewriting r = {.syntax = syntax, .mode = mode};

    choose_prefix(&r);
    for (struct syntax_function *f = syntax->functions; f; f = f->next) {
        f->threaded = f->kernel || (f->defined && (f->uses & USE_IDS)) || renamed(&r, f);
        if (is_virtual(f->symbol->name, strlen(f->symbol->name)))
            refuse(&syntax->refusal, "defines %s itself", f->symbol->name);
        for (const struct declaration *d = f->declarations; d && f->threaded; d = d->next)
            edit_declaration(&r, f, d->at);
    }
    for (struct syntax_node *node = syntax->root; node; node = syntax_next(node, syntax->root))
        if (node->kind == NODE_NAME && node->symbol)
            edit_name(&r, node);
    check_all_replaced(&r);
    if (syntax->refusal.reason[0])
        return;
    if (r.n_edits)
        qsort(r.edits, r.n_edits, sizeof *r.edits, by_place);
    for (size_t i = 1; i < r.n_edits; i++)
        if (r.edits[i].at < r.edits[i - 1].at + r.edits[i - 1].remove)
            refuse(&syntax->refusal, "two changes of one place");
    write_prelude(&r, out);
    text_print(out, "#line 1\n");
    write_edited(&r, out);
}
