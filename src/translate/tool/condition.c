/* The constant expressions of #if and #elif (C99 6.10.1). */
#include "translate/tool/preprocess.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct condition_value {
    int64_t v;
    bool is_unsigned;
};

struct condition {
    struct preprocessor *pp;
    struct token *at;
    uint32_t line;
    unsigned depth;
    bool dead; /* the value does not matter: the right side of 0 && */
};

static struct condition_value ternary(struct condition *c);

static struct condition_value fail(struct condition *c)
{
    refuse(&c->pp->refusal, "line %u: #if that cannot be evaluated", c->line);
    return (struct condition_value){0};
}

static bool take(struct condition *c, const char *text)
{
    if (!token_is(c->at, text))
        return false;
    c->at = c->at->next;
    return true;
}

static struct condition_value number(struct condition *c)
{
    char *text = text_copy(c->at->text, c->at->length);
    struct condition_value value = {0};
    uint64_t n;
    char *end;

    errno = 0;
    if (text[0] == '0' && tolower((unsigned char)text[1]) == 'b')
        n = strtoull(text + 2, &end, 2);
    else
        n = strtoull(text, &end, 0);
    if (errno)
        return fail(c);
    for (const char *suffix = end; *suffix; suffix++) {
        if (!strchr("uUlL", *suffix))
            return fail(c);
        value.is_unsigned |= *suffix == 'u' || *suffix == 'U';
    }
    value.v = (int64_t)n;
    value.is_unsigned |= n > INT64_MAX;
    c->at = c->at->next;
    return value;
}

static struct condition_value character(struct condition *c)
{
    static const char names[] = "abfnrtv0\\'\"?";
    static const char values[] = "\a\b\f\n\r\t\v\0\\'\"?";
    const struct token *token = c->at;
    const char *escape;

    c->at = c->at->next;
    if (token->length == 3 && token->text[1] != '\\')
        return (struct condition_value){.v = (signed char)token->text[1]};
    if (token->length == 4 && token->text[1] == '\\' && (escape = strchr(names, token->text[2])))
        return (struct condition_value){.v = values[escape - names]};
    return fail(c);
}

static struct condition_value name(struct condition *c)
{
    const struct token *token = c->at;
    const struct macro *macro = macro_find(c->pp, token);

    c->at = c->at->next;
    if (token_is(token, "true"))
        return (struct condition_value){.v = 1};
    if (token_is(token, "defined") || (macro && macro->state == MACRO_OPAQUE))
        return fail(c);
    (void)macro_is_defined(c->pp, token); /* not a macro, so 0: the driver must confirm that */
    return (struct condition_value){.v = 0};
}

static struct condition_value unary(struct condition *c)
{
    struct condition_value value;

    if (!c->at || ++c->depth > 200)
        return fail(c);
    if (take(c, "(")) {
        value = ternary(c);
        if (!take(c, ")"))
            value = fail(c);
    } else if (take(c, "!")) {
        value = unary(c);
        value = (struct condition_value){.v = !value.v};
    } else if (take(c, "-")) {
        value = unary(c);
        value.v = (int64_t)(0 - (uint64_t)value.v);
    } else if (take(c, "+")) {
        value = unary(c);
    } else if (take(c, "~")) {
        value = unary(c);
        value.v = ~value.v;
    } else if (c->at->kind == TOKEN_NUMBER) {
        value = number(c);
    } else if (c->at->kind == TOKEN_CHARACTER) {
        value = character(c);
    } else if (c->at->kind == TOKEN_NAME) {
        value = name(c);
    } else {
        value = fail(c);
    }
    c->depth--;
    return value;
}

static const struct operator_row {
    const char *text;
    int level; /* binds tighter when larger */
} operators[] = {{"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
                 {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
                 {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};

static const struct operator_row *operator_at(const struct condition *c)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (token_is(c->at, operators[i].text))
            return &operators[i];
    return NULL;
}

static struct condition_value divide(struct condition *c, char op, struct condition_value a,
                                     struct condition_value b)
{
    bool is_unsigned = a.is_unsigned || b.is_unsigned;
    uint64_t ua = (uint64_t)a.v;
    uint64_t ub = (uint64_t)b.v;

    if (!b.v || (!is_unsigned && a.v == INT64_MIN && b.v == -1)) {
        if (!c->dead)
            (void)fail(c);
        return (struct condition_value){0};
    }
    if (is_unsigned)
        return (struct condition_value){.v = (int64_t)(op == '/' ? ua / ub : ua % ub), .is_unsigned = true};
    return (struct condition_value){.v = op == '/' ? a.v / b.v : a.v % b.v};
}

static bool less(struct condition_value a, struct condition_value b)
{
    return a.is_unsigned || b.is_unsigned ? (uint64_t)a.v < (uint64_t)b.v : a.v < b.v;
}

static struct condition_value shift(bool left, struct condition_value a, struct condition_value b)
{
    uint64_t n = (uint64_t)b.v & 63;

    if (left)
        a.v = (int64_t)((uint64_t)a.v << n);
    else
        a.v = a.is_unsigned ? (int64_t)((uint64_t)a.v >> n) : a.v >> n;
    return a;
}

static struct condition_value apply(struct condition *c, const char *op, struct condition_value a,
                                    struct condition_value b)
{
    bool both = a.is_unsigned || b.is_unsigned;
    uint64_t ua = (uint64_t)a.v;
    uint64_t ub = (uint64_t)b.v;

    switch (op[0]) {
    case '|':
        if (op[1])
            return (struct condition_value){.v = a.v || b.v};
        return (struct condition_value){.v = a.v | b.v, .is_unsigned = both};
    case '&':
        if (op[1])
            return (struct condition_value){.v = a.v && b.v};
        return (struct condition_value){.v = a.v & b.v, .is_unsigned = both};
    case '^':
        return (struct condition_value){.v = a.v ^ b.v, .is_unsigned = both};
    case '=':
        return (struct condition_value){.v = a.v == b.v};
    case '!':
        return (struct condition_value){.v = a.v != b.v};
    case '<':
        return op[1] == '<' ? shift(true, a, b)
                            : (struct condition_value){.v = op[1] ? !less(b, a) : less(a, b)};
    case '>':
        return op[1] == '>' ? shift(false, a, b)
                            : (struct condition_value){.v = op[1] ? !less(a, b) : less(b, a)};
    case '+':
        return (struct condition_value){.v = (int64_t)(ua + ub), .is_unsigned = both};
    case '-':
        return (struct condition_value){.v = (int64_t)(ua - ub), .is_unsigned = both};
    case '*':
        return (struct condition_value){.v = (int64_t)(ua * ub), .is_unsigned = both};
    default:
        return divide(c, op[0], a, b);
    }
}

static struct condition_value binary(struct condition *c, int level)
{
    struct condition_value left = unary(c);
    const struct operator_row *row;

    while ((row = operator_at(c)) && row->level >= level && !c->pp->refusal.reason[0]) {
        bool was_dead = c->dead;
        struct condition_value right;

        c->at = c->at->next;
        c->dead |= (row->level == 1 && left.v) || (row->level == 2 && !left.v);
        right = binary(c, row->level + 1);
        left = apply(c, row->text, left, right);
        c->dead = was_dead;
    }
    return left;
}

static struct condition_value ternary(struct condition *c)
{
    struct condition_value test = binary(c, 1);
    bool was_dead = c->dead;
    struct condition_value yes;
    struct condition_value no;

    if (!take(c, "?"))
        return test;
    if (++c->depth > 200)
        return fail(c);
    c->dead = was_dead || !test.v;
    yes = ternary(c);
    if (!take(c, ":"))
        return fail(c);
    c->dead = was_dead || test.v;
    no = ternary(c);
    c->dead = was_dead;
    c->depth--;
    yes.is_unsigned = no.is_unsigned = yes.is_unsigned || no.is_unsigned;
    return test.v ? yes : no;
}

/* Turns `defined X` and `defined(X)` into 0 or 1, before any macro is replaced. */
static void decide_defined(struct condition *c)
{
    for (struct token *token = c->at; token; token = token->next) {
        struct token *target = token->next;
        struct token *after;
        bool parenthesis = token_is(target, "(");

        if (!token_is(token, "defined"))
            continue;
        if (parenthesis)
            target = target->next;
        after = target ? target->next : NULL;
        if (!target || target->kind != TOKEN_NAME || (parenthesis && !token_is(after, ")"))) {
            (void)fail(c);
            return;
        }
        token->text = macro_is_defined(c->pp, target) ? "1" : "0";
        token->length = 1;
        token->kind = TOKEN_NUMBER;
        token->next = parenthesis ? after->next : after;
    }
}

bool condition_holds(struct preprocessor *pp, struct token *line, uint32_t at_line)
{
    struct condition c = {.pp = pp, .at = line, .line = at_line};
    struct condition_value value;

    decide_defined(&c);
    c.at = macro_expand_line(pp, c.at);
    if (pp->refusal.reason[0])
        return false;
    value = ternary(&c);
    if (c.at)
        (void)fail(&c);
    return value.v != 0;
}
