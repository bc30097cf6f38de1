/*
 * The kernels that the fake driver knows, found by name in a program's source. Each runs one
 * work-group at a time and sees its ids as OpenCL C would. A kernel that is launched as a piece
 * sees them through the descriptor (translate/piece.h).
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include "translate/piece.h"

struct item {
    cl_uint dim;
    size_t offset[3], global[3], local[3], groups[3]; /* of the whole launch, as the kernel sees it */
    size_t group[3], id[3];                           /* this group; this item's local id */
};

struct fake_builtin {
    const char *name;
    cl_uint n_args;
    void (*run)(const struct item *item, void *const args[]);
    size_t local[3]; /* that it requires; 0: any */
};

static size_t global_id(const struct item *item, int d)
{
    return item->offset[d] + item->group[d] * item->local[d] + item->id[d];
}

static size_t linear_id(const struct item *item)
{
    size_t at[3];

    for (int d = 0; d < 3; d++)
        at[d] = global_id(item, d) - item->offset[d];
    return at[0] + item->global[0] * (at[1] + item->global[1] * at[2]);
}

static void run_empty(const struct item *item, void *const args[])
{
    (void)item;
    (void)args;
}

/* c[i] = a[i] + b[i] */
static void run_add(const struct item *item, void *const args[])
{
    size_t i = global_id(item, 0);

    /* Wraps, as the int of a kernel does in practice. */
    ((cl_uint *)args[2])[i] = ((const cl_uint *)args[0])[i] + ((const cl_uint *)args[1])[i];
}

/* a[i] = a[i] * factor + 1: running it twice, or not at all, shows. */
static void run_scale(const struct item *item, void *const args[])
{
    cl_uint *a = args[0]; /* wraps, too */

    a[global_id(item, 0)] = a[global_id(item, 0)] * *(const cl_uint *)args[1] + 1;
}

/* Everything a kernel can observe of its place, 16 ints per work-item. */
static void run_shape(const struct item *item, void *const args[])
{
    cl_int *out = (cl_int *)args[0] + 16 * linear_id(item);

    for (cl_uint d = 0; d < 3; d++) {
        out[d] = (cl_int)global_id(item, (int)d);
        out[3 + d] = (cl_int)item->group[d];
        out[6 + d] = (cl_int)item->id[d];
        out[9 + d] = d < item->dim ? (cl_int)item->groups[d] : 1;
        out[12 + d] = d < item->dim ? (cl_int)item->global[d] : 1;
    }
    out[15] = (cl_int)item->dim;
}

/*
 * out[group] = sum of in over the group. The local argument is not needed when items run in turn.
 */
static void run_group_sum(const struct item *item, void *const args[])
{
    cl_int *out = (cl_int *)args[2] + item->group[0];

    *out = (item->id[0] == 0 ? 0 : *out) + ((const cl_int *)args[0])[global_id(item, 0)];
}

static void run_fixed(const struct item *item, void *const args[])
{
    ((cl_int *)args[0])[global_id(item, 0)] = 7;
}

static const struct fake_builtin builtins[] = {
    {"empty", 0, run_empty, {0}},         {"add", 3, run_add, {0}},
    {"scale", 2, run_scale, {0}},         {"shape", 1, run_shape, {0}},
    {"group_sum", 3, run_group_sum, {0}}, {"fixed", 1, run_fixed, {8, 1, 1}},
};

const struct fake_builtin *fake_builtin_find(const char *name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++)
        if (!strcmp(builtins[i].name, name))
            return &builtins[i];
    return NULL;
}

cl_uint fake_builtin_args(const struct fake_builtin *builtin)
{
    return builtin->n_args;
}

const size_t *fake_builtin_local(const struct fake_builtin *builtin)
{
    return builtin->local;
}

/* Items of the group: fewer in the last one of a row, if the row does not divide. */
static size_t width_of(const struct item *item, int d)
{
    size_t rest = item->global[d] - item->group[d] * item->local[d];

    return rest < item->local[d] ? rest : item->local[d];
}

static void run_group(const struct fake_builtin *builtin, struct item *item, void *const args[])
{
    for (item->id[2] = 0; item->id[2] < width_of(item, 2); item->id[2]++)
        for (item->id[1] = 0; item->id[1] < width_of(item, 1); item->id[1]++)
            for (item->id[0] = 0; item->id[0] < width_of(item, 0); item->id[0]++)
                builtin->run(item, args);
}

void fake_builtin_run(const struct fake_signature *signature, const struct fake_arg *args,
                      const struct fake_range *range)
{
    const struct piece *piece = NULL;
    struct item item = {.dim = range->dim};
    void *values[FAKE_MAX_ARGS] = {0};
    size_t launched[3], first = 0;

    for (cl_uint i = 0; i < signature->n_args; i++) {
        if (signature->args[i].address != CL_KERNEL_ARG_ADDRESS_GLOBAL)
            values[i] = (void *)(uintptr_t)args[i].value.bytes;
        else if (fake_is(args[i].value.mem, FAKE_MEM))
            values[i] = args[i].value.mem->bytes;
        else
            values[i] = args[i].value.svm;
    }
    for (int d = 0; d < 3; d++) {
        launched[d] = (range->global[d] + range->local[d] - 1) / range->local[d];
        item.local[d] = range->local[d];
        item.offset[d] = range->offset[d];
        item.groups[d] = launched[d];
        item.global[d] = range->global[d];
    }
    if (signature->sliced) {
        piece = (const struct piece *)(const void *)args[signature->n_args - 1].value.bytes;
        first = piece->first;
        for (int d = 0; d < 3; d++) {
            item.offset[d] = piece->offset[d];
            item.groups[d] = piece->groups[d];
            item.global[d] = item.groups[d] * item.local[d];
        }
    }
    for (size_t n = launched[0] * launched[1] * launched[2], f = 0; f < n; f++) {
        size_t flat = first + f;
        item.group[0] = flat % item.groups[0];
        item.group[1] = flat / item.groups[0] % item.groups[1];
        item.group[2] = flat / item.groups[0] / item.groups[1];
        run_group(signature->builtin, &item, values);
    }
}
