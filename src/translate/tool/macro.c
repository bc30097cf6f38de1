/* Macros: their table and their definitions. macro_expand.c replaces them. */
#include "translate/tool/preprocess.h"

#include <stdio.h>
#include <string.h>

static uint32_t bucket_of(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash % PREPROCESS_BUCKETS;
}

struct macro *macro_find(struct preprocessor *pp, const struct token *name)
{
    struct macro *macro = pp->buckets[bucket_of(name->text, name->length)];

    while (macro && (macro->length != name->length || memcmp(macro->name, name->text, name->length) != 0))
        macro = macro->next;
    return macro;
}

struct macro *macro_enter(struct preprocessor *pp, const char *name, size_t length)
{
    struct token key = {.text = name, .length = (uint32_t)length};
    struct macro *macro = macro_find(pp, &key);

    if (!macro) {
        struct macro **bucket = &pp->buckets[bucket_of(name, length)];

        macro = text_alloc(1, sizeof *macro);
        macro->name = text_copy(name, length);
        macro->length = (uint32_t)length;
        macro->next = *bucket;
        *bucket = macro;
    }
    return macro;
}

struct token *macro_cut_line(struct token *from)
{
    struct token *first = from && !from->begins_line ? from : NULL;
    struct token **link = &first;

    while (*link && !(*link)->begins_line)
        link = &(*link)->next;
    *link = NULL;
    return first;
}

static struct token *read_params(struct preprocessor *pp, struct macro *macro, struct token *at)
{
    struct token **link = &macro->params;

    while (at && !token_is(at, ")")) {
        bool dots = token_is(at, "...");
        struct token *param = macro_copy_token(pp, at);

        if (dots) {
            param->text = "__VA_ARGS__";
            param->length = 11;
        } else if (at->kind != TOKEN_NAME) {
            break;
        }
        *link = param;
        link = &param->next;
        macro->n_params++;
        macro->variadic = dots;
        at = at->next;
        if (!dots && token_is(at, "...")) {
            macro->variadic = true;
            at = at->next;
        }
        if (token_is(at, ",") && !macro->variadic)
            at = at->next;
        else
            break;
    }
    if (!token_is(at, ")")) {
        refuse(&pp->refusal, "malformed parameters of macro %s", macro->name);
        return NULL;
    }
    return at ? at->next : NULL;
}

void macro_define(struct preprocessor *pp, struct token *name)
{
    struct macro *macro;
    struct token *rest;

    if (!name || name->begins_line || name->kind != TOKEN_NAME) {
        refuse(&pp->refusal, "malformed #define");
        return;
    }
    macro = macro_enter(pp, name->text, name->length);
    rest = macro_cut_line(name->next);
    macro->state = MACRO_USER;
    macro->function = token_is(rest, "(") && !rest->blanks;
    macro->variadic = false;
    macro->params = NULL;
    macro->n_params = 0;
    macro->body = macro->function ? read_params(pp, macro, rest->next) : rest;
    for (const struct token *token = macro->body; token; token = token->next)
        if (token_is(token, "__VA_OPT__"))
            refuse(&pp->refusal, "macro %s uses __VA_OPT__", macro->name);
}

void macro_driver(struct preprocessor *pp, const char *name, const char *value)
{
    static const struct source_file file = {.name = "driver", .folder = ""};
    struct macro *macro = macro_enter(pp, name, strlen(name));

    macro->state = value ? MACRO_VALUE : MACRO_OPAQUE;
    macro->body = NULL;
    if (value) {
        macro->body = lex(value, strlen(value), &file, &pp->refusal);
        if (macro->body)
            macro->body->begins_line = false;
    }
}

void macro_option(struct preprocessor *pp, const char *definition)
{
    static const struct source_file file = {.name = "options", .folder = ""};
    const char *equals = strchr(definition, '=');
    struct text line = {0};
    struct token *name;

    if (equals)
        text_print(&line, "%.*s %s", (int)(equals - definition), definition, equals + 1);
    else
        text_print(&line, "%s 1", definition);
    name = lex(line.bytes, line.length, &file, &pp->refusal);
    if (name)
        name->begins_line = false;
    for (const struct token *token = name; token; token = token->next)
        if (token->begins_line)
            refuse(&pp->refusal, "-D with a line break");
    macro_define(pp, name);
}

bool macro_is_defined(struct preprocessor *pp, const struct token *name)
{
    struct macro *macro = macro_find(pp, name);

    if (token_is(name, "__LINE__") || token_is(name, "__FILE__") || token_is(name, "__COUNTER__") ||
        token_is(name, "__DATE__") || token_is(name, "__TIME__"))
        return true;
    if (name->length > 6 && !memcmp(name->text, "__has_", 6))
        refuse(&pp->refusal, "condition on %.*s", (int)name->length, name->text);
    if (!macro) {
        macro = macro_enter(pp, name->text, name->length);
        macro->state = MACRO_ABSENT;
    }
    if (macro->state == MACRO_ABSENT && !macro->noted)
        text_print(&pp->guards, "#ifdef %s\n#error the driver defines %s\n#endif\n", macro->name,
                   macro->name);
    else if ((macro->state == MACRO_VALUE || macro->state == MACRO_OPAQUE) && !macro->noted)
        text_print(&pp->guards, "#ifndef %s\n#error the driver does not define %s\n#endif\n", macro->name,
                   macro->name);
    macro->noted = macro->noted || macro->state == MACRO_ABSENT || macro->state == MACRO_VALUE ||
                   macro->state == MACRO_OPAQUE;
    return macro->state <= MACRO_OPAQUE;
}
