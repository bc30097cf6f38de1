/*
 * Programs from SPIR-V: the module's entry points become declarations in OpenCL C, which program.c
 * scans as any source. A rewritten module declares the piece as one more argument by value.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "spirv/spirv_module.h"

static void declare_argument(const struct spirv_module *module, uint32_t type_id, size_t number, FILE *out)
{
    const struct spirv_instruction *type = spirv_definition(module, type_id);
    uint32_t storage = type && type->opcode == OP_TYPE_POINTER ? type->words[2] : UINT32_MAX;

    (void)fprintf(out, "%s%s a%zu", number ? ", " : "",
                  storage == STORAGE_GLOBAL      ? "global int *"
                  : storage == STORAGE_WORKGROUP ? "local int *"
                  : storage == STORAGE_FUNCTION  ? "struct piece"
                                                 : "int",
                  number);
}

static void declare_kernel(const struct spirv_module *module, const struct spirv_instruction *entry,
                           FILE *out)
{
    const struct spirv_function *function = spirv_function_of(module, entry->words[2]);
    size_t n = 0;

    (void)fprintf(out, "kernel void %s(", (const char *)(entry->words + 3));
    for (size_t i = function->begin; i <= function->end; i++)
        if (module->instructions[i].opcode == OP_FUNCTION_PARAMETER)
            declare_argument(module, module->instructions[i].type, n++, out);
    (void)fprintf(out, ") {}\n");
}

FAKE_API cl_program CL_API_CALL fake_clCreateProgramWithIL(cl_context context, const void *il, size_t length,
                                                           cl_int *ret_code)
{
    if (!fake_script_old())
        return fake_create_program_with_il_khr(context, il, length, ret_code);
    if (ret_code)
        *ret_code = CL_INVALID_OPERATION; /* not in OpenCL 1.2 */
    return NULL;
}

cl_program CL_API_CALL fake_create_program_with_il_khr(cl_context context, const void *il, size_t length,
                                                       cl_int *ret_code)
{
    cl_int code = fake_script_fail("CreateProgramWithIL");
    struct spirv_refusal refusal = {0};
    struct spirv_module module;
    struct arena arena;
    char *source = NULL;
    size_t size;
    FILE *out;

    arena_init(&arena, 0);
    if (!fake_is(context, FAKE_CONTEXT))
        code = CL_INVALID_CONTEXT;
    else if (!code && (!il || spirv_read(&arena, il, length, &module, &refusal)))
        code = CL_INVALID_VALUE;
    if (!code) {
        out = open_memstream(&source, &size);
        for (size_t i = 0; i < module.first_function; i++)
            if (module.instructions[i].opcode == OP_ENTRY_POINT)
                declare_kernel(&module, &module.instructions[i], out);
        (void)fclose(out);
    }
    arena_done(&arena);
    if (ret_code)
        *ret_code = code;
    return code ? NULL : fake_program_new(context, source);
}
