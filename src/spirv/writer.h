/*
 * Words of a module under construction: parts that grow, new ids, and types that are looked up
 * before they are made, since SPIR-V allows one definition per type that is no aggregate.
 */
#ifndef SPIRV_WRITER_H
#define SPIRV_WRITER_H

#include "spirv/module.h"

/* Words of one part of the module. */
struct writer_part {
    uint32_t *words;
    size_t n, room;
};

struct writer {
    struct arena *arena;
    const struct spirv_module *module;
    uint32_t bound;           /* the next new id */
    bool failed;              /* no memory: sticky */
    struct writer_part types; /* new types, constants and variables, in front of the first function */
    struct writer_part decorations;
    struct writer_part code; /* instructions in functions */
};

void writer_add(struct writer *writer, struct writer_part *part, const uint32_t *words, size_t n);

/* One instruction: its length is filled in. */
#define writer_put(writer, part, opcode, ...)                                                                \
    writer_put_words((writer), (part), (opcode), (const uint32_t[]){__VA_ARGS__},                            \
                     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
void writer_put_words(struct writer *writer, struct writer_part *part, uint16_t opcode, const uint32_t *words,
                      size_t n);

uint32_t writer_id(struct writer *writer);

/* A type with these words behind its result: found in the module or among the new ones, else made. */
uint32_t writer_type(struct writer *writer, uint16_t opcode, const uint32_t *words, size_t n);
uint32_t writer_int(struct writer *writer, uint32_t bits);
uint32_t writer_pointer(struct writer *writer, uint32_t storage, uint32_t type);
uint32_t writer_constant(struct writer *writer, uint32_t type, uint32_t value);

/* The variable of a built-in: the module's own, or a new one of that type. */
uint32_t writer_builtin(struct writer *writer, uint32_t builtin, const char *name, uint32_t type);

/* An instruction with a type and a result in the code; the new result. */
#define writer_code(writer, opcode, type, ...)                                                               \
    writer_code_words((writer), (opcode), (type), (const uint32_t[]){__VA_ARGS__},                           \
                      sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
uint32_t writer_code_words(struct writer *writer, uint16_t opcode, uint32_t type, const uint32_t *words,
                           size_t n);

#endif
