#include "spirv/spirv_module.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void spirv_refuse(struct spirv_refusal *refusal, const char *format, ...)
{
    va_list list;

    if (refusal->reason[0])
        return;
    va_start(list, format);
    (void)vsnprintf(refusal->reason, sizeof refusal->reason, format, list);
    va_end(list);
}

static uint32_t swapped(uint32_t word)
{
    return word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24;
}

bool spirv_is(const void *bytes, size_t n)
{
    uint32_t magic;

    if (n < SPIRV_HEADER * sizeof magic || n % sizeof magic)
        return false;
    memcpy(&magic, bytes, sizeof magic);
    return magic == SPIRV_MAGIC || swapped(magic) == SPIRV_MAGIC;
}

/*
 * Instructions without a result, among those that a kernel module has. All others below 400 have
 * type and result.
 */
static bool has_result(uint16_t opcode)
{
    switch (opcode) {
    case OP_FUNCTION_END:
    case OP_STORE:
    case OP_COPY_MEMORY:
    case OP_COPY_MEMORY_SIZED:
    case OP_IMAGE_WRITE:
    case OP_CONTROL_BARRIER:
    case 225: /* OpMemoryBarrier */
    case OP_ATOMIC_STORE:
    case OP_LOOP_MERGE:
    case OP_SELECTION_MERGE:
    case OP_LIFETIME_START:
    case OP_LIFETIME_STOP:
    case 260: /* OpGroupWaitEvents */
    case 280: /* OpCommitReadPipe */
    case 281: /* OpCommitWritePipe */
    case 287: /* OpGroupCommitReadPipe */
    case OP_GROUP_COMMIT_WRITE_PIPE:
    case 297: /* OpRetainEvent */
    case 298: /* OpReleaseEvent */
    case 301: /* OpSetUserEventStatus */
    case 302: /* OpCaptureEventProfilingInfo */
    case OP_NO_LINE:
    case OP_ATOMIC_FLAG_CLEAR:
    case OP_MEMORY_NAMED_BARRIER:
    case 330:  /* OpModuleProcessed */
    case 331:  /* OpExecutionModeId */
    case 332:  /* OpDecorateId */
    case 4416: /* OpTerminateInvocation */
    case 5576: /* OpSubgroupBlockWriteINTEL */
    case 5578: /* OpSubgroupImageBlockWriteINTEL */
    case 5581: /* OpSubgroupImageMediaBlockWriteINTEL */
    case 5630: /* OpAssumeTrueKHR */
    case 5632: /* OpDecorateString */
    case 5633: /* OpMemberDecorateString */
    case 5887: /* OpLoopControlINTEL */
        return false;
    default:
        return !(opcode <= 4 || opcode == OP_NAME || opcode == 6 || opcode == OP_LINE || opcode == 10 ||
                 (opcode >= OP_MEMORY_MODEL && opcode <= OP_CAPABILITY) ||
                 opcode == OP_TYPE_FORWARD_POINTER ||
                 (opcode >= OP_DECORATE && opcode <= OP_MEMBER_DECORATE) || opcode == OP_GROUP_DECORATE ||
                 opcode == 75 || (opcode >= 218 && opcode <= 221) ||
                 (opcode >= OP_BRANCH && opcode <= OP_UNREACHABLE)) ||
               opcode == 1; /* OpUndef */
    }
}

/* Core instructions, and those of extensions whose operands are known here. */
static bool is_known(uint16_t opcode)
{
    return opcode < 400 || (opcode >= 4421 && opcode <= 4432) || (opcode >= 5571 && opcode <= 5581) ||
           opcode == OP_CONSTANT_FUNCTION_POINTER_INTEL || opcode == OP_FUNCTION_POINTER_CALL_INTEL ||
           (opcode >= OP_ATOMIC_FMIN_EXT && opcode <= OP_ATOMIC_FMAX_EXT) ||
           (opcode >= 5630 && opcode <= 5633) || opcode == 5887 || opcode == OP_ATOMIC_FADD_EXT;
}

/* Instructions whose result has no type: types, labels, strings, decoration groups, imports. */
static bool has_type(uint16_t opcode)
{
    return has_result(opcode) && opcode != OP_STRING && opcode != 11 && opcode != 73 && opcode != OP_LABEL &&
           !(opcode >= OP_TYPE_VOID && opcode <= OP_TYPE_FORWARD_POINTER) && opcode != 322 && opcode != 327;
}

bool spirv_is_atomic(uint16_t opcode)
{
    return (opcode >= OP_ATOMIC_LOAD && opcode <= OP_ATOMIC_XOR) || opcode == OP_ATOMIC_FLAG_TEST_AND_SET ||
           opcode == OP_ATOMIC_FLAG_CLEAR || opcode == OP_ATOMIC_FADD_EXT || opcode == OP_ATOMIC_FMIN_EXT ||
           opcode == OP_ATOMIC_FMAX_EXT;
}

/* How many words from words[first] on are ids; the rest are literals. SIZE_MAX: all. */
static size_t ids_of(const struct spirv_instruction *i)
{
    switch (i->opcode) {
    case OP_LOAD:
    case OP_COMPOSITE_EXTRACT:
    case OP_LIFETIME_START:
    case OP_LIFETIME_STOP:
    case OP_SELECTION_MERGE:
    case OP_LINE:
    case OP_NAME:
    case OP_DECORATE:
    case OP_EXECUTION_MODE:
        return 1;
    case OP_STORE:
    case OP_COPY_MEMORY:
    case OP_VECTOR_SHUFFLE:
    case OP_COMPOSITE_INSERT:
    case OP_LOOP_MERGE:
        return 2;
    case OP_COPY_MEMORY_SIZED:
    case OP_BRANCH_CONDITIONAL:
        return 3;
    case OP_CAPABILITY:
    case OP_MEMORY_MODEL:
    case OP_STRING:
        return 0;
    default:
        return SIZE_MAX;
    }
}

bool spirv_uses_id(const struct spirv_instruction *i, size_t at)
{
    size_t first = 1 + (i->type != 0) + (i->result != 0);

    if (at < first || at >= i->n_words)
        return false;
    if (i->opcode == OP_VARIABLE || i->opcode == OP_FUNCTION || i->opcode == OP_EXT_INST)
        return at != first + (i->opcode == OP_EXT_INST); /* storage class, control, number */
    if (i->opcode >= OP_IMAGE_SAMPLE_EXPLICIT_LOD - 1 && i->opcode <= OP_IMAGE_READ)
        return at != first + 2; /* the mask of image operands */
    if (i->opcode == OP_IMAGE_WRITE)
        return at != first + 3;
    if (i->opcode > OP_GROUP_ALL + 2 && i->opcode <= OP_GROUP_SMAX)
        return at != first + 1; /* the group operation */
    return at - first < ids_of(i);
}

struct spirv_reader {
    struct arena *arena;
    struct spirv_module module;
    struct spirv_refusal *refusal;
};

static bool copy_words(struct spirv_reader *reader, const void *bytes, size_t n)
{
    uint32_t *words = arena_calloc(reader->arena, n / sizeof *words, sizeof *words);

    if (!words)
        return false;
    memcpy(words, bytes, n);
    if (words[0] != SPIRV_MAGIC)
        for (size_t i = 0; i < n / sizeof *words; i++)
            words[i] = swapped(words[i]);
    reader->module.words = words;
    reader->module.n_words = n / sizeof *words;
    reader->module.bound = words[3];
    return true;
}

/* Splits the words into instructions. Only counts them while instructions is NULL. */
static int split(struct spirv_reader *reader)
{
    struct spirv_module *module = &reader->module;
    size_t n = 0;

    for (size_t at = SPIRV_HEADER; at < module->n_words; n++) {
        uint32_t first = module->words[at];
        uint16_t opcode = (uint16_t)(first & 0xffff);
        uint16_t length = (uint16_t)(first >> 16);
        size_t needed = 1U + has_type(opcode) + has_result(opcode);

        if (!length || length < needed || length > module->n_words - at) {
            spirv_refuse(reader->refusal, "instruction %zu has a wrong length", n);
            return 1;
        }
        if (!is_known(opcode)) {
            spirv_refuse(reader->refusal, "instruction %zu is unknown (opcode %u)", n, opcode);
            return 1;
        }
        if (module->instructions) {
            const uint32_t *words = &module->words[at];
            struct spirv_instruction *i = &module->instructions[n];

            *i = (struct spirv_instruction){.words = words, .opcode = opcode, .n_words = length};
            i->type = has_type(opcode) ? words[1] : 0;
            i->result = has_result(opcode) ? words[1 + has_type(opcode)] : 0;
        }
        at += length;
    }
    module->n_instructions = n;
    return 0;
}

static int index_ids(struct spirv_reader *reader)
{
    struct spirv_module *module = &reader->module;

    for (size_t n = 0; n < module->n_instructions; n++) {
        const struct spirv_instruction *i = &module->instructions[n];

        if ((i->result && i->result >= module->bound) || (i->type && i->type >= module->bound)) {
            spirv_refuse(reader->refusal, "instruction %zu uses an id beyond the bound", n);
            return 1;
        }
        if (has_result(i->opcode) && (!i->result || module->definition[i->result])) {
            spirv_refuse(reader->refusal, "instruction %zu defines an id twice, or id 0", n);
            return 1;
        }
        if (i->result)
            module->definition[i->result] = (uint32_t)n + 1;
        if (i->opcode == OP_DECORATE && i->n_words >= 4 && i->words[2] == DECORATION_BUILT_IN &&
            i->words[1] < module->bound)
            module->builtin[i->words[1]] = i->words[3];
    }
    return 0;
}

static bool ends_block(uint16_t opcode)
{
    return opcode >= OP_BRANCH && opcode <= OP_UNREACHABLE;
}

/* Instructions from begin + 1 to the function's end. Sets end and what else is known. */
static int read_body(struct spirv_reader *reader, struct spirv_function *function)
{
    struct spirv_module *module = &reader->module;
    bool in_block = false;

    for (size_t n = function->begin + 1; n < module->n_instructions; n++) {
        const struct spirv_instruction *i = &module->instructions[n];

        function->end = n;
        if (i->opcode == OP_FUNCTION_END && !in_block)
            return 0;
        if (i->opcode == OP_FUNCTION_PARAMETER && !function->defined)
            function->n_parameters++;
        else if (i->opcode == OP_LABEL && !in_block)
            function->defined = in_block = true;
        else if (in_block && ends_block(i->opcode))
            in_block = false;
        else if (!in_block && i->opcode != OP_LINE && i->opcode != OP_NO_LINE && i->opcode != OP_EXT_INST)
            break;
        else if (i->opcode == OP_LABEL || i->opcode == OP_FUNCTION || i->opcode == OP_FUNCTION_END)
            break;
    }
    spirv_refuse(reader->refusal, "function %u is not well formed", function->id);
    return 1;
}

static int find_functions(struct spirv_reader *reader)
{
    struct spirv_module *module = &reader->module;
    size_t n_functions = 0;

    for (size_t n = 0; n < module->n_instructions; n++)
        n_functions += module->instructions[n].opcode == OP_FUNCTION;
    module->functions = arena_calloc(reader->arena, n_functions + 1, sizeof *module->functions);
    if (!module->functions)
        return -ENOMEM;
    module->first_function = module->n_instructions;
    for (size_t n = 0; n < module->n_instructions; n++) {
        struct spirv_function *function = &module->functions[module->n_functions];

        if (module->instructions[n].opcode != OP_FUNCTION)
            continue;
        if (!module->n_functions)
            module->first_function = n;
        *function = (struct spirv_function){.id = module->instructions[n].result, .begin = n};
        if (module->instructions[n].n_words != 5 || read_body(reader, function)) {
            spirv_refuse(reader->refusal, "function %u is not well formed", function->id);
            return 1;
        }
        module->n_functions++;
        n = function->end;
    }
    return 0;
}

static int find_size(struct spirv_reader *reader)
{
    const struct spirv_module *module = &reader->module;

    for (size_t n = 0; n < module->first_function; n++) {
        const struct spirv_instruction *i = &module->instructions[n];

        if (i->opcode != OP_MEMORY_MODEL || i->n_words < 3)
            continue;
        if (i->words[1] == ADDRESSING_32 || i->words[1] == ADDRESSING_64) {
            reader->module.size_bits = i->words[1] == ADDRESSING_32 ? 32 : 64;
            return 0;
        }
    }
    spirv_refuse(reader->refusal, "no physical addressing model: not a module for OpenCL");
    return 1;
}

int spirv_read(struct arena *arena, const void *bytes, size_t n, struct spirv_module *ret_module,
               struct spirv_refusal *ret_refusal)
{
    struct spirv_reader reader = {.arena = arena, .refusal = ret_refusal};
    struct spirv_module *module = &reader.module;
    int result;

    if (!spirv_is(bytes, n)) {
        spirv_refuse(ret_refusal, "not SPIR-V");
        return 1;
    }
    if (!copy_words(&reader, bytes, n))
        return -ENOMEM;
    if (module->bound > SPIRV_MOST_IDS || !module->bound) {
        spirv_refuse(ret_refusal, "bound of ids is %u", module->bound);
        return 1;
    }
    result = split(&reader);
    if (result)
        return result;
    module->instructions = arena_calloc(arena, module->n_instructions + 1, sizeof *module->instructions);
    module->definition = arena_calloc(arena, module->bound, sizeof *module->definition);
    module->builtin = arena_calloc(arena, module->bound, sizeof *module->builtin);
    if (!module->instructions || !module->definition || !module->builtin)
        return -ENOMEM;
    result = split(&reader);
    result = result ? result : index_ids(&reader);
    result = result ? result : find_functions(&reader);
    result = result ? result : find_size(&reader);
    if (!result)
        *ret_module = *module;
    return result;
}

const struct spirv_instruction *spirv_definition(const struct spirv_module *module, uint32_t id)
{
    return id < module->bound && module->definition[id] ? &module->instructions[module->definition[id] - 1]
                                                        : NULL;
}

const struct spirv_function *spirv_function_of(const struct spirv_module *module, uint32_t id)
{
    size_t begin = id < module->bound && module->definition[id] ? module->definition[id] - 1 : SIZE_MAX;
    size_t low = 0;
    size_t high = module->n_functions;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (module->functions[middle].begin < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low < module->n_functions && module->functions[low].begin == begin ? &module->functions[low]
                                                                              : NULL;
}

uint32_t spirv_storage_of(const struct spirv_module *module, uint32_t id)
{
    const struct spirv_instruction *value = spirv_definition(module, id);
    const struct spirv_instruction *type = value ? spirv_definition(module, value->type) : NULL;

    return type && type->opcode == OP_TYPE_POINTER && type->n_words == 4 ? type->words[2] : UINT32_MAX;
}
