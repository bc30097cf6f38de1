#include <string.h>

#include "base/demangle_parser.h"

static const struct demangle_text empty = {"", 0};

struct demangle_text demangle_source_name(struct demangle_parser *parser)
{
    struct demangle_text text = empty;
    size_t n = 0;

    while (*parser->at >= '0' && *parser->at <= '9' && n < 100000)
        n = n * 10 + (size_t)(*parser->at++ - '0');
    if (!n || strnlen(parser->at, n) < n) {
        demangle_fail(parser);
        return empty;
    }
    text = (struct demangle_text){parser->at, n};
    parser->at += n;
    if (n >= 10 && strncmp(text.at, "_GLOBAL_", 8) == 0 && strchr("._$", text.at[8]) && text.at[9] == 'N')
        return (struct demangle_text){"(anonymous namespace)", strlen("(anonymous namespace)")};
    while (demangle_take(parser, "B")) {
        struct demangle_text tag = demangle_source_name(parser);
        text = demangle_print(parser, "%.*s[abi:%.*s]", DEMANGLE_TEXT(text), DEMANGLE_TEXT(tag));
    }
    return text;
}

/* A lambda, `Ul <types> E [number] _`, after its Ul. */
static struct demangle_text lambda(struct demangle_parser *parser)
{
    bool outer = parser->in_lambda;
    struct demangle_text parameters;

    parser->in_lambda = true;
    parameters = demangle_types(parser);
    parser->in_lambda = outer;
    if (!demangle_take(parser, "E"))
        demangle_fail(parser);
    return demangle_print(parser, "{lambda%.*s#%u}", DEMANGLE_TEXT(parameters),
                          demangle_index(parser, 10) + 1);
}

/* <unqualified-name> */
static struct demangle_text unqualified(struct demangle_parser *parser)
{
    (void)demangle_take(parser, "L"); /* static */
    if (demangle_take(parser, "Ul"))
        return lambda(parser);
    if (demangle_take(parser, "Ut"))
        return demangle_print(parser, "{unnamed type#%u}", demangle_index(parser, 10) + 1);
    return demangle_source_name(parser);
}

struct demangle_type demangle_substitution(struct demangle_parser *parser, bool *ret_std)
{
    static const struct {
        char letter;
        const char *text;
    } known[] = {
        {'a', "std::allocator"},
        {'b', "std::basic_string"},
        {'s', "std::basic_string<char, std::char_traits<char>, std::allocator<char> >"},
        {'i', "std::basic_istream<char, std::char_traits<char> >"},
        {'o', "std::basic_ostream<char, std::char_traits<char> >"},
        {'d', "std::basic_iostream<char, std::char_traits<char> >"},
        {'t', "std"},
    };
    unsigned index;

    *ret_std = *parser->at == 't';
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (*parser->at == known[i].letter) {
            parser->at++;
            return demangle_plain((struct demangle_text){known[i].text, strlen(known[i].text)});
        }
    index = demangle_index(parser, 36);
    if (index >= parser->n_substitutions)
        demangle_fail(parser);
    return parser->failed ? demangle_plain(empty) : parser->substitutions[index];
}

/* The template arguments of a name. A function's parameters may refer to those of its own name. */
static struct demangle_text arguments_of(struct demangle_parser *parser, struct demangle_text of)
{
    struct demangle_list list;
    struct demangle_text arguments;
    bool in_name = parser->in_name;

    if (in_name && parser->encodings == 1)
        parser->known = of;
    parser->in_name = false;
    arguments = demangle_arguments(parser, &list);
    parser->in_name = in_name;
    if (in_name && !parser->failed)
        parser->list = list;
    return demangle_print(parser, "%.*s%.*s", DEMANGLE_TEXT(of), DEMANGLE_TEXT(arguments));
}

/* The first component of a nested name, if it is something that was named before. */
static bool named_before(struct demangle_parser *parser, struct demangle_text *ret_text, bool *ret_known)
{
    struct demangle_type type;
    bool is_std;

    *ret_known = demangle_take(parser, "S");
    if (*ret_known)
        type = demangle_substitution(parser, &is_std);
    else if (demangle_take(parser, "T"))
        type = demangle_parameter(parser);
    else
        return false;
    if (type.is_derived)
        demangle_fail(parser);
    *ret_text = demangle_joined(parser, type);
    return true;
}

/* One component of a nested name, added to what is before it. *ret_known: it may be substituted. */
static struct demangle_text component(struct demangle_parser *parser, struct demangle_text before,
                                      struct demangle_name *name, bool *ret_known)
{
    struct demangle_text text;

    *ret_known = false;
    name->is_template = demangle_take(parser, "I");
    if (name->is_template)
        return arguments_of(parser, before);
    if (!before.n && named_before(parser, &text, ret_known))
        return text;
    text = unqualified(parser);
    return before.n ? demangle_print(parser, "%.*s::%.*s", DEMANGLE_TEXT(before), DEMANGLE_TEXT(text)) : text;
}

/* <nested-name> after its N. */
static struct demangle_name nested(struct demangle_parser *parser)
{
    struct demangle_name name = {.text = empty};

    name.is_const = demangle_take(parser, "K");
    while (!parser->failed && !demangle_take(parser, "E")) {
        bool is_known;

        if (*parser->at == 'I' && (!name.text.n || name.is_template))
            demangle_fail(parser);
        name.text = component(parser, name.text, &name, &is_known);
        if (!is_known && *parser->at != 'E')
            demangle_remember(parser, demangle_plain(name.text));
    }
    if (!name.text.n)
        demangle_fail(parser);
    return name;
}

/* <local-name> after its Z: something within a function. */
static struct demangle_name local(struct demangle_parser *parser)
{
    struct demangle_list outer = parser->list;
    struct demangle_encoding function;
    struct demangle_name name;

    function = demangle_encoding(parser);
    parser->list = outer;
    if (!demangle_take(parser, "E") || *parser->at == 's' || *parser->at == 'd')
        demangle_fail(parser);
    name = demangle_name(parser);
    if (parser->at[0] == '_' && parser->at[1] >= '0' && parser->at[1] <= '9')
        parser->at += 2; /* a number that tells apart several of that name */
    name.text = demangle_print(parser, "%.*s::%.*s", DEMANGLE_TEXT(function.whole), DEMANGLE_TEXT(name.text));
    return name;
}

struct demangle_name demangle_name(struct demangle_parser *parser)
{
    struct demangle_name name = {.text = empty};
    bool is_std = false;
    bool is_known = false;

    if (!demangle_enter(parser))
        return name;
    if (demangle_take(parser, "N")) {
        name = nested(parser);
    } else if (demangle_take(parser, "Z")) {
        name = local(parser);
    } else {
        if (parser->at[0] == 'S' && parser->at[1] != 't') {
            parser->at++;
            is_known = true; /* a template, whose arguments follow */
            name.text = demangle_joined(parser, demangle_substitution(parser, &is_std));
        } else {
            is_std = demangle_take(parser, "St");
            name.text = unqualified(parser);
            if (is_std)
                name.text = demangle_print(parser, "std::%.*s", DEMANGLE_TEXT(name.text));
        }
        if (demangle_take(parser, "I")) {
            if (!is_known)
                demangle_remember(parser, demangle_plain(name.text));
            name.is_template = true;
            name.text = arguments_of(parser, name.text);
        } else if (is_known) {
            demangle_fail(parser);
        }
    }
    demangle_leave(parser);
    return name;
}

/*
 * Reads the parameters of a function, and its return type first if it is a template. Stops at the
 * end or at an E.
 */
static void read_signature(struct demangle_parser *parser, const struct demangle_name *name,
                           struct demangle_encoding *encoding)
{
    struct demangle_type returns = demangle_plain(empty);
    struct demangle_text parameters;

    if (name->is_template) {
        returns = demangle_type(parser);
        encoding->returns = demangle_print(parser, "%.*s%s", DEMANGLE_TEXT(returns.left),
                                           returns.kind == DEMANGLE_PLAIN && !returns.right.n ? " " : "");
    }
    parameters = demangle_types(parser);
    encoding->whole =
        demangle_print(parser, "%.*s%.*s%.*s%s", DEMANGLE_TEXT(name->text), DEMANGLE_TEXT(parameters),
                       DEMANGLE_TEXT(returns.right), name->is_const ? " const" : "");
}

struct demangle_encoding demangle_encoding(struct demangle_parser *parser)
{
    struct demangle_encoding encoding = {.returns = empty, .name = empty, .whole = empty};
    bool in_name = parser->in_name;
    struct demangle_name name;

    if (!demangle_enter(parser))
        return encoding;
    parser->encodings++;
    parser->in_name = true;
    name = demangle_name(parser);
    parser->in_name = false;
    encoding.name = encoding.whole = name.text;
    if (parser->encodings == 1 && !parser->failed) {
        parser->known = name.text;
        parser->known_whole = true;
    }
    if (*parser->at && *parser->at != 'E')
        read_signature(parser, &name, &encoding);
    parser->in_name = in_name;
    parser->encodings--;
    demangle_leave(parser);
    return encoding;
}
