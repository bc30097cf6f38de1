/*
 * A kernel that waits for another group cannot be cut: that group may be in a piece that has not
 * started. Waiting takes a loop whose end depends on something that another group can change while
 * the loop runs. That is an atomic or volatile read, or plain shared memory (analyse_watches.c).
 * Every loop of this form counts as waiting, with one exception that ends by itself: repeat
 * compare-and-exchange until it finds the value just read.
 */
#include "translate/tool/analyse.h"

#include <string.h>

static bool shared(enum address_space space)
{
    return space == SPACE_GLOBAL || space == SPACE_GENERIC;
}

/* This node itself is a value that another group may have changed. */
static bool is_source(const struct syntax_node *node)
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
        const struct syntax_node *pointer = syntax_argument(node, 0);

        return !pointer || pointer->type.pointee_space != SPACE_LOCAL;
    }
    return false;
}

static bool depends(struct syntax_node *expression)
{
    for (struct syntax_node *node = expression; node; node = syntax_next(node, expression))
        if (is_source(node))
            return true;
    return false;
}

struct symbol *analyse_root(struct syntax_node *node)
{
    node = syntax_strip(node);
    while (node && (node->kind == NODE_SUBSCRIPT || node->kind == NODE_MEMBER || node->kind == NODE_UNARY ||
                    (node->kind == NODE_BINARY && node->type.pointer)))
        node = syntax_strip(node->children);
    return node && node->kind == NODE_NAME ? node->symbol : NULL;
}

static bool changes(const struct syntax_node *node)
{
    return syntax_is_assignment(node) ||
           (node->kind == NODE_UNARY && (!strcmp(node->op, "++") || !strcmp(node->op, "--")));
}

static bool declared_in(const struct symbol *variable, const struct syntax_node *branch)
{
    const struct syntax_node *node = variable ? variable->initial : NULL;

    while (node && node != branch)
        node = node->parent;
    return node;
}

/*
 * Is the node under an if, switch, ?:, && or || that such a value decides? Then the variable
 * reveals the decision. A variable that is declared within an `if` does not: all code that can read
 * it is under the same decision.
 */
static bool decided(const struct syntax_node *node, const struct symbol *variable)
{
    for (const struct syntax_node *child = node; node; child = node, node = node->parent) {
        bool branch = node->kind == NODE_SWITCH || node->kind == NODE_CONDITIONAL ||
                      (node->kind == NODE_IF && !declared_in(variable, node)) ||
                      (node->kind == NODE_BINARY && (!strcmp(node->op, "&&") || !strcmp(node->op, "||")));

        if (branch && child != node->children && depends(node->children))
            return true;
    }
    return false;
}

static bool taint(struct symbol *symbol)
{
    if (!symbol || symbol->tainted)
        return false;
    symbol->tainted = true;
    return true;
}

/*
 * A write through a marked pointer is a write to the variables whose addresses it was given.
 */
static bool taint_behind(const struct syntax_node *node, struct syntax_node *value)
{
    const struct symbol *pointer = node->kind == NODE_VARIABLE ? node->symbol : analyse_root(node->children);

    if (!pointer || !pointer->tainted || !value || !value->type.pointer ||
        syntax_points_at(value) == SPACE_GLOBAL)
        return false;
    return taint(analyse_root(value));
}

/* A function that reads such values may write them to any variable whose address it gets. */
static bool taint_arguments(struct syntax_node *call)
{
    bool changed = false;

    for (struct syntax_node *arg = call->children ? call->children->next : NULL; arg; arg = arg->next) {
        const struct syntax_node *inner = syntax_strip(arg);
        bool address = inner && inner->kind == NODE_UNARY && !strcmp(inner->op, "&");

        if (address || (arg->type.pointer && syntax_points_at(arg) != SPACE_GLOBAL))
            changed |= taint(analyse_root(arg));
    }
    return changed;
}

/* Marks what a statement stores from such values, or because of them. True if a mark was new. */
static bool taint_from(struct syntax_node *node)
{
    struct syntax_node *value = node->children;
    struct symbol *variable;
    bool changed = false;

    if (changes(node) && value) {
        value = value->next;
        variable = analyse_root(node->children);
        changed = ((value && depends(value)) || decided(node, variable)) && taint(variable);
        changed |= syntax_is_assignment(node) && taint_behind(node, value);
    } else if (node->kind == NODE_VARIABLE) {
        for (; value; value = value->next) {
            changed |= depends(value) && taint(node->symbol);
            changed |= taint_behind(node, value);
        }
    } else if (node->kind == NODE_CALL && is_source(node)) {
        changed = taint_arguments(node);
    }
    return changed;
}

static bool modified_in(const struct symbol *symbol, struct syntax_node *loop)
{
    for (struct syntax_node *node = loop; node; node = syntax_next(node, loop)) {
        bool writes = syntax_is_assignment(node) ||
                      (node->kind == NODE_UNARY &&
                       (!strcmp(node->op, "++") || !strcmp(node->op, "--") || !strcmp(node->op, "&")));

        if (writes && node->children && analyse_root(node->children) == symbol)
            return true;
    }
    return false;
}

/* The variable that is, or holds, this value: v, v.member. */
static struct symbol *variable_of(struct syntax_node *node)
{
    node = syntax_strip(node);
    while (node && node->kind == NODE_MEMBER && node->children && !syntax_strip(node->children)->type.pointer)
        node = syntax_strip(node->children);
    return node && node->kind == NODE_NAME ? node->symbol : NULL;
}

/* The same text except for blanks, as in a[i] and a[ i ]. */
static bool same_text(const struct syntax *syntax, const struct syntax_node *a, const struct syntax_node *b)
{
    size_t x = a->begin;
    size_t y = b->begin;

    while (x < a->end && y < b->end) {
        size_t x_end;
        size_t y_end;

        x = syntax_token(syntax, x, &x_end);
        y = syntax_token(syntax, y, &y_end);
        if (x_end == x || x_end - x != y_end - y ||
            memcmp(syntax->text + x, syntax->text + y, x_end - x) != 0)
            return false;
        x = x_end;
        y = y_end;
    }
    return a->in_text && b->in_text && x >= a->end && y >= b->end;
}

/* The value is the target of the pointer: *p, p[0] for p; x for &x. */
static bool read_from(const struct syntax *syntax, struct syntax_node *value, struct syntax_node *pointer)
{
    const struct syntax_node *read = syntax_strip(value);
    const struct syntax_node *place = syntax_strip(pointer);
    const struct syntax_node *base;

    if (!read || !place)
        return false;
    if (place->kind == NODE_UNARY && !strcmp(place->op, "&"))
        return place->children && same_text(syntax, read, syntax_strip(place->children));
    base = syntax_strip(read->children);
    if (read->kind == NODE_UNARY && !strcmp(read->op, "*"))
        return base && same_text(syntax, base, place);
    return read->kind == NODE_SUBSCRIPT && base && same_text(syntax, base, place) && read->children->next &&
           !strcmp(syntax_strip(read->children->next)->op, "0");
}

static bool gets(const struct syntax_node *node, const struct symbol *symbol, struct syntax_node **ret_value)
{
    struct syntax_node *value = NULL;

    if (syntax_is_assignment(node) && variable_of(node->children) == symbol)
        value = node->children->next;
    for (struct syntax_node *child = node->children;
         node->kind == NODE_VARIABLE && node->symbol == symbol && child; child = child->next)
        value = child;
    *ret_value = value;
    return value;
}

/*
 * The loop stores in the variable only what the exchange found or would find in memory, through at
 * most one more variable.
 */
static bool just_read(const struct syntax *syntax, struct symbol *symbol, struct syntax_node *exchange,
                      struct syntax_node *loop, unsigned depth)
{
    bool any = false;

    for (struct syntax_node *node = loop; node; node = syntax_next(node, loop)) {
        struct syntax_node *value;
        struct symbol *from;

        if (changes(node) && node->kind != NODE_BINARY && variable_of(node->children) == symbol)
            return false;
        if (!gets(node, symbol, &value))
            continue;
        from = variable_of(value);
        if (syntax_strip(value) != exchange && !read_from(syntax, value, syntax_argument(exchange, 0)) &&
            !(from && depth < 2 && just_read(syntax, from, exchange, loop, depth + 1)))
            return false;
        any = true;
    }
    return any;
}

/*
 * do { old = *p; } while (cmpxchg(p, old, new) != old), in any of its usual spellings. It ends when
 * no other work-item interferes.
 */
static bool is_retry(const struct syntax *syntax, struct syntax_node *condition, struct syntax_node *loop,
                     const char *op)
{
    struct syntax_node *test = syntax_strip(condition);
    struct syntax_node *exchange = NULL;
    struct symbol *expected;
    bool compared = false;

    if (!test || test->kind != NODE_BINARY || strcmp(test->op, op) != 0 || !test->children ||
        !test->children->next)
        return false;
    for (struct syntax_node *node = loop; node; node = syntax_next(node, loop)) {
        const struct symbol *callee = node->kind == NODE_CALL ? syntax_callee(node) : NULL;

        if (!callee || !is_source(node))
            continue;
        if (exchange || callee->kind != SYMBOL_BUILTIN || !strstr(callee->name, "cmpxchg"))
            return false;
        exchange = node;
    }
    expected = exchange ? variable_of(syntax_argument(exchange, 1)) : NULL;
    if (!expected || !just_read(syntax, expected, exchange, loop, 0))
        return false;
    for (struct syntax_node *side = test->children; side; side = side->next) {
        struct syntax_node *inner = syntax_strip(side);
        struct syntax_node *value = NULL;
        struct syntax_node *child;
        struct syntax_node *parent = syntax_parent(exchange, &child);

        if (inner == exchange || (inner == parent && syntax_is_assignment(inner)))
            continue;
        if (variable_of(side) == expected)
            compared = true;
        else if (!parent || !gets(parent, variable_of(side), &value) || syntax_strip(value) != exchange)
            return false;
    }
    return compared;
}

static bool leaves(struct syntax_node *branch)
{
    for (struct syntax_node *node = branch; node; node = syntax_next(node, branch))
        if (node->kind == NODE_JUMP)
            return true;
    return false;
}

/* libclang omits missing parts of a `for`, so its semicolons show which part is which. */
static void for_parts(const struct syntax *syntax, struct syntax_node *loop, struct loop_parts *parts)
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
    for (struct syntax_node *child = loop->children; child && n == 2; child = child->next) {
        if (!child->next)
            parts->body = child;
        else if (child->begin > semicolons[1])
            parts->advance = child;
        else if (child->begin > semicolons[0])
            parts->condition = child;
    }
}

struct loop_parts analyse_parts(const struct syntax *syntax, struct syntax_node *loop)
{
    struct loop_parts parts = {0};
    struct syntax_node *child = loop->children;

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

/*
 * for (...; i < n; i++) where nothing else changes i: it ends by itself, whatever its body does.
 */
static bool counted(const struct loop_parts *parts)
{
    if (!parts->condition || !parts->advance || !parts->body || depends(parts->condition))
        return false;
    for (struct syntax_node *node = parts->condition; node; node = syntax_next(node, parts->condition))
        if (node->kind == NODE_NAME && node->symbol && node->symbol->kind >= SYMBOL_PARAM &&
            modified_in(node->symbol, parts->advance) && !modified_in(node->symbol, parts->body))
            return true;
    return false;
}

/* Every round passes this statement of the loop's body. */
static bool always_reached(const struct syntax_node *statement, const struct loop_parts *parts,
                           struct syntax_node *loop)
{
    for (struct syntax_node *node = loop; node; node = syntax_next(node, loop))
        if (node->kind == NODE_JUMP && node->op[0] == 'c')
            return false;
    return statement == parts->body || statement->parent == parts->body;
}

static bool loop_waits(const struct syntax *syntax, struct syntax_node *loop)
{
    struct loop_parts parts = analyse_parts(syntax, loop);
    struct syntax_node *fixed = syntax_strip(parts.condition);
    bool endless = !fixed || fixed->kind == NODE_LITERAL;
    bool retries = !endless && is_retry(syntax, fixed, loop, "!=");
    bool ends = counted(&parts);

    if (fixed && fixed->kind == NODE_LITERAL && !strcmp(fixed->op, "0"))
        return false; /* do { ... } while (0) is not a loop */
    if (!ends && !endless && depends(fixed) && !retries)
        return true;
    for (struct syntax_node *node = loop; node && !ends; node = syntax_next(node, loop)) {
        struct syntax_node *test = node->children;

        if ((node->kind != NODE_IF && node->kind != NODE_SWITCH) || !test || !leaves(node))
            continue;
        if (node->kind == NODE_IF && is_retry(syntax, test, loop, "=="))
            retries |= always_reached(node, &parts, loop);
        else if (depends(test))
            return true;
    }
    return !retries && analyse_watches(syntax, loop, &parts);
}

/*
 * for (...; i < n; i++) where the test reads no memory and calls nothing, and only the advance
 * changes the variables that it names.
 */
static bool plainly_counted(const struct syntax *syntax, struct syntax_node *loop)
{
    struct loop_parts parts = analyse_parts(syntax, loop);

    if (!counted(&parts))
        return false;
    for (struct syntax_node *node = parts.condition; node; node = syntax_next(node, parts.condition))
        if (node->kind == NODE_CALL || node->kind == NODE_SUBSCRIPT || node->kind == NODE_MEMBER ||
            node->kind == NODE_UNARY ||
            (node->kind == NODE_NAME && node->symbol && modified_in(node->symbol, parts.body)))
            return false;
    return true;
}

/*
 * A goto to an earlier label is a loop that the tree does not show. A goto into a loop enters it
 * past its first test. A goto forward skips. If a loop contains both, its rounds must be counted,
 * whatever is skipped: the analysis of its variables follows branches, not jumps. A goto out of a
 * loop is like a break (leaves(), leaves_here()).
 */
static bool goto_waits(const struct syntax *syntax, struct syntax_node *jump, struct syntax_node *body)
{
    if (!jump->in_text || jump->at <= jump->begin)
        return true;
    for (struct syntax_node *node = body; node; node = syntax_next(node, body))
        if (node->kind == NODE_LOOP &&
            (!node->in_text || (node->begin <= jump->at && jump->at < node->end &&
                                (!syntax_inside(jump, node) || !plainly_counted(syntax, node)))))
            return true;
    return false;
}

bool analyse_waits(const struct syntax *syntax, struct syntax_function *function)
{
    struct syntax_node *body = function->body;
    bool changed = function->uses & (USE_GLOBAL_ATOMICS | USE_VOLATILE);

    while (changed) {
        changed = false;
        for (struct syntax_node *node = body; node; node = syntax_next(node, body))
            changed |= taint_from(node);
    }
    for (struct syntax_node *node = body; node; node = syntax_next(node, body)) {
        if (node->kind == NODE_LOOP && loop_waits(syntax, node))
            return true;
        if (node->kind == NODE_JUMP && node->op[0] == 'g' && goto_waits(syntax, node, body))
            return true;
    }
    return false;
}
