/* Declarations of registers, variables and parameters, with initialisers. */
#include "ptx/reader.h"

#include <errno.h>
#include <string.h>

enum { MOST_DIMENSIONS = 8, MOST_REGISTERS = 1 << 20 };
#define LARGEST_VARIABLE (UINT64_C(1) << 40)

struct declarator {
    enum ptx_space space;
    enum ptx_type type;
    unsigned vector;
    uint32_t alignment; /* 0: of the type */
    bool is_managed;
    uint64_t dimensions[MOST_DIMENSIONS];
    unsigned n_dimensions;
};

static int read_alignment(struct ptx_reader *reader, uint32_t *ret_alignment)
{
    uint64_t value;
    int r = ptx_constant(reader, &value);

    if (!r && (value == 0 || value > 1 << 16 || (value & (value - 1)))) {
        reader->at--;
        r = ptx_bad(reader, "a power of two");
    }
    if (!r)
        *ret_alignment = (uint32_t)value;
    return r;
}

/* .attribute(.managed), .attribute(.unified(...)) */
static int read_attributes(struct ptx_reader *reader, struct declarator *declarator)
{
    unsigned depth = 0;

    do {
        depth += ptx_at(reader, "(");
        depth -= ptx_at(reader, ")");
        declarator->is_managed |= ptx_at(reader, ".managed");
        if (reader->at->kind == PTX_TOKEN_END)
            return ptx_bad(reader, "an end of the attributes");
        reader->at++;
    } while (depth);
    return 0;
}

/* Everything before the name: space, alignment, attributes, vector, type. */
static int read_declarator(struct ptx_reader *reader, struct declarator *ret_declarator)
{
    *ret_declarator = (struct declarator){.vector = 1};
    while (reader->at->kind == PTX_TOKEN_DOT) {
        const char *word = reader->module->source.text + reader->at->offset + 1;
        enum ptx_type type = ptx_type_named(word, reader->at->length - 1);
        int r = 0;

        if (ptx_accept(reader, ".align")) {
            r = read_alignment(reader, &ret_declarator->alignment);
        } else if (ptx_accept(reader, ".attribute")) {
            r = read_attributes(reader, ret_declarator);
        } else if (ptx_at(reader, ".v2") || ptx_at(reader, ".v4")) {
            ret_declarator->vector = (unsigned)(word[1] - '0');
            reader->at++;
        } else if (ptx_accept(reader, ".ptr")) { /* hints about what a parameter points to */
            while (ptx_accept(reader, ".global") || ptx_accept(reader, ".const") ||
                   ptx_accept(reader, ".shared") || ptx_accept(reader, ".local"))
                ;
            if (ptx_accept(reader, ".align")) {
                uint32_t ignored;

                r = read_alignment(reader, &ignored);
            }
        } else if (type != PTX_NONE && ret_declarator->type == PTX_NONE) {
            ret_declarator->type = type;
            reader->at++;
        } else {
            r = ptx_bad(reader, "a type");
        }
        if (r)
            return r;
    }
    return ret_declarator->type == PTX_NONE ? ptx_bad(reader, "a type") : 0;
}

static int read_dimensions(struct ptx_reader *reader, struct declarator *declarator)
{
    declarator->n_dimensions = 0;
    while (ptx_accept(reader, "[")) {
        uint64_t value = 0;
        int r = 0;

        if (declarator->n_dimensions == MOST_DIMENSIONS)
            return ptx_bad(reader, "at most %d dimensions", MOST_DIMENSIONS);
        if (!ptx_at(reader, "]")) {
            r = ptx_constant(reader, &value);
            if (!r && (value == 0 || value > LARGEST_VARIABLE)) {
                reader->at--;
                r = ptx_bad(reader, "a size from 1 to 2^40");
            }
        } else if (declarator->n_dimensions > 0) {
            r = ptx_bad(reader, "a size");
        }
        if (!r)
            r = ptx_expect(reader, "]");
        if (r)
            return r;
        declarator->dimensions[declarator->n_dimensions++] = value;
    }
    return 0;
}

static int set_size(struct ptx_reader *reader, const struct declarator *declarator,
                    struct ptx_variable *variable)
{
    uint64_t element = (uint64_t)ptx_type_size(declarator->type) * declarator->vector;

    variable->elements = 1;
    for (unsigned i = 0; i < declarator->n_dimensions; i++) {
        if (declarator->dimensions[i] >
            LARGEST_VARIABLE / element / (variable->elements ? variable->elements : 1)) {
            reader->at--;
            return ptx_bad(reader, "a variable of less than 2^40 bytes");
        }
        variable->elements *= declarator->dimensions[i];
    }
    variable->size = variable->elements * element;
    variable->alignment = declarator->alignment > element ? declarator->alignment : (uint32_t)element;
    if (declarator->alignment && declarator->alignment < element)
        variable->alignment = declarator->alignment;
    return 0;
}

static struct ptx_value *add_value(struct ptx_reader *reader, struct ptx_variable *variable)
{
    size_t n = variable->n_values;

    if ((n & (n + 1)) == 0) { /* 0, 1, 3, 7...: room for 2 n + 1 */
        struct ptx_value *more = arena_calloc(&reader->module->arena, 2 * n + 1, sizeof *more);

        if (!more)
            return NULL;
        if (n)
            memcpy(more, variable->values, n * sizeof *more);
        variable->values = more;
    }
    return &variable->values[variable->n_values++];
}

/* symbol, generic(symbol), mask(symbol), each with an offset. */
static int read_symbol_value(struct ptx_reader *reader, struct ptx_value *value)
{
    bool in_parentheses = false;
    int r;

    if (reader->at->kind == PTX_TOKEN_INT) {
        value->mask = reader->at->value;
        reader->at += 2;
        in_parentheses = true;
    }
    if (ptx_at(reader, "generic") && ptx_token_is(&reader->module->source, reader->at + 1, "(")) {
        value->is_generic = true;
        reader->at += 2;
    }
    r = ptx_expect_word(reader, "a value", &value->symbol);
    if (!r && value->is_generic)
        r = ptx_expect(reader, ")");
    if (!r && (ptx_at(reader, "+") || ptx_at(reader, "-")))
        r = ptx_constant(reader, &value->bits);
    if (!r && in_parentheses)
        r = ptx_expect(reader, ")");
    return r;
}

static int read_value(struct ptx_reader *reader, struct ptx_variable *variable, uint64_t index)
{
    struct ptx_value *value = add_value(reader, variable);
    const struct ptx_token *number = reader->at + (ptx_at(reader, "-") || ptx_at(reader, "+"));

    if (!value)
        return -ENOMEM;
    if (index >= variable->elements * variable->vector)
        return ptx_bad(reader, "at most %llu values",
                       (unsigned long long)variable->elements * variable->vector);
    value->token = reader->at;
    value->index = index;
    if (number->kind == PTX_TOKEN_F32 || number->kind == PTX_TOKEN_F64) {
        bool is_negative = number != reader->at && ptx_at(reader, "-");
        double wide;
        float narrow;
        uint32_t bits = (uint32_t)number->value;

        if (ptx_type_class(variable->type) != PTX_FLOAT)
            return ptx_bad(reader, "an integer");
        memcpy(&narrow, &bits, sizeof narrow);
        memcpy(&wide, &number->value, sizeof wide);
        if (number->kind == PTX_TOKEN_F32)
            wide = (double)narrow;
        else
            narrow = (float)wide;
        wide = is_negative ? -wide : wide;
        narrow = is_negative ? -narrow : narrow;
        if (variable->type == PTX_F64) {
            memcpy(&value->bits, &wide, sizeof wide);
        } else {
            memcpy(&bits, &narrow, sizeof bits);
            value->bits = bits;
        }
        reader->at = number + 1;
        return 0;
    }
    if (reader->at->kind == PTX_TOKEN_WORD ||
        (reader->at->kind == PTX_TOKEN_INT && ptx_token_is(&reader->module->source, reader->at + 1, "(")))
        return read_symbol_value(reader, value);
    return ptx_constant(reader, &value->bits);
}

/* Values in braces; an inner list fills the elements of its sub-array. */
static int read_values(struct ptx_reader *reader, struct ptx_variable *variable,
                       const struct declarator *declarator, unsigned depth, uint64_t first)
{
    uint64_t step = variable->vector;
    uint64_t index = first;
    int r = ptx_expect(reader, "{");

    if (depth > MOST_DIMENSIONS)
        return ptx_bad(reader, "lists nested at most %d deep", MOST_DIMENSIONS);
    for (unsigned i = depth + 1; i < declarator->n_dimensions; i++)
        step *= declarator->dimensions[i];
    if (depth + 1 > declarator->n_dimensions)
        step = 1;
    while (!r && !ptx_at(reader, "}")) {
        if (ptx_at(reader, "{")) {
            r = read_values(reader, variable, declarator, depth + 1, index);
            index += step;
        } else {
            r = read_value(reader, variable, index++);
        }
        if (!r && !ptx_accept(reader, ","))
            break;
    }
    return r ? r : ptx_expect(reader, "}");
}

static int read_initialiser(struct ptx_reader *reader, struct ptx_variable *variable,
                            struct declarator *declarator)
{
    if (variable->space != PTX_GLOBAL && variable->space != PTX_CONST)
        return ptx_bad(reader, "no initial value in this space");
    if (variable->linkage == PTX_EXTERN)
        return ptx_bad(reader, "no initial value of an extern variable");
    if (declarator->n_dimensions > 0 && declarator->dimensions[0] == 0)
        return ptx_bad(reader, "a size of the array");
    return ptx_at(reader, "{") ? read_values(reader, variable, declarator, 0, 0)
                               : read_value(reader, variable, 0);
}

static enum ptx_space space_at(struct ptx_reader *reader)
{
    static const char *const names[] = {".reg", ".const", ".global", ".local", ".param", ".shared"};

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (ptx_accept(reader, names[i]))
            return (enum ptx_space)i;
    return PTX_GENERIC;
}

static int add_variable(struct ptx_reader *reader, enum ptx_linkage linkage, struct declarator *declarator,
                        struct ptx_variable **ret_variable)
{
    struct ptx_variable *variable = arena_calloc(&reader->module->arena, 1, sizeof *variable);
    int r;

    if (!variable)
        return -ENOMEM;
    variable->token = reader->at;
    variable->space = declarator->space;
    variable->linkage = linkage;
    variable->type = declarator->type;
    variable->vector = declarator->vector;
    variable->is_managed = declarator->is_managed;
    variable->id = reader->next_id++;
    variable->routine = reader->routine;
    r = ptx_expect_word(reader, "a name", &variable->name);
    if (!r)
        r = read_dimensions(reader, declarator);
    if (!r)
        r = set_size(reader, declarator, variable);
    if (!r)
        *ret_variable = variable;
    return r;
}

/*
 * A second declaration of the same module variable (extern, then its definition) replaces the
 * first.
 */
static int declare_variable(struct ptx_reader *reader, struct ptx_variable *variable, bool *ret_merged)
{
    const struct ptx_symbol *old = ptx_find(reader, variable->name);
    struct ptx_variable *before = old && old->scope == reader->depth ? old->object : NULL;

    *ret_merged = false;
    if (!before || old->kind != PTX_SYMBOL_VARIABLE || before->space != variable->space ||
        (before->linkage != PTX_EXTERN && variable->linkage != PTX_EXTERN))
        return ptx_declare(reader, PTX_SYMBOL_VARIABLE, variable->token, variable);
    if (before->linkage == PTX_EXTERN) {
        struct ptx_variable *next = before->next;
        uint32_t id = before->id;

        *before = *variable; /* references to the first declaration stay valid */
        before->id = id;
        before->next = next;
    }
    *ret_merged = true;
    return 0;
}

int ptx_read_variable(struct ptx_reader *reader, enum ptx_linkage linkage, struct ptx_variable ***list_end)
{
    enum ptx_space space = space_at(reader);
    struct declarator declarator;
    int r = read_declarator(reader, &declarator);

    declarator.space = space;
    while (!r) {
        struct ptx_variable *variable;
        bool merged;

        r = add_variable(reader, linkage, &declarator, &variable);
        if (r)
            break;
        if (!reader->is_outline && (ptx_type_class(variable->type) == PTX_PREDICATE ||
                                    ptx_type_class(variable->type) == PTX_OPAQUE)) {
            reader->refused = ptx_type_class(variable->type) == PTX_OPAQUE;
            reader->at = variable->token;
            return ptx_bad(reader, "no predicates in memory and no texture references (use texture objects)");
        }
        if (variable->elements == 0 && linkage != PTX_EXTERN && linkage != PTX_COMMON && !ptx_at(reader, "="))
            return ptx_bad(reader, "a size of the array");
        if (ptx_accept(reader, "="))
            r = read_initialiser(reader, variable, &declarator);
        if (!r)
            r = declare_variable(reader, variable, &merged);
        if (!r && !merged) {
            **list_end = variable;
            *list_end = &variable->next;
        }
        if (!r && !ptx_accept(reader, ","))
            return ptx_expect(reader, ";");
    }
    return r;
}

int ptx_read_registers(struct ptx_reader *reader)
{
    struct declarator declarator;
    int r;

    (void)space_at(reader);
    r = read_declarator(reader, &declarator);
    while (!r) {
        struct ptx_register *reg = arena_calloc(&reader->module->arena, 1, sizeof *reg);
        const struct ptx_token *token = reader->at;
        uint64_t count = 0;

        if (!reg)
            return -ENOMEM;
        r = ptx_expect_word(reader, "a register's name", &reg->name);
        if (!r && ptx_accept(reader, "<")) {
            r = ptx_constant(reader, &count);
            if (!r && (count == 0 || count > MOST_REGISTERS)) {
                reader->at--;
                r = ptx_bad(reader, "1 to %d registers", MOST_REGISTERS);
            }
            if (!r)
                r = ptx_expect(reader, ">");
        }
        if (!r)
            r = ptx_declare(reader, PTX_SYMBOL_REGISTER, token, reg);
        if (r)
            return r;
        reg->type = declarator.type;
        reg->vector = declarator.vector;
        reg->count = (uint32_t)count;
        reg->id = reader->next_id++;
        reg->used = arena_calloc(&reader->module->arena, count ? count : 1, 1);
        if (!reg->used)
            return -ENOMEM;
        reg->next = reader->routine->registers;
        reader->routine->registers = reg;
        if (!ptx_accept(reader, ","))
            return ptx_expect(reader, ";");
    }
    return r;
}

struct ptx_register *ptx_add_implicit(struct ptx_reader *reader, const struct ptx_token *name)
{
    struct ptx_register *reg = arena_calloc(&reader->module->arena, 1, sizeof *reg);

    if (!reg)
        return NULL;
    reg->name = ptx_name_of(reader, name);
    reg->vector = 1;
    reg->is_implicit = true;
    reg->id = reader->next_id++;
    reg->used = arena_calloc(&reader->module->arena, 1, 1);
    if (!reg->used || ptx_declare(reader, PTX_SYMBOL_REGISTER, name, reg))
        return NULL;
    reg->next = reader->routine->registers;
    reader->routine->registers = reg;
    return reg;
}

int ptx_read_parameters(struct ptx_reader *reader, struct ptx_variable **ret_list, unsigned *ret_n)
{
    struct ptx_variable **end = ret_list;
    int r = ptx_expect(reader, "(");

    *ret_list = NULL;
    *ret_n = 0;
    while (!r && !ptx_at(reader, ")")) {
        struct declarator declarator;

        if (!ptx_at(reader, ".param"))
            return ptx_bad(reader, "a parameter in .param space");
        (void)space_at(reader);
        r = read_declarator(reader, &declarator);
        declarator.space = PTX_PARAM;
        if (!r)
            r = add_variable(reader, PTX_PRIVATE, &declarator, end);
        if (!r) {
            (*end)->is_formal = true;
            end = &(*end)->next;
            ++*ret_n;
        }
        if (!r && !ptx_accept(reader, ","))
            break;
    }
    return r ? r : ptx_expect(reader, ")");
}
