#include "cuda_cpu/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Visible definitions by name, over all modules. */
struct definition {
    struct ptx_name name;
    uint32_t index;
    bool is_weak, is_routine;
};

struct index {
    struct definition *table; /* open addressing */
    size_t room;
};

static size_t hash_name(struct ptx_name name)
{
    size_t hash = 1469598103934665603U;

    for (uint32_t i = 0; i < name.length; i++)
        hash = (hash ^ (unsigned char)name.text[i]) * 1099511628211U;
    return hash;
}

static struct definition *slot(const struct index *index, struct ptx_name name, bool is_routine)
{
    size_t at = hash_name(name) % index->room;

    while (index->table[at].name.text &&
           (index->table[at].is_routine != is_routine || !ptx_names_equal(index->table[at].name, name)))
        at = (at + 1) % index->room;
    return &index->table[at];
}

static bool is_weak(enum ptx_linkage linkage)
{
    return linkage == PTX_WEAK || linkage == PTX_COMMON;
}

/*
 * Enters a visible definition; CPU_DUPLICATE for a second one that is not weak. *ret_index: the
 * definition that counts.
 */
static int enter(struct index *index, struct ptx_name name, enum ptx_linkage linkage, bool is_routine,
                 uint32_t own, uint32_t *ret_index, char *text, size_t size)
{
    struct definition *found = slot(index, name, is_routine);

    *ret_index = own;
    if (found->name.text && !is_weak(linkage) && !found->is_weak) {
        (void)snprintf(text, size, "%.*s is defined twice", (int)name.length, name.text);
        return CPU_DUPLICATE;
    }
    if (found->name.text && is_weak(linkage)) {
        *ret_index = found->index;
        return 0;
    }
    *found = (struct definition){name, own, is_weak(linkage), is_routine};
    return 0;
}

static uint32_t provided(struct ptx_name name)
{
    static const struct {
        const char *name;
        uint32_t which;
    } known[] = {
        {"vprintf", UNIT_PRINT}, {"__assertfail", UNIT_ASSERT}, {"malloc", UNIT_MALLOC}, {"free", UNIT_FREE}};

    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (ptx_name_is(name, known[i].name))
            return known[i].which;
    return UNIT_NOTHING;
}

static bool is_definition(const struct ptx_variable *variable)
{
    return variable->linkage != PTX_EXTERN && variable->space != PTX_PARAM && variable->space != PTX_LOCAL;
}

static size_t count(const struct unit *unit, size_t *ret_variables)
{
    size_t n = 0;

    *ret_variables = 0;
    for (size_t m = 0; m < unit->n_modules; m++) {
        for (const struct ptx_routine *r = unit->modules[m].routines; r; r = r->next) {
            n += r->has_body;
            for (const struct ptx_variable *v = r->variables; v; v = v->next)
                *ret_variables += v->space == PTX_SHARED;
        }
        for (const struct ptx_variable *v = unit->modules[m].variables; v; v = v->next)
            *ret_variables += is_definition(v);
    }
    return n;
}

static int add_variable(struct unit *unit, struct index *index, struct ptx_module *module,
                        struct ptx_variable *v, char *text, size_t size)
{
    uint32_t own = (uint32_t)unit->n_variables;

    if (!is_definition(v))
        return 0;
    unit->variables[unit->n_variables++] = (struct unit_variable){.module = module, .variable = v};
    v->user = own;
    if (v->linkage == PTX_PRIVATE || v->routine)
        return 0;
    return enter(index, v->name, v->linkage, false, own, &v->user, text, size);
}

static int add_definitions(struct unit *unit, struct index *index, struct ptx_module *module, char *text,
                           size_t size)
{
    int r = 0;

    for (struct ptx_routine *f = module->routines; f && !r; f = f->next) {
        uint32_t own = (uint32_t)unit->n_routines;

        if (!f->has_body)
            continue;
        unit->routines[unit->n_routines++] = (struct unit_routine){.module = module, .routine = f};
        f->user = own;
        if (f->linkage != PTX_PRIVATE)
            r = enter(index, f->name, f->linkage, true, own, &f->user, text, size);
        for (struct ptx_variable *v = f->variables; v && !r; v = v->next)
            if (v->space == PTX_SHARED)
                r = add_variable(unit, index, module, v, text, size);
    }
    for (struct ptx_variable *v = module->variables; v && !r; v = v->next)
        r = add_variable(unit, index, module, v, text, size);
    return r;
}

static int resolve_uses(const struct index *index, struct ptx_module *module, char *text, size_t size)
{
    for (struct ptx_routine *f = module->routines; f; f = f->next) {
        const struct definition *found = slot(index, f->name, true);

        if (f->has_body)
            continue;
        f->user = found->name.text ? found->index : provided(f->name);
    }
    for (struct ptx_variable *v = module->variables; v; v = v->next) {
        const struct definition *found;

        if (is_definition(v))
            continue;
        found = slot(index, v->name, false);
        v->user = found->name.text ? found->index : v->space == PTX_SHARED ? UNIT_DYNAMIC : UNIT_NOTHING;
        if (v->user == UNIT_NOTHING) {
            (void)snprintf(text, size, "extern variable %.*s is not defined", (int)v->name.length,
                           v->name.text);
            return CPU_UNRESOLVED;
        }
    }
    return 0;
}

int unit_resolve(struct unit *unit, char *text, size_t size)
{
    size_t n_variables;
    size_t n = count(unit, &n_variables);
    struct index index = {.room = 2 * (n + n_variables) + 16};
    int r = -ENOMEM;

    index.table = calloc(index.room, sizeof *index.table);
    unit->routines = calloc(n + 1, sizeof *unit->routines);
    unit->variables = calloc(n_variables + 1, sizeof *unit->variables);
    if (index.table && unit->routines && unit->variables) {
        r = 0;
        for (size_t m = 0; m < unit->n_modules && !r; m++)
            r = add_definitions(unit, &index, &unit->modules[m], text, size);
        for (size_t m = 0; m < unit->n_modules && !r; m++)
            r = resolve_uses(&index, &unit->modules[m], text, size);
    }
    free(index.table);
    return r;
}

/* Globals, then constants, each at its alignment. */
static int place_data(struct unit *unit, char *text, size_t size)
{
    uint64_t at = 0;

    unit->data_alignment = 256;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < unit->n_variables; i++) {
            const struct ptx_variable *v = unit->variables[i].variable;

            if (v->space != (pass ? PTX_CONST : PTX_GLOBAL))
                continue;
            if (v->alignment > unit->data_alignment)
                unit->data_alignment = v->alignment;
            at = (at + v->alignment - 1) / v->alignment * v->alignment;
            unit->variables[i].offset = at;
            at += v->size;
            if (at > UINT64_C(1) << 40) {
                (void)snprintf(text, size, "the variables of the module need more than 2^40 bytes");
                return CPU_OUT_OF_MEMORY;
            }
        }
        at = (at + 255) / 256 * 256;
        if (!pass)
            unit->globals_bytes = at;
    }
    unit->data_bytes = at;
    return 0;
}

enum cpu_status unit_make(struct unit *unit, struct ptx_module *modules, size_t n, char *text, size_t size)
{
    int r;

    *unit = (struct unit){.modules = modules, .n_modules = n};
    r = unit_resolve(unit, text, size);
    if (!r)
        r = place_data(unit, text, size);
    if (!r)
        r = unit_analyse(unit);
    if (!r)
        r = unit_place_shared(unit);
    if (r < 0) {
        (void)snprintf(text, size, "out of memory");
        return CPU_OUT_OF_MEMORY;
    }
    return (enum cpu_status)r;
}

void unit_done(struct unit *unit)
{
    for (size_t i = 0; i < unit->n_routines; i++) {
        free(unit->routines[i].callees);
        free(unit->routines[i].spins);
    }
    free(unit->routines);
    free(unit->variables);
    free(unit->functions);
    *unit = (struct unit){0};
}
