/*
 * How the memory behind a pointer argument is used. Every use of the pointer is followed: through +
 * and -, casts, local pointer variables and calls of the program's own functions. It ends at a
 * read, a write, or something unknown.
 */
#include "translate/tool/analyse.h"

#include <stdlib.h>
#include <string.h>

enum {
    READS = 1,
    WRITES = 2,
    LOST = 4,
    BEYOND = 8, /* an element's address is used, which can reach more than that element */
    DEEPEST_CALL = 12
};

/*
 * A store of so many bytes through the pointer that is being followed; 0: of an unknown size.
 * Raises *largest, the bytes of its largest store; UINT32_MAX: one has an unknown size.
 */
static unsigned stores(uint32_t *largest, uint32_t bytes)
{
    if (bytes == 0)
        bytes = UINT32_MAX;
    if (bytes > *largest)
        *largest = bytes;
    return WRITES;
}

static unsigned pointer_uses(struct symbol *symbol, struct syntax_node *body, unsigned depth,
                             uint32_t *largest);

/* A use of the element itself: p[i], *p, p[i].x. */
static unsigned element_use(struct syntax_node *element, struct syntax_node *body, unsigned depth,
                            uint32_t *largest);

static unsigned argument_use(struct syntax_node *call, const struct syntax_node *argument, unsigned depth,
                             uint32_t *largest)
{
    const struct symbol *callee = syntax_callee(call);
    unsigned index = 0;

    if (!callee || depth > DEEPEST_CALL)
        return LOST;
    while (syntax_argument(call, index) && syntax_argument(call, index) != argument)
        index++;
    if (callee->kind == SYMBOL_FUNCTION) {
        struct syntax_function *function = callee->function;

        if (!function->body || index >= function->n_params || !function->params[index])
            return LOST;
        return pointer_uses(function->params[index], function->body, depth + 1, largest);
    }
    if (!strncmp(callee->name, "vload", 5))
        return READS;
    if (!strncmp(callee->name, "vstore", 6))
        return stores(largest, 16 * sizeof(double)); /* the largest that any of them writes */
    if (analyse_is_atomic(callee->name))
        return READS | stores(largest, sizeof(uint64_t));
    if (!strcmp(callee->name, "prefetch"))
        return 0;
    return argument->type.pointee_const ? READS : LOST;
}

/* The pointer value of `node` is used by its parent. */
static unsigned pointer_use(struct syntax_node *node, struct syntax_node *body, unsigned depth,
                            uint32_t *largest)
{
    struct syntax_node *child;
    struct syntax_node *parent = syntax_parent(node, &child);

    if (!parent || depth > DEEPEST_CALL || !child->type.pointer)
        return LOST; /* the last: an integer, a struct or an array that holds the pointer */
    switch (parent->kind) {
    case NODE_SUBSCRIPT:
        return child == parent->children ? element_use(parent, body, depth, largest) : LOST;
    case NODE_UNARY:
        if (!strcmp(parent->op, "*"))
            return element_use(parent, body, depth, largest);
        if (!strcmp(parent->op, "!"))
            return 0;
        return !strcmp(parent->op, "++") || !strcmp(parent->op, "--")
                   ? pointer_use(parent, body, depth, largest)
                   : LOST;
    case NODE_MEMBER:
        return element_use(parent, body, depth, largest);
    case NODE_BINARY:
        if (!strcmp(parent->op, "+") || !strcmp(parent->op, "-"))
            return parent->type.pointer ? pointer_use(parent, body, depth, largest) : 0;
        if (!strcmp(parent->op, "==") || !strcmp(parent->op, "!=") || !strcmp(parent->op, "<") ||
            !strcmp(parent->op, ">") || !strcmp(parent->op, "&&") || !strcmp(parent->op, "||"))
            return 0;
        if (!strcmp(parent->op, "=")) {
            struct syntax_node *target = syntax_strip(parent->children);

            if (child == parent->children)
                return 0; /* the variable gets another value */
            if (target && target->kind == NODE_NAME && target->symbol &&
                target->symbol->kind == SYMBOL_VARIABLE && target->type.pointer)
                return pointer_uses(target->symbol, body, depth + 1, largest);
        }
        return LOST;
    case NODE_COMPOUND_ASSIGN:
        return child == parent->children ? 0 : LOST; /* p += n */
    case NODE_CONDITIONAL:
        return child == parent->children ? 0 : pointer_use(parent, body, depth, largest);
    case NODE_VARIABLE:
        return parent->type.pointer && parent->symbol ? pointer_uses(parent->symbol, body, depth + 1, largest)
                                                      : LOST;
    case NODE_CALL:
        return argument_use(parent, child, depth, largest);
    case NODE_SIZEOF:
        return 0;
    case NODE_OTHER: /* a statement: the value is unused, unless it is the value of ({ ... }) */
        return parent->type.spelling ||
                       (parent->parent && parent->parent->kind == NODE_OTHER && parent->parent->type.spelling)
                   ? LOST
                   : 0;
    default:
        return parent->kind == NODE_IF || parent->kind == NODE_LOOP ? 0 : LOST;
    }
}

static unsigned element_use(struct syntax_node *element, struct syntax_node *body, unsigned depth,
                            uint32_t *largest)
{
    struct syntax_node *child;
    struct syntax_node *parent = syntax_parent(element, &child);

    if (!parent)
        return LOST;
    if (parent->kind == NODE_MEMBER && !element->type.pointer)
        return element_use(parent, body, depth, largest);
    if (parent->kind == NODE_SUBSCRIPT && child == parent->children && !element->type.pointer)
        return element_use(parent, body, depth, largest); /* an array within the element */
    if (strchr(element->type.spelling, '['))
        return LOST; /* an array that decays */
    if (syntax_is_assignment(parent) && child == parent->children) {
        struct syntax_node *outer_child;
        struct syntax_node *outer = syntax_parent(parent, &outer_child);
        bool value_used = outer && (outer->type.spelling || outer->kind == NODE_VARIABLE);

        return (parent->kind == NODE_COMPOUND_ASSIGN || value_used ? READS : 0) |
               stores(largest, element->type.size);
    }
    if (parent->kind == NODE_UNARY && (!strcmp(parent->op, "++") || !strcmp(parent->op, "--")))
        return READS | stores(largest, element->type.size);
    if (parent->kind == NODE_UNARY && !strcmp(parent->op, "&"))
        return BEYOND | pointer_use(parent, body, depth, largest);
    if (parent->kind == NODE_UNARY && !parent->op[0])
        return LOST;
    if ((parent->kind == NODE_BINARY || parent->kind == NODE_COMPOUND_ASSIGN) && !parent->op[0])
        return LOST; /* an operator that could not be read */
    return READS;
}

static unsigned pointer_uses(struct symbol *symbol, struct syntax_node *body, unsigned depth,
                             uint32_t *largest)
{
    unsigned uses = 0;

    if (depth > DEEPEST_CALL)
        return LOST;
    if (symbol->visiting)
        return 0; /* pointers that are exchanged: already counted */
    symbol->visiting = true;
    for (struct syntax_node *node = body; node && !(uses & LOST); node = syntax_next(node, body))
        if (node->kind == NODE_NAME && node->symbol == symbol)
            uses |= pointer_use(node, body, depth, largest);
    symbol->visiting = false;
    return uses;
}

bool analyse_element(struct syntax_node *element, struct syntax_node *body, bool *ret_reads, bool *ret_writes)
{
    uint32_t largest = 0;
    unsigned use = element_use(element, body, 0, &largest);

    *ret_reads = use & READS;
    *ret_writes = use & WRITES;
    return !(use & (LOST | BEYOND));
}

bool analyse_holds_ids(const struct type *type)
{
    static const char *const names[] = {"int", "unsigned int", "long", "unsigned long"};
    const char *spelling = type->spelling ? type->spelling : "";

    for (const char *space; (space = strchr(spelling, ' ')) &&
                            (!strncmp(spelling, "const ", 6) || !strncmp(spelling, "__private ", 10) ||
                             !strncmp(spelling, "__constant ", 11));)
        spelling = space + 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(spelling, names[i]))
            return true;
    return false;
}

/*
 * The expression inside parentheses and casts that keep an id's value; NULL if one of them may not.
 */
static struct syntax_node *strip_id(struct syntax_node *node)
{
    struct syntax_node *inner = syntax_strip(node);

    for (; node && node != inner; node = node->children)
        if (!analyse_holds_ids(&node->type))
            return NULL;
    return inner && analyse_holds_ids(&inner->type) ? inner : NULL;
}

/* The node is get_global_id(0), or a variable that never holds anything else. */
static bool is_own_id(struct syntax_node *node, struct syntax_node *body)
{
    const struct symbol *callee;
    struct syntax_node *literal;

    node = strip_id(node);
    if (node && node->kind == NODE_NAME && node->symbol && node->symbol->kind == SYMBOL_VARIABLE &&
        node->symbol->initial) {
        const struct symbol *symbol = node->symbol;
        struct syntax_node *initial = NULL;

        for (struct syntax_node *child = symbol->initial->children; child; child = child->next)
            initial = child;
        for (struct syntax_node *use = body; use; use = syntax_next(use, body)) {
            bool writes = syntax_is_assignment(use) ||
                          (use->kind == NODE_UNARY && strpbrk(use->op, "+-&") && strlen(use->op) != 1) ||
                          (use->kind == NODE_UNARY && !strcmp(use->op, "&")) ||
                          (use->kind == NODE_UNARY && !use->op[0]);
            struct syntax_node *target = writes ? syntax_strip(use->children) : NULL;

            if (target && target->kind == NODE_NAME && target->symbol == symbol)
                return false;
        }
        return initial && strip_id(initial) && strip_id(initial)->kind == NODE_CALL &&
               is_own_id(initial, body);
    }
    callee = node && node->kind == NODE_CALL ? syntax_callee(node) : NULL;
    literal = callee && !strcmp(callee->name, "get_global_id") && callee->kind == SYMBOL_BUILTIN
                  ? syntax_strip(syntax_argument(node, 0))
                  : NULL;
    return literal && literal->kind == NODE_LITERAL && literal->end == literal->begin + 1 &&
           !strcmp(literal->op, "0");
}

/*
 * Every use of the pointer is p[...]. Wherever it is written, the index is the work-item's own id,
 * in elements of one size.
 */
static bool writes_own(struct symbol *symbol, struct syntax_node *body, uint32_t *ret_element)
{
    uint32_t size = 0, largest = 0;

    for (struct syntax_node *node = body; node; node = syntax_next(node, body)) {
        struct syntax_node *child;
        struct syntax_node *element;

        if (node->kind != NODE_NAME || node->symbol != symbol)
            continue;
        element = syntax_parent(node, &child);
        if (!element || element->kind != NODE_SUBSCRIPT || child != element->children)
            return false;
        if (!(element_use(element, body, 0, &largest) & ~READS))
            continue;
        if ((element_use(element, body, 0, &largest) & BEYOND) || !is_own_id(child->next, body) ||
            (size && size != element->type.size))
            return false;
        size = element->type.size;
    }
    *ret_element = size;
    return size > 0;
}

static void judge(const struct syntax *syntax, struct symbol *param, struct syntax_node *body,
                  struct translate_arg *arg)
{
    const struct type *type = &param->type;
    uint32_t largest = 0;
    unsigned uses;

    arg->local = type->pointer && type->pointee_space == SPACE_LOCAL;
    arg->image = strstr(type->spelling, "image") && !type->pointer;
    arg->sampler = strstr(type->spelling, "sampler_t") && !type->pointer;
    if (arg->image) {
        bool writes = strstr(type->spelling, "__write_only");
        bool both = strstr(type->spelling, "__read_write");

        arg->access = both ? TRANSLATE_READ_WRITE : writes ? TRANSLATE_WRITE : TRANSLATE_READ;
        return;
    }
    if (!type->pointer || arg->local)
        return; /* TRANSLATE_VALUE */
    if (type->pointee_space == SPACE_CONSTANT) {
        arg->access = TRANSLATE_READ;
        return;
    }
    uses = pointer_uses(param, body, 0, &largest) & ~(unsigned)BEYOND;
    arg->store = uses & LOST || largest == UINT32_MAX ? 0 : largest;
    if (uses & LOST)
        arg->access = TRANSLATE_UNKNOWN;
    else
        arg->access = uses == READS    ? TRANSLATE_READ
                      : uses == WRITES ? TRANSLATE_WRITE
                      : uses           ? TRANSLATE_READ_WRITE
                                       : TRANSLATE_UNUSED;
    if (!(uses & LOST) && (uses & WRITES))
        arg->own_write = writes_own(param, body, &arg->element);
    if (!arg->own_write)
        arg->element = 0;
    if (arg->access == TRANSLATE_READ_WRITE)
        analyse_reach(syntax, param, body, &arg->reach);
}

void analyse_arguments(const struct syntax *syntax, struct syntax_function *kernel,
                       struct translate_arg *ret_args)
{
    for (uint32_t i = 0; i < kernel->n_params; i++) {
        ret_args[i] = (struct translate_arg){.access = TRANSLATE_VALUE};
        if (kernel->params[i])
            judge(syntax, kernel->params[i], kernel->body, &ret_args[i]);
        else
            ret_args[i].access = TRANSLATE_UNKNOWN;
    }
}
