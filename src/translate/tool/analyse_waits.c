/*
 * A kernel that waits for another group cannot be cut: the group may be in a piece that has not started. Waiting takes a
 * loop whose end depends on something another group can change while it runs: an atomic or volatile read, or plain shared
 * memory that the loop's own variables do not move over. Everything of that shape counts as waiting, but for one idiom that
 * ends by itself: repeat compare-and-exchange until it finds the value just read.
 */
#include "translate/tool/analyse.h"

#include <string.h>

static bool shared(enum space space)
{
    return space == SPACE_GLOBAL || space == SPACE_GENERIC;
}

/* This very node is a value that another group may have changed. */
static bool is_source(const struct node *node)
{
    const struct symbol *callee;

    if (node->kind == NODE_NAME)
        return node->symbol && node->symbol->tainted;
    if (node->type.is_volatile && shared(node->type.space))
        return true;
    callee = node->kind == NODE_CALL ? syntax_callee(node) : NULL;
    if (!callee)
        return false;
    if (callee->kind == SYMBOL_FUNCTION)
        return callee->function->uses & (USE_GLOBAL_ATOMICS | USE_VOLATILE);
    if (analyse_is_atomic(callee->name)) {
        const struct node *pointer = syntax_argument(node, 0);

        return !pointer || pointer->type.pointee_space != SPACE_LOCAL;
    }
    return false;
}

static bool depends(struct node *expression)
{
    for (struct node *node = expression; node; node = syntax_next(node, expression))
        if (is_source(node))
            return true;
    return false;
}

/* The variable at the root of a[i], s.x, *p, a. */
static struct symbol *root_of(struct node *node)
{
    node = syntax_strip(node);
    while (node && (node->kind == NODE_SUBSCRIPT || node->kind == NODE_MEMBER || node->kind == NODE_UNARY))
        node = syntax_strip(node->children);
    return node && node->kind == NODE_NAME ? node->symbol : NULL;
}

static bool changes(const struct node *node)
{
    return syntax_is_assignment(node) ||
           (node->kind == NODE_UNARY && (!strcmp(node->op, "++") || !strcmp(node->op, "--")));
}

/* Stands under an if, switch or ?: that such a value decides. */
static bool decided(const struct node *node)
{
    for (const struct node *child = node; node; child = node, node = node->parent) {
        bool branch = node->kind == NODE_IF || node->kind == NODE_SWITCH || node->kind == NODE_CONDITIONAL;

        if (branch && child != node->children && depends(node->children))
            return true;
    }
    return false;
}

/* Marks what a statement stores from such values, or because of them. True when a mark was new. */
static bool taint_from(struct node *node)
{
    struct symbol *target = NULL;

    if (changes(node) && node->children) {
        struct node *value = node->children->next;

        if ((value && depends(value)) || decided(node))
            target = root_of(node->children);
    } else if (node->kind == NODE_VARIABLE) {
        for (struct node *child = node->children; child; child = child->next)
            if (depends(child))
                target = node->symbol;
    } else if (node->kind == NODE_UNARY && !strcmp(node->op, "&") && node->children) {
        struct node *child;
        struct node *call = syntax_parent(node, &child);

        if (call && call->kind == NODE_CALL && is_source(call))
            target = root_of(node->children); /* written by a function that reads such values */
    }
    if (!target || target->tainted)
        return false;
    target->tainted = true;
    return true;
}

static bool modified_in(const struct symbol *symbol, struct node *loop)
{
    for (struct node *node = loop; node; node = syntax_next(node, loop)) {
        bool writes = syntax_is_assignment(node) ||
                      (node->kind == NODE_UNARY &&
                       (!strcmp(node->op, "++") || !strcmp(node->op, "--") || !strcmp(node->op, "&")));

        if (writes && node->children && root_of(node->children) == symbol)
            return true;
    }
    return false;
}

/* Reads shared memory at a place that the loop does not move. */
static bool watches(struct node *condition, struct node *loop)
{
    bool reads = false;

    for (struct node *node = condition; node; node = syntax_next(node, condition)) {
        bool lvalue = node->kind == NODE_SUBSCRIPT || node->kind == NODE_MEMBER ||
                      (node->kind == NODE_UNARY && !strcmp(node->op, "*"));

        reads |= lvalue && shared(node->type.space);
        if (node->kind == NODE_NAME && node->symbol && node->symbol->kind >= SYMBOL_PARAM &&
            modified_in(node->symbol, loop))
            return false;
    }
    return reads;
}

/* The variable that is, or holds, this value: v, v.member. */
static struct symbol *variable_of(struct node *node)
{
    node = syntax_strip(node);
    while (node && node->kind == NODE_MEMBER && node->children && !syntax_strip(node->children)->type.pointer)
        node = syntax_strip(node->children);
    return node && node->kind == NODE_NAME ? node->symbol : NULL;
}

/* do { old = ...; } while (cmpxchg(p, old, new) != old), in any of its usual spellings: ends when nobody interferes. */
static bool is_retry(struct node *condition, struct node *loop, const char *op)
{
    struct node *test = syntax_strip(condition);
    struct symbol *sides[2] = {NULL, NULL};
    struct node *exchange = NULL;
    struct symbol *expected;

    if (!test || test->kind != NODE_BINARY || strcmp(test->op, op) != 0 || !test->children ||
        !test->children->next)
        return false;
    for (struct node *node = loop; node; node = syntax_next(node, loop)) {
        const struct symbol *callee = node->kind == NODE_CALL ? syntax_callee(node) : NULL;

        if (!callee || !is_source(node))
            continue;
        if (exchange || callee->kind != SYMBOL_BUILTIN || !strstr(callee->name, "cmpxchg"))
            return false;
        exchange = node;
    }
    expected = exchange ? variable_of(syntax_argument(exchange, 1)) : NULL;
    if (!expected || !modified_in(expected, loop))
        return false;
    for (int i = 0; i < 2; i++) {
        struct node *side = syntax_strip(i ? test->children->next : test->children);

        if (side == exchange)
            continue;
        sides[i] = variable_of(side);
        if (!sides[i])
            return false;
    }
    if (sides[0] != expected && sides[1] != expected)
        return false;
    for (int i = 0; i < 2; i++) {
        struct node *child;
        struct node *parent = syntax_parent(exchange, &child);
        bool holds =
            sides[i] && parent && syntax_is_assignment(parent) && variable_of(parent->children) == sides[i];

        if (sides[i] && sides[i] != expected && !holds && !(parent && parent->symbol == sides[i]))
            return false;
    }
    return true;
}

static bool leaves(struct node *branch)
{
    for (struct node *node = branch; node; node = syntax_next(node, branch))
        if (node->kind == NODE_JUMP)
            return true;
    return false;
}

/* A loop's condition, and what a `for` does after each round; NULL where missing. */
struct parts {
    struct node *condition;
    struct node *advance;
    struct node *body;
};

/* libclang leaves out what is missing from a `for`, so its semicolons tell which part is which. */
static void for_parts(const struct syntax *syntax, struct node *loop, struct parts *parts)
{
    size_t semicolons[2] = {0, 0};
    size_t n = 0;
    size_t depth = 0;
    size_t end;

    for (size_t at = loop->begin; at < loop->end && n < 2; at = end) {
        at = syntax_token(syntax, at, &end);
        depth += at < syntax->length && strchr("([{", syntax->text[at]);
        depth -= at < syntax->length && strchr(")]}", syntax->text[at]);
        if (at < syntax->length && syntax->text[at] == ';' && depth == 1)
            semicolons[n++] = at;
        if (end == at)
            break;
    }
    for (struct node *child = loop->children; child && n == 2; child = child->next) {
        if (!child->next)
            parts->body = child;
        else if (child->begin > semicolons[1])
            parts->advance = child;
        else if (child->begin > semicolons[0])
            parts->condition = child;
    }
}

static struct parts parts_of(const struct syntax *syntax, struct node *loop)
{
    struct parts parts = {0};
    struct node *child = loop->children;

    if (loop->op[0] == 'f') {
        for_parts(syntax, loop, &parts);
    } else if (loop->op[0] == 'w') {
        parts.condition = child;
        for (; child; child = child->next)
            parts.body = child;
    } else {
        parts.body = child;
        for (; child; child = child->next)
            parts.condition = child;
    }
    return parts;
}

/* for (...; i < n; i++) with nothing else that touches i: it ends by itself, whatever happens inside. */
static bool counted(const struct parts *parts)
{
    if (!parts->condition || !parts->advance || !parts->body || depends(parts->condition))
        return false;
    for (struct node *node = parts->condition; node; node = syntax_next(node, parts->condition))
        if (node->kind == NODE_NAME && node->symbol && node->symbol->kind >= SYMBOL_PARAM &&
            modified_in(node->symbol, parts->advance) && !modified_in(node->symbol, parts->body))
            return true;
    return false;
}

static bool loop_waits(const struct syntax *syntax, struct node *loop)
{
    struct parts parts = parts_of(syntax, loop);
    struct node *fixed = syntax_strip(parts.condition);
    bool endless = !fixed || fixed->kind == NODE_LITERAL;

    if (counted(&parts))
        return false;
    if (!endless && ((depends(fixed) && !is_retry(fixed, loop, "!=")) || watches(fixed, loop)))
        return true;
    for (struct node *node = loop; node; node = syntax_next(node, loop)) {
        struct node *test = node->children;

        if ((node->kind != NODE_IF && node->kind != NODE_SWITCH) || !test || !leaves(node))
            continue;
        if ((depends(test) && !is_retry(test, loop, "==")) || (endless && watches(test, loop)))
            return true;
    }
    return false;
}

bool analyse_waits(const struct syntax *syntax, struct function *function)
{
    struct node *body = function->body;
    bool changed = function->uses & (USE_GLOBAL_ATOMICS | USE_VOLATILE);

    while (changed) {
        changed = false;
        for (struct node *node = body; node; node = syntax_next(node, body))
            changed |= taint_from(node);
    }
    for (struct node *node = body; node; node = syntax_next(node, body)) {
        if (node->kind == NODE_LOOP && loop_waits(syntax, node))
            return true;
        if (node->kind == NODE_JUMP && node->op[0] == 'g')
            return true; /* a loop of another kind, perhaps */
    }
    return false;
}
