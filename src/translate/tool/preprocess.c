/* Directives, included files, and the resulting text. */
#include "translate/tool/preprocess.h"
#include "translate/hash.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FILE = 16 << 20, DEEPEST_INCLUDE = 60, DEEPEST_IF = 1000 };

/* One open #if. */
struct group {
    bool outside; /* the text around it is kept */
    bool taken;   /* one of its groups has been kept */
    bool keep;
    bool had_else;
};

/* Would the two tokens, joined, become another token? */
static bool would_merge(const struct token *left, const struct token *right)
{
    bool prefix = left->kind == TOKEN_NAME && (right->kind == TOKEN_STRING || right->kind == TOKEN_CHARACTER);
    bool words =
        (left->kind == TOKEN_NAME || left->kind == TOKEN_NUMBER) &&
        (right->kind == TOKEN_NAME || right->kind == TOKEN_NUMBER || right->kind == TOKEN_PUNCTUATOR);
    bool signs =
        left->kind == TOKEN_PUNCTUATOR && (right->kind == TOKEN_PUNCTUATOR || right->kind == TOKEN_NUMBER);

    return (words && (right->kind != TOKEN_PUNCTUATOR || left->kind == TOKEN_NUMBER)) || signs || prefix;
}

static void go_to_line(struct preprocessor *pp, uint32_t line)
{
    if (pp->last)
        text_add(&pp->out, "\n", 1);
    pp->line += pp->last != NULL;
    if (line < pp->line || line > pp->line + 8) {
        text_print(&pp->out, "#line %u\n", line);
        pp->line = line;
    }
    for (; pp->line < line; pp->line++)
        text_add(&pp->out, "\n", 1);
    pp->last = NULL;
}

static void write_token(struct preprocessor *pp, const struct token *token)
{
    size_t blanks = token->blanks;

    if (token->begins_line || !pp->last)
        go_to_line(pp, token->line);
    else if (!blanks && (pp->last->made || token->made || pp->last->next != token) &&
             would_merge(pp->last, token))
        blanks = 1;
    for (; blanks; blanks--)
        text_add(&pp->out, " ", 1);
    text_add(&pp->out, token->text, token->length);
    pp->last = token;
}

/* Passes a directive unchanged to the compiler, on its own line. */
static void write_line(struct preprocessor *pp, const char *directive, const struct token *tokens,
                       uint32_t line)
{
    go_to_line(pp, line);
    text_print(&pp->out, "#%s", directive);
    for (; tokens; tokens = tokens->next)
        text_print(&pp->out, "%s%.*s", tokens->blanks ? " " : "", (int)tokens->length, tokens->text);
    text_add(&pp->out, "\n", 1);
    pp->line++;
    pp->last = NULL;
}

static bool keeping(const struct preprocessor *pp)
{
    return !pp->n_groups || (pp->groups[pp->n_groups - 1].keep && pp->groups[pp->n_groups - 1].outside);
}

static void open_group(struct preprocessor *pp, bool holds)
{
    if (pp->n_groups == DEEPEST_IF) {
        refuse(&pp->refusal, "#if nested too deeply");
        return;
    }
    pp->groups[pp->n_groups] = (struct group){.outside = keeping(pp), .taken = holds, .keep = holds};
    pp->n_groups++;
}

/* #if, #ifdef, #ifndef, #elif, #else, #endif; false for any other. */
static bool conditional(struct preprocessor *pp, const struct token *name, struct token *line)
{
    struct group *group = pp->n_groups ? &pp->groups[pp->n_groups - 1] : NULL;

    if (token_is(name, "if")) {
        open_group(pp, keeping(pp) && condition_holds(pp, line, name->line));
    } else if (token_is(name, "ifdef") || token_is(name, "ifndef")) {
        if (keeping(pp) && (!line || line->kind != TOKEN_NAME))
            refuse(&pp->refusal, "line %u: #%.*s without a name", name->line, (int)name->length, name->text);
        else
            open_group(pp, keeping(pp) && macro_is_defined(pp, line) == token_is(name, "ifdef"));
    } else if (token_is(name, "elif") || token_is(name, "else")) {
        bool is_else = token_is(name, "else");

        if (!group || group->had_else) {
            refuse(&pp->refusal, "line %u: #%.*s without #if", name->line, (int)name->length, name->text);
            return true;
        }
        group->keep = group->outside && !group->taken && (is_else || condition_holds(pp, line, name->line));
        group->taken |= group->keep;
        group->had_else = is_else;
    } else if (token_is(name, "endif")) {
        if (!group)
            refuse(&pp->refusal, "line %u: #endif without #if", name->line);
        else
            pp->n_groups--;
    } else {
        return false;
    }
    return true;
}

static void note_file(struct preprocessor *pp, const char *path, const char *text, size_t length)
{
    char digest[HASH_TEXT];

    if (text)
        hash_text(text, length, digest);
    text_print(&pp->dependencies, "%s %s\n", text ? digest : "-", path);
    if (strchr(path, '\n'))
        refuse(&pp->refusal, "#include of a path with a line break");
}

static bool included_once(const struct preprocessor *pp, const char *path)
{
    struct text line = {0};

    text_print(&line, "\n%s\n", path);
    return pp->once.bytes && strstr(pp->once.bytes, line.bytes);
}

/*
 * Some drivers search the working folder before all others, some never (base/driver_quirks.def):
 * both must find this text.
 */
static void check_here(struct preprocessor *pp, const char *name, const char *text, size_t length)
{
    size_t n;
    char *here;
    int r = name[0] == '/' ? -ENOENT : file_read(name, LARGEST_FILE, &here, &n);

    if (name[0] != '/')
        note_file(pp, name, r < 0 ? NULL : here, n);
    if (r < 0)
        return;
    if (n != length || memcmp(here, text, n) != 0)
        refuse(&pp->refusal, "included file is also in the working folder: %.80s", name);
    free(here);
}

/*
 * Looks for folder/name. A missing file is recorded too, because a later file of that name would be
 * found first.
 */
static struct token *try_file(struct preprocessor *pp, const char *folder, const char *name,
                              const struct token *where, bool searched)
{
    struct source_file *file = text_alloc(1, sizeof *file);
    struct text path = {0};
    const char *slash;
    char *text;
    size_t length;
    int r;

    text_print(&path, "%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' || !folder[0] ? "" : "/", name);
    r = file_read(path.bytes, LARGEST_FILE, &text, &length);
    note_file(pp, path.bytes, r < 0 ? NULL : text, length);
    if (r < 0) {
        if (r != -ENOENT && r != -ENOTDIR)
            refuse(&pp->refusal, "cannot read an included file: %s", strerror(-r));
        return NULL;
    }
    if (searched)
        check_here(pp, name, text, length);
    if (included_once(pp, path.bytes))
        return NULL;
    slash = strrchr(path.bytes, '/');
    file->name = path.bytes;
    file->folder = slash ? text_copy(path.bytes, (size_t)(slash - path.bytes)) : "";
    file->depth = where->file->depth + 1;
    return lex(text, length, file, &pp->refusal);
}

/* The tokens of the included file; NULL also if it is empty. */
static struct token *find_include(struct preprocessor *pp, const struct token *where, const char *name,
                                  bool quoted)
{
    struct source_file *file = text_alloc(1, sizeof *file);
    struct token *tokens = NULL;

    for (size_t i = 0; i < pp->n_headers; i++)
        if (!strcmp(pp->headers[i].name, name)) {
            *file = (struct source_file){.name = name, .folder = "", .depth = where->file->depth + 1};
            check_here(pp, name, pp->headers[i].text, pp->headers[i].length);
            return lex(pp->headers[i].text, pp->headers[i].length, file, &pp->refusal);
        }
    for (size_t i = 0; i <= pp->n_folders && !pp->refusal.reason[0]; i++) {
        size_t looked = pp->dependencies.length;

        if (!i && name[0] != '/' &&
            (!quoted || !where->file->folder[0])) /* a path from the root needs no folder */
            continue;
        tokens = try_file(pp, i ? pp->folders[i - 1] : where->file->folder, name, where, i > 0);
        if (tokens || (pp->dependencies.length > looked && pp->dependencies.bytes[looked] != '-'))
            return tokens;
    }
    refuse(&pp->refusal, "included file not found: %.80s", name);
    return NULL;
}

static struct token *include(struct preprocessor *pp, const struct token *where, struct token *line)
{
    struct text name = {0};
    bool quoted;

    if (line && line->kind == TOKEN_NAME)
        line = macro_expand_line(pp, line);
    quoted = line && line->kind == TOKEN_STRING;
    if (quoted) {
        text_add(&name, line->text + 1, line->length - 2);
        line = line->next;
    } else if (line && token_is(line, "<")) {
        for (line = line->next; line && !token_is(line, ">"); line = line->next)
            text_print(&name, "%s%.*s", line->blanks ? " " : "", (int)line->length, line->text);
        line = line ? line->next : NULL;
    }
    if (!name.length || line || where->file->depth >= DEEPEST_INCLUDE) {
        refuse(&pp->refusal, "line %u: #include", where->line);
        return NULL;
    }
    return find_include(pp, where, name.bytes, quoted);
}

static void undefine(struct preprocessor *pp, const struct token *line, uint32_t at)
{
    struct macro *macro;

    if (!line || line->kind != TOKEN_NAME) {
        refuse(&pp->refusal, "line %u: #undef without a name", at);
        return;
    }
    macro = macro_enter(pp, line->text, line->length);
    macro->state = MACRO_UNDEFINED;
    write_line(pp, "undef ", line, at); /* it may be a macro of the driver */
}

/*
 * Pragmas are passed to the compiler. The tokens after OPENCL and unroll may be macros, as in
 * clang.
 */
static void pragma(struct preprocessor *pp, struct token *line, const struct token *where)
{
    if (token_is(line, "once")) {
        if (where->file->depth)
            text_print(&pp->once, "\n%s\n", where->file->name);
        return;
    }
    if (token_is(line, "push_macro") || token_is(line, "pop_macro") || token_is(line, "include_alias")) {
        refuse(&pp->refusal, "#pragma %.*s", (int)line->length, line->text);
        return;
    }
    if (line && token_is(line, "unroll"))
        line->next = macro_expand_line(pp, line->next);
    write_line(pp, "pragma", line, where->line);
}

/*
 * Handles the directive at `hash`, among the arguments of macro `within` if given. Answers the
 * token to read next.
 */
static struct token *directive(struct preprocessor *pp, struct token *hash, const struct macro *within)
{
    struct token *name = hash->next;
    struct token **end = &hash->next;
    struct token *line;
    struct token *rest;

    while (*end && !(*end)->begins_line)
        end = &(*end)->next;
    rest = *end;
    *end = NULL;
    if (name == rest)
        return rest; /* a # alone */
    line = name->next;
    if (conditional(pp, name, line) || !keeping(pp))
        return rest;
    if (within) {
        refuse(&pp->refusal, "line %u: directive within the arguments of macro %s", hash->line, within->name);
    } else if (token_is(name, "define")) {
        macro_define(pp, line);
    } else if (token_is(name, "undef")) {
        undefine(pp, line, hash->line);
    } else if (token_is(name, "include")) {
        struct token *first = include(pp, hash, line);
        struct token **link = &first;

        while (*link)
            link = &(*link)->next;
        *link = rest;
        return first;
    } else if (token_is(name, "pragma")) {
        pragma(pp, line, hash);
    } else if (token_is(name, "error")) {
        refuse(&pp->refusal, "line %u: #error", hash->line);
    } else if (token_is(name, "line") || name->kind == TOKEN_NUMBER) {
        pp->renumbered = true; /* only __LINE__ and messages depend on it */
    } else if (!token_is(name, "warning") && !token_is(name, "ident")) {
        refuse(&pp->refusal, "line %u: unknown directive", hash->line);
    }
    return rest;
}

struct token *preprocess_next(struct preprocessor *pp, struct token *at, const struct macro *within)
{
    /* tokens made by macros are text and are kept */
    while (at && !pp->refusal.reason[0] && !at->made) {
        if (at->begins_line && token_is(at, "#"))
            at = directive(pp, at, within);
        else if (keeping(pp))
            break;
        else
            at = at->next;
    }
    return pp->refusal.reason[0] ? NULL : at;
}

void preprocess(struct preprocessor *pp, const char *text, size_t length)
{
    static const struct source_file program = {.name = "program", .folder = ""};
    struct token *token = lex(text, length, &program, &pp->refusal);

    pp->groups = text_alloc(DEEPEST_IF, sizeof *pp->groups);
    pp->line = 1;
    while ((token = preprocess_next(pp, token, NULL))) {
        if (macro_expand(pp, &token))
            continue;
        if (token_is(token, "_Pragma") || token_is(token, "__pragma"))
            refuse(&pp->refusal, "line %u: _Pragma", token->line);
        for (uint32_t i = 0; token->kind == TOKEN_NAME && i < token->length; i++)
            if ((unsigned char)token->text[i] > 0x7e)
                refuse(&pp->refusal, "line %u: a name beyond ASCII", token->line);
        write_token(pp, token);
        token = token->next;
    }
    if (pp->n_groups)
        refuse(&pp->refusal, "#if without #endif");
    if (pp->last)
        text_add(&pp->out, "\n", 1);
    text_add(&pp->out, "", 0);
}
