#include "translate/tool/analyse.h"

#include <string.h>

static bool starts(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

bool analyse_is_atomic(const char *name)
{
    return (starts(name, "atomic_") && strcmp(name, "atomic_work_item_fence") != 0) || starts(name, "atom_");
}

static const struct {
    const char *name; /* or the beginning of one */
    uint32_t uses;
} builtins[] = {{"get_global_id", USE_IDS},
                {"get_global_linear_id", USE_IDS},
                {"get_global_size", USE_IDS},
                {"get_global_offset", USE_IDS},
                {"get_work_dim", USE_IDS},
                {"get_group_id", USE_IDS | USE_LOCAL_SIZE},
                {"get_num_groups", USE_IDS | USE_LOCAL_SIZE},
                {"get_local", USE_LOCAL_SIZE},
                {"get_enqueued", USE_LOCAL_SIZE},
                {"get_sub_group", USE_LOCAL_SIZE},
                {"get_max_sub_group", USE_LOCAL_SIZE},
                {"get_num_sub_groups", USE_LOCAL_SIZE},
                {"sub_group", USE_LOCAL_SIZE},
                {"intel_sub_group", USE_LOCAL_SIZE},
                {"work_group", USE_LOCAL_SIZE},
                {"barrier", USE_LOCAL_SIZE},
                {"async_work_group", USE_LOCAL_SIZE},
                {"wait_group_events", USE_LOCAL_SIZE},
                {"printf", USE_PRINTF},
                {"read_pipe", USE_PIPES},
                {"write_pipe", USE_PIPES},
                {"reserve_", USE_PIPES},
                {"commit_", USE_PIPES},
                {"get_pipe", USE_PIPES}};

/* Compiler built-ins that reveal nothing about the position of a work-item; any other might. */
static bool harmless_builtin(const char *name)
{
    static const char *const names[] = {
        "__builtin_astype",    "__builtin_expect", "__builtin_assume",        "__builtin_unreachable",
        "__builtin_clz",       "__builtin_ctz",    "__builtin_popcount",      "__builtin_inff",
        "__builtin_huge_val",  "__builtin_nan",    "__builtin_shufflevector", "__builtin_convertvector",
        "__builtin_constant_p"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (starts(name, names[i]))
            return true;
    return false;
}

static void builtin_call(struct syntax_function *function, struct syntax_node *call, const char *name)
{
    if (analyse_is_atomic(name)) {
        struct syntax_node *pointer = syntax_argument(call, 0);

        if (!pointer || !pointer->type.pointer || pointer->type.pointee_space != SPACE_LOCAL)
            function->uses |= USE_GLOBAL_ATOMICS;
        return;
    }
    if (starts(name, "__") && !harmless_builtin(name))
        function->obstacle = "calls a built-in of the compiler";
    if (starts(name, "enqueue_") || starts(name, "get_default_queue") || starts(name, "get_kernel_"))
        function->obstacle = "enqueues work from the device";
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++)
        if (starts(name, builtins[i].name))
            function->uses |= builtins[i].uses;
}

/* An lvalue that reads a pointer from shared memory. */
static bool loads_pointer(const struct syntax_node *node)
{
    bool lvalue = node->kind == NODE_SUBSCRIPT || node->kind == NODE_MEMBER ||
                  (node->kind == NODE_UNARY && !strcmp(node->op, "*"));

    return lvalue && node->type.pointer && node->type.space != SPACE_PRIVATE;
}

static void look_at(struct syntax_function *function, struct syntax_node *node)
{
    const struct symbol *callee;

    switch (node->kind) {
    case NODE_CALL:
        callee = syntax_callee(node);
        if (!callee)
            function->obstacle = "calls something unknown";
        else if (callee->kind == SYMBOL_BUILTIN)
            builtin_call(function, node, callee->name);
        break;
    case NODE_ASM:
        function->obstacle = "contains assembler";
        break;
    case NODE_BLOCK:
        function->obstacle = "contains a block";
        break;
    case NODE_VARIABLE:
        if (node->type.space == SPACE_LOCAL)
            function->uses |= USE_LOCAL_SIZE;
        break;
    case NODE_PARAM:
        if (node->type.pointer && node->type.pointee_space == SPACE_LOCAL)
            function->uses |= USE_LOCAL_SIZE;
        break;
    default:
        break;
    }
    if (node->kind != NODE_NAME && node->type.is_volatile &&
        (node->type.space == SPACE_GLOBAL || node->type.space == SPACE_GENERIC))
        function->uses |= USE_VOLATILE;
    if (loads_pointer(node))
        function->uses |= USE_STORED_POINTERS;
}

static void look_inside(struct syntax_function *function)
{
    if (function->kernel)
        function->uses |= USE_IDS; /* the function takes the descriptor, so its callers need one */
    if (!function->body)
        return;
    for (struct syntax_node *node = function->body; node; node = syntax_next(node, function->body))
        look_at(function, node);
    for (uint32_t i = 0; i < function->n_params; i++)
        if (function->kernel && function->params[i] && strstr(function->params[i]->type.spelling, "pipe"))
            function->uses |= USE_PIPES;
}

/*
 * A function has the uses of the functions that it calls; one round per level of calls. True:
 * something was added.
 */
static bool inherit(struct syntax_function *function, enum translate_mode mode)
{
    uint32_t uses = function->uses;
    const char *obstacle = function->obstacle;

    for (struct syntax_node *node = function->body; node; node = syntax_next(node, function->body)) {
        const struct symbol *callee = node->kind == NODE_CALL ? syntax_callee(node) : NULL;

        if (!callee || callee->kind != SYMBOL_FUNCTION)
            continue;
        function->uses |= callee->function->uses;
        if (!callee->function->defined)
            function->obstacle = mode == TRANSLATE_COMPILE ? "calls a function of another object"
                                                           : "calls an undefined function";
        else if (!function->obstacle)
            function->obstacle = callee->function->obstacle;
    }
    return uses != function->uses || obstacle != function->obstacle;
}

/*
 * Does the function call itself, perhaps through others? That is a loop that the tree does not
 * show.
 */
static bool recurs(struct syntax_function *function)
{
    bool found = false;

    if (!function->body || function->visited)
        return function->calling;
    function->visited = function->calling = true;
    for (struct syntax_node *node = function->body; node && !found;
         node = syntax_next(node, function->body)) {
        const struct symbol *callee = node->kind == NODE_CALL ? syntax_callee(node) : NULL;

        found = callee && callee->kind == SYMBOL_FUNCTION && recurs(callee->function);
    }
    function->calling = false;
    if (found)
        function->obstacle = "calls itself";
    return found;
}

/*
 * The rewritten program would have its own variables beside those of the original, which may run
 * too.
 */
static void refuse_variables(struct syntax *syntax)
{
    for (const struct syntax_node *node = syntax->root; node;
         node = syntax_next((struct syntax_node *)node, syntax->root))
        if (node->kind == NODE_VARIABLE && node->type.space == SPACE_GLOBAL && !node->type.is_const)
            refuse(&syntax->refusal, "keeps %s in global memory", node->symbol->name);
}

void analyse(struct syntax *syntax, enum translate_mode mode)
{
    bool changed = true;

    refuse_variables(syntax);
    for (struct syntax_function *function = syntax->functions; function; function = function->next)
        (void)recurs(function);
    for (struct syntax_function *function = syntax->functions; function; function = function->next)
        look_inside(function);
    while (changed) {
        changed = false;
        for (struct syntax_function *function = syntax->functions; function; function = function->next)
            changed |= function->body && inherit(function, mode);
    }
    for (struct syntax_function *function = syntax->functions; function; function = function->next) {
        if (function->body && !function->obstacle && (function->uses & USE_PIPES))
            function->obstacle = "uses pipes";
        if (function->body && !function->obstacle && analyse_waits(syntax, function))
            function->obstacle = "may wait for other groups";
    }
    for (changed = true; changed;) {
        changed = false;
        for (struct syntax_function *function = syntax->functions; function; function = function->next)
            changed |= function->body && inherit(function, mode);
    }
}
