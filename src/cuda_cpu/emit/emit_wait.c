/* Barriers of the block, warp operations, mbarriers. */
#include "cuda_cpu/emit/emit.h"

#include <string.h>

void emit_barrier(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    bool reduces = emit_has(e, "red");
    const char *kind = emit_has(e, "arrive") ? "DEVICE_ARRIVE"
                       : emit_has(e, "popc") ? "DEVICE_POPC"
                       : emit_has(e, "and")  ? "DEVICE_AND"
                       : emit_has(e, "or")   ? "DEVICE_OR"
                                             : "DEVICE_SYNC";
    const struct ptx_operand *sources = s->operands + reduces;
    unsigned n = s->n_operands - reduces;
    bool has_count = reduces ? n == 3 : n == 2;

    if (e->stages) {
        emit_stage_barrier(e);
        return;
    }
    if (reduces)
        emit_begin(e, &s->operands[0], s->match.types[0] == PTX_PRED ? PTX_PRED : PTX_U32, false);
    fprintf(e->out, "t->calls->barrier(t, %s, ", kind);
    emit_source(e, &sources[0], PTX_U32, false);
    fputs(", ", e->out);
    if (has_count)
        emit_source(e, &sources[1], PTX_U32, false);
    else
        fputs("0", e->out);
    fputs(", ", e->out);
    if (reduces)
        emit_source(e, &sources[n - 1], PTX_PRED, false);
    else
        fputs("0", e->out);
    fputs(")", e->out);
    if (reduces)
        emit_end(e);
    else
        fputs(";\n", e->out);
}

static unsigned redux_variant(const struct emitter *e)
{
    bool is_signed = ptx_type_class(e->statement->match.types[0]) == PTX_SIGNED;

    return emit_has(e, "add")   ? 0
           : emit_has(e, "min") ? (is_signed ? 6U : 1U)
           : emit_has(e, "max") ? (is_signed ? 7U : 2U)
           : emit_has(e, "and") ? 3
           : emit_has(e, "or")  ? 4
                                : 5;
}

static void emit_field(struct emitter *e, const char *name, const struct ptx_operand *operand,
                       enum ptx_type type)
{
    fprintf(e->out, ", .%s = ", name);
    emit_source(e, operand, type, true);
}

/* Fills in the operands of the collective, and its mask if there is one. */
static void emit_request(struct emitter *e, const char *opcode)
{
    const struct ptx_statement *s = e->statement;
    const struct ptx_operand *o = s->operands;

    if (strcmp(opcode, "shfl") == 0) {
        fprintf(e->out, ".operation = DEVICE_SHUFFLE, .variant = %d",
                emit_has(e, "up")     ? 0
                : emit_has(e, "down") ? 1
                : emit_has(e, "bfly") ? 2
                                      : 3);
        emit_field(e, "a", &o[1], PTX_B32);
        emit_field(e, "b", &o[2], PTX_B32);
        emit_field(e, "c", &o[3], PTX_B32);
        emit_field(e, "mask", &o[4], PTX_B32);
    } else if (strcmp(opcode, "vote") == 0) {
        fputs(".operation = DEVICE_VOTE", e->out);
        emit_field(e, "a", &o[1], PTX_PRED);
        emit_field(e, "mask", &o[2], PTX_B32);
    } else if (strcmp(opcode, "match") == 0) {
        fputs(".operation = DEVICE_MATCH", e->out);
        emit_field(e, "a", &o[1], s->match.types[0]);
        emit_field(e, "mask", &o[2], PTX_B32);
    } else if (strcmp(opcode, "redux") == 0) {
        fprintf(e->out, ".operation = DEVICE_REDUX, .variant = %u", redux_variant(e));
        emit_field(e, "a", &o[1], PTX_B32);
        emit_field(e, "mask", &o[2], PTX_B32);
    } else if (strcmp(opcode, "activemask") == 0) {
        fprintf(e->out, ".operation = DEVICE_ACTIVE, .b = %u",
                emit_line(e) ^ ptx_token_column(&e->module->source, s->opcode) << 24);
    } else if (strcmp(opcode, "elect") == 0) {
        fputs(".operation = DEVICE_ELECT", e->out);
        emit_field(e, "mask", &o[1], PTX_B32);
    } else {
        fputs(".operation = DEVICE_WARP_SYNC", e->out);
        emit_field(e, "mask", &o[0], PTX_B32);
    }
}

void emit_warp(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    const char *opcode = s->match.row->opcode;
    const struct ptx_operand *d = s->n_operands ? &s->operands[0] : NULL;
    bool is_match_all = strcmp(opcode, "match") == 0 && emit_has(e, "all");

    fputs("{ struct device_collective c_ = {", e->out);
    emit_request(e, opcode);
    fputs("}; t->calls->collective(t, &c_);\n", e->out);
    if (d && strcmp(opcode, "bar") != 0) {
        emit_begin(e, d->kind == PTX_OP_PAIR ? &d->parts[0] : d,
                   s->match.types[0] == PTX_PRED ? PTX_PRED : PTX_U32, false);
        fputs(is_match_all                                              ? "c_.flag ? c_.mask : 0"
              : s->match.types[0] != PTX_PRED || !strcmp(opcode, "bar") ? "(uint32_t)c_.result"
              : emit_has(e, "all")                                      ? "c_.result == c_.mask"
              : emit_has(e, "any")                                      ? "c_.result != 0"
                                   : "c_.result == 0 || c_.result == c_.mask",
              e->out);
        emit_end(e);
        if (d->kind == PTX_OP_PAIR) {
            emit_begin(e, &d->parts[1], PTX_PRED, false);
            fputs("c_.flag != 0", e->out);
            emit_end(e);
        }
    }
    fputs("}\n", e->out);
}

static void emit_barrier_word(struct emitter *e, const struct ptx_operand *address)
{
    const struct ptx_operand *base = address->parts;
    bool is_offset = emit_has(e, "shared") || emit_has(e, "shared::cta") ||
                     (base->kind == PTX_OP_REGISTER && ptx_type_size(base->type) == 4);

    fputs("(uint64_t *)", e->out);
    emit_pointer(e, address, is_offset ? PTX_SHARED : PTX_GENERIC, 8);
}

static void emit_arrive(struct emitter *e, const struct ptx_operand *d)
{
    const struct ptx_statement *s = e->statement;
    bool drops = emit_has(e, "arrive_drop");
    bool expects = emit_has(e, "expect_tx");

    emit_begin(e, d, PTX_U64, false);
    fputs("mb_arrive(", e->out);
    emit_barrier_word(e, &s->operands[1]);
    fputs(", ", e->out);
    if (!expects && s->n_operands > 2)
        emit_source(e, &s->operands[2], PTX_U32, false);
    else
        fputs("1", e->out);
    fputs(drops ? ", 1, " : ", 0, ", e->out);
    if (expects)
        emit_source(e, &s->operands[2], PTX_U32, false);
    else
        fputs("0", e->out);
    fputs(")", e->out);
    emit_end(e);
}

void emit_mbarrier(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;

    /* the copies have arrived already; with .noinc they count as an arrival */
    if (strcmp(s->match.row->opcode, "cp") == 0) {
        fprintf(e->out, "(void)mb_arrive(");
        emit_barrier_word(e, &s->operands[0]);
        fprintf(e->out, ", %d, 0, 0);\n", emit_has(e, "noinc") ? 1 : 0);
    } else if (emit_has(e, "init") || emit_has(e, "inval")) {
        fputs("mb_init(", e->out);
        emit_barrier_word(e, &s->operands[0]);
        fputs(", ", e->out);
        if (emit_has(e, "init"))
            emit_source(e, &s->operands[1], PTX_U32, false);
        else
            fputs("0", e->out);
        fputs(");\n", e->out);
    } else if (emit_has(e, "arrive") || emit_has(e, "arrive_drop")) {
        emit_arrive(e, &s->operands[0]);
    } else if (emit_has(e, "expect_tx") || emit_has(e, "complete_tx")) {
        fputs("mb_transact(", e->out);
        emit_barrier_word(e, &s->operands[0]);
        fputs(emit_has(e, "expect_tx") ? ", (int32_t)(" : ", -(int32_t)(", e->out);
        emit_source(e, &s->operands[1], PTX_U32, false);
        fputs("));\n", e->out);
    } else if (emit_has(e, "pending_count")) {
        emit_begin(e, &s->operands[0], PTX_U32, false);
        fputs("mb_pending(", e->out);
        emit_source(e, &s->operands[1], PTX_U64, false);
        fputs(")", e->out);
        emit_end(e);
    } else {
        bool parity = emit_has(e, "parity");

        emit_begin(e, &s->operands[0], PTX_PRED, false);
        fputs(parity ? "mb_test_parity(" : "mb_test(", e->out);
        emit_barrier_word(e, &s->operands[1]);
        fputs(", ", e->out);
        emit_source(e, &s->operands[2], parity ? PTX_U32 : PTX_U64, false);
        fputs(")", e->out);
        emit_end(e);
        fputs("t->calls->yield(t);\n", e->out);
    }
}
