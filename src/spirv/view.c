#include "spirv/view.h"

/* Fields of struct piece (translate/piece.h), in order. */
enum {
    PIECE_OFFSET = 0,
    PIECE_GROUPS = 3,
    PIECE_FIRST = 6,
    PIECE_MAGIC = 7,
    PIECE_WORK_DIM = 9,
    PIECE_SHIFT = 10,
};

enum { VIEW_GROUPS, VIEW_GROUP, VIEW_ID, VIEW_SIZE, VIEW_OFFSET, VIEW_LINEAR, VIEW_DIM };

int spirv_view_field(uint32_t builtin)
{
    switch (builtin) {
    case BUILTIN_NUM_WORKGROUPS:
        return VIEW_GROUPS;
    case BUILTIN_WORKGROUP_ID:
        return VIEW_GROUP;
    case BUILTIN_GLOBAL_ID:
        return VIEW_ID;
    case BUILTIN_GLOBAL_SIZE:
        return VIEW_SIZE;
    case BUILTIN_GLOBAL_OFFSET:
        return VIEW_OFFSET;
    case BUILTIN_GLOBAL_LINEAR_ID:
        return VIEW_LINEAR;
    case BUILTIN_WORK_DIM:
        return VIEW_DIM;
    default:
        return -1;
    }
}

static uint32_t new_struct(struct spirv_writer *writer, const uint32_t *fields, size_t n)
{
    uint32_t first = (uint32_t)(n + 2) << 16 | OP_TYPE_STRUCT;
    uint32_t id = spirv_writer_id(writer);

    spirv_writer_add(writer, &writer->types, &first, 1);
    spirv_writer_add(writer, &writer->types, &id, 1);
    spirv_writer_add(writer, &writer->types, fields, n);
    return id;
}

void spirv_view_begin(struct spirv_writer *writer, struct spirv_view *ret_view)
{
    struct spirv_view v = {0};
    uint32_t fields[PIECE_FIELDS];

    v.u32 = spirv_writer_int(writer, 32);
    v.u64 = spirv_writer_int(writer, 64);
    v.size = writer->module->size_bits == 64 ? v.u64 : v.u32;
    v.size3 = spirv_writer_type(writer, OP_TYPE_VECTOR, (const uint32_t[]){v.size, 3}, 2);
    for (int i = 0; i < PIECE_FIELDS; i++) {
        fields[i] = i < PIECE_GROUPS ? v.u64 : v.u32;
        v.piece_index[i] = spirv_writer_constant(writer, v.u32, (uint32_t)i);
    }
    v.piece = new_struct(writer, fields, PIECE_FIELDS);
    v.piece_pointer = spirv_writer_pointer(writer, STORAGE_FUNCTION, v.piece);
    v.piece_u64_pointer = spirv_writer_pointer(writer, STORAGE_FUNCTION, v.u64);
    v.piece_u32_pointer = spirv_writer_pointer(writer, STORAGE_FUNCTION, v.u32);
    for (int i = 0; i < VIEW_FIELDS; i++) {
        v.field_type[i] = i == VIEW_DIM ? v.u32 : i == VIEW_LINEAR ? v.size : v.size3;
        v.field_pointer[i] = spirv_writer_pointer(writer, STORAGE_FUNCTION, v.field_type[i]);
        v.field_index[i] = v.piece_index[i];
    }
    v.view = new_struct(writer, v.field_type, VIEW_FIELDS);
    v.view_pointer = spirv_writer_pointer(writer, STORAGE_FUNCTION, v.view);
    v.zero = spirv_writer_id(writer);
    spirv_writer_put(writer, &writer->types, OP_CONSTANT_NULL, v.size3, v.zero);
    v.constant_32 = spirv_writer_constant(writer, v.u64, 32);
    v.constant_8 = spirv_writer_constant(writer, v.u32, 8);
    v.constant_mask = spirv_writer_constant(writer, v.u32, 255);
    v.raw_group = spirv_writer_builtin(writer, BUILTIN_WORKGROUP_ID, "__spirv_BuiltInWorkgroupId", v.size3);
    v.local_id = spirv_writer_builtin(writer, BUILTIN_LOCAL_ID, "__spirv_BuiltInLocalInvocationId", v.size3);
    v.local_size =
        spirv_writer_builtin(writer, BUILTIN_WORKGROUP_SIZE, "__spirv_BuiltInWorkgroupSize", v.size3);
    *ret_view = v;
}

static uint32_t piece_load(struct spirv_writer *writer, const struct spirv_view *v, uint32_t piece, int field)
{
    bool wide = field < PIECE_GROUPS;
    uint32_t at =
        spirv_writer_code(writer, OP_IN_BOUNDS_ACCESS_CHAIN,
                          wide ? v->piece_u64_pointer : v->piece_u32_pointer, piece, v->piece_index[field]);

    return spirv_writer_code(writer, OP_LOAD, wide ? v->u64 : v->u32, at);
}

/* As a size of the module's address width; from 64 or 32 bits. */
static uint32_t sized(struct spirv_writer *writer, const struct spirv_view *v, uint32_t value, uint32_t type)
{
    return type == v->size ? value : spirv_writer_code(writer, OP_UCONVERT, v->size, value);
}

/* The field of `shift` at this byte. */
static uint32_t shift_of(struct spirv_writer *writer, const struct spirv_view *v, uint32_t shift, int bytes)
{
    for (int i = 0; i < bytes; i++)
        shift = spirv_writer_code(writer, OP_SHIFT_RIGHT_LOGICAL, v->u32, shift, v->constant_8);
    return spirv_writer_code(writer, OP_BITWISE_AND, v->u32, shift, v->constant_mask);
}

/* n / d by multiplication (translate/piece.h): t = high(m n); (t + ((n - t) >> s1)) >> s2. */
static uint32_t divided(struct spirv_writer *writer, const struct spirv_view *v, uint32_t n, uint32_t magic,
                        uint32_t s1, uint32_t s2)
{
    uint32_t product =
        spirv_writer_code(writer, OP_IMUL, v->u64, spirv_writer_code(writer, OP_UCONVERT, v->u64, n),
                          spirv_writer_code(writer, OP_UCONVERT, v->u64, magic));
    uint32_t high = spirv_writer_code(writer, OP_SHIFT_RIGHT_LOGICAL, v->u64, product, v->constant_32);
    uint32_t t = spirv_writer_code(writer, OP_UCONVERT, v->u32, high);
    uint32_t rest = spirv_writer_code(writer, OP_SHIFT_RIGHT_LOGICAL, v->u32,
                                      spirv_writer_code(writer, OP_ISUB, v->u32, n, t), s1);

    return spirv_writer_code(writer, OP_SHIFT_RIGHT_LOGICAL, v->u32,
                             spirv_writer_code(writer, OP_IADD, v->u32, t, rest), s2);
}

/* x, y and z of the flattened group. */
static void decode(struct spirv_writer *writer, const struct spirv_view *v, uint32_t piece, uint32_t group,
                   const uint32_t groups[3], uint32_t ret_group[3])
{
    uint32_t shift = piece_load(writer, v, piece, PIECE_SHIFT);
    uint32_t quotient[2] = {0};

    for (int i = 0; i < 2; i++) {
        uint32_t s1 = shift_of(writer, v, shift, 2 * i);
        uint32_t s2 = shift_of(writer, v, shift, 2 * i + 1);
        uint32_t n = i ? quotient[0] : group;
        uint32_t whole;

        quotient[i] = divided(writer, v, n, piece_load(writer, v, piece, PIECE_MAGIC + i), s1, s2);
        whole = spirv_writer_code(writer, OP_IMUL, v->u32, quotient[i], groups[i]);
        ret_group[i] = spirv_writer_code(writer, OP_ISUB, v->u32, n, whole);
    }
    ret_group[2] = quotient[1];
}

static void store(struct spirv_writer *writer, const struct spirv_view *v, uint32_t variable, int field,
                  uint32_t value)
{
    uint32_t at = spirv_writer_code(writer, OP_IN_BOUNDS_ACCESS_CHAIN, v->field_pointer[field], variable,
                                    v->field_index[field]);

    spirv_writer_put(writer, &writer->code, OP_STORE, at, value);
}

/* Component by component: llvm-spirv 14 takes the parts of OpCompositeConstruct for constants. */
static uint32_t vector_of(struct spirv_writer *writer, const struct spirv_view *v, const uint32_t parts[3],
                          uint32_t type)
{
    uint32_t vector = v->zero;

    for (uint32_t i = 0; i < 3; i++) {
        uint32_t part = sized(writer, v, parts[i], type);

        vector = spirv_writer_code(writer, OP_COMPOSITE_INSERT, v->size3, part, vector, i);
    }
    return vector;
}

/* ((z * Y) + y) * X + x of the id without its offset. */
static uint32_t linear_id(struct spirv_writer *writer, const struct spirv_view *v, uint32_t id,
                          uint32_t offset, uint32_t size)
{
    uint32_t from_0 = spirv_writer_code(writer, OP_ISUB, v->size3, id, offset);
    uint32_t sum = spirv_writer_code(writer, OP_COMPOSITE_EXTRACT, v->size, from_0, 2);

    for (uint32_t i = 2; i-- > 0;) {
        uint32_t extent = spirv_writer_code(writer, OP_COMPOSITE_EXTRACT, v->size, size, i);
        uint32_t place = spirv_writer_code(writer, OP_COMPOSITE_EXTRACT, v->size, from_0, i);

        sum = spirv_writer_code(writer, OP_IMUL, v->size, sum, extent);
        sum = spirv_writer_code(writer, OP_IADD, v->size, sum, place);
    }
    return sum;
}

void spirv_view_fill(struct spirv_writer *writer, const struct spirv_view *v, uint32_t piece,
                     uint32_t variable)
{
    uint32_t offset[3];
    uint32_t groups[3];
    uint32_t group[3];
    uint32_t raw = spirv_writer_code(writer, OP_LOAD, v->size3, v->raw_group);
    uint32_t flat = spirv_writer_code(writer, OP_COMPOSITE_EXTRACT, v->size, raw, 0);
    uint32_t local = spirv_writer_code(writer, OP_LOAD, v->size3, v->local_size);
    uint32_t local_id = spirv_writer_code(writer, OP_LOAD, v->size3, v->local_id);
    uint32_t vectors[VIEW_FIELDS];

    if (v->size != v->u32)
        flat = spirv_writer_code(writer, OP_UCONVERT, v->u32, flat);
    flat = spirv_writer_code(writer, OP_IADD, v->u32, flat, piece_load(writer, v, piece, PIECE_FIRST));
    for (int i = 0; i < 3; i++) {
        offset[i] = piece_load(writer, v, piece, PIECE_OFFSET + i);
        groups[i] = piece_load(writer, v, piece, PIECE_GROUPS + i);
    }
    decode(writer, v, piece, flat, groups, group);
    vectors[VIEW_OFFSET] = vector_of(writer, v, offset, v->u64);
    vectors[VIEW_GROUPS] = vector_of(writer, v, groups, v->u32);
    vectors[VIEW_GROUP] = vector_of(writer, v, group, v->u32);
    vectors[VIEW_SIZE] = spirv_writer_code(writer, OP_IMUL, v->size3, vectors[VIEW_GROUPS], local);
    vectors[VIEW_ID] = spirv_writer_code(writer, OP_IMUL, v->size3, vectors[VIEW_GROUP], local);
    vectors[VIEW_ID] = spirv_writer_code(writer, OP_IADD, v->size3, vectors[VIEW_ID], local_id);
    vectors[VIEW_ID] = spirv_writer_code(writer, OP_IADD, v->size3, vectors[VIEW_ID], vectors[VIEW_OFFSET]);
    vectors[VIEW_LINEAR] = linear_id(writer, v, vectors[VIEW_ID], vectors[VIEW_OFFSET], vectors[VIEW_SIZE]);
    vectors[VIEW_DIM] = piece_load(writer, v, piece, PIECE_WORK_DIM);
    for (int i = 0; i < VIEW_FIELDS; i++)
        store(writer, v, variable, i, vectors[i]);
}

void spirv_view_load(struct spirv_writer *writer, const struct spirv_view *v, uint32_t variable, int field,
                     uint32_t result)
{
    uint32_t at = spirv_writer_code(writer, OP_IN_BOUNDS_ACCESS_CHAIN, v->field_pointer[field], variable,
                                    v->field_index[field]);

    spirv_writer_put(writer, &writer->code, OP_LOAD, v->field_type[field], result, at);
}
