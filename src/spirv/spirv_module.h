/*
 * A SPIR-V module as instructions with an index of ids. spirv_read() checks what the rest of the
 * folder relies on: lengths, ids below the bound, one definition per id. Functions begin and end;
 * blocks begin with a label and end with a terminator. It does not check types; the driver does.
 *
 * Everything lives in the caller's arena. The words are copied, in the host's byte order.
 */
#ifndef SPIRV_SPIRV_MODULE_H
#define SPIRV_SPIRV_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "spirv/opcode.h"

enum { SPIRV_MOST_IDS = 4 << 20 };

struct spirv_instruction {
    const uint32_t *words; /* words[0]: length and opcode */
    uint16_t opcode, n_words;
    uint32_t result, type; /* ids; 0: it has none */
};

struct spirv_function {
    uint32_t id;
    size_t begin, end; /* instructions: OpFunction to OpFunctionEnd, both included */
    size_t n_parameters;
    bool defined; /* has blocks */
};

struct spirv_module {
    const uint32_t *words;
    size_t n_words;
    uint32_t bound;
    struct spirv_instruction *instructions;
    size_t n_instructions;
    size_t first_function; /* index of the first OpFunction; n_instructions: there is none */
    uint32_t *definition;  /* [bound]: instruction index + 1; 0: not defined */
    uint32_t *builtin;     /* [bound]: enum spirv_builtin of a decorated variable; 0: none */
    struct spirv_function *functions;
    size_t n_functions;
    uint32_t size_bits; /* of addresses: 32 or 64 */
};

/* Why a module is refused. The first reason stays. */
struct spirv_refusal {
    char reason[160];
};

void spirv_refuse(struct spirv_refusal *refusal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Is it SPIR-V at all, in either byte order? */
bool spirv_is(const void *bytes, size_t n);

/* 0; 1: refused, *ret_refusal says why; -ENOMEM. */
int spirv_read(struct arena *arena, const void *bytes, size_t n, struct spirv_module *ret_module,
               struct spirv_refusal *ret_refusal);

/* The instruction that defines the id; NULL: none does. */
const struct spirv_instruction *spirv_definition(const struct spirv_module *module, uint32_t id);

/* The function of that id; NULL: there is none. */
const struct spirv_function *spirv_function_of(const struct spirv_module *module, uint32_t id);

/* The storage class of a pointer-typed value; UINT32_MAX: it is no pointer. */
uint32_t spirv_storage_of(const struct spirv_module *module, uint32_t id);

/* Is words[at] of the instruction an id that it uses (not its result, its type or a literal)? */
bool spirv_uses_id(const struct spirv_instruction *instruction, size_t at);

bool spirv_is_atomic(uint16_t opcode);

#endif
