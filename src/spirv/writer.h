/*
 * Words of a module under construction: parts that grow, new ids, and types. A type is looked up
 * before it is made, because SPIR-V allows only one definition per type that is no aggregate.
 */
#ifndef SPIRV_WRITER_H
#define SPIRV_WRITER_H

#include "spirv/spirv_module.h"

/* Words of one part of the module. */
struct spirv_writer_part {
    uint32_t *words;
    size_t n, room;
};

struct spirv_writer {
    struct arena *arena;
    const struct spirv_module *module;
    uint32_t bound;                 /* the next new id */
    bool failed;                    /* no memory: sticky */
    struct spirv_writer_part types; /* new types, constants and variables, in front of the first function */
    struct spirv_writer_part decorations;
    struct spirv_writer_part code; /* instructions in functions */
};

void spirv_writer_add(struct spirv_writer *writer, struct spirv_writer_part *part, const uint32_t *words,
                      size_t n);

/* One instruction: its length is filled in. */
#define spirv_writer_put(writer, part, opcode, ...)                                                          \
    spirv_writer_put_words((writer), (part), (opcode), (const uint32_t[]){__VA_ARGS__},                      \
                           sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
void spirv_writer_put_words(struct spirv_writer *writer, struct spirv_writer_part *part, uint16_t opcode,
                            const uint32_t *words, size_t n);

uint32_t spirv_writer_id(struct spirv_writer *writer);

/*
 * A type with these words behind its result: found in the module or among the new ones, else made.
 */
uint32_t spirv_writer_type(struct spirv_writer *writer, uint16_t opcode, const uint32_t *words, size_t n);
uint32_t spirv_writer_int(struct spirv_writer *writer, uint32_t bits);
uint32_t spirv_writer_pointer(struct spirv_writer *writer, uint32_t storage, uint32_t type);
uint32_t spirv_writer_constant(struct spirv_writer *writer, uint32_t type, uint32_t value);

/* The variable of a built-in: the module's own, or a new one of that type. */
uint32_t spirv_writer_builtin(struct spirv_writer *writer, uint32_t builtin, const char *name, uint32_t type);

/* An instruction with a type and a result in the code; the new result. */
#define spirv_writer_code(writer, opcode, type, ...)                                                         \
    spirv_writer_code_words((writer), (opcode), (type), (const uint32_t[]){__VA_ARGS__},                     \
                            sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
uint32_t spirv_writer_code_words(struct spirv_writer *writer, uint16_t opcode, uint32_t type,
                                 const uint32_t *words, size_t n);

#endif
