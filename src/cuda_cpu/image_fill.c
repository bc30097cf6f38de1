/* Entries and variables of a loaded image, and the initial values of its memory. */
#include "cuda_cpu/image_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies names one behind the other; *at is where the next one goes. */
static const char *keep_name(char **at, struct ptx_name name)
{
    char *copy = *at;

    memcpy(copy, name.text, name.length);
    copy[name.length] = 0;
    *at += name.length + 1;
    return copy;
}

static size_t count(const struct unit *unit, size_t *ret_entries, size_t *ret_parameters,
                    size_t *ret_variables)
{
    size_t bytes = 1;

    *ret_entries = *ret_parameters = *ret_variables = 0;
    for (size_t i = 0; i < unit->n_routines; i++)
        if (unit->routines[i].routine->is_entry) {
            ++*ret_entries;
            *ret_parameters += unit->routines[i].routine->n_parameters;
            bytes += unit->routines[i].routine->name.length + 1;
        }
    for (size_t i = 0; i < unit->n_variables; i++) {
        *ret_variables += unit->variables[i].variable->space != PTX_SHARED;
        bytes += unit->variables[i].variable->name.length + 1;
    }
    return bytes;
}

static uint32_t estimate_registers(const struct ptx_routine *routine)
{
    uint64_t n = 0;

    for (const struct ptx_register *reg = routine->registers; reg; reg = reg->next)
        if (reg->type != PTX_PRED)
            n += (uint64_t)(reg->count ? reg->count : 1) * (ptx_type_size(reg->type) > 4 ? 2 : 1);
    return n < 16 ? 16 : n > 255 ? 255 : (uint32_t)n;
}

static void fill_entry(struct image *image, const struct unit_routine *from, size_t index, char **names,
                       struct image_parameter **parameters)
{
    const struct ptx_routine *routine = from->routine;
    struct image_entry *entry = &image->entries[index];
    uint64_t most = (uint64_t)routine->max_threads[0] * routine->max_threads[1] * routine->max_threads[2];

    *entry = (struct image_entry){.index = index,
                                  .name = keep_name(names, routine->name),
                                  .parameters = *parameters,
                                  .n_parameters = routine->n_parameters,
                                  .parameter_bytes = routine->parameter_bytes,
                                  .static_shared_bytes = (uint32_t)from->shared_bytes,
                                  .local_bytes = (uint32_t)from->all_local_bytes,
                                  .max_threads = (uint32_t)(most > 1024 ? 1024 : most),
                                  .max_registers = routine->max_registers,
                                  .registers = estimate_registers(routine),
                                  .is_grid_wide = from->all_facts & UNIT_WORKSPACE};
    memcpy(entry->required_threads, routine->required_threads, sizeof entry->required_threads);
    if (routine->required_threads[0])
        entry->max_threads =
            routine->required_threads[0] * routine->required_threads[1] * routine->required_threads[2];
    image->starts[index] = &image->code->entries[index];
    image->stack_bytes[index] = 2 * from->all_local_bytes;
    image->is_recursive[index] = from->all_facts & UNIT_RECURSIVE;
    for (const struct ptx_variable *p = routine->parameters; p; p = p->next)
        *(*parameters)++ = (struct image_parameter){p->offset, (uint32_t)p->size, p->alignment};
}

/* The address of a symbol in an initialiser; false: it has none. */
static bool address_of(const struct image *image, const struct unit *unit, struct ptx_module *module,
                       struct ptx_name name, uint64_t *ret_address)
{
    for (const struct ptx_variable *v = module->variables; v; v = v->next)
        if (ptx_names_equal(v->name, name) && v->space != PTX_SHARED && v->user < unit->n_variables) {
            *ret_address = image->data + unit->variables[v->user].offset;
            return true;
        }
    for (const struct ptx_routine *f = module->routines; f; f = f->next)
        if (ptx_names_equal(f->name, name) && f->user < unit->n_routines && !f->is_entry) {
            *ret_address = image->code->functions[unit->routines[f->user].function].address;
            return true;
        }
    return false;
}

static enum cpu_status fill_variable(const struct image *image, const struct unit *unit,
                                     const struct unit_variable *from, char *text, size_t size)
{
    const struct ptx_variable *v = from->variable;
    unsigned bytes = ptx_type_size(v->type);

    for (size_t i = 0; i < v->n_values; i++) {
        const struct ptx_value *value = &v->values[i];
        uint64_t bits = value->bits;

        if (value->symbol.length) {
            uint64_t address;

            if (!address_of(image, unit, from->module, value->symbol, &address)) {
                (void)snprintf(text, size,
                               "%s:%u:%u: expected a variable or function with an address, found %.*s",
                               from->module->source.name, value->token->line,
                               ptx_token_column(&from->module->source, value->token),
                               (int)value->symbol.length, value->symbol.text);
                return CPU_UNRESOLVED;
            }
            bits += address;
            if (value->mask)
                bits = (bits & value->mask) >> __builtin_ctzll(value->mask);
        }
        memcpy((char *)(uintptr_t)(image->data + from->offset + value->index * bytes), &bits,
               bytes < 8 ? bytes : 8);
    }
    return CPU_OK;
}

static enum cpu_status fill_variables(struct image *image, const struct unit *unit, void *owner, char **names,
                                      char *text, size_t size)
{
    size_t at = 0;
    enum cpu_status status = CPU_OK;

    if (unit->data_bytes &&
        space_allocate(image->space, unit->data_bytes, unit->data_alignment, owner, &image->data) < 0) {
        (void)snprintf(text, size, "no memory for the variables of the module");
        return CPU_OUT_OF_MEMORY;
    }
    image->constants = image->data + unit->globals_bytes;
    image->constants_end = image->data + unit->data_bytes;
    for (size_t i = 0; i < unit->n_variables && status == CPU_OK; i++) {
        const struct ptx_variable *v = unit->variables[i].variable;

        if (v->space == PTX_SHARED)
            continue;
        image->variables[at++] =
            (struct image_variable){.name = keep_name(names, v->name),
                                    .address = image->data + unit->variables[i].offset,
                                    .size = v->size,
                                    .kind = v->space == PTX_CONST ? IMAGE_CONSTANT : IMAGE_GLOBAL,
                                    .is_managed = v->is_managed};
        status = fill_variable(image, unit, &unit->variables[i], text, size);
    }
    image->n_variables = at;
    return status;
}

enum cpu_status image_fill(struct image *image, const struct unit *unit, void *owner, char *text, size_t size)
{
    size_t n_parameters;
    size_t n_variables;
    size_t bytes = count(unit, &image->n_entries, &n_parameters, &n_variables);
    struct image_parameter *parameters = calloc(n_parameters + 1, sizeof *parameters);
    char *names = calloc(bytes, 1);
    size_t at = 0;

    image->names = names;
    image->parameters = parameters;
    image->entries = calloc(image->n_entries + 1, sizeof *image->entries);
    image->starts = calloc(image->n_entries + 1, sizeof(const struct device_entry *));
    image->stack_bytes = calloc(image->n_entries + 1, sizeof *image->stack_bytes);
    image->is_recursive = calloc(image->n_entries + 1, sizeof *image->is_recursive);
    image->variables = calloc(n_variables + 1, sizeof *image->variables);
    if (!parameters || !names || !image->entries || !image->starts || !image->stack_bytes ||
        !image->is_recursive || !image->variables)
        return CPU_OUT_OF_MEMORY;
    if (image->code->n_entries != image->n_entries || image->code->n_functions != unit->n_functions) {
        (void)snprintf(text, size, "the code does not belong to this module");
        return CPU_SYSTEM;
    }
    for (size_t i = 0; i < unit->n_routines; i++)
        if (unit->routines[i].routine->is_entry)
            fill_entry(image, &unit->routines[i], at++, &names, &parameters);
    image->target = unit->n_modules ? unit->modules[0].target : 0;
    return fill_variables(image, unit, owner, &names, text, size);
}

size_t image_entries(const struct image *image)
{
    return image->n_entries;
}

const struct image_entry *image_entry_at(const struct image *image, size_t index)
{
    return index < image->n_entries ? &image->entries[index] : NULL;
}

const struct image_entry *image_find_entry(const struct image *image, const char *name)
{
    for (size_t i = 0; i < image->n_entries; i++)
        if (strcmp(image->entries[i].name, name) == 0)
            return &image->entries[i];
    return NULL;
}

size_t image_variables(const struct image *image)
{
    return image->n_variables;
}

const struct image_variable *image_variable_at(const struct image *image, size_t index)
{
    return index < image->n_variables ? &image->variables[index] : NULL;
}

const struct image_variable *image_find_variable(const struct image *image, const char *name)
{
    for (size_t i = 0; i < image->n_variables; i++)
        if (strcmp(image->variables[i].name, name) == 0)
            return &image->variables[i];
    return NULL;
}

unsigned image_target(const struct image *image)
{
    return image->target;
}

bool image_was_cached(const struct image *image)
{
    return image->was_cached;
}
