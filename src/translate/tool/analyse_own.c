/*
 * Does a work-item read, through a pointer that the kernel also writes through, only elements that
 * it writes itself? Then groups may run on different devices, each with a copy of the buffer: none
 * misses what another one wrote. If a group reads elements of others (u[0], a[i - 1], a[x] in a loop
 * over all), it must see their stores as one device would show them.
 *
 * An access is p[index], or q[index] with q a pointer variable that is p + something and never
 * changes. A read counts as the item's own if
 *   - it is part of a store to the same element (p[i] += x), or the kernel stores somewhere at an
 *     index of the same value, and
 *   - the index differs between groups: it is made from get_global_id(), get_group_id() or
 *     get_global_linear_id(), and not as id % 64;
 * or if the index stays within a window that belongs to the item: q = p + id * N, and
 * 0 <= index < N, for a number N.
 *
 * Equal values are recognised by equal expressions over what cannot change: parameters and variables
 * that get one value, and counters of loops with equal heads. Every store must be to an element that
 * is read so. A store to another element (o[at[id]] = x) may change what another group reads, and
 * the merge does not see that if that group leaves the element as it was. Two groups that change one
 * element are not looked for here: the merge finds them.
 */
#include "translate/tool/analyse.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32, MOST_ACCESSES = 256 };

struct access {
    struct node *index;
    const struct symbol *through; /* the pointer variable; NULL: the parameter itself */
    uint32_t size;                /* bytes of the element */
    bool reads, writes;
};

struct own {
    const struct syntax *syntax;
    struct symbol *param;
    struct node *body;
    struct access list[MOST_ACCESSES];
    size_t n;
};

static bool is_op(const struct node *node, const char *op)
{
    return (node->kind == NODE_BINARY || node->kind == NODE_UNARY) && !strcmp(node->op, op);
}

/* The node gives the symbol another value, or lets something else do so. */
static bool changes(struct node *node, const struct symbol *symbol)
{
    bool may = syntax_is_assignment(node) ||
               (node->kind == NODE_UNARY && (!node->op[0] || !strcmp(node->op, "++") ||
                                             !strcmp(node->op, "--") || !strcmp(node->op, "&")));

    struct node *target = may ? syntax_strip(node->children) : NULL;

    if (target && symbol->type.pointer) /* p[i] = x changes what it points at */
        return target->kind == NODE_NAME && target->symbol == symbol;
    return target && analyse_root(target) == symbol;
}

static struct node *inside_loop(const struct node *node)
{
    struct node *parent = node->parent;

    while (parent && parent->kind != NODE_LOOP)
        parent = parent->parent;
    return parent;
}

/* What a variable is declared with; NULL: nothing. */
static struct node *first_value(const struct symbol *symbol)
{
    struct node *value = NULL;

    for (struct node *child = symbol->initial->children; child; child = child->next)
        value = child;
    return value;
}

/* The only value that the variable ever has; NULL: it changes, or is not known. */
static struct node *only_value(const struct own *own, const struct symbol *symbol)
{
    struct node *value;

    if (symbol->kind != SYMBOL_VARIABLE || !symbol->initial)
        return NULL;
    value = first_value(symbol);
    for (struct node *node = own->body; node; node = syntax_next(node, own->body)) {
        if (!changes(node, symbol))
            continue;
        if (value || !is_op(node, "=") || inside_loop(node) ||
            syntax_strip(node->children)->kind != NODE_NAME)
            return NULL;
        value = node->children->next;
    }
    return value;
}

static bool never_changes(const struct own *own, const struct symbol *symbol)
{
    for (struct node *node = own->body; node; node = syntax_next(node, own->body))
        if (changes(node, symbol))
            return false;
    return true;
}

/* The `for` whose head counts the variable and that alone changes it; NULL: none. */
static struct node *counts(const struct own *own, const struct symbol *symbol)
{
    struct node *loop =
        symbol->kind == SYMBOL_VARIABLE && symbol->initial ? inside_loop(symbol->initial) : NULL;
    struct loop_parts parts;

    if (!loop || loop->op[0] != 'f')
        return NULL;
    parts = analyse_parts(own->syntax, loop);
    if (!parts.condition || !parts.advance || (parts.body && syntax_inside(symbol->initial, parts.body)))
        return NULL;
    for (struct node *node = own->body; node; node = syntax_next(node, own->body))
        if (changes(node, symbol) && !syntax_inside(node, parts.advance))
            return NULL;
    return loop;
}

/* An integer of 32 or 64 bits inside casts to such: what the casts keep of an index. */
static struct node *plain(struct node *node)
{
    struct node *inner = syntax_strip(node);

    for (; node && node != inner; node = node->children)
        if (node->type.spelling && !analyse_holds_ids(&node->type))
            return NULL;
    return inner && (inner->kind == NODE_LITERAL || analyse_holds_ids(&inner->type)) ? inner : NULL;
}

/* The expression itself, with variables replaced by their only value. */
static struct node *resolve(const struct own *own, struct node *node)
{
    for (int depth = 0; depth < DEEPEST; depth++) {
        struct node *value;

        node = plain(node);
        if (!node || node->kind != NODE_NAME || !node->symbol)
            return node;
        value = only_value(own, node->symbol);
        if (!value)
            return node;
        node = value;
    }
    return NULL;
}

static bool same_text(const struct own *own, const struct node *a, const struct node *b)
{
    return a->end - a->begin == b->end - b->begin &&
           !memcmp(own->syntax->text + a->begin, own->syntax->text + b->begin, a->end - a->begin);
}

static bool is_pure(const struct symbol *callee)
{
    static const char *const names[] = {"get_global_id",
                                        "get_group_id",
                                        "get_local_id",
                                        "get_global_size",
                                        "get_local_size",
                                        "get_num_groups",
                                        "get_work_dim",
                                        "get_global_offset",
                                        "get_global_linear_id",
                                        "min",
                                        "max",
                                        "clamp",
                                        "mul24",
                                        "mad24"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (callee && callee->kind == SYMBOL_BUILTIN && !strcmp(names[i], callee->name))
            return true;
    return false;
}

static bool same(const struct own *own, struct node *a, struct node *b, int depth);

static bool same_children(const struct own *own, struct node *a, struct node *b, int depth)
{
    struct node *x = a->children;
    struct node *y = b->children;

    for (; x && y; x = x->next, y = y->next)
        if (!same(own, x, y, depth))
            return false;
    return !x && !y;
}

/* Equal expressions, with a in the first where the second has b. */
static bool same_head(const struct own *own, struct node *first, struct node *second, const struct symbol *a,
                      const struct symbol *b)
{
    struct node *x = first;
    struct node *y = second;

    for (; x && y; x = syntax_next(x, first), y = syntax_next(y, second)) {
        bool counter = x->kind == NODE_NAME && x->symbol == a && y->symbol == b;
        bool steady = x->symbol == y->symbol && (!x->symbol || x->symbol->kind < SYMBOL_PARAM ||
                                                 only_value(own, x->symbol) || never_changes(own, x->symbol));

        if (x->kind != y->kind || strcmp(x->op, y->op) != 0 ||
            (x->kind == NODE_LITERAL && !same_text(own, x, y)) || x->kind == NODE_SUBSCRIPT ||
            x->kind == NODE_MEMBER || !(counter || steady))
            return false;
    }
    return !x && !y;
}

/* Two counters run through the same values: their loops have equal heads. */
static bool same_counters(const struct own *own, const struct symbol *a, const struct symbol *b, int depth)
{
    struct node *first = counts(own, a);
    struct node *second = counts(own, b);
    struct loop_parts x;
    struct loop_parts y;

    if (!first || !second)
        return false;
    x = analyse_parts(own->syntax, first);
    y = analyse_parts(own->syntax, second);
    return first_value(a) && first_value(b) && same(own, first_value(a), first_value(b), depth) &&
           same_head(own, x.condition, y.condition, a, b) && same_head(own, x.advance, y.advance, a, b);
}

static bool same(const struct own *own, struct node *a, struct node *b, int depth)
{
    a = resolve(own, a);
    b = resolve(own, b);
    if (!a || !b || a->kind != b->kind || depth > DEEPEST)
        return false;
    switch (a->kind) {
    case NODE_LITERAL:
        return same_text(own, a, b);
    case NODE_NAME:
        if (!a->symbol || !b->symbol)
            return false;
        if (a->symbol == b->symbol && never_changes(own, a->symbol))
            return true;
        return same_counters(own, a->symbol, b->symbol, depth + 1);
    case NODE_CALL:
        return is_pure(syntax_callee(a)) && is_pure(syntax_callee(b)) &&
               !strcmp(syntax_callee(a)->name, syntax_callee(b)->name) &&
               (!syntax_argument(a, 0) ||
                same(own, syntax_argument(a, 0), syntax_argument(b, 0), depth + 1)) &&
               (!syntax_argument(a, 1) ||
                same(own, syntax_argument(a, 1), syntax_argument(b, 1), depth + 1)) &&
               (!syntax_argument(a, 2) || same(own, syntax_argument(a, 2), syntax_argument(b, 2), depth + 1));
    case NODE_BINARY:
    case NODE_UNARY:
        return a->op[0] && !strcmp(a->op, b->op) && !syntax_is_assignment(a) && strcmp(a->op, "++") != 0 &&
               strcmp(a->op, "--") != 0 && !(a->kind == NODE_UNARY && a->op[0] == '*') &&
               same_children(own, a, b, depth + 1);
    case NODE_CONDITIONAL:
        return same_children(own, a, b, depth + 1);
    default:
        return false;
    }
}

/* A call of one of the three ids that tell groups apart. */
static bool is_group_id(const struct node *node)
{
    const struct symbol *callee = node->kind == NODE_CALL ? syntax_callee(node) : NULL;

    return callee && callee->kind == SYMBOL_BUILTIN &&
           (!strcmp(callee->name, "get_global_id") || !strcmp(callee->name, "get_group_id") ||
            !strcmp(callee->name, "get_global_linear_id"));
}

/* Made from such an id. */
static bool tells_groups(const struct own *own, struct node *index, int depth)
{
    for (struct node *node = index; node && depth < DEEPEST; node = syntax_next(node, index)) {
        struct node *value = NULL;

        if (is_group_id(node))
            return true;
        if (node->kind == NODE_NAME && node->symbol)
            value = only_value(own, node->symbol);
        if (node->kind == NODE_NAME && node->symbol && !value && counts(own, node->symbol))
            value = first_value(node->symbol);
        if (value && tells_groups(own, value, depth + 1))
            return true;
    }
    return false;
}

/* An operator that gives several ids one value. */
static bool merges_ids(const struct node *node)
{
    return node->kind == NODE_BINARY && (is_op(node, "%") || is_op(node, "/") || is_op(node, "&") ||
                                         is_op(node, "|") || is_op(node, ">>"));
}

/*
 * All that the index has of ids went through such an operator. Sums of several parts (id / n * m +
 * id % n, y * n + x) are taken to differ.
 */
static bool merges_groups(const struct own *own, struct node *index, int depth)
{
    struct node *node = resolve(own, index);
    bool left;

    if (!node || node->kind != NODE_BINARY || depth >= DEEPEST || merges_ids(node))
        return node && merges_ids(node);
    left = tells_groups(own, node->children, 0);
    return left != tells_groups(own, node->children->next, 0) &&
           merges_groups(own, left ? node->children : node->children->next, depth + 1);
}

/* --- windows --- */

/* A number that the text says; 0: it does not, or it is 0. */
static uint64_t number(const struct own *own, struct node *node)
{
    char digits[24] = "";
    uint64_t left;
    uint64_t right;
    uint64_t product;

    node = resolve(own, node);
    if (node && node->kind == NODE_BINARY && !strcmp(node->op, "*")) {
        left = number(own, node->children);
        right = number(own, node->children->next);
        return __builtin_mul_overflow(left, right, &product) ? 0 : product;
    }
    if (!node || node->kind != NODE_LITERAL || node->end - node->begin >= sizeof digits)
        return 0;
    memcpy(digits, own->syntax->text + node->begin, node->end - node->begin);
    return strtoull(digits, NULL, 0);
}

/* The expression is an id that tells groups apart, times numbers; their product, or 0. */
static uint64_t stride(const struct own *own, struct node *node)
{
    uint64_t product;

    node = resolve(own, node);
    if (node && is_group_id(node))
        return 1;
    if (!node || node->kind != NODE_BINARY || strcmp(node->op, "*") != 0)
        return 0;
    if (__builtin_mul_overflow(stride(own, node->children), number(own, node->children->next), &product))
        return 0;
    if (!product &&
        __builtin_mul_overflow(number(own, node->children), stride(own, node->children->next), &product))
        return 0;
    return product;
}

static bool is_local_id(struct node *node)
{
    const struct symbol *callee = node && node->kind == NODE_CALL ? syntax_callee(node) : NULL;

    return callee && callee->kind == SYMBOL_BUILTIN && !strcmp(callee->name, "get_local_id");
}

/* Is 0 <= index < room sure? */
static bool within(const struct own *own, struct node *index, uint64_t room)
{
    struct node *node = resolve(own, index);
    struct node *loop;
    struct node *test;
    struct node *from;
    struct node *step;

    if (!node)
        return false;
    if (node->kind == NODE_LITERAL)
        return number(own, node) < room && (number(own, node) || !strcmp(node->op, "0"));
    if (is_op(node, "%") && node->kind == NODE_BINARY)
        return strstr(node->type.spelling, "unsigned") && number(own, node->children->next) &&
               number(own, node->children->next) <= room;
    loop = node->kind == NODE_NAME && node->symbol ? counts(own, node->symbol) : NULL;
    if (!loop)
        return false;
    test = syntax_strip(analyse_parts(own->syntax, loop).condition);
    step = syntax_strip(analyse_parts(own->syntax, loop).advance);
    from = first_value(node->symbol) ? resolve(own, first_value(node->symbol)) : NULL;
    return from && (from->kind == NODE_LITERAL || is_local_id(from)) && is_op(test, "<") &&
           plain(test->children) && plain(test->children)->symbol == node->symbol &&
           number(own, test->children->next) && number(own, test->children->next) <= room &&
           (is_op(step, "++") || (step->kind == NODE_COMPOUND_ASSIGN && !strcmp(step->op, "+=") &&
                                  number(own, step->children->next)));
}

/* --- accesses --- */

static bool add_access(struct own *own, struct node *name, const struct symbol *through)
{
    struct node *child;
    struct node *element = syntax_parent(name, &child);
    struct access access = {.through = through};

    if (!element || element->kind != NODE_SUBSCRIPT || child != element->children ||
        own->n == MOST_ACCESSES || !analyse_element(element, own->body, &access.reads, &access.writes))
        return false;
    access.index = child->next;
    access.size = element->type.size;
    if (!access.size || access.size != (own->n ? own->list[0].size : access.size))
        return false; /* elements of another size lie elsewhere */
    own->list[own->n++] = access;
    return true;
}

/*
 * The variable that is declared as this pointer plus something, and stays so; NULL: the use is
 * another.
 */
static const struct symbol *declared_from(const struct own *own, struct node *name)
{
    struct node *child;
    struct node *parent = syntax_parent(name, &child);

    if (parent && is_op(parent, "+") && parent->type.pointer)
        parent = syntax_parent(parent, &child);
    if (!parent || parent->kind != NODE_VARIABLE || !parent->symbol || !parent->symbol->type.pointer ||
        !only_value(own, parent->symbol) || !never_changes(own, parent->symbol))
        return NULL;
    return parent->symbol;
}

static bool gather(struct own *own)
{
    for (struct node *node = own->body; node; node = syntax_next(node, own->body)) {
        const struct symbol *pointer;

        if (node->kind != NODE_NAME || node->symbol != own->param)
            continue;
        pointer = declared_from(own, node);
        if (!pointer && !add_access(own, node, NULL))
            return false;
        for (struct node *use = own->body; pointer && use; use = syntax_next(use, own->body))
            if (use->kind == NODE_NAME && use->symbol == pointer && !add_access(own, use, pointer))
                return false;
    }
    return never_changes(own, own->param);
}

/* What is added to the parameter in the declaration of the pointer; NULL: nothing. */
static struct node *offset_of(const struct own *own, const struct symbol *pointer)
{
    struct node *value = pointer ? syntax_strip(only_value(own, pointer)) : NULL;

    if (!value || !is_op(value, "+") || value->kind != NODE_BINARY)
        return NULL;
    return value->children->type.pointer ? value->children->next : value->children;
}

/*
 * Every access is through one pointer, each within the window of the item or group that it belongs
 * to.
 */
static bool in_windows(const struct own *own)
{
    struct node *offset = own->n ? offset_of(own, own->list[0].through) : NULL;
    uint64_t room = offset ? stride(own, offset) : 0;

    for (size_t i = 0; i < own->n && room; i++)
        if (own->list[i].through != own->list[0].through || !within(own, own->list[i].index, room))
            room = 0;
    return room > 0;
}

/* Do items of different groups reach different elements? */
static bool differs(const struct own *own, const struct access *access)
{
    struct node *offset = offset_of(own, access->through);
    bool moved = offset && tells_groups(own, offset, 0);

    if (tells_groups(own, access->index, 0))
        return moved || !merges_groups(own, access->index, 0);
    return moved && !merges_groups(own, offset, 0);
}

static bool is_own(const struct own *own, const struct access *read)
{
    if (!differs(own, read))
        return false;
    for (size_t i = 0; i < own->n && !read->writes; i++)
        if (own->list[i].writes && own->list[i].through == read->through &&
            same(own, own->list[i].index, read->index, 0))
            return true;
    return read->writes;
}

/* A store to an element that the item reads as its own; to others' elements it may not store. */
static bool stores_to_own(const struct own *own, const struct access *store)
{
    for (size_t i = 0; i < own->n; i++)
        if (own->list[i].reads && own->list[i].through == store->through &&
            same(own, own->list[i].index, store->index, 0))
            return true;
    return false;
}

bool analyse_own_reads(const struct syntax *syntax, struct symbol *param, struct node *body)
{
    struct own own = {.syntax = syntax, .param = param, .body = body};
    bool all = gather(&own), any = false;

    for (size_t i = 0; i < own.n; i++)
        any |= own.list[i].reads;
    if (all && (!any || in_windows(&own)))
        return true;
    for (size_t i = 0; i < own.n && all; i++)
        all = own.list[i].reads ? is_own(&own, &own.list[i]) : stores_to_own(&own, &own.list[i]);
    return all;
}
