/* Do the operands agree with the row of the table? */
#include "ptx/reader.h"

#include <string.h>

static int bad(struct ptx_reader *reader, const struct ptx_operand *operand, const char *expected)
{
    return ptx_reject(&reader->module->source, operand->token, reader->error, "%s", expected);
}

static int bad_type(struct ptx_reader *reader, const struct ptx_operand *operand, enum ptx_type type)
{
    return ptx_reject(&reader->module->source, operand->token, reader->error, "an operand of type .%s",
                      ptx_type_name(type));
}

static void mark(const struct ptx_operand *operand, bool is_destination)
{
    operand->reg->used[operand->index] |= is_destination ? PTX_IS_WRITTEN : PTX_IS_READ;
}

/* A register, constant or special register of this type. */
static int check_scalar(struct ptx_reader *reader, const struct ptx_operand *operand, enum ptx_type type,
                        bool is_destination, bool wider)
{
    bool is_float = ptx_type_class(type) == PTX_FLOAT && ptx_type_size(type) > 2;

    if (operand->is_negated && type != PTX_PRED)
        return bad(reader, operand, "! before predicates only");
    switch (operand->kind) {
    case PTX_OP_REGISTER:
        if (operand->reg->vector > 1 && !operand->component)
            return bad(reader, operand, "a component of the vector");
        if (!ptx_type_fits(operand->type, type, wider) || (is_destination && operand->is_negated))
            return bad_type(reader, operand, type);
        mark(operand, is_destination);
        return 0;
    case PTX_OP_SINK:
        return is_destination ? 0 : bad(reader, operand, "a source");
    case PTX_OP_INT:
        return is_destination || is_float ? bad_type(reader, operand, type) : 0;
    case PTX_OP_F32:
    case PTX_OP_F64:
        return is_destination || !is_float ? bad_type(reader, operand, type) : 0;
    case PTX_OP_SPECIAL:
        if (is_destination ||
            !(ptx_type_fits(operand->type, type, true) ||
              ptx_type_size(type) >= ptx_type_size(operand->type)) ||
            (type == PTX_PRED) != (operand->type == PTX_PRED) || ptx_type_class(type) == PTX_FLOAT)
            return bad_type(reader, operand, type);
        return 0;
    default:
        return bad_type(reader, operand, type);
    }
}

/* One or several of the type, by .v2 and so on. */
static int check_vector(struct ptx_reader *reader, const struct ptx_operand *operand, enum ptx_type type,
                        unsigned n, bool is_destination, bool wider)
{
    if (n == 1 && operand->kind != PTX_OP_VECTOR)
        return check_scalar(reader, operand, type, is_destination, wider);
    if (operand->kind != PTX_OP_VECTOR || operand->n_parts != n)
        return ptx_reject(&reader->module->source, operand->token, reader->error, "a vector of %u operands",
                          n);
    for (unsigned i = 0; i < n; i++) {
        int r = check_scalar(reader, &operand->parts[i], type, is_destination, wider);

        if (r)
            return r;
    }
    return 0;
}

static int check_address(struct ptx_reader *reader, const struct ptx_statement *statement,
                         const struct ptx_operand *operand, enum ptx_space space)
{
    const struct ptx_operand *base = operand->parts;

    if (operand->kind != PTX_OP_ADDRESS)
        return bad(reader, operand, "an address in brackets");
    if (base->kind == PTX_OP_REGISTER) {
        unsigned size = ptx_type_size(base->type);

        if (ptx_type_class(base->type) == PTX_FLOAT || base->reg->vector > 1 ||
            (size != 8 &&
             !(size == 4 && (space == PTX_SHARED || statement->match.row->family == PTX_MBARRIER ||
                             statement->match.row->family == PTX_COPY))))
            return bad(reader, base, "a 64-bit register (or a 32-bit one for shared memory)");
        mark(base, false);
        return 0;
    }
    if (base->kind == PTX_OP_INT)
        return 0;
    if (base->kind != PTX_OP_VARIABLE)
        return bad(reader, base, "a register or variable");
    if (statement->match.row->family == PTX_NOTHING || statement->match.row->family == PTX_MBARRIER ||
        statement->match.row->family == PTX_COPY)
        return 0;
    if (base->variable->space != space && !(space == PTX_GENERIC && (base->variable->space == PTX_GLOBAL ||
                                                                     base->variable->space == PTX_CONST)))
        return bad(reader, base, "a variable of the space that the instruction names");
    if (space == PTX_PARAM && base->variable->size &&
        (operand->bits > base->variable->size ||
         operand->bits + ptx_type_size(statement->match.types[0]) * statement->match.vector >
             base->variable->size))
        return bad(reader, base, "an offset within the parameter");
    return 0;
}

static int check_object(struct ptx_reader *reader, const struct ptx_operand *operand)
{
    bool is_query = operand->kind == PTX_OP_ADDRESS && operand->bits == 0;
    const struct ptx_operand *coordinates;

    if (operand->kind != PTX_OP_OBJECT && !is_query)
        return bad(reader, operand, "an object and coordinates in brackets");
    if (operand->parts[0].kind != PTX_OP_REGISTER || ptx_type_size(operand->parts[0].type) != 8) {
        reader->refused = true;
        return bad(reader, &operand->parts[0], "a texture or surface object in a 64-bit register");
    }
    mark(&operand->parts[0], false);
    if (is_query)
        return 0;
    if (operand->n_parts != 2)
        return bad(reader, &operand->parts[1], "coordinates (samplers are part of texture objects)");
    coordinates = &operand->parts[1];
    for (unsigned i = 0; i < (coordinates->kind == PTX_OP_VECTOR ? coordinates->n_parts : 1); i++) {
        const struct ptx_operand *part =
            coordinates->kind == PTX_OP_VECTOR ? &coordinates->parts[i] : coordinates;
        int r = part->kind == PTX_OP_REGISTER && ptx_type_size(part->type) == 4
                    ? check_scalar(reader, part, part->type, false, false)
                : part->kind == PTX_OP_INT || part->kind == PTX_OP_F32
                    ? 0
                    : bad(reader, part, "a 32-bit coordinate");

        if (r)
            return r;
    }
    return 0;
}

/* mov: scalars, addresses, packing {a, b} into one, unpacking one into {a, b}. */
static int check_move(struct ptx_reader *reader, const struct ptx_operand *operand, enum ptx_type type,
                      bool is_destination)
{
    if (operand->kind == PTX_OP_VARIABLE || operand->kind == PTX_OP_ROUTINE) {
        if (is_destination ||
            (ptx_type_size(type) != 8 && !(ptx_type_size(type) == 4 && operand->kind == PTX_OP_VARIABLE &&
                                           operand->variable->space == PTX_SHARED)) ||
            ptx_type_class(type) == PTX_FLOAT)
            return bad(reader, operand, "an address of 64 bits (of 32 only for shared memory)");
        return 0;
    }
    if (operand->kind == PTX_OP_VECTOR) {
        if (!operand->n_parts || ptx_type_size(type) % operand->n_parts || ptx_type_class(type) != PTX_BITS)
            return bad(reader, operand, "a vector that makes up the type");
        for (unsigned i = 0; i < operand->n_parts; i++) {
            static const enum ptx_type of_size[] = {
                [1] = PTX_B8, [2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
            int r = check_scalar(reader, &operand->parts[i], of_size[ptx_type_size(type) / operand->n_parts],
                                 is_destination, false);

            if (r)
                return r;
        }
        return 0;
    }
    if (type == PTX_F16)
        type = PTX_B16;
    return check_scalar(reader, operand, type, is_destination, false);
}

static enum ptx_type wide_type(enum ptx_type type)
{
    return type == PTX_U16 ? PTX_U32 : type == PTX_S16 ? PTX_S32 : type == PTX_U32 ? PTX_U64 : PTX_S64;
}

/* A predicate and optionally a second one, or a value and optionally a predicate. */
static int check_pair(struct ptx_reader *reader, const struct ptx_operand *operand, enum ptx_type first)
{
    int r;

    if (operand->kind != PTX_OP_PAIR)
        return check_scalar(reader, operand, first, true, false);
    r = check_scalar(reader, &operand->parts[0], first, true, false);
    return r ? r : check_scalar(reader, &operand->parts[1], PTX_PRED, true, false);
}

static int check_one(struct ptx_reader *reader, struct ptx_statement *statement,
                     const struct ptx_operand *operand, char letter, bool is_destination)
{
    const struct ptx_match *match = &statement->match;
    enum ptx_family family = match->row->family;
    bool wider = family == PTX_CONVERT || family == PTX_LOAD || family == PTX_STORE || family == PTX_SURFACE;

    switch (letter) {
    case 'T':
        if (match->types[0] == PTX_TF32 && is_destination)
            return check_scalar(reader, operand, PTX_B32, true, false);
        return check_scalar(reader, operand, match->types[0], is_destination, wider);
    case 'U':
        return check_scalar(reader, operand, match->types[1], is_destination, wider);
    case 'W':
        return check_scalar(reader, operand, wide_type(match->types[0]), is_destination, false);
    case 'u':
        return check_scalar(reader, operand, PTX_B32, is_destination, false);
    case 's':
        return check_scalar(reader, operand, PTX_B64, is_destination, false);
    case 'P':
    case 'p':
        return check_scalar(reader, operand, PTX_PRED, is_destination, false);
    case 'Q':
        return check_pair(reader, operand, PTX_PRED);
    case 'D':
    case 'E':
        return check_pair(reader, operand, PTX_B32);
    case 'V':
        return check_vector(reader, operand, match->types[0], match->vector, is_destination, wider);
    case 'C':
        return check_vector(reader, operand, match->types[0], 4, is_destination, false);
    case 'K':
        return operand->kind == PTX_OP_VECTOR
                   ? check_vector(reader, operand, PTX_F32, operand->n_parts, false, false)
                   : check_scalar(reader, operand, PTX_F32, false, false);
    case 'A':
        return check_address(reader, statement, operand, ptx_statement_space(reader->module, statement));
    case 'X':
        return check_object(reader, operand);
    case 'M':
        return check_move(reader, operand, match->types[0], is_destination);
    case 'i':
        return operand->kind == PTX_OP_INT ? 0 : bad(reader, operand, "an integer constant");
    case 'L':
        return operand->kind == PTX_OP_LABEL ? 0 : bad(reader, operand, "a label");
    default:
        return bad(reader, operand, "an operand");
    }
}

int ptx_check_operands(struct ptx_reader *reader, struct ptx_statement *statement)
{
    const char *shape = statement->match.row->operands;
    bool is_destination = true;
    unsigned at = 0;
    unsigned n_letters = 0;

    for (const char *c = shape; *c; c++)
        n_letters += *c != ' ' && *c != '=' && *c != '?';
    for (; *shape; shape++) {
        if (*shape == ' ' || *shape == '?')
            continue;
        if (*shape == '=') {
            is_destination = false;
            continue;
        }
        if (*shape == 'L' && statement->match.row->family == PTX_INDEXED)
            break;
        if (*shape == 'N') { /* present when all operands are */
            if (statement->n_operands == n_letters) {
                int r = check_one(reader, statement, &statement->operands[at++], 'u', false);

                if (r)
                    return r;
            }
            continue;
        }
        if (at == statement->n_operands) {
            if (shape[1] == '?')
                continue;
            return ptx_bad(reader, "another operand");
        }
        {
            int r = check_one(reader, statement, &statement->operands[at], *shape, is_destination);

            if (r)
                return r;
        }
        at++;
    }
    return at == statement->n_operands ? 0
                                       : ptx_reject(&reader->module->source, statement->operands[at].token,
                                                    reader->error, "no more operands");
}
