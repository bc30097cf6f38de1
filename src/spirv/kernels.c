#include <errno.h>
#include <string.h>

#include "spirv/cut_private.h"

const char *spirv_entry_name(struct arena *arena, const struct spirv_instruction *i, size_t *ret_words)
{
    size_t room = (size_t)(i->n_words - 3) * 4;
    char *name = arena_calloc(arena, room + 1, 1);

    for (size_t c = 0; name && c < room; c++) {
        name[c] = (char)(i->words[3 + c / 4] >> 8 * (c % 4) & 0xff);
        if (!name[c]) {
            *ret_words = c / 4 + 1;
            return name;
        }
    }
    return NULL;
}

static enum spirv_argument argument_of(const struct spirv_module *module, const struct spirv_instruction *i)
{
    const struct spirv_instruction *type = spirv_definition(module, i->type);

    if (type && type->opcode == OP_TYPE_IMAGE)
        return SPIRV_IMAGE;
    if (type && type->opcode == OP_TYPE_SAMPLER)
        return SPIRV_SAMPLER;
    if (!type || type->opcode != OP_TYPE_POINTER || type->n_words != 4 || type->words[2] == STORAGE_FUNCTION)
        return SPIRV_VALUE;
    return type->words[2] == STORAGE_WORKGROUP ? SPIRV_LOCAL : SPIRV_MEMORY;
}

static int describe_arguments(struct spirv_cutter *cutter, const struct spirv_function *function,
                              struct spirv_kernel *kernel)
{
    kernel->args = arena_calloc(cutter->arena, function->n_parameters + 1, sizeof *kernel->args);
    if (!kernel->args)
        return -ENOMEM;
    for (size_t n = function->begin + 1; kernel->n_args < function->n_parameters; n++)
        if (cutter->module.instructions[n].opcode == OP_FUNCTION_PARAMETER)
            kernel->args[kernel->n_args++] = argument_of(&cutter->module, &cutter->module.instructions[n]);
    return 0;
}

static void read_local_size(const struct spirv_cutter *cutter, uint32_t function, struct spirv_kernel *kernel)
{
    for (size_t n = 0; n < cutter->module.first_function; n++) {
        const struct spirv_instruction *i = &cutter->module.instructions[n];

        if (i->opcode != OP_EXECUTION_MODE || i->n_words != 6 || i->words[1] != function ||
            i->words[2] != MODE_LOCAL_SIZE)
            continue;
        kernel->reqd_local_given = true;
        memcpy(kernel->reqd_local, i->words + 3, sizeof kernel->reqd_local);
    }
}

static int add_kernel(struct spirv_cutter *cutter, const struct spirv_instruction *i,
                      struct spirv_kernel *kernel)
{
    const struct spirv_function *function = spirv_function_of(&cutter->module, i->words[2]);
    const struct spirv_waits *waits;
    size_t words;

    if (i->words[1] != MODEL_KERNEL || !function || !function->defined) {
        spirv_refuse(cutter->refusal, "an entry point is no kernel");
        return 1;
    }
    kernel->name = spirv_entry_name(cutter->arena, i, &words);
    if (!kernel->name) {
        spirv_refuse(cutter->refusal, "an entry point has no name");
        return 1;
    }
    waits = &cutter->waits[function - cutter->module.functions];
    kernel->obstacle = waits->waits;
    cutter->plans[function - cutter->module.functions].kernel = true;
    read_local_size(cutter, i->words[2], kernel);
    return describe_arguments(cutter, function, kernel);
}

int spirv_find_kernels(struct spirv_cutter *cutter, struct spirv_cut *cut)
{
    const struct spirv_module *module = &cutter->module;
    size_t n_entries = 0;
    int result = 0;

    for (size_t n = 0; n < module->first_function; n++)
        n_entries += module->instructions[n].opcode == OP_ENTRY_POINT;
    cut->kernels = arena_calloc(cutter->arena, n_entries + 1, sizeof *cut->kernels);
    if (!cut->kernels)
        return -ENOMEM;
    for (size_t n = 0; n < module->first_function && !result; n++) {
        const struct spirv_instruction *i = &module->instructions[n];

        if (i->opcode == OP_ENTRY_POINT)
            result = i->n_words < 4 ? 1 : add_kernel(cutter, i, &cut->kernels[cut->n_kernels++]);
    }
    for (size_t k = 0; k < cut->n_kernels && !result; k++) /* two names may enter one function */
        for (size_t other = 0; other < k; other++)
            if (!strcmp(cut->kernels[k].name, cut->kernels[other].name))
                result = 1;
    if (result > 0)
        spirv_refuse(cutter->refusal, "entry points are not well formed");
    return result;
}
