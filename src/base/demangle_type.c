#include <string.h>

#include "base/demangle_parser.h"

static const struct {
    const char *code, *text;
} builtins[] = {
    {"v", "void"},
    {"w", "wchar_t"},
    {"b", "bool"},
    {"c", "char"},
    {"a", "signed char"},
    {"h", "unsigned char"},
    {"s", "short"},
    {"t", "unsigned short"},
    {"i", "int"},
    {"j", "unsigned int"},
    {"l", "long"},
    {"m", "unsigned long"},
    {"x", "long long"},
    {"y", "unsigned long long"},
    {"n", "__int128"},
    {"o", "unsigned __int128"},
    {"f", "float"},
    {"d", "double"},
    {"e", "long double"},
    {"g", "__float128"},
    {"z", "..."},
    {"DF16_", "_Float16"},
    {"DF16b", "std::bfloat16_t"},
    {"Dh", "half"},
    {"Dn", "decltype(nullptr)"},
    {"Ds", "char16_t"},
    {"Di", "char32_t"},
    {"Du", "char8_t"},
};

static const struct demangle_type none;

static struct demangle_text literal(const char *text)
{
    return (struct demangle_text){text, strlen(text)};
}

/* A pointer or reference to the type `to`; `mark` is *, & or &&. */
static struct demangle_type point(struct demangle_parser *parser, struct demangle_type to, const char *mark)
{
    struct demangle_type made = {.right = to.right, .is_derived = true};
    size_t n = to.left.n;

    if (mark[0] == '&' && to.kind == DEMANGLE_PLAIN && n && to.left.at[n - 1] == '&') {
        /* A reference to a reference: & wins over &&. */
        bool two = n > 1 && to.left.at[n - 2] == '&';
        to.left.n -= two && !mark[1];
        return to;
    }
    if (to.kind == DEMANGLE_PLAIN) {
        made.left = demangle_print(parser, "%.*s%s", DEMANGLE_TEXT(to.left), mark);
    } else {
        made.left = demangle_print(parser, "%.*s%s(%s", DEMANGLE_TEXT(to.left),
                                   to.kind == DEMANGLE_ARRAY ? " " : "", mark);
        made.right = demangle_print(parser, ")%.*s", DEMANGLE_TEXT(to.right));
    }
    return made;
}

/* Adds a qualifier, unless the type already ends with it, as a template argument may. */
static struct demangle_text add_word(struct demangle_parser *parser, struct demangle_text type, char code)
{
    const char *word = code == 'K' ? " const" : code == 'V' ? " volatile" : " restrict";
    size_t n = strlen(word);

    if (type.n > n && strncmp(type.at + type.n - n, word, n) == 0)
        return type;
    return demangle_print(parser, "%.*s%s", DEMANGLE_TEXT(type), word);
}

/* <qualified-type>: r, V, K in this order, written the other way round. */
static struct demangle_type qualified(struct demangle_parser *parser)
{
    const char *first = parser->at;
    struct demangle_type type;
    size_t n = strspn(first, "rVK");

    parser->at += n;
    type = demangle_type(parser);
    if (type.kind == DEMANGLE_FUNCTION)
        demangle_fail(parser);
    type.is_derived = true;
    while (n > 0 && !parser->failed)
        type.left = add_word(parser, type.left, first[--n]);
    return type;
}

/* <array-type> after its A. */
static struct demangle_type array(struct demangle_parser *parser)
{
    struct demangle_type made = {.kind = DEMANGLE_ARRAY, .is_derived = true};
    struct demangle_type element;
    struct demangle_text length = {parser->at, strspn(parser->at, "0123456789")};

    if (demangle_take(parser, "T"))
        length = demangle_joined(parser, demangle_parameter(parser));
    else
        parser->at += length.n;
    if (!demangle_take(parser, "_"))
        demangle_fail(parser);
    element = demangle_type(parser);
    if (element.kind == DEMANGLE_FUNCTION)
        demangle_fail(parser);
    if (element.kind == DEMANGLE_ARRAY && element.right.n) {
        element.right.at++; /* skip the leading blank */
        element.right.n--;
    }
    made.left = element.left;
    made.right = demangle_print(parser, " [%.*s]%.*s", DEMANGLE_TEXT(length), DEMANGLE_TEXT(element.right));
    return made;
}

/* <function-type> after its F. */
static struct demangle_type function(struct demangle_parser *parser)
{
    struct demangle_type made = {.kind = DEMANGLE_FUNCTION, .is_derived = true};
    struct demangle_type returns;
    struct demangle_text parameters;

    (void)demangle_take(parser, "Y"); /* extern "C" */
    returns = demangle_type(parser);
    if (returns.kind != DEMANGLE_PLAIN)
        demangle_fail(parser);
    parameters = demangle_types(parser);
    if (!demangle_take(parser, "E"))
        demangle_fail(parser);
    made.left = demangle_print(parser, "%.*s%s", DEMANGLE_TEXT(returns.left), returns.right.n ? "" : " ");
    made.right = demangle_print(parser, "%.*s%.*s", DEMANGLE_TEXT(parameters), DEMANGLE_TEXT(returns.right));
    return made;
}

/*
 * Dp <type> after its Dp: a type for each element of the pack that it mentions, read anew for each.
 * The names that may be substituted later are those of one reading.
 */
static struct demangle_type expansion(struct demangle_parser *parser)
{
    const char *pattern = parser->at;
    struct demangle_text all = {"", 0};
    unsigned before = parser->n_substitutions;
    int outer = parser->element;
    int outer_pack = parser->pack;

    parser->pack = -1;
    for (int i = 0; (i == 0 || i < parser->pack) && !parser->failed; i++) {
        struct demangle_text one;

        parser->at = pattern;
        parser->n_substitutions = before;
        parser->element = i;
        one = demangle_joined(parser, demangle_type(parser));
        if (parser->pack < 0)
            demangle_fail(parser);
        if (parser->pack > 0)
            all = demangle_print(parser, "%.*s%s%.*s", DEMANGLE_TEXT(all), all.n ? ", " : "",
                                 DEMANGLE_TEXT(one));
    }
    parser->element = outer;
    parser->pack = outer_pack;
    return demangle_plain(all);
}

/* Types whose codes begin with D and that are no builtin types. */
static struct demangle_type special(struct demangle_parser *parser)
{
    struct demangle_text lanes;
    struct demangle_text one;

    if (demangle_take(parser, "Dp"))
        return expansion(parser);
    if (!demangle_take(parser, "Dv")) {
        demangle_fail(parser);
        return none;
    }
    lanes = (struct demangle_text){parser->at, strspn(parser->at, "0123456789")};
    parser->at += lanes.n;
    if (!lanes.n || !demangle_take(parser, "_"))
        demangle_fail(parser);
    one = demangle_joined(parser, demangle_type(parser));
    return demangle_plain(
        demangle_print(parser, "%.*s __vector(%.*s)", DEMANGLE_TEXT(one), DEMANGLE_TEXT(lanes)));
}

/* What a substitution or a parameter of a template names, with the arguments of a template. */
static struct demangle_type named(struct demangle_parser *parser, bool *ret_known)
{
    struct demangle_type type;
    struct demangle_text text;
    struct demangle_text arguments;
    struct demangle_list unused;
    bool is_parameter = demangle_take(parser, "T");
    bool is_std = false;

    if (!is_parameter && parser->at[0] == 'S' && parser->at[1] != 't') {
        parser->at++;
        type = demangle_substitution(parser, &is_std);
    } else if (is_parameter) {
        type = demangle_parameter(parser);
    } else {
        return demangle_plain(demangle_name(parser).text);
    }
    *ret_known = !is_parameter && *parser->at != 'I';
    if (!demangle_take(parser, "I"))
        return type;
    if (is_parameter)
        demangle_remember(parser, type);
    text = demangle_joined(parser, type);
    arguments = demangle_arguments(parser, &unused);
    return demangle_plain(demangle_print(parser, "%.*s%.*s", DEMANGLE_TEXT(text), DEMANGLE_TEXT(arguments)));
}

/* Any type but a builtin one. *ret_known: it may be substituted already. */
static struct demangle_type compound(struct demangle_parser *parser, bool *ret_known)
{
    switch (*parser->at) {
    case 'r':
    case 'V':
    case 'K':
        return qualified(parser);
    case 'P':
        parser->at++;
        return point(parser, demangle_type(parser), "*");
    case 'R':
        parser->at++;
        return point(parser, demangle_type(parser), "&");
    case 'O':
        parser->at++;
        return point(parser, demangle_type(parser), "&&");
    case 'A':
        parser->at++;
        return array(parser);
    case 'F':
        parser->at++;
        return function(parser);
    case 'D':
        *ret_known = parser->at[1] == 'p';
        return special(parser);
    case 'u':
        parser->at++;
        return demangle_plain(demangle_source_name(parser));
    default:
        return named(parser, ret_known);
    }
}

struct demangle_type demangle_type(struct demangle_parser *parser)
{
    struct demangle_type type;
    bool is_known = false;

    if (!demangle_enter(parser))
        return none;
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++)
        if (demangle_take(parser, builtins[i].code)) {
            demangle_leave(parser);
            return demangle_plain(literal(builtins[i].text));
        }
    type = compound(parser, &is_known);
    if (!is_known)
        demangle_remember(parser, type);
    demangle_leave(parser);
    return parser->failed ? none : type;
}

struct demangle_text demangle_types(struct demangle_parser *parser)
{
    struct demangle_text all = {"(", 1};
    bool any = false;

    if (parser->at[0] == 'v' && (parser->at[1] == 'E' || !parser->at[1])) {
        parser->at++;
        return literal("()");
    }
    if (!*parser->at || *parser->at == 'E')
        demangle_fail(parser);
    while (!parser->failed && *parser->at && *parser->at != 'E') {
        struct demangle_text one = demangle_joined(parser, demangle_type(parser));

        if (!one.n) /* an empty pack */
            continue;
        all = demangle_print(parser, "%.*s%s%.*s", DEMANGLE_TEXT(all), any ? ", " : "", DEMANGLE_TEXT(one));
        any = true;
    }
    return demangle_print(parser, "%.*s)", DEMANGLE_TEXT(all));
}
