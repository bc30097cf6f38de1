/*
 * Dense matrices and vectors: mmul, madd, transpose, matrix times vector, dot product, vector
 * addition, LU decomposition.
 */
#include "workload.h"

#include <math.h>
#include <stdlib.h>

enum { A, B, C };
enum { TILE = 16, GROUP = 64 };

/* ---- mmul: C = A B, square, tiles in local memory, four columns to a work-item ---- */

static void mmul_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, 4 * TILE);

    work_buffer(work, A, work_floats(work, n * n, -1, 1), NULL, n * n * sizeof(float));
    work_buffer(work, B, work_floats(work, n * n, -1, 1), NULL, n * n * sizeof(float));
    work_buffer(work, C, NULL, work_array(work, n * n * sizeof(float)), n * n * sizeof(float));
}

static void mmul_run(struct work *work)
{
    size_t n = work->size;

    LAUNCH(work, "mmul", SHAPE2(n / 4, n, TILE, TILE), BUFFER(A), BUFFER(B), BUFFER(C), INT(n));
}

/* Row by row in double. */
static bool mmul_check(const struct work *work)
{
    const float *a = work->buffers[A].in;
    const float *b = work->buffers[B].in;
    const float *c = work->buffers[C].out;
    size_t n = work->size;
    double *row = check_array(n * sizeof *row);
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        for (size_t j = 0; j < n; j++)
            row[j] = 0;
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++)
                row[j] += (double)a[i * n + k] * (double)b[k * n + j];
        for (size_t j = 0; ok && j < n; j++)
            if (!(fabs(row[j] - (double)c[i * n + j]) <= 1e-4 * (double)n))
                ok = check_failed(work, "element %zu,%zu is %g, not %g", i, j, (double)c[i * n + j], row[j]);
    }
    free(row);
    return ok;
}

const struct workload workload_mmul = {
    .name = "mmul",
    .row = "MatrixMultiplication",
    .unit = "rows",
    .sizes = {64, 192, 512},
    .source = OPENCL(kernel __attribute__((reqd_work_group_size(16, 16, 1))) void mmul(
        global const float *a, global const float4 *b, global float4 *c, int n) {
        local float left[16][16];
        local float4 right[16][16];
        int x = get_local_id(0);
        int y = get_local_id(1);
        int column = get_global_id(0);
        int row = get_global_id(1);
        int pitch = n / 4;
        float4 sum = 0;
        for (int t = 0; t < n; t += 16) {
            left[y][x] = a[row * n + t + x];
            right[y][x] = b[(t + y) * pitch + column];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = 0; k < 16; k++)
                sum += left[y][k] * right[k][x];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        c[row * pitch + column] = sum;
    }),
    .prepare = mmul_prepare,
    .run = mmul_run,
    .check = mmul_check,
};

/* ---- madd: C = A + B ---- */

static void madd_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, TILE);

    work_buffer(work, A, work_floats(work, n * n, -1, 1), NULL, n * n * sizeof(float));
    work_buffer(work, B, work_floats(work, n * n, -1, 1), NULL, n * n * sizeof(float));
    work_buffer(work, C, NULL, work_array(work, n * n * sizeof(float)), n * n * sizeof(float));
}

static void madd_run(struct work *work)
{
    size_t n = work->size;

    LAUNCH(work, "madd", SHAPE2(n, n, TILE, TILE), BUFFER(A), BUFFER(B), BUFFER(C));
}

static bool sum_check(const struct work *work)
{
    const float *a = work->buffers[A].in;
    const float *b = work->buffers[B].in;
    const float *c = work->buffers[C].out;

    for (size_t i = 0; i < work->buffers[C].bytes / sizeof *c; i++)
        if (!(fabs((double)a[i] + (double)b[i] - (double)c[i]) <= 1e-6))
            return check_failed(work, "element %zu is %g", i, (double)c[i]);
    return true;
}

const struct workload workload_madd = {
    .name = "madd",
    .row = "madd (GPES)",
    .unit = "rows",
    .sizes = {128, 1024, 2048},
    .source = OPENCL(kernel void madd(global const float *a, global const float *b, global float *c) {
        size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);
        c[at] = a[at] + b[at];
    }),
    .prepare = madd_prepare,
    .run = madd_run,
    .check = sum_check,
};

/* ---- vector-add: the same on one long vector ---- */

static void vector_add_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, GROUP);

    work_buffer(work, A, work_floats(work, n, -1, 1), NULL, n * sizeof(float));
    work_buffer(work, B, work_floats(work, n, -1, 1), NULL, n * sizeof(float));
    work_buffer(work, C, NULL, work_array(work, n * sizeof(float)), n * sizeof(float));
}

static void vector_add_run(struct work *work)
{
    LAUNCH(work, "add", SHAPE1(work->size, GROUP), BUFFER(A), BUFFER(B), BUFFER(C));
}

const struct workload workload_vector_add = {
    .name = "vector-add",
    .row = "VectorAdd",
    .unit = "numbers",
    .sizes = {16384, 1 << 20, 1 << 22},
    .source = OPENCL(kernel void add(global const float *a, global const float *b, global float *c) {
        size_t i = get_global_id(0);
        c[i] = a[i] + b[i];
    }),
    .prepare = vector_add_prepare,
    .run = vector_add_run,
    .check = sum_check,
};

/* ---- transpose: through a tile of local memory, padded against bank conflicts ---- */

static void transpose_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, TILE);

    work_buffer(work, A, work_floats(work, n * n, -1, 1), NULL, n * n * sizeof(float));
    work_buffer(work, B, NULL, work_array(work, n * n * sizeof(float)), n * n * sizeof(float));
}

static void transpose_run(struct work *work)
{
    size_t n = work->size;

    LAUNCH(work, "transpose", SHAPE2(n, n, TILE, TILE), BUFFER(A), BUFFER(B),
           LOCAL(TILE * (TILE + 1) * sizeof(float)));
}

static bool transpose_check(const struct work *work)
{
    const float *a = work->buffers[A].in;
    const float *b = work->buffers[B].out;
    size_t n = work->size;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (a[i * n + j] != b[j * n + i])
                return check_failed(work, "element %zu,%zu is %g", j, i, (double)b[j * n + i]);
    return true;
}

const struct workload workload_transpose = {
    .name = "transpose",
    .row = "MatrixTranspose",
    .unit = "rows",
    .sizes = {128, 1024, 2048},
    .source = OPENCL(kernel void transpose(global const float *in, global float *out, local float *tile) {
        size_t n = get_global_size(0);
        size_t side = get_local_size(0);
        size_t x = get_local_id(0);
        size_t y = get_local_id(1);
        tile[y * (side + 1) + x] = in[get_global_id(1) * n + get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        out[(get_group_id(0) * side + y) * n + get_group_id(1) * side + x] = tile[x * (side + 1) + y];
    }),
    .prepare = transpose_prepare,
    .run = transpose_run,
    .check = transpose_check,
};

/* ---- matvec: y = M x, one group per row, summed in a tree ---- */

enum { MATVEC_COLUMNS = 1024 };

static void matvec_prepare(struct work *work)
{
    size_t rows = work->size;

    work_buffer(work, A, work_floats(work, rows * MATVEC_COLUMNS, -1, 1), NULL,
                rows * MATVEC_COLUMNS * sizeof(float));
    work_buffer(work, B, work_floats(work, MATVEC_COLUMNS, -1, 1), NULL, MATVEC_COLUMNS * sizeof(float));
    work_buffer(work, C, NULL, work_array(work, rows * sizeof(float)), rows * sizeof(float));
}

static void matvec_run(struct work *work)
{
    LAUNCH(work, "matvec", SHAPE1(work->size * GROUP, GROUP), BUFFER(A), BUFFER(B), INT(MATVEC_COLUMNS),
           LOCAL(GROUP * sizeof(float)), BUFFER(C));
}

static bool matvec_check(const struct work *work)
{
    const float *matrix = work->buffers[A].in;
    const float *vector = work->buffers[B].in;
    const float *out = work->buffers[C].out;

    for (size_t i = 0; i < work->size; i++) {
        double sum = 0;
        for (size_t j = 0; j < MATVEC_COLUMNS; j++)
            sum += (double)matrix[i * MATVEC_COLUMNS + j] * (double)vector[j];
        if (!(fabs(sum - (double)out[i]) <= 1e-3))
            return check_failed(work, "element %zu is %g, not %g", i, (double)out[i], sum);
    }
    return true;
}

const struct workload workload_matvec = {
    .name = "matvec",
    .row = "MatVecMul",
    .unit = "rows of 1024",
    .sizes = {64, 1024, 8192},
    .source = OPENCL(kernel void matvec(global const float *matrix, global const float *vector, int columns,
                                        local float *part, global float *out) {
        int l = get_local_id(0);
        global const float *row = matrix + get_group_id(0) * (size_t)columns;
        float sum = 0;
        for (int i = l; i < columns; i += get_local_size(0))
            sum += row[i] * vector[i];
        part[l] = sum;
        for (int width = get_local_size(0) / 2; width > 0; width /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (l < width)
                part[l] += part[l + width];
        }
        if (l == 0)
            out[get_group_id(0)] = part[0];
    }),
    .prepare = matvec_prepare,
    .run = matvec_run,
    .check = matvec_check,
};

/* ---- dot-product: one product of two 4-vectors per work-item, as in the row of the table ---- */

static void dot_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, GROUP);

    work_buffer(work, A, work_floats(work, 4 * n, -1, 1), NULL, 4 * n * sizeof(float));
    work_buffer(work, B, work_floats(work, 4 * n, -1, 1), NULL, 4 * n * sizeof(float));
    work_buffer(work, C, NULL, work_array(work, n * sizeof(float)), n * sizeof(float));
}

static void dot_run(struct work *work)
{
    LAUNCH(work, "dot_product", SHAPE1(work->size, GROUP), BUFFER(A), BUFFER(B), BUFFER(C));
}

static bool dot_check(const struct work *work)
{
    const float *a = work->buffers[A].in;
    const float *b = work->buffers[B].in;
    const float *c = work->buffers[C].out;

    for (size_t i = 0; i < work->size; i++) {
        double sum = 0;
        for (size_t k = 4 * i; k < 4 * i + 4; k++)
            sum += (double)a[k] * (double)b[k];
        if (!(fabs(sum - (double)c[i]) <= 1e-5))
            return check_failed(work, "product %zu is %g, not %g", i, (double)c[i], sum);
    }
    return true;
}

const struct workload workload_dot_product = {
    .name = "dot-product",
    .row = "DotProduct",
    .unit = "4-vectors",
    .sizes = {4096, 1 << 18, 1 << 20},
    .source =
        OPENCL(kernel void dot_product(global const float4 *a, global const float4 *b, global float *c) {
            size_t i = get_global_id(0);
            c[i] = dot(a[i], b[i]);
        }),
    .prepare = dot_prepare,
    .run = dot_run,
    .check = dot_check,
};
