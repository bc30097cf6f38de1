/*
 * Solving: LU decomposition in place by blocks, and many tridiagonal systems by cyclic reduction.
 */
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lud: three dependent kernels per block of the diagonal, all on one buffer ---- */

enum { MATRIX };
enum { BLOCK = 16 };

static void lud_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, BLOCK);
    float *matrix = work_floats(work, n * n, -1, 1);

    for (size_t i = 0; i < n; i++) /* no pivots needed */
        matrix[i * n + i] += (float)n;
    work_buffer(work, MATRIX, matrix, work_array(work, n * n * sizeof(float)), n * n * sizeof(float));
}

static void lud_run(struct work *work)
{
    size_t n = work->size;

    for (size_t at = 0; at < n; at += BLOCK) {
        size_t rest = (n - at) / BLOCK - 1;
        LAUNCH(work, "diagonal", SHAPE1(BLOCK, BLOCK), BUFFER(MATRIX), INT(n), INT(at));
        if (!rest)
            break;
        LAUNCH(work, "perimeter", SHAPE1(rest * 2 * BLOCK, 2 * BLOCK), BUFFER(MATRIX), INT(n), INT(at));
        LAUNCH(work, "interior", SHAPE2(rest * BLOCK, rest * BLOCK, BLOCK, BLOCK), BUFFER(MATRIX), INT(n),
               INT(at));
    }
}

/* L times U must be the matrix again. */
static bool lud_check(const struct work *work)
{
    const float *matrix = work->buffers[MATRIX].in;
    const float *factors = work->buffers[MATRIX].out;
    size_t n = work->size;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = i <= j ? (double)factors[i * n + j] : 0;
            for (size_t k = 0; k < (i <= j ? i : j + 1); k++)
                sum += (double)factors[i * n + k] * (double)factors[k * n + j];
            if (!(fabs(sum - (double)matrix[i * n + j]) <= 1e-5 * (double)n))
                return check_failed(work, "L U at %zu,%zu is %g, not %g", i, j, sum,
                                    (double)matrix[i * n + j]);
        }
    }
    return true;
}

const struct workload workload_lud = {
    .name = "lud",
    .row = "lud (GPES)",
    .unit = "rows",
    .sizes = {64, 256, 768},
    .source = OPENCL(
        kernel void diagonal(global float *m, int n, int at) {
            local float tile[16][16];
            int x = get_local_id(0);
            for (int i = 0; i < 16; i++)
                tile[i][x] = m[(at + i) * n + at + x];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = 0; k < 15; k++) {
                if (x > k)
                    tile[x][k] /= tile[k][k];
                barrier(CLK_LOCAL_MEM_FENCE);
                if (x > k)
                    for (int j = k + 1; j < 16; j++)
                        tile[x][j] -= tile[x][k] * tile[k][j];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            for (int i = 0; i < 16; i++)
                m[(at + i) * n + at + x] = tile[i][x];
        }

        kernel void perimeter(global float *m, int n, int at) {
            local float tile[16][16];
            int l = get_local_id(0);
            int x = l % 16;
            int other = at + 16 * (get_group_id(0) + 1);
            for (int i = l / 16; i < 16; i += 2)
                tile[i][x] = m[(at + i) * n + at + x];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (l < 16) {
                for (int i = 1; i < 16; i++) {
                    float sum = m[(at + i) * n + other + x];
                    for (int k = 0; k < i; k++)
                        sum -= tile[i][k] * m[(at + k) * n + other + x];
                    m[(at + i) * n + other + x] = sum;
                }
            } else {
                global float *row = m + (other + x) * n + at;
                for (int j = 0; j < 16; j++) {
                    float sum = row[j];
                    for (int k = 0; k < j; k++)
                        sum -= row[k] * tile[k][j];
                    row[j] = sum / tile[j][j];
                }
            }
        }

        kernel void interior(global float *m, int n, int at) {
            int column = at + 16 + get_global_id(0);
            int row = at + 16 + get_global_id(1);
            float sum = 0;
            for (int k = 0; k < 16; k++)
                sum += m[row * n + at + k] * m[(at + k) * n + column];
            m[row * n + column] -= sum;
        }),
    .prepare = lud_prepare,
    .run = lud_run,
    .check = lud_check,
};

/* ---- tridiagonal: one group per system of 128 equations, cyclic reduction in local memory ---- */

enum { LOWER, MIDDLE, UPPER, RIGHT, SOLUTION };
enum { EQUATIONS = 128 };

static void tridiagonal_prepare(struct work *work)
{
    size_t n = work->size * EQUATIONS;
    float *lower = work_floats(work, n, -1, 1);
    float *middle = work_floats(work, n, 3, 5);
    float *upper = work_floats(work, n, -1, 1);

    for (size_t i = 0; i < work->size; i++)
        lower[i * EQUATIONS] = upper[(i + 1) * EQUATIONS - 1] = 0;
    work_buffer(work, LOWER, lower, NULL, n * sizeof(float));
    work_buffer(work, MIDDLE, middle, NULL, n * sizeof(float));
    work_buffer(work, UPPER, upper, NULL, n * sizeof(float));
    work_buffer(work, RIGHT, work_floats(work, n, -10, 10), NULL, n * sizeof(float));
    work_buffer(work, SOLUTION, NULL, work_array(work, n * sizeof(float)), n * sizeof(float));
}

static void tridiagonal_run(struct work *work)
{
    LAUNCH(work, "solve", SHAPE1(work->size * EQUATIONS, EQUATIONS), BUFFER(LOWER), BUFFER(MIDDLE),
           BUFFER(UPPER), BUFFER(RIGHT), BUFFER(SOLUTION));
}

/* Thomas' algorithm, sequential, in double. */
static bool tridiagonal_check(const struct work *work)
{
    const float *lower = work->buffers[LOWER].in;
    const float *middle = work->buffers[MIDDLE].in;
    const float *upper = work->buffers[UPPER].in;
    const float *right = work->buffers[RIGHT].in;
    const float *got = work->buffers[SOLUTION].out;

    for (size_t s = 0; s < work->size; s++) {
        double c[EQUATIONS] = {0};
        double d[EQUATIONS] = {0};
        double next = 0;
        for (size_t i = 0; i < EQUATIONS; i++) {
            size_t at = s * EQUATIONS + i;
            double pivot = (double)middle[at] - (i ? (double)lower[at] * c[i - 1] : 0);
            c[i] = (double)upper[at] / pivot;
            d[i] = ((double)right[at] - (i ? (double)lower[at] * d[i - 1] : 0)) / pivot;
        }
        for (size_t i = EQUATIONS; i-- > 0;) {
            next = d[i] - c[i] * next;
            if (!(fabs(next - (double)got[s * EQUATIONS + i]) <= 1e-4))
                return check_failed(work, "system %zu, unknown %zu is %g, not %g", s, i,
                                    (double)got[s * EQUATIONS + i], next);
        }
    }
    return true;
}

const struct workload workload_tridiagonal = {
    .name = "tridiagonal",
    .row = "Tridiagonal",
    .unit = "systems of 128",
    .sizes = {64, 1024, 8192},
    .source = OPENCL(kernel void solve(global const float *lower, global const float *middle,
                                       global const float *upper, global const float *right,
                                       global float *solution) {
        local float a[2][128];
        local float b[2][128];
        local float c[2][128];
        local float d[2][128];
        int i = get_local_id(0);
        size_t at = get_global_id(0);
        int now = 0;
        a[0][i] = lower[at];
        b[0][i] = middle[at];
        c[0][i] = upper[at];
        d[0][i] = right[at];
        for (int far = 1; far < 128; far *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            float up = i >= far ? a[now][i] / b[now][i - far] : 0;
            float down = i + far < 128 ? c[now][i] / b[now][i + far] : 0;
            float ai = 0;
            float bi = b[now][i];
            float ci = 0;
            float di = d[now][i];
            if (i >= far) {
                ai = -up * a[now][i - far];
                bi -= up * c[now][i - far];
                di -= up * d[now][i - far];
            }
            if (i + far < 128) {
                ci = -down * c[now][i + far];
                bi -= down * a[now][i + far];
                di -= down * d[now][i + far];
            }
            now = 1 - now;
            a[now][i] = ai;
            b[now][i] = bi;
            c[now][i] = ci;
            d[now][i] = di;
        }
        solution[at] = d[now][i] / b[now][i];
    }),
    .prepare = tridiagonal_prepare,
    .run = tridiagonal_run,
    .check = tridiagonal_check,
};
