#include "base/demangle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle_parser.h"

static const struct demangle_text empty = {"", 0};

/* ---- the reader's tools ---- */

void demangle_fail(struct demangle_parser *parser)
{
    parser->failed = true;
}

bool demangle_enter(struct demangle_parser *parser)
{
    if (!parser->failed && (parser->depth >= DEMANGLE_DEPTH || parser->steps >= DEMANGLE_STEPS))
        parser->failed = true;
    if (parser->failed)
        return false;
    parser->depth++;
    parser->steps++;
    return true;
}

void demangle_leave(struct demangle_parser *parser)
{
    parser->depth--;
}

bool demangle_take(struct demangle_parser *parser, const char *word)
{
    size_t n = strlen(word);

    if (parser->failed || strncmp(parser->at, word, n) != 0)
        return false;
    parser->at += n;
    return true;
}

struct demangle_text demangle_print(struct demangle_parser *parser, const char *format, ...)
{
    char *at = parser->arena + parser->used;
    size_t room = sizeof parser->arena - parser->used;
    va_list list;
    int n;

    va_start(list, format);
    n = parser->failed ? -1 : vsnprintf(at, room, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= room) {
        demangle_fail(parser);
        return empty;
    }
    parser->used += (size_t)n;
    return (struct demangle_text){at, (size_t)n};
}

struct demangle_type demangle_plain(struct demangle_text text)
{
    return (struct demangle_type){.left = text, .right = empty, .kind = DEMANGLE_PLAIN};
}

struct demangle_text demangle_joined(struct demangle_parser *parser, struct demangle_type type)
{
    if (!type.right.n)
        return type.left;
    return demangle_print(parser, "%.*s%.*s", DEMANGLE_TEXT(type.left), DEMANGLE_TEXT(type.right));
}

void demangle_remember(struct demangle_parser *parser, struct demangle_type type)
{
    if (parser->n_substitutions == DEMANGLE_SUBSTITUTIONS)
        demangle_fail(parser);
    else
        parser->substitutions[parser->n_substitutions++] = type;
}

static unsigned digit_of(char letter, unsigned base)
{
    unsigned value = letter >= '0' && letter <= '9'   ? (unsigned)(letter - '0')
                     : letter >= 'A' && letter <= 'Z' ? (unsigned)(letter - 'A') + 10
                                                      : base;

    return value < base ? value : base;
}

unsigned demangle_index(struct demangle_parser *parser, unsigned base)
{
    unsigned value = 0;

    if (demangle_take(parser, "_"))
        return 0;
    if (digit_of(*parser->at, base) == base)
        demangle_fail(parser);
    for (; !parser->failed && digit_of(*parser->at, base) < base && value < 1000000; parser->at++)
        value = value * base + digit_of(*parser->at, base);
    if (!demangle_take(parser, "_"))
        demangle_fail(parser);
    return value + 1;
}

/* ---- arguments of templates ---- */

struct demangle_type demangle_parameter(struct demangle_parser *parser)
{
    unsigned index = demangle_index(parser, 10);
    const struct demangle_argument *argument;

    if (parser->in_lambda)
        return demangle_plain(demangle_print(parser, "auto:%u", index + 1));
    if (parser->failed || index >= parser->list.n) {
        demangle_fail(parser);
        return demangle_plain(empty);
    }
    argument = &parser->arguments[parser->list.first + index];
    if (!argument->is_pack)
        return argument->type;
    if (parser->element < 0) /* a pack is only named where it is expanded */
        demangle_fail(parser);
    parser->pack = (int)argument->n;
    if (parser->failed || (unsigned)parser->element >= argument->n)
        return demangle_plain(empty);
    return parser->arguments[argument->first + (unsigned)parser->element].type;
}

/* A literal's value as C++ has it: 4, 4u, true, or (short)4. */
static struct demangle_text value_of(struct demangle_parser *parser, struct demangle_text type,
                                     struct demangle_text digits, bool negative)
{
    static const struct {
        const char *type, *suffix;
    } integers[] = {{"int", ""},         {"unsigned int", "u"},        {"long", "l"}, {"unsigned long", "ul"},
                    {"long long", "ll"}, {"unsigned long long", "ull"}};
    static const char *const reals[] = {"float", "double", "long double", "__float128", "half", "_Float16"};

    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
        if (strlen(integers[i].type) == type.n && strncmp(integers[i].type, type.at, type.n) == 0)
            return demangle_print(parser, "%s%.*s%s", negative ? "-" : "", DEMANGLE_TEXT(digits),
                                  integers[i].suffix);
    if (type.n == 4 && strncmp(type.at, "bool", 4) == 0 && digits.n == 1 && !negative && *digits.at <= '1')
        return demangle_print(parser, "%s", *digits.at == '1' ? "true" : "false");
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        if (strlen(reals[i]) == type.n && strncmp(reals[i], type.at, type.n) == 0)
            return demangle_print(parser, "(%s)%s[%.*s]", reals[i], negative ? "-" : "",
                                  DEMANGLE_TEXT(digits));
    return demangle_print(parser, "(%.*s)%s%.*s", DEMANGLE_TEXT(type), negative ? "-" : "",
                          DEMANGLE_TEXT(digits));
}

/* <expr-primary> after its L; *ret_function: it names a function with its parameters. */
static struct demangle_text primary(struct demangle_parser *parser, bool *ret_function)
{
    struct demangle_text text;
    struct demangle_text digits;
    bool negative;

    *ret_function = false;
    if (demangle_take(parser, "_Z")) {
        struct demangle_list outer = parser->list;
        struct demangle_encoding encoding = demangle_encoding(parser);

        parser->list = outer;
        text = demangle_print(parser, "%.*s%.*s", DEMANGLE_TEXT(encoding.returns),
                              DEMANGLE_TEXT(encoding.whole));
        *ret_function = encoding.whole.n > encoding.name.n;
    } else {
        text = demangle_joined(parser, demangle_type(parser));
        negative = demangle_take(parser, "n");
        digits = (struct demangle_text){parser->at, strspn(parser->at, "0123456789abcdef")};
        if (!digits.n)
            demangle_fail(parser);
        else
            parser->at += digits.n;
        text = value_of(parser, text, digits, negative);
    }
    if (!demangle_take(parser, "E"))
        demangle_fail(parser);
    return text;
}

/* The expressions that arguments of kernels are: a parameter, a literal, an address. */
static struct demangle_text expression(struct demangle_parser *parser)
{
    struct demangle_text text = empty;
    bool is_function;

    if (demangle_take(parser, "T")) {
        text = demangle_joined(parser, demangle_parameter(parser));
    } else if (demangle_take(parser, "adL")) {
        text = primary(parser, &is_function);
        text = demangle_print(parser, is_function ? "&(%.*s)" : "&%.*s", DEMANGLE_TEXT(text));
    } else if (demangle_take(parser, "L")) {
        text = primary(parser, &is_function);
    } else {
        demangle_fail(parser);
    }
    if (!demangle_take(parser, "E"))
        demangle_fail(parser);
    return text;
}

static void read_arguments(struct demangle_parser *parser, struct demangle_list *ret_list);

static struct demangle_argument argument(struct demangle_parser *parser)
{
    struct demangle_argument made = {.is_pack = false};
    struct demangle_list pack;
    bool is_function;

    made.type = demangle_plain(empty);
    if (demangle_take(parser, "L")) {
        made.type = demangle_plain(primary(parser, &is_function));
    } else if (demangle_take(parser, "X")) {
        made.type = demangle_plain(expression(parser));
    } else if (demangle_take(parser, "J")) {
        read_arguments(parser, &pack);
        made.is_pack = true;
        made.first = pack.first;
        made.n = pack.n;
    } else {
        made.type = demangle_type(parser);
    }
    return made;
}

/* Reads template arguments up to their closing E. */
static void read_arguments(struct demangle_parser *parser, struct demangle_list *ret_list)
{
    struct demangle_argument list[DEMANGLE_LIST];
    unsigned n = 0;

    *ret_list = (struct demangle_list){0, 0};
    if (!demangle_enter(parser))
        return;
    while (!parser->failed && !demangle_take(parser, "E")) {
        if (n == DEMANGLE_LIST)
            demangle_fail(parser);
        else
            list[n++] = argument(parser);
    }
    if (parser->n_arguments + n > DEMANGLE_ARGUMENTS)
        demangle_fail(parser);
    if (!parser->failed) {
        *ret_list = (struct demangle_list){parser->n_arguments, n};
        memcpy(&parser->arguments[parser->n_arguments], list, n * sizeof list[0]);
        parser->n_arguments += n;
    }
    demangle_leave(parser);
}

/* Appends the arguments of the list to the text, with the elements of its packs. */
static struct demangle_text join(struct demangle_parser *parser, struct demangle_list list,
                                 struct demangle_text text)
{
    for (unsigned i = 0; i < list.n && !parser->failed; i++) {
        const struct demangle_argument *argument = &parser->arguments[list.first + i];

        if (argument->is_pack) { /* the elements of a pack precede it in parser::arguments: this ends */
            text = join(parser, (struct demangle_list){argument->first, argument->n}, text);
        } else {
            struct demangle_text one = demangle_joined(parser, argument->type);

            if (one.n)
                text = demangle_print(parser, "%.*s%s%.*s", DEMANGLE_TEXT(text), text.n > 1 ? ", " : "",
                                      DEMANGLE_TEXT(one));
        }
    }
    return text;
}

struct demangle_text demangle_arguments(struct demangle_parser *parser, struct demangle_list *ret_list)
{
    struct demangle_text text;

    read_arguments(parser, ret_list);
    text = join(parser, *ret_list, (struct demangle_text){"<", 1});
    return demangle_print(parser, "%.*s%s>", DEMANGLE_TEXT(text),
                          text.n && text.at[text.n - 1] == '>' ? " " : "");
}

/* ---- the two forms ---- */

static bool is_mangled(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";

    return strncmp(name, "_Z", 2) == 0 && name[strspn(name, letters)] == '\0';
}

/* NULL: not mangled, or no memory. */
static struct demangle_parser *parser_new(const char *name)
{
    struct demangle_parser *parser = is_mangled(name) ? calloc(1, sizeof *parser) : NULL;

    if (parser) {
        parser->at = name + 2;
        parser->element = -1;
        parser->known = empty;
    }
    return parser;
}

int demangle_declaration(const char *name, char *ret_text, size_t size)
{
    struct demangle_parser *parser = parser_new(name);
    struct demangle_encoding encoding;
    int result = -EINVAL;

    if (!parser)
        return is_mangled(name) ? -ENOMEM : -EINVAL;
    encoding = demangle_encoding(parser);
    if (!parser->failed && !*parser->at) {
        result = encoding.returns.n + encoding.whole.n < size ? 0 : -ENAMETOOLONG;
        if (!result)
            (void)snprintf(ret_text, size, "%.*s%.*s", DEMANGLE_TEXT(encoding.returns),
                           DEMANGLE_TEXT(encoding.whole));
    }
    free(parser);
    return result;
}

void demangle_kernel(const char *name, char *ret_text, size_t size)
{
    struct demangle_parser *parser = parser_new(name);
    struct demangle_text text = empty;
    bool whole = false;

    if (parser) {
        (void)demangle_encoding(parser);
        text = parser->known;
        whole = parser->known_whole && text.n < size;
    }
    if (text.n && !whole) { /* the name without its template arguments */
        const char *bracket = memchr(text.at, '<', text.n);

        text.n = parser->known_whole && bracket ? (size_t)(bracket - text.at) : text.n;
    }
    if (text.n && text.n + (whole ? 0 : strlen("<...>")) < size)
        (void)snprintf(ret_text, size, "%.*s%s", DEMANGLE_TEXT(text), whole ? "" : "<...>");
    else
        (void)snprintf(ret_text, size, "%s", name);
    free(parser);
}
