/*
 * Loops over plain shared memory. A loop that waits for another group's store has rounds in which
 * nothing changes. It reads the same places again, and the values that decide its end stay the
 * same. A loop that walks (over rows, lists, trees, in bisections) changes such a variable by
 * itself, on every path through a round. So a loop whose end depends on shared memory counts as
 * watching unless that can be shown.
 */
#include "translate/tool/analyse.h"

#include <string.h>

enum { MOST_VARIABLES = 64 };

/* A variable gets a value. */
struct watched_store {
    struct symbol *target;
    struct syntax_node *node;
    struct syntax_node *value; /* NULL: ++ or -- */
    bool adds;                 /* to the old value: +=, ++ */
};

struct rounds {
    const struct syntax *syntax;
    struct syntax_node *loop;
    const struct loop_parts *parts;
    struct watched_store *stores;
    size_t n_stores;
};

struct variables {
    struct symbol *list[MOST_VARIABLES];
    size_t n;
    bool all; /* more than fit */
};

static bool shared(enum address_space space)
{
    return space == SPACE_GLOBAL || space == SPACE_GENERIC;
}

static bool is_op(const struct syntax_node *node, const char *op)
{
    return node->kind == NODE_BINARY && !strcmp(node->op, op);
}

static bool is_element(const struct syntax_node *node)
{
    return node->kind == NODE_SUBSCRIPT || node->kind == NODE_MEMBER ||
           (node->kind == NODE_UNARY && !strcmp(node->op, "*"));
}

/*
 * A call that may read shared memory: it gets a pointer to it, or an image that kernels also write.
 */
static bool call_reads(const struct syntax_node *call)
{
    for (struct syntax_node *arg = call->children ? call->children->next : NULL; arg; arg = arg->next)
        if ((arg->type.pointer && shared(syntax_points_at(arg))) ||
            (arg->type.spelling && strstr(arg->type.spelling, "__read_write")))
            return true;
    return false;
}

/* This node itself reads a value from shared memory. */
static bool is_read(const struct syntax_node *node)
{
    if (node->kind == NODE_CALL)
        return call_reads(node);
    return is_element(node) && shared(node->type.space) &&
           !(node->parent && node->parent->kind == NODE_UNARY && !strcmp(node->parent->op, "&"));
}

static void add_store(struct rounds *r, const struct watched_store *store)
{
    if (store->target && store->target->kind >= SYMBOL_PARAM)
        r->stores[r->n_stores++] = *store;
}

/* A call may change every variable whose address it gets. */
static void add_call(struct rounds *r, struct syntax_node *call)
{
    for (struct syntax_node *arg = call->children ? call->children->next : NULL; arg; arg = arg->next)
        if (arg->type.pointer && !arg->type.pointee_const && syntax_points_at(arg) != SPACE_GLOBAL)
            add_store(
                r, &(struct watched_store){
                       .target = analyse_root(arg), .node = call, .value = call, .adds = !call_reads(call)});
}

static void add_stores(struct rounds *r, struct syntax_node *node)
{
    struct syntax_node *value = node->children ? node->children->next : NULL;
    struct syntax_node *last = node->children;

    if (node->kind == NODE_CALL) {
        add_call(r, node);
    } else if (node->kind == NODE_VARIABLE && last) {
        while (last->next)
            last = last->next;
        add_store(r, &(struct watched_store){.target = node->symbol, .node = node, .value = last});
    } else if (syntax_is_assignment(node) && node->children &&
               !shared(syntax_strip(node->children)->type.space)) {
        add_store(r, &(struct watched_store){.target = analyse_root(node->children),
                                             .node = node,
                                             .value = value,
                                             .adds = node->kind == NODE_COMPOUND_ASSIGN});
    } else if (node->kind == NODE_UNARY && (!strcmp(node->op, "++") || !strcmp(node->op, "--")) &&
               node->children) {
        add_store(
            r, &(struct watched_store){.target = analyse_root(node->children), .node = node, .adds = true});
    }
}

static void gather(struct rounds *r)
{
    size_t n = 0;

    for (struct syntax_node *node = r->loop; node; node = syntax_next(node, r->loop))
        n++;
    r->stores =
        /* a call's arguments are nodes, so there are no more stores than nodes */
        text_alloc(n, sizeof *r->stores);
    for (struct syntax_node *node = r->loop; node; node = syntax_next(node, r->loop))
        add_stores(r, node);
}

static bool has(const struct variables *set, const struct symbol *symbol)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->list[i] == symbol)
            return true;
    return set->all;
}

static void add_names(struct variables *set, struct syntax_node *expression)
{
    for (struct syntax_node *node = expression; node; node = syntax_next(node, expression)) {
        if (node->kind != NODE_NAME || !node->symbol || node->symbol->kind < SYMBOL_PARAM ||
            has(set, node->symbol))
            continue;
        set->all = set->n == MOST_VARIABLES;
        if (!set->all)
            set->list[set->n++] = node->symbol;
    }
}

/*
 * The tests within the loop that decide whether `node` is reached: one after the other, then NULL.
 */
static struct syntax_node *decider(const struct rounds *r, struct syntax_node **at)
{
    for (struct syntax_node *child = *at, *node = child->parent; child != r->loop && node;
         child = node, node = node->parent) {
        bool branch = node->kind == NODE_IF || node->kind == NODE_SWITCH || node->kind == NODE_CONDITIONAL ||
                      is_op(node, "&&") || is_op(node, "||");
        struct syntax_node *test = branch && child != node->children ? node->children : NULL;

        if (node->kind == NODE_LOOP && node != r->loop && node->op[0] != 'd')
            test = analyse_parts(r->syntax, node).condition;
        if (test) {
            *at = node;
            return test;
        }
    }
    return NULL;
}

/*
 * Adds everything from which the values in the set are made within a round. `deciding`: also what
 * decides whether they are made.
 */
static void complete(const struct rounds *r, struct variables *set, bool deciding)
{
    for (size_t i = 0; i < set->n && !set->all; i++)
        for (size_t k = 0; k < r->n_stores; k++) {
            struct syntax_node *at = r->stores[k].node;
            struct syntax_node *test;

            if (r->stores[k].target != set->list[i])
                continue;
            if (r->stores[k].value)
                add_names(set, r->stores[k].value);
            while (deciding && (test = decider(r, &at)))
                add_names(set, test);
        }
}

static bool reads(struct syntax_node *expression)
{
    for (struct syntax_node *node = expression; node; node = syntax_next(node, expression))
        if (is_read(node))
            return true;
    return false;
}

/* Does the expression's value depend on shared memory that is read in the loop? */
static bool looks(const struct rounds *r, struct syntax_node *expression)
{
    struct variables set = {0};

    if (reads(expression))
        return true;
    add_names(&set, expression);
    complete(r, &set, true);
    for (size_t k = 0; k < r->n_stores; k++) {
        struct syntax_node *at = r->stores[k].node;
        struct syntax_node *test;

        if (!has(&set, r->stores[k].target))
            continue;
        if (r->stores[k].value && reads(r->stores[k].value))
            return true;
        while ((test = decider(r, &at)))
            if (reads(test))
                return true;
    }
    return set.all;
}

static bool is_float(const struct symbol *symbol)
{
    return strstr(symbol->type.spelling, "float") || strstr(symbol->type.spelling, "double");
}

/* Named in the expression, but not only as a place at which shared memory is read. */
static bool named_outside_reads(const struct symbol *symbol, struct syntax_node *expression)
{
    for (struct syntax_node *node = expression; node; node = syntax_next(node, expression)) {
        struct syntax_node *up = node;

        if (node->kind != NODE_NAME || node->symbol != symbol)
            continue;
        while (up != expression && !is_read(up))
            up = up->parent;
        if (!is_read(up))
            return true;
    }
    return false;
}

/*
 * The variable is made from itself, and no value from shared memory can leave it unchanged.
 */
static bool moves_on(const struct rounds *r, const struct watched_store *store)
{
    struct variables set = {0};

    if (!store->value)
        return true;
    if (store->value == store->node)
        return store->adds;
    if (store->adds)
        return is_float(store->target) || !looks(r, store->value);
    add_names(&set, store->value);
    complete(r, &set, false);
    if (!has(&set, store->target) || set.all)
        return false;
    return is_float(store->target) || !reads(store->value) ||
           !named_outside_reads(store->target, store->value);
}

static bool leaves_here(const struct rounds *r, const struct syntax_node *jump)
{
    const struct syntax_node *node = jump->parent;

    if (jump->kind != NODE_JUMP || jump->op[0] == 'r' || jump->op[0] == 'g')
        return jump->kind == NODE_JUMP;
    while (node && node->kind != NODE_LOOP && !(node->kind == NODE_SWITCH && jump->op[0] == 'b'))
        node = node->parent;
    return node == r->loop;
}

/* Contains a jump of this kind ("c": continue; "": any) out of this round. */
static bool jumps(const struct rounds *r, struct syntax_node *top, const char *kind)
{
    for (struct syntax_node *node = top; node; node = syntax_next(node, top))
        if (leaves_here(r, node) && (!kind[0] || kind[0] == node->op[0]))
            return true;
    return false;
}

/* Does the last statement of the branch end the loop? */
static bool ends_loop(const struct rounds *r, const struct syntax_node *branch)
{
    const struct syntax_node *last = NULL;

    if (!branch)
        return false;
    for (const struct syntax_node *child = branch->children; child; child = child->next)
        last = child;
    if (branch->kind == NODE_OTHER && last)
        return ends_loop(r, last);
    return leaves_here(r, branch) && branch->op[0] != 'c';
}

static bool moves(const struct rounds *r, const struct variables *set, struct syntax_node *node);

/*
 * A branch after which the round continues has changed a variable of the set; one that ends the
 * loop need not.
 */
static bool branch_moves(const struct rounds *r, const struct variables *set, struct syntax_node *branch)
{
    return ends_loop(r, branch) || moves(r, set, branch);
}

/* In order: a `continue` on the path must not skip the change. */
static bool children_move(const struct rounds *r, const struct variables *set, struct syntax_node *node)
{
    for (struct syntax_node *child = node->children; child; child = child->next) {
        if (moves(r, set, child))
            return true;
        if (!jumps(r, child, "c"))
            continue;
        for (struct syntax_node *branch = child->kind == NODE_IF ? child->children->next : child; branch;
             branch = child->kind == NODE_IF ? branch->next : NULL)
            if (jumps(r, branch, "c") && (branch == child || !moves(r, set, branch)))
                return false;
    }
    return false;
}

/* Every path through `node` changes a variable of the set. */
static bool moves(const struct rounds *r, const struct variables *set, struct syntax_node *node)
{
    struct syntax_node *first = node->children;
    struct syntax_node *second = first ? first->next : NULL;

    for (size_t k = 0; k < r->n_stores; k++)
        if (r->stores[k].node == node && has(set, r->stores[k].target) && moves_on(r, &r->stores[k]))
            return true;
    switch (node->kind) {
    case NODE_IF:
    case NODE_CONDITIONAL:
        return (first && moves(r, set, first)) ||
               (second && second->next && branch_moves(r, set, second) && branch_moves(r, set, second->next));
    case NODE_LOOP: /* its body may be skipped */
        return node->op[0] == 'd' ? children_move(r, set, node)
                                  : node->op[0] == 'w' && first && moves(r, set, first);
    case NODE_SWITCH:
        return first && moves(r, set, first);
    case NODE_BINARY:
        if (is_op(node, "&&") || is_op(node, "||"))
            return first && moves(r, set, first);
        return children_move(r, set, node);
    default:
        return children_move(r, set, node);
    }
}

static bool round_moves(const struct rounds *r, struct syntax_node *test)
{
    struct variables set = {0};

    add_names(&set, test);
    complete(r, &set, true);
    if (set.all)
        return false;
    return (r->parts->condition && moves(r, &set, r->parts->condition)) ||
           (r->parts->advance && moves(r, &set, r->parts->advance)) ||
           (r->parts->body && moves(r, &set, r->parts->body));
}

/*
 * Each part of the test, as `op` joins them, is reached after a change or does not depend on shared
 * memory.
 */
static bool reached(const struct rounds *r, struct syntax_node *test, const char *op, bool *moved)
{
    struct syntax_node *inner = syntax_strip(test);

    if (inner->kind == NODE_UNARY && !strcmp(inner->op, "!") && inner->children)
        return reached(r, inner->children, op[0] == '&' ? "||" : "&&", moved);
    if (is_op(inner, op) && inner->children && inner->children->next)
        return reached(r, inner->children, op, moved) && reached(r, inner->children->next, op, moved);
    if (round_moves(r, inner)) {
        *moved = true;
        return true;
    }
    return !looks(r, inner);
}

/* The loop ends by itself through this `if`, which every round passes. */
static bool way_out(const struct rounds *r, struct syntax_node *branch)
{
    struct syntax_node *test = branch->children;
    struct syntax_node *yes = test ? test->next : NULL;
    bool moved = false;

    if (branch->kind != NODE_IF || !yes || (branch->parent != r->parts->body && branch != r->parts->body))
        return false;
    if (ends_loop(r, yes))
        return reached(r, test, "&&", &moved) && moved;
    return ends_loop(r, yes->next) && reached(r, test, "||", &moved) && moved;
}

bool analyse_watches(const struct syntax *syntax, struct syntax_node *loop, const struct loop_parts *parts)
{
    struct rounds r = {.syntax = syntax, .loop = loop, .parts = parts};
    struct syntax_node *condition = syntax_strip(parts->condition);
    bool endless = !condition || condition->kind == NODE_LITERAL;
    bool moved = false;
    bool depends;

    gather(&r);
    depends = !endless && looks(&r, condition);
    for (struct syntax_node *node = loop; node; node = syntax_next(node, loop))
        if ((node->kind == NODE_IF || node->kind == NODE_SWITCH) && node->children && jumps(&r, node, ""))
            depends |= looks(&r, node->children);
    if (!depends || (!endless && reached(&r, condition, "||", &moved) && moved))
        return false;
    for (struct syntax_node *node = loop; node; node = syntax_next(node, loop))
        if (way_out(&r, node))
            return false;
    return true;
}
