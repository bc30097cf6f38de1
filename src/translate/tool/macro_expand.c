/* Macro replacement after Prosser's algorithm (X3J11/86-196), on which C99 6.10.3 is based. */
#include "translate/tool/preprocess.h"

#include <stdio.h>
#include <string.h>

enum { MOST_MADE = 5000000 };

struct token *macro_copy_token(struct preprocessor *pp, const struct token *from)
{
    struct token *copy = text_alloc(1, sizeof *copy);

    if (++pp->made > MOST_MADE)
        refuse(&pp->refusal, "macros expand without bounds");
    *copy = *from;
    copy->made = true;
    copy->next = NULL;
    return copy;
}

static void note_value(struct preprocessor *pp, struct macro *macro)
{
    if (macro->noted_value)
        return;
    macro->noted_value = true;
    text_print(&pp->guards, "#if !defined(%s) || %s != ", macro->name, macro->name);
    for (const struct token *token = macro->body; token; token = token->next)
        text_print(&pp->guards, " %.*s", (int)token->length, token->text);
    text_print(&pp->guards, "\n#error the driver has another %s\n#endif\n", macro->name);
}

static bool hidden(const struct hide *hide, const struct macro *macro)
{
    while (hide && hide->macro != macro)
        hide = hide->next;
    return hide;
}

static const struct hide *hide_add(const struct hide *hide, const struct macro *macro)
{
    struct hide *more;

    if (hidden(hide, macro))
        return hide;
    more = text_alloc(1, sizeof *more);
    more->macro = macro;
    more->next = hide;
    return more;
}

static const struct hide *hide_union(const struct hide *a, const struct hide *b)
{
    for (; b; b = b->next)
        a = hide_add(a, b->macro);
    return a;
}

static const struct hide *hide_both(const struct hide *a, const struct hide *b)
{
    const struct hide *both = NULL;

    for (; a; a = a->next)
        if (hidden(b, a->macro))
            both = hide_add(both, a->macro);
    return both;
}

/* Quotes tokens as # does (C99 6.10.3.2). */
static struct token *stringize(struct preprocessor *pp, const struct token *hash, const struct token *arg)
{
    struct token *string = macro_copy_token(pp, hash);
    struct text text = {0};

    text_add(&text, "\"", 1);
    for (const struct token *token = arg; token; token = token->next) {
        if (token != arg && (token->blanks || token->begins_line))
            text_add(&text, " ", 1);
        for (uint32_t i = 0; i < token->length; i++) {
            char c = token->text[i];

            if ((token->kind == TOKEN_STRING || token->kind == TOKEN_CHARACTER) && (c == '"' || c == '\\'))
                text_add(&text, "\\", 1);
            text_add(&text, &c, 1);
        }
    }
    text_add(&text, "\"", 1);
    string->kind = TOKEN_STRING;
    string->text = text.bytes;
    string->length = (uint32_t)text.length;
    return string;
}

/* left ## right, in place of left. */
static void paste(struct preprocessor *pp, struct token *left, const struct token *right)
{
    struct text text = {0};
    struct token *made;

    text_add(&text, left->text, left->length);
    text_add(&text, right->text, right->length);
    made = lex(text.bytes, text.length, left->file, &pp->refusal);
    if (!made || made->next) {
        refuse(&pp->refusal, "line %u: ## does not make one token", left->line);
        return;
    }
    left->text = made->text;
    left->length = made->length;
    left->kind = made->kind;
    left->hide = hide_both(left->hide, right->hide);
}

struct arguments {
    struct token **raw;      /* one list per parameter */
    struct token **expanded; /* made when first needed */
    bool *done;
    struct token *close; /* the closing parenthesis */
    uint32_t n;
};

static struct token *expand_list(struct preprocessor *pp, struct token *list)
{
    struct token *first = list;
    struct token **link = &first;

    while (*link && !pp->refusal.reason[0])
        if (!macro_expand(pp, link))
            link = &(*link)->next;
    return first;
}

static struct token *copy_list(struct preprocessor *pp, const struct token *list)
{
    struct token *first = NULL;
    struct token **link = &first;

    for (; list && !pp->refusal.reason[0]; list = list->next) {
        *link = macro_copy_token(pp, list);
        link = &(*link)->next;
    }
    return first;
}

/* Reads (a, b, ...) at open. */
static bool read_arguments(struct preprocessor *pp, const struct macro *macro, struct token *open,
                           struct arguments *ret)
{
    uint32_t room = macro->n_params ? macro->n_params : 1;
    struct arguments args = {.n = 1};
    struct token **link;
    unsigned depth = 0;
    struct token *at;

    args.raw = text_alloc(room, sizeof *args.raw);
    args.expanded = text_alloc(room, sizeof *args.expanded);
    args.done = text_alloc(room, sizeof *args.done);
    link = &args.raw[0];
    for (at = open->next; (at = preprocess_next(pp, at, macro)); at = at->next) {
        if (!depth && token_is(at, ")"))
            break;
        if (!depth && token_is(at, ",") && !(macro->variadic && args.n == macro->n_params)) {
            if (++args.n > room)
                break;
            link = &args.raw[args.n - 1];
            continue;
        }
        depth += token_is(at, "(");
        depth -= token_is(at, ")");
        *link = macro_copy_token(pp, at);
        if ((*link)->begins_line) {
            (*link)->begins_line = false;
            (*link)->blanks = 1;
        }
        link = &(*link)->next;
    }
    if (!at || !token_is(at, ")")) {
        refuse(&pp->refusal, "line %u: arguments of macro %s", open->line, macro->name);
        return false;
    }
    if (macro->n_params && args.n < macro->n_params - (macro->variadic ? 1 : 0)) {
        refuse(&pp->refusal, "line %u: too few arguments for macro %s", open->line, macro->name);
        return false;
    }
    if (!macro->n_params && args.raw[0]) {
        refuse(&pp->refusal, "line %u: too many arguments for macro %s", open->line, macro->name);
        return false;
    }
    args.close = at;
    *ret = args;
    return true;
}

static int param_of(const struct macro *macro, const struct token *token)
{
    int i = 0;

    if (!macro->function || token->kind != TOKEN_NAME)
        return -1;
    for (const struct token *param = macro->params; param; param = param->next, i++)
        if (param->length == token->length && !memcmp(param->text, token->text, token->length))
            return i;
    return -1;
}

static struct token **append(struct token **link, struct token *list)
{
    *link = list;
    while (*link)
        link = &(*link)->next;
    return link;
}

/*
 * What follows ## is pasted onto *last (NULL if the left side was empty), and the rest appended.
 * Also GNU's `, ## rest`.
 */
static struct token **paste_next(struct preprocessor *pp, const struct macro *macro,
                                 const struct arguments *args, const struct token *right, struct token **last,
                                 struct token **link)
{
    int param = param_of(macro, right);
    struct token *list = param >= 0 ? copy_list(pp, args->raw[param]) : macro_copy_token(pp, right);

    if (param >= 0 && macro->variadic && (uint32_t)param == macro->n_params - 1 && *last &&
        token_is(*last, ",")) {
        if (!list && args->n < macro->n_params) {
            *last = NULL; /* no variable arguments at all: the comma is dropped too */
            return last;
        }
        return append(link, list);
    }
    if (!list)
        return link;
    if (!*last)
        return append(link, list);
    paste(pp, *last, list);
    return append(&(*last)->next, list->next);
}

static struct token *expanded_argument(struct preprocessor *pp, const struct arguments *args, int param)
{
    if (!args->done[param]) {
        args->done[param] = true;
        args->expanded[param] = expand_list(pp, copy_list(pp, args->raw[param]));
    }
    return copy_list(pp, args->expanded[param]);
}

/*
 * The body with its parameters replaced. Its own tokens get `line`, which is the value of __LINE__
 * in them.
 */
static struct token *substitute(struct preprocessor *pp, const struct macro *macro,
                                const struct arguments *args, uint32_t line)
{
    struct token *first = NULL;
    struct token **link = &first;

    for (const struct token *token = macro->body; token && !pp->refusal.reason[0]; token = token->next) {
        int param = param_of(macro, token);
        struct token **last = link;
        struct token *list;

        if (macro->function && token_is(token, "#") && token->next && param_of(macro, token->next) >= 0) {
            list = stringize(pp, token, args->raw[param_of(macro, token->next)]);
            token = token->next;
        } else if (param >= 0 && token_is(token->next, "##")) {
            list = copy_list(pp, args->raw[param]);
        } else if (param >= 0) {
            list = expanded_argument(pp, args, param);
        } else {
            list = macro_copy_token(pp, token);
            list->line = line;
        }
        if (list && param >= 0)
            list->blanks = token->blanks;
        link = append(link, list);
        while (token->next && token_is(token->next, "##") && token->next->next && !pp->refusal.reason[0]) {
            token = token->next->next;
            for (struct token **at = last; *at; at = &(*at)->next)
                last = at; /* the last token so far is the left side */
            link = paste_next(pp, macro, args, token, last, link);
        }
    }
    return first;
}

/* Such macros would reveal the rewritten text to the program. */
static void refuse_telltales(struct preprocessor *pp, const struct token *token)
{
    static const char *const names[] = {"__FILE__", "__FILE_NAME__",     "__BASE_FILE__", "__DATE__",
                                        "__TIME__", "__INCLUDE_LEVEL__", "__TIMESTAMP__"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (token_is(token, names[i]))
            refuse(&pp->refusal, "uses %s", names[i]);
}

static bool expand_builtin(struct preprocessor *pp, struct token *token)
{
    char number[16];

    refuse_telltales(pp, token);
    if (token_is(token, "__LINE__") && pp->renumbered)
        refuse(&pp->refusal, "__LINE__ after #line");
    if (token_is(token, "__LINE__"))
        (void)snprintf(number, sizeof number, "%u", token->line);
    else if (token_is(token, "__COUNTER__"))
        (void)snprintf(number, sizeof number, "%u", pp->counter++);
    else
        return false;
    token->text = text_copy(number, strlen(number));
    token->length = (uint32_t)strlen(number);
    token->kind = TOKEN_NUMBER;
    token->made = true;
    return true;
}

bool macro_expand(struct preprocessor *pp, struct token **at)
{
    struct token *token = *at;
    struct arguments args = {0};
    const struct hide *hide;
    struct token *body;
    struct token *rest = token->next;
    struct macro *macro;
    uint32_t line = token->line;

    if (token->kind != TOKEN_NAME || pp->refusal.reason[0])
        return false;
    macro = macro_find(pp, token);
    if (!macro || macro->state > MACRO_VALUE)
        return !macro && expand_builtin(pp, token);
    if (hidden(token->hide, macro))
        return false;
    if (macro->state == MACRO_VALUE)
        note_value(pp, macro);
    hide = token->hide;
    if (macro->function) {
        if (!rest || !token_is(rest, "(") || !read_arguments(pp, macro, rest, &args))
            return false;
        hide = hide_both(hide, args.close->hide);
        line = args.close->line;
        rest = args.close->next;
    }
    hide = hide_add(hide, macro);
    body = substitute(pp, macro, &args, line);
    *at = body ? body : rest;
    if (body) {
        body->begins_line = token->begins_line;
        body->blanks = token->blanks;
    } else if (rest && token->begins_line && !rest->begins_line) {
        rest->begins_line = true; /* an empty macro first on its line */
        rest->made = true;
    }
    for (; body; body = body->next) {
        body->file = token->file;
        body->hide = hide_union(body->hide, hide);
        if (!body->next) {
            body->next = rest;
            break;
        }
    }
    return true;
}

struct token *macro_expand_line(struct preprocessor *pp, struct token *line)
{
    return expand_list(pp, copy_list(pp, macro_cut_line(line)));
}
