#include "translate/tool/analyse_index.h"
#include "translate/tool/analyse.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 };

static bool is_op(const struct syntax_node *node, const char *op)
{
    return (node->kind == NODE_BINARY || node->kind == NODE_UNARY) && !strcmp(node->op, op);
}

/* The node gives the symbol another value, or allows other code to do so. */
static bool changes(struct syntax_node *node, const struct symbol *symbol)
{
    bool may = syntax_is_assignment(node) ||
               (node->kind == NODE_UNARY && (!node->op[0] || !strcmp(node->op, "++") ||
                                             !strcmp(node->op, "--") || !strcmp(node->op, "&")));

    struct syntax_node *target = may ? syntax_strip(node->children) : NULL;

    if (target && symbol->type.pointer) /* p[i] = x changes what p points at */
        return target->kind == NODE_NAME && target->symbol == symbol;
    return target && analyse_root(target) == symbol;
}

static struct syntax_node *inside_loop(const struct syntax_node *node)
{
    struct syntax_node *parent = node->parent;

    while (parent && parent->kind != NODE_LOOP)
        parent = parent->parent;
    return parent;
}

/* The value with which a variable is declared; NULL: none. */
static struct syntax_node *first_value(const struct symbol *symbol)
{
    struct syntax_node *value = NULL;

    for (struct syntax_node *child = symbol->initial->children; child; child = child->next)
        value = child;
    return value;
}

struct syntax_node *index_only_value(const struct index_text *text, const struct symbol *symbol)
{
    struct syntax_node *value;

    if (symbol->kind != SYMBOL_VARIABLE || !symbol->initial)
        return NULL;
    value = first_value(symbol);
    for (struct syntax_node *node = text->body; node; node = syntax_next(node, text->body)) {
        if (!changes(node, symbol))
            continue;
        if (value || !is_op(node, "=") || inside_loop(node) ||
            syntax_strip(node->children)->kind != NODE_NAME)
            return NULL;
        value = node->children->next;
    }
    return value;
}

bool index_never_changes(const struct index_text *text, const struct symbol *symbol)
{
    for (struct syntax_node *node = text->body; node; node = syntax_next(node, text->body))
        if (changes(node, symbol))
            return false;
    return true;
}

/* The `for` whose head counts the variable, if only that head changes it; NULL: none. */
static struct syntax_node *counts(const struct index_text *text, const struct symbol *symbol)
{
    struct syntax_node *loop =
        symbol->kind == SYMBOL_VARIABLE && symbol->initial ? inside_loop(symbol->initial) : NULL;
    struct loop_parts parts;

    if (!loop || loop->op[0] != 'f')
        return NULL;
    parts = analyse_parts(text->syntax, loop);
    if (!parts.condition || !parts.advance || (parts.body && syntax_inside(symbol->initial, parts.body)))
        return NULL;
    for (struct syntax_node *node = text->body; node; node = syntax_next(node, text->body))
        if (changes(node, symbol) && !syntax_inside(node, parts.advance))
            return NULL;
    return loop;
}

/* An integer of 32 or 64 bits inside casts to such types, which keep an index's value. */
static struct syntax_node *plain(struct syntax_node *node)
{
    struct syntax_node *inner = syntax_strip(node);

    for (; node && node != inner; node = node->children)
        if (node->type.spelling && !analyse_holds_ids(&node->type))
            return NULL;
    return inner && (inner->kind == NODE_LITERAL || analyse_holds_ids(&inner->type)) ? inner : NULL;
}

/* The expression itself, with variables replaced by their only value. */
static struct syntax_node *resolve(const struct index_text *text, struct syntax_node *node)
{
    for (int depth = 0; depth < DEEPEST; depth++) {
        struct syntax_node *value;

        node = plain(node);
        if (!node || node->kind != NODE_NAME || !node->symbol)
            return node;
        value = index_only_value(text, node->symbol);
        if (!value)
            return node;
        node = value;
    }
    return NULL;
}

/* --- reading an index --- */

static bool read_at(const struct index_text *text, struct syntax_node *node, int depth, struct sum *ret_sum);

/* An integer literal, perhaps with a suffix. */
static bool read_literal(const struct index_text *text, const struct syntax_node *node, int64_t *ret_number)
{
    char digits[24] = "";
    char *end;

    if (node->kind != NODE_LITERAL || node->end - node->begin >= sizeof digits)
        return false;
    memcpy(digits, text->syntax->text + node->begin, node->end - node->begin);
    *ret_number = (int64_t)strtoull(digits, &end, 0);
    return end != digits && !end[strspn(end, "uUlL")] && *ret_number >= 0 && *ret_number <= INT32_MAX;
}

static bool read_product(const struct index_text *text, struct syntax_node *node, int depth,
                         struct reach_product *ret_product)
{
    struct sum sum;

    return read_at(text, node, depth, &sum) && sum_as_product(&sum, ret_product);
}

static bool read_call(const struct index_text *text, struct syntax_node *call, struct sum *ret_sum)
{
    static const struct {
        const char *name;
        bool is_factor;
        int kind;
    } known[] = {
        {"get_global_id", false, REACH_GLOBAL_ID},    {"get_group_id", false, REACH_GROUP_ID},
        {"get_local_id", false, REACH_LOCAL_ID},      {"get_global_linear_id", false, REACH_LINEAR_ID},
        {"get_global_size", true, REACH_GLOBAL_SIZE}, {"get_local_size", true, REACH_LOCAL_SIZE},
        {"get_num_groups", true, REACH_GROUPS}};
    const struct symbol *callee = syntax_callee(call);
    const struct reach_product none = {0};
    struct syntax_node *argument = syntax_argument(call, 0);
    struct sum sum = {.n = 1, .terms = {{.number = 1}}};
    int64_t dim = 0;

    argument = argument ? syntax_strip(argument) : NULL;
    if (!callee || callee->kind != SYMBOL_BUILTIN || (argument && !read_literal(text, argument, &dim)) ||
        dim > 2)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, callee->name) != 0)
            continue;
        *ret_sum = sum_of_digit((enum reach_kind)known[i].kind, (uint8_t)dim, &none);
        if (known[i].is_factor) {
            (void)sum_add_factor(&sum.terms[0], (struct reach_factor){(uint8_t)known[i].kind, (uint16_t)dim});
            *ret_sum = sum;
        }
        return true;
    }
    return false;
}

/* How much the counter grows in each round of its loop. */
static bool read_step(const struct index_text *text, struct syntax_node *step, int depth,
                      struct reach_product *ret_step)
{
    if (is_op(step, "++")) {
        *ret_step = (struct reach_product){.number = 1};
        return true;
    }
    return step->kind == NODE_COMPOUND_ASSIGN && !strcmp(step->op, "+=") &&
           read_product(text, step->children->next, depth, ret_step);
}

/*
 * A counter that begins at 0 or more and stays below a product, or a counter that begins anywhere
 * and grows by a product.
 */
static bool read_counter(const struct index_text *text, const struct symbol *symbol, int depth,
                         struct sum *ret_sum)
{
    struct syntax_node *loop = counts(text, symbol);
    struct syntax_node *test = loop ? syntax_strip(analyse_parts(text->syntax, loop).condition) : NULL;
    struct syntax_node *step = loop ? syntax_strip(analyse_parts(text->syntax, loop).advance) : NULL;
    struct reach_product grows, room = {0};
    struct sum from, more;
    struct term *first = &from.terms[0];

    if (!loop || !first_value(symbol) || !read_at(text, first_value(symbol), depth, &from) ||
        !read_step(text, step, depth, &grows))
        return false;
    if (is_op(test, "<") && plain(test->children) && plain(test->children)->symbol == symbol &&
        (from.n == 0 || (from.n == 1 && first->n == 0 && first->number > 0 &&
                         (!first->has_digit || first->digit.kind == REACH_LOCAL_ID))) &&
        read_product(text, test->children->next, depth, &room)) {
        *ret_sum = sum_of_digit(REACH_COUNTED, 0, &room);
        return true;
    }
    more = sum_of_digit(REACH_ENDLESS, 0, &room);
    more.terms[0].number = grows.number;
    more.terms[0].n = grows.n;
    memcpy(more.terms[0].factors, grows.factors, sizeof grows.factors);
    *ret_sum = from;
    return sum_add(ret_sum, &more, 1);
}

static bool read_name(const struct index_text *text, const struct symbol *symbol, int depth,
                      struct sum *ret_sum)
{
    struct sum sum = {.n = 1, .terms = {{.number = 1}}};

    if (!symbol || symbol->type.pointer)
        return false;
    if (symbol->kind != SYMBOL_PARAM)
        return read_counter(text, symbol, depth, ret_sum);
    if (!index_never_changes(text, symbol) || symbol->index > UINT16_MAX ||
        !sum_add_factor(&sum.terms[0], (struct reach_factor){REACH_ARGUMENT, (uint16_t)symbol->index}))
        return false;
    *ret_sum = sum;
    return true;
}

/* The id of one dimension, without a change. */
static bool is_global_id(const struct sum *sum)
{
    const struct term *term = &sum->terms[0];

    return sum->n == 1 && term->number == 1 && term->n == 0 && term->has_digit &&
           term->digit.kind == REACH_GLOBAL_ID;
}

/*
 * id / n and id % n are digits of the id. The rest of another division, and lower bits, are values
 * below a limit.
 */
static bool read_division(const struct index_text *text, struct syntax_node *node, int depth,
                          struct sum *ret_sum)
{
    struct reach_product room = {.number = 1};
    struct sum left;
    int64_t mask;

    if (is_op(node, "&")) {
        struct syntax_node *right = resolve(text, node->children->next);

        if (!right || !read_literal(text, right, &mask) || mask == INT32_MAX)
            return false;
        room.number += (uint32_t)mask;
        *ret_sum = sum_of_digit(REACH_COUNTED, 0, &room);
        return true;
    }
    if (!read_product(text, node->children->next, depth, &room))
        return false;
    if (read_at(text, node->children, depth, &left) && is_global_id(&left)) {
        *ret_sum =
            sum_of_digit(is_op(node, "/") ? REACH_QUOTIENT : REACH_REST, left.terms[0].digit.dim, &room);
        return true;
    }
    *ret_sum = sum_of_digit(REACH_COUNTED, 0, &room);
    return is_op(node, "%") && strstr(node->type.spelling, "unsigned");
}

static bool read_binary(const struct index_text *text, struct syntax_node *node, int depth,
                        struct sum *ret_sum)
{
    struct sum left, right;
    int64_t bits;

    if (is_op(node, "%") || is_op(node, "/") || is_op(node, "&"))
        return read_division(text, node, depth, ret_sum);
    if (!read_at(text, node->children, depth, &left))
        return false;
    if (is_op(node, "<<")) {
        struct syntax_node *by = resolve(text, node->children->next);

        *ret_sum = (struct sum){0};
        return by && read_literal(text, by, &bits) && bits < 31 &&
               sum_add(ret_sum, &left, INT64_C(1) << bits);
    }
    if (!read_at(text, node->children->next, depth, &right))
        return false;
    if (is_op(node, "*"))
        return sum_multiply(&left, &right, ret_sum);
    *ret_sum = left;
    return (is_op(node, "+") || is_op(node, "-")) && sum_add(ret_sum, &right, is_op(node, "-") ? -1 : 1);
}

static bool read_at(const struct index_text *text, struct syntax_node *node, int depth, struct sum *ret_sum)
{
    int64_t number;

    node = resolve(text, node);
    if (!node || depth > DEEPEST)
        return false;
    switch (node->kind) {
    case NODE_LITERAL:
        if (!read_literal(text, node, &number))
            return false;
        *ret_sum = (struct sum){0};
        return sum_add_term(ret_sum, (struct term){.number = number});
    case NODE_NAME:
        return read_name(text, node->symbol, depth + 1, ret_sum);
    case NODE_CALL:
        return read_call(text, node, ret_sum);
    case NODE_BINARY:
        return read_binary(text, node, depth + 1, ret_sum);
    default:
        return false;
    }
}

bool index_read(const struct index_text *text, struct syntax_node *node, struct sum *ret_sum)
{
    return read_at(text, node, 0, ret_sum);
}
