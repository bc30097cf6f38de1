/*
 * Finds what each routine does, alone and with all that it may call, and places shared variables.
 */
#include "cuda_cpu/unit.h"
#include "ptx/flow_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t unit_shape(const struct ptx_variable *returns, const struct ptx_variable *parameters)
{
    uint64_t hash = 1469598103934665603U;

    for (const struct ptx_variable *v = returns; v; v = v->next)
        hash = (hash ^ v->size) * 1099511628211U;
    hash = (hash ^ UINT64_MAX) * 1099511628211U;
    for (const struct ptx_variable *v = parameters; v; v = v->next)
        hash = (hash ^ v->size) * 1099511628211U;
    return hash;
}

static bool special_is(const struct ptx_operand *operand, const char *name)
{
    return operand->kind == PTX_OP_SPECIAL && strcmp(operand->special->name, name) == 0;
}

/* Facts and addresses in operands, at any depth. */
static void look_at(struct unit *unit, struct unit_routine *routine, const struct ptx_operand *operand)
{
    static const char *const lanes[] = {"%laneid",      "%warpid",      "%lanemask_eq", "%lanemask_le",
                                        "%lanemask_lt", "%lanemask_ge", "%lanemask_gt"};

    for (unsigned i = 0; i < sizeof lanes / sizeof lanes[0]; i++)
        if (special_is(operand, lanes[i]))
            routine->facts |= UNIT_LANE;
    if (special_is(operand, "%envreg") && (operand->bits == 1 || operand->bits == 2))
        routine->facts |= UNIT_WORKSPACE;
    if (operand->kind == PTX_OP_ROUTINE && operand->routine->user < unit->n_routines)
        unit->routines[operand->routine->user].is_address_taken = true;
    for (unsigned i = 0; i < operand->n_parts; i++)
        look_at(unit, routine, &operand->parts[i]);
}

static bool is_read(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OP_REGISTER && (operand->reg->used[operand->index] & PTX_IS_READ);
}

/*
 * Does the statement read what another thread may write? A loop can only wait if it has such a
 * statement.
 */
static bool may_wait(const struct ptx_module *module, const struct ptx_statement *statement)
{
    switch (statement->match.row->family) {
    case PTX_LOAD:
        return ptx_has(module, statement, "volatile") || ptx_has(module, statement, "relaxed") ||
               ptx_has(module, statement, "acquire");
    case PTX_ATOMIC:
        return is_read(&statement->operands[0]) &&
               (ptx_has(module, statement, "cas") || ptx_has(module, statement, "exch") ||
                ptx_has(module, statement, "acquire") || ptx_has(module, statement, "acq_rel") ||
                ptx_has(module, statement, "add") || ptx_has(module, statement, "or"));
    case PTX_MBARRIER:
        return ptx_has(module, statement, "test_wait") || ptx_has(module, statement, "try_wait");
    case PTX_SLEEP:
        return true;
    default:
        return false;
    }
}

/* Marks branches back within loops that may wait. */
static int find_spins(struct unit_routine *routine)
{
    const struct ptx_routine *f = routine->routine;
    uint32_t *component = calloc(f->n + 1, sizeof *component);
    bool *cyclic = calloc(f->n + 1, sizeof *cyclic);
    bool *waits = calloc(f->n + 1, sizeof *waits); /* by component */
    bool any = false;
    int r = component && cyclic && waits ? ptx_components(f, component, cyclic) : -ENOMEM;

    for (size_t i = 0; i < f->n && !r; i++)
        if (f->statements[i].kind == PTX_STATEMENT_OPERATION && cyclic[i] &&
            may_wait(routine->module, &f->statements[i]))
            any = waits[component[i]] = true;
    if (!r && any) {
        routine->facts |= UNIT_SPIN;
        routine->spins = calloc(f->n, sizeof *routine->spins);
        r = routine->spins ? 0 : -ENOMEM;
        for (size_t i = 0; i < f->n && !r; i++) {
            const struct ptx_statement *s = &f->statements[i];

            routine->spins[i] = cyclic[i] && waits[component[i]] && s->kind == PTX_STATEMENT_OPERATION &&
                                s->match.row->family == PTX_BRANCH && s->operands[0].label <= i;
        }
    }
    free(component);
    free(cyclic);
    free(waits);
    return r;
}

static int add_callee(struct unit_routine *routine, uint32_t callee)
{
    uint32_t *more;

    for (size_t i = 0; i < routine->n_callees; i++)
        if (routine->callees[i] == callee)
            return 0;
    more = realloc(routine->callees, (routine->n_callees + 1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    routine->callees = more;
    more[routine->n_callees++] = callee;
    return 0;
}

static int look_at_statement(struct unit *unit, struct unit_routine *routine, const struct ptx_statement *s)
{
    for (unsigned i = 0; i < s->n_operands; i++)
        look_at(unit, routine, &s->operands[i]);
    switch (s->match.row->family) {
    case PTX_BARRIER:
        routine->facts |= UNIT_BARRIER;
        return 0;
    case PTX_WARP:
        routine->facts |= UNIT_WARP;
        return 0;
    case PTX_MBARRIER: /* a test lets other threads run */
        routine->facts |= may_wait(routine->module, s) ? UNIT_WARP : 0;
        return 0;
    case PTX_EXIT: /* inside a function, only a thread with its own stack can leave */
        routine->facts |= routine->routine->is_entry ? 0 : UNIT_WARP;
        return 0;
    case PTX_CALL:
        routine->facts |= UNIT_CALLS;
        if (s->prototype)
            routine->facts |= UNIT_INDIRECT;
        else if (s->callee->routine->user < unit->n_routines)
            return add_callee(routine, s->callee->routine->user);
        return 0;
    default:
        return 0;
    }
}

static int look_at_routine(struct unit *unit, struct unit_routine *routine)
{
    int r = 0;

    for (size_t i = 0; i < routine->routine->n && !r; i++)
        if (routine->routine->statements[i].kind == PTX_STATEMENT_OPERATION)
            r = look_at_statement(unit, routine, &routine->routine->statements[i]);
    for (const struct ptx_variable *v = routine->routine->variables; v; v = v->next)
        if (v->space != PTX_SHARED)
            routine->local_bytes += v->size + v->alignment;
    routine->shape = unit_shape(routine->routine->returns, routine->routine->parameters);
    return r ? r : find_spins(routine);
}

/* Functions in initialisers have their address taken, too. */
static void look_at_values(struct unit *unit)
{
    for (size_t i = 0; i < unit->n_variables; i++) {
        const struct ptx_variable *v = unit->variables[i].variable;

        for (size_t k = 0; k < v->n_values; k++) {
            if (!v->values[k].symbol.length)
                continue;
            for (const struct ptx_routine *f = unit->variables[i].module->routines; f; f = f->next)
                if (ptx_names_equal(f->name, v->values[k].symbol) && f->user < unit->n_routines)
                    unit->routines[f->user].is_address_taken = true;
        }
    }
}

struct unit_walk {
    struct unit *unit;
    uint8_t *state; /* 0 not seen, 1 on the path, 2 done */
    size_t *stack;
    size_t n;
};

/* Everything that the routine may call, including itself: sets their state to 2. */
static void reach(struct unit_walk *walk, size_t root)
{
    walk->n = 0;
    walk->stack[walk->n++] = root;
    walk->state[root] = 2;
    while (walk->n) {
        const struct unit_routine *routine = &walk->unit->routines[walk->stack[--walk->n]];

        for (size_t i = 0; i < routine->n_callees; i++)
            if (!walk->state[routine->callees[i]]) {
                walk->state[routine->callees[i]] = 2;
                walk->stack[walk->n++] = routine->callees[i];
            }
        for (size_t i = 0; (routine->facts & UNIT_INDIRECT) && i < walk->unit->n_functions; i++)
            if (!walk->state[walk->unit->functions[i]]) {
                walk->state[walk->unit->functions[i]] = 2;
                walk->stack[walk->n++] = walk->unit->functions[i];
            }
    }
}

/*
 * Facts and memory of a routine with all that it may call. Indirect calls count as recursion, which
 * costs only address space.
 */
static void sum_up(struct unit_walk *walk, size_t root)
{
    struct unit *unit = walk->unit;
    struct unit_routine *routine = &unit->routines[root];

    memset(walk->state, 0, unit->n_routines);
    reach(walk, root);
    for (size_t i = 0; i < unit->n_routines; i++) {
        if (!walk->state[i])
            continue;
        routine->all_facts |= unit->routines[i].facts;
        routine->all_local_bytes += unit->routines[i].local_bytes;
        for (size_t k = 0; k < unit->routines[i].n_callees; k++)
            if (i != root || unit->routines[i].callees[k] == i)
                routine->all_facts |= UNIT_RECURSIVE;
    }
    if (routine->all_facts & UNIT_INDIRECT)
        routine->all_facts |= UNIT_RECURSIVE;
}

int unit_analyse(struct unit *unit)
{
    struct unit_walk walk = {.unit = unit};
    int r = 0;

    for (size_t i = 0; i < unit->n_routines && !r; i++)
        r = look_at_routine(unit, &unit->routines[i]);
    look_at_values(unit);
    walk.state = calloc(unit->n_routines + 1, 1);
    walk.stack = calloc(unit->n_routines + 1, sizeof *walk.stack);
    unit->functions = calloc(unit->n_routines + 1, sizeof *unit->functions);
    if (!walk.state || !walk.stack || !unit->functions)
        r = -ENOMEM;
    for (size_t i = 0; i < unit->n_routines && !r; i++)
        if (unit->routines[i].is_address_taken && !unit->routines[i].routine->is_entry) {
            unit->routines[i].function = (uint32_t)unit->n_functions;
            unit->functions[unit->n_functions++] = (uint32_t)i;
        }
    /* Only for entries: with many functions, a walk from each would take quadratic time. */
    for (size_t i = 0; i < unit->n_routines && !r; i++)
        if (unit->routines[i].routine->is_entry)
            sum_up(&walk, i);
    free(walk.state);
    free(walk.stack);
    return r;
}

bool unit_switches(const struct unit_routine *routine)
{
    return routine->all_facts & (UNIT_BARRIER | UNIT_WARP | UNIT_SPIN);
}

/* Barrier 0, for all threads of the block. */
static bool is_whole(const struct ptx_module *module, const struct ptx_statement *s)
{
    bool reduces = ptx_has(module, s, "red");
    const struct ptx_operand *id = &s->operands[reduces];

    return !ptx_has(module, s, "arrive") && s->n_operands == (reduces ? 3 : 1) && id->kind == PTX_OP_INT &&
           id->bits == 0;
}

bool unit_is_staged(const struct unit *unit, const struct unit_routine *routine)
{
    if (!routine->routine->is_entry || !(routine->facts & UNIT_BARRIER) ||
        routine->all_facts & (UNIT_WARP | UNIT_SPIN | UNIT_WORKSPACE))
        return false;
    for (size_t i = 0; i < unit->n_routines && (routine->facts & UNIT_CALLS); i++)
        if (!unit->routines[i].routine->is_entry && unit->routines[i].facts & UNIT_BARRIER)
            return false;
    for (size_t i = 0; i < routine->routine->n; i++) {
        const struct ptx_statement *s = &routine->routine->statements[i];

        if (s->kind != PTX_STATEMENT_OPERATION)
            continue;
        if (s->match.row->family == PTX_STACK ||
            (s->match.row->family == PTX_BARRIER && !is_whole(routine->module, s)))
            return false;
    }
    return true;
}

static void mark_shared(const struct ptx_operand *operand, bool *used)
{
    if (operand->kind == PTX_OP_VARIABLE && operand->variable->space == PTX_SHARED &&
        operand->variable->user < UNIT_DYNAMIC)
        used[operand->variable->user] = true;
    for (unsigned i = 0; i < operand->n_parts; i++)
        mark_shared(&operand->parts[i], used);
}

/* The shared variables that the routine itself names. */
static void shared_of(const struct unit_routine *routine, bool *used)
{
    for (size_t i = 0; i < routine->routine->n; i++) {
        const struct ptx_statement *s = &routine->routine->statements[i];

        for (unsigned k = 0; s->kind == PTX_STATEMENT_OPERATION && k < s->n_operands; k++)
            mark_shared(&s->operands[k], used);
    }
}

/*
 * Each shared variable has one offset for all entries that reach it. It lies behind everything that
 * these entries already have. Entries that share no variable overlap.
 */
int unit_place_shared(struct unit *unit)
{
    struct unit_walk walk = {.unit = unit,
                             .state = calloc(unit->n_routines + 1, 1),
                             .stack = calloc(unit->n_routines + 1, sizeof(size_t))};
    bool *reaches = calloc((unit->n_variables + 1) * (unit->n_routines + 1), sizeof *reaches);
    int r = walk.state && walk.stack && reaches ? 0 : -ENOMEM;
    size_t width = unit->n_variables;

    for (size_t e = 0; e < unit->n_routines && !r; e++) {
        if (!unit->routines[e].routine->is_entry)
            continue;
        memset(walk.state, 0, unit->n_routines);
        reach(&walk, e);
        for (size_t i = 0; i < unit->n_routines; i++)
            if (walk.state[i])
                shared_of(&unit->routines[i], reaches + e * width);
    }
    for (size_t v = 0; v < unit->n_variables && !r; v++) {
        struct unit_variable *variable = &unit->variables[v];
        uint64_t at = 0;

        if (variable->variable->space != PTX_SHARED)
            continue;
        for (size_t e = 0; e < unit->n_routines; e++)
            if (reaches[e * width + v] && unit->routines[e].shared_bytes > at)
                at = unit->routines[e].shared_bytes;
        at = (at + variable->variable->alignment - 1) / variable->variable->alignment *
             variable->variable->alignment;
        variable->offset = at;
        for (size_t e = 0; e < unit->n_routines; e++)
            if (reaches[e * width + v])
                unit->routines[e].shared_bytes = at + variable->variable->size;
    }
    free(walk.state);
    free(walk.stack);
    free(reaches);
    return r;
}
