/* Textures and surfaces: fills a call structure for a function of the library. */
#include "cuda_cpu/emit/emit.h"

#include <string.h>

static unsigned geometry(const struct emitter *e)
{
    static const char *const names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (emit_has(e, names[i]))
            return i;
    return 0;
}

static void emit_object(struct emitter *e, const struct ptx_operand *object)
{
    const struct ptx_operand *coordinates = &object->parts[1];

    fputs("{.object = ", e->out);
    emit_source(e, &object->parts[0], PTX_U64, false);
    fprintf(e->out, ", .geometry = %u, .line = %u, .coordinates = {", geometry(e), emit_line(e));
    for (unsigned i = 0; i < (coordinates->kind == PTX_OP_VECTOR ? coordinates->n_parts : 1); i++) {
        const struct ptx_operand *part =
            coordinates->kind == PTX_OP_VECTOR ? &coordinates->parts[i] : coordinates;

        if (i == 4)
            break;
        if (i)
            fputs(", ", e->out);
        if (part->kind == PTX_OP_F32)
            fprintf(e->out, "UINT32_C(%u)", (unsigned)part->bits);
        else
            emit_source(e, part, PTX_B32, true);
    }
    fputs("}", e->out);
}

static void emit_gradient(struct emitter *e, const char *name, const struct ptx_operand *operand)
{
    fprintf(e->out, ", .%s = {", name);
    for (unsigned i = 0; i < (operand->kind == PTX_OP_VECTOR ? operand->n_parts : 1) && i < 4; i++) {
        if (i)
            fputs(", ", e->out);
        emit_source(e, operand->kind == PTX_OP_VECTOR ? &operand->parts[i] : operand, PTX_F32, false);
    }
    fputs("}", e->out);
}

static void emit_query(struct emitter *e, bool is_surface)
{
    static const char *const names[] = {"width",
                                        "height",
                                        "depth",
                                        "channel_data_type",
                                        "channel_order",
                                        "normalized_coords",
                                        "num_mipmap_levels",
                                        "num_samples",
                                        "array_size"};
    const struct ptx_statement *s = e->statement;
    unsigned what = 0;

    while (what + 1 < sizeof names / sizeof names[0] && !emit_has(e, names[what]))
        what++;
    emit_begin(e, &s->operands[0], PTX_U32, false);
    fputs("t->calls->query(t, ", e->out);
    emit_source(e, &s->operands[1].parts[0], PTX_U64, false);
    fprintf(e->out, ", %u, %d, %u)", what, is_surface, emit_line(e));
    emit_end(e);
}

void emit_texture(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    enum ptx_type type = s->match.types[0];
    bool gathers = strcmp(s->match.row->opcode, "tld4") == 0;

    if (strcmp(s->match.row->opcode, "txq") == 0) {
        emit_query(e, false);
        return;
    }
    fputs("{ struct device_texture_call c_ = ", e->out);
    emit_object(e, &s->operands[1]);
    fprintf(e->out, ", .kind = %d, .has_integer_coordinates = %d",
            gathers                ? 3
            : emit_has(e, "level") ? 1
            : emit_has(e, "grad")  ? 2
                                   : 0,
            s->match.types[1] == PTX_S32);
    if (gathers)
        fprintf(e->out, ", .component = %d",
                emit_has(e, "r")   ? 0
                : emit_has(e, "g") ? 1
                : emit_has(e, "b") ? 2
                                   : 3);
    if (emit_has(e, "level") && s->n_operands > 2) {
        fputs(", .level = ", e->out);
        if (s->match.types[1] == PTX_S32)
            fputs("(float)(int32_t)", e->out);
        emit_source(e, &s->operands[2], s->match.types[1] == PTX_S32 ? PTX_S32 : PTX_F32, false);
    }
    if (emit_has(e, "grad")) {
        emit_gradient(e, "dx", &s->operands[2]);
        emit_gradient(e, "dy", &s->operands[3]);
    }
    fputs("}; t->calls->texture(t, &c_);\n", e->out);
    for (unsigned i = 0; i < 4; i++) {
        if (s->operands[0].parts[i].kind == PTX_OP_SINK)
            continue;
        emit_begin(e, &s->operands[0].parts[i], type, false);
        fprintf(e->out, type == PTX_F32 ? "as_f32(c_.texel[%u])" : "c_.texel[%u]", i);
        emit_end(e);
    }
    fputs("}\n", e->out);
}

void emit_surface(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    enum ptx_type type = s->match.types[0];
    bool loads = strcmp(s->match.row->opcode, "suld") == 0;
    bool reduces = strcmp(s->match.row->opcode, "sured") == 0;
    const struct ptx_operand *data = loads ? &s->operands[0] : &s->operands[1];

    if (strcmp(s->match.row->opcode, "suq") == 0) {
        emit_query(e, true);
        return;
    }
    fputs("{ struct device_surface_call c_ = ", e->out);
    emit_object(e, &s->operands[loads ? 1 : 0]);
    fprintf(e->out, ", .kind = %d, .bytes = %u, .n = %u, .outside = %d",
            loads     ? 0
            : reduces ? 2
                      : 1,
            ptx_type_size(type), s->match.vector,
            emit_has(e, "trap")    ? 0
            : emit_has(e, "clamp") ? 1
                                   : 2);
    if (reduces)
        fprintf(e->out, ", .operation = %d, .is_signed = %d",
                emit_has(e, "add")   ? 0
                : emit_has(e, "min") ? 1
                : emit_has(e, "max") ? 2
                : emit_has(e, "and") ? 3
                                     : 4,
                ptx_type_class(type) == PTX_SIGNED);
    if (!loads) {
        fputs(", .data = {", e->out);
        for (unsigned i = 0; i < s->match.vector; i++) {
            fprintf(e->out, "%s(%s)", i ? ", " : "", emit_c_type(type));
            emit_source(e, data->kind == PTX_OP_VECTOR ? &data->parts[i] : data, type, true);
        }
        fputs("}", e->out);
    }
    fputs("}; t->calls->surface(t, &c_);\n", e->out);
    for (unsigned i = 0; loads && i < s->match.vector; i++) {
        const struct ptx_operand *part = data->kind == PTX_OP_VECTOR ? &data->parts[i] : data;

        emit_begin(e, part, type, false);
        fprintf(e->out, "(%s)c_.data[%u]", emit_c_type(type), i);
        emit_end(e);
    }
    fputs("}\n", e->out);
}
