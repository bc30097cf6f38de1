#include "spirv/writer.h"

#include <string.h>

static bool make_room(struct spirv_writer *writer, struct spirv_writer_part *part, size_t n)
{
    size_t room = part->room;
    uint32_t *words;

    if (writer->failed || part->n + n <= room)
        return !writer->failed;
    while (room < part->n + n)
        room = room ? 2 * room : 256;
    words = arena_calloc(writer->arena, room, sizeof *words);
    if (!words) {
        writer->failed = true;
        return false;
    }
    if (part->n)
        memcpy(words, part->words, part->n * sizeof *words);
    part->words = words;
    part->room = room;
    return true;
}

void spirv_writer_add(struct spirv_writer *writer, struct spirv_writer_part *part, const uint32_t *words,
                      size_t n)
{
    if (!make_room(writer, part, n))
        return;
    if (n)
        memcpy(part->words + part->n, words, n * sizeof *words);
    part->n += n;
}

void spirv_writer_put_words(struct spirv_writer *writer, struct spirv_writer_part *part, uint16_t opcode,
                            const uint32_t *words, size_t n)
{
    uint32_t first = (uint32_t)(n + 1) << 16 | opcode;

    spirv_writer_add(writer, part, &first, 1);
    spirv_writer_add(writer, part, words, n);
}

uint32_t spirv_writer_id(struct spirv_writer *writer)
{
    return writer->bound++;
}

/* The result of a new type with these words; 0: there is none. */
static uint32_t find_new(const struct spirv_writer *writer, uint16_t opcode, const uint32_t *words, size_t n)
{
    const struct spirv_writer_part *types = &writer->types;

    for (size_t at = 0; at < types->n; at += types->words[at] >> 16)
        if (types->words[at] == ((uint32_t)(n + 2) << 16 | opcode) &&
            !memcmp(types->words + at + 2, words, n * sizeof *words))
            return types->words[at + 1];
    return 0;
}

uint32_t spirv_writer_type(struct spirv_writer *writer, uint16_t opcode, const uint32_t *words, size_t n)
{
    const struct spirv_module *module = writer->module;
    uint32_t first = (uint32_t)(n + 2) << 16 | opcode;
    uint32_t found;

    for (size_t i = 0; i < module->first_function; i++)
        if (module->instructions[i].opcode == opcode && module->instructions[i].n_words == n + 2 &&
            !memcmp(module->instructions[i].words + 2, words, n * sizeof *words))
            return module->instructions[i].result;
    found = writer->failed ? 0 : find_new(writer, opcode, words, n);
    if (found)
        return found;
    found = spirv_writer_id(writer);
    spirv_writer_add(writer, &writer->types, &first, 1);
    spirv_writer_add(writer, &writer->types, &found, 1);
    spirv_writer_add(writer, &writer->types, words, n);
    return found;
}

uint32_t spirv_writer_int(struct spirv_writer *writer, uint32_t bits)
{
    return spirv_writer_type(writer, OP_TYPE_INT, (const uint32_t[]){bits, 0}, 2);
}

uint32_t spirv_writer_pointer(struct spirv_writer *writer, uint32_t storage, uint32_t type)
{
    return spirv_writer_type(writer, OP_TYPE_POINTER, (const uint32_t[]){storage, type}, 2);
}

uint32_t spirv_writer_constant(struct spirv_writer *writer, uint32_t type, uint32_t value)
{
    uint32_t id = spirv_writer_id(writer);

    if (type == spirv_writer_int(writer, 64))
        spirv_writer_put(writer, &writer->types, OP_CONSTANT, type, id, value, 0);
    else
        spirv_writer_put(writer, &writer->types, OP_CONSTANT, type, id, value);
    return id;
}

/* A decoration with a name, as words. */
static void decorate_import(struct spirv_writer *writer, uint32_t id, const char *name)
{
    uint32_t words[32] = {id, DECORATION_LINKAGE};
    size_t n = strlen(name) / 4 + 1;

    for (size_t i = 0; name[i]; i++)
        words[2 + i / 4] |= (uint32_t)(unsigned char)name[i] << 8 * (i % 4);
    words[2 + n] = LINKAGE_IMPORT;
    spirv_writer_put_words(writer, &writer->decorations, OP_DECORATE, words, n + 3);
}

uint32_t spirv_writer_builtin(struct spirv_writer *writer, uint32_t builtin, const char *name, uint32_t type)
{
    const struct spirv_module *module = writer->module;
    uint32_t pointer = spirv_writer_pointer(writer, STORAGE_INPUT, type);
    uint32_t id;

    for (id = 1; id < module->bound; id++) {
        const struct spirv_instruction *i =
            module->builtin[id] == builtin ? spirv_definition(module, id) : NULL;

        if (i && i->opcode == OP_VARIABLE && i->type == pointer)
            return id;
    }
    id = spirv_writer_id(writer);
    spirv_writer_put(writer, &writer->types, OP_VARIABLE, pointer, id, STORAGE_INPUT);
    decorate_import(writer, id, name);
    spirv_writer_put(writer, &writer->decorations, OP_DECORATE, id, DECORATION_CONSTANT);
    spirv_writer_put(writer, &writer->decorations, OP_DECORATE, id, DECORATION_BUILT_IN, builtin);
    return id;
}

uint32_t spirv_writer_code_words(struct spirv_writer *writer, uint16_t opcode, uint32_t type,
                                 const uint32_t *words, size_t n)
{
    uint32_t first = (uint32_t)(n + 3) << 16 | opcode;
    uint32_t result = spirv_writer_id(writer);

    spirv_writer_add(writer, &writer->code, &first, 1);
    spirv_writer_add(writer, &writer->code, &type, 1);
    spirv_writer_add(writer, &writer->code, &result, 1);
    spirv_writer_add(writer, &writer->code, words, n);
    return result;
}
