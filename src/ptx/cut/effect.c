#include "ptx/cut/effect.h"

#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

enum { LOCAL = 1 << CELL_LOCAL, SHARED = 1 << CELL_SHARED, PARAM = 1 << CELL_PARAM, CARRY = 1 << CELL_CARRY };

bool effect_has_any(const struct ptx_module *module, const struct ptx_statement *statement,
                    const char *const words[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ptx_has(module, statement, words[i]))
            return true;
    return false;
}

bool effect_opcode_is(const struct ptx_module *module, const struct ptx_statement *statement,
                      const char *const words[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ptx_token_is(&module->source, statement->opcode, words[i]))
            return true;
    return false;
}

bool effect_is_result(const struct ptx_statement *statement, unsigned i)
{
    unsigned n = 0;

    for (const char *shape = statement->match.row->operands; *shape && *shape != '='; shape++)
        n += *shape != ' ' && *shape != '?';
    return i < n;
}

bool effect_is_pure(const struct ptx_module *module, const struct ptx_statement *statement)
{
    static const char *const opcodes[] = {
        "mma",           "wmma",         "wgmma",      "tcgen05", "ldmatrix",  "stmatrix",   "movmatrix",
        "istypep",       "createpolicy", "vadd",       "vsub",    "vabsdiff",  "vmin",       "vmax",
        "vshl",          "vshr",         "vmad",       "vset",    "vadd2",     "vsub2",      "vavrg2",
        "vabsdiff2",     "vmin2",        "vmax2",      "vset2",   "vadd4",     "vsub4",      "vavrg4",
        "vabsdiff4",     "vmin4",        "vmax4",      "vset4",   "fns",       "tensormap",  "cvt",
        "mov",           "add",          "sub",        "mul",     "fma",       "mad",        "min",
        "max",           "abs",          "neg",        "ex2",     "tanh",      "setp",       "set",
        "selp",          "prmt",         "shf",        "lop3",    "bfe",       "bfi",        "div",
        "rcp",           "sqrt",         "rsqrt",      "lg2",     "sin",       "cos",        "cvta",
        "isspacep",      "redux",        "shfl",       "vote",    "match",     "activemask", "elect",
        "and",           "or",           "xor",        "not",     "shl",       "shr",        "rem",
        "tex",           "tld4",         "txq",        "suq",     "szext",     "bmsk",       "dp4a",
        "dp2a",          "popc",         "clz",        "bfind",   "brev",      "sad",        "testp",
        "copysign",      "slct",         "cnot",       "mul24",   "mad24",     "prefetch",   "prefetchu",
        "applypriority", "discard",      "setmaxnreg", "pmevent", "nanosleep", "bar",        "barrier",
        "membar",        "fence",        "addc",       "subc",    "madc"};

    return effect_opcode_is(module, statement, opcodes, N_OF(opcodes));
}

/*
 * An access with the scope of the block is no communication with other blocks, like a plain access.
 */
static bool is_strong(const struct ptx_module *module, const struct ptx_statement *statement)
{
    static const char *const words[] = {"volatile", "relaxed", "acquire", "acq_rel", "sc", "mmio", "cv"};

    return effect_has_any(module, statement, words, N_OF(words)) && !ptx_has(module, statement, "cta");
}

/* The first operand in brackets. */
static const struct ptx_operand *address_of(const struct ptx_statement *statement)
{
    for (unsigned i = 0; i < statement->n_operands; i++)
        if (statement->operands[i].kind == PTX_OP_ADDRESS)
            return &statement->operands[i];
    return NULL;
}

static bool is_formal(const struct ptx_statement *statement)
{
    const struct ptx_operand *address = address_of(statement);

    return address && address->parts[0].kind == PTX_OP_VARIABLE && address->parts[0].variable->is_formal;
}

static struct effect load_of(const struct ptx_module *module, const struct ptx_statement *statement)
{
    uint8_t source = is_strong(module, statement) ? SOURCE_STRONG : SOURCE_PLAIN;

    switch (ptx_statement_space(module, statement)) {
    case PTX_PARAM:
        return (struct effect){.reads = is_formal(statement) ? 0 : PARAM};
    case PTX_CONST:
        return (struct effect){0};
    case PTX_SHARED:
        return (struct effect){.reads = SHARED};
    case PTX_LOCAL:
        return (struct effect){.reads = LOCAL};
    case PTX_GLOBAL: /* .nc and ldu promise that nothing writes the memory while the kernel runs */
        if (ptx_has(module, statement, "nc") || ptx_token_is(&module->source, statement->opcode, "ldu"))
            return (struct effect){0};
        return (struct effect){.sources = source};
    default:
        return (struct effect){.sources = source, .reads = LOCAL | SHARED};
    }
}

static struct effect store_of(const struct ptx_module *module, const struct ptx_statement *statement)
{
    switch (ptx_statement_space(module, statement)) {
    case PTX_PARAM:
        return (struct effect){.writes = PARAM};
    case PTX_SHARED:
        return (struct effect){.writes = SHARED};
    case PTX_LOCAL:
        return (struct effect){.writes = LOCAL};
    case PTX_GLOBAL:
        return (struct effect){.writes_global = true};
    default:
        return (struct effect){.writes_global = true, .writes = LOCAL | SHARED};
    }
}

/* An atomic whose result is never read only writes. */
static bool has_result(const struct ptx_statement *statement)
{
    const struct ptx_operand *result = statement->operands;

    if (statement->is_flat || statement->match.row->family == PTX_REDUCE)
        return statement->is_flat;
    if (result->kind == PTX_OP_SINK)
        return false;
    return result->kind != PTX_OP_REGISTER || result->reg->used[result->index] & PTX_IS_READ;
}

static struct effect atomic_of(const struct ptx_module *module, const struct ptx_statement *statement)
{
    enum ptx_space space = ptx_statement_space(module, statement);
    struct effect effect = {0};

    if (space != PTX_GLOBAL) {
        effect.writes = space == PTX_SHARED ? SHARED : LOCAL | SHARED;
        effect.reads = effect.writes;
    }
    if (space != PTX_SHARED) {
        effect.writes_global = true;
        if (has_result(statement))
            effect.sources = ptx_has(module, statement, "cta") ? SOURCE_PLAIN : SOURCE_STRONG;
    }
    return effect;
}

/*
 * The heap returns memory that other blocks have freed. The other functions neither read memory nor
 * wait.
 */
static struct effect external_call(struct ptx_name name)
{
    struct effect effect = {.reads = PARAM, .writes = PARAM};

    if (ptx_name_is(name, "malloc"))
        effect.sources = SOURCE_STRONG;
    return effect;
}

static struct effect call_of(const struct ptx_module *module, const struct ptx_statement *statement,
                             const struct effect_summary summaries[])
{
    const struct ptx_operand *callee = statement->callee;
    const struct effect_summary *called;

    if (!callee || callee->kind != PTX_OP_ROUTINE)
        return (struct effect){.sources = SOURCE_STRONG,
                               .writes_global = true,
                               .reads = LOCAL | SHARED | PARAM,
                               .writes = LOCAL | SHARED | PARAM};
    if (!callee->routine->has_body)
        return external_call(callee->routine->name);
    (void)module;
    called = &summaries[callee->routine->user];
    return (struct effect){.sources = called->sources,
                           .writes_global = called->writes_global,
                           .reads = LOCAL | SHARED | PARAM,
                           .writes = LOCAL | SHARED | PARAM};
}

/* Bulk copies go between global and shared memory. An unknown instruction may do anything. */
static struct effect unknown_of(const struct ptx_module *module, const struct ptx_statement *statement)
{
    static const char *const copies[] = {"cp"};
    uint8_t cells = LOCAL | SHARED;

    if (effect_opcode_is(module, statement, copies, 1))
        return (struct effect){
            .sources = SOURCE_PLAIN, .writes_global = true, .reads = SHARED, .writes = SHARED};
    if (effect_is_pure(module, statement))
        return (struct effect){.reads = SHARED, .writes = SHARED};
    return (struct effect){.sources = SOURCE_STRONG, .writes_global = true, .reads = cells, .writes = cells};
}

struct effect effect_of(const struct ptx_module *module, const struct ptx_statement *statement,
                        const struct effect_summary summaries[])
{
    switch (statement->match.row->family) {
    case PTX_LOAD:
        return load_of(module, statement);
    case PTX_STORE:
        return store_of(module, statement);
    case PTX_ATOMIC:
    case PTX_REDUCE:
        return atomic_of(module, statement);
    case PTX_COPY:
        return (struct effect){.sources = SOURCE_PLAIN, .reads = SHARED, .writes = SHARED};
    case PTX_MBARRIER:
        return (struct effect){.reads = SHARED, .writes = SHARED};
    case PTX_SURFACE:
        if (ptx_token_is(&module->source, statement->opcode, "suld"))
            return (struct effect){.sources = SOURCE_PLAIN};
        return (struct effect){.writes_global = !ptx_token_is(&module->source, statement->opcode, "suq")};
    case PTX_CARRY:
        return (struct effect){.reads = CARRY, .writes = CARRY};
    case PTX_CALL:
        return call_of(module, statement, summaries);
    case PTX_REFUSED:
    case PTX_UNKNOWN:
        return unknown_of(module, statement);
    default:
        return (struct effect){0};
    }
}
