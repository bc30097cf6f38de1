/* Neighbours and networks: nn, k-nearest, back propagation. */
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 };

/* ---- nn: the distance of every record to one place ---- */

enum { PLACES, DISTANCES };

static const float nn_latitude = 30;
static const float nn_longitude = 90;

static void nn_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, GROUP);

    work_buffer(work, PLACES, work_floats(work, 2 * n, 0, 180), NULL, 2 * n * sizeof(float));
    work_buffer(work, DISTANCES, NULL, work_array(work, n * sizeof(float)), n * sizeof(float));
}

static void nn_run(struct work *work)
{
    LAUNCH(work, "distance_to", SHAPE1(work->size, GROUP), BUFFER(PLACES), BUFFER(DISTANCES),
           FLOAT(nn_latitude), FLOAT(nn_longitude));
}

static bool nn_check(const struct work *work)
{
    const float *places = work->buffers[PLACES].in;
    const float *got = work->buffers[DISTANCES].out;

    for (size_t i = 0; i < work->size; i++) {
        double want = hypot((double)places[2 * i] - (double)nn_latitude,
                            (double)places[2 * i + 1] - (double)nn_longitude);
        if (!(fabs(want - (double)got[i]) <= 1e-3))
            return check_failed(work, "distance %zu is %g, not %g", i, (double)got[i], want);
    }
    return true;
}

const struct workload workload_nn = {
    .name = "nn",
    .row = "nn (GPES)",
    .unit = "records",
    .sizes = {16384, 1 << 20, 1 << 22},
    .source = OPENCL(kernel void distance_to(global const float2 *places, global float *distances,
                                             float latitude, float longitude) {
        size_t i = get_global_id(0);
        float2 away = places[i] - (float2)(latitude, longitude);
        distances[i] = sqrt(away.x * away.x + away.y * away.y);
    }),
    .prepare = nn_prepare,
    .run = nn_run,
    .check = nn_check,
};

/*
 * ---- backprop: n inputs, 16 hidden units, one output; forward on the device, deltas on the host,
 * weights on the device ----
 */

enum { INPUT, WEIGHTS, OLD, PARTIAL, DELTA };
enum { HIDDEN = 16 };

static const float learning_rate = 0.3F;
static const float momentum = 0.3F;

static void backprop_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, HIDDEN);
    size_t bytes = n * HIDDEN * sizeof(float);

    work_buffer(work, INPUT, work_floats(work, n, 0, 1), NULL, n * sizeof(float));
    work_buffer(work, WEIGHTS, work_floats(work, n * HIDDEN, -0.01, 0.01), work_array(work, bytes), bytes);
    work_buffer(work, OLD, work_floats(work, n * HIDDEN, -0.01, 0.01), work_array(work, bytes), bytes);
    work_buffer(work, PARTIAL, NULL, work_array(work, n * sizeof(float)), n * sizeof(float));
    work_buffer(work, DELTA, NULL, work_array(work, HIDDEN * sizeof(float)), HIDDEN * sizeof(float));
}

/* The hidden units' errors for sums of their inputs: output weights of 0.1, target 0.9. */
static void backprop_delta(const double *sums, double *ret_delta)
{
    double hidden[HIDDEN];
    double output = 0;
    double error;

    for (size_t i = 0; i < HIDDEN; i++) {
        hidden[i] = 1 / (1 + exp(-sums[i]));
        output += 0.1 * hidden[i];
    }
    output = 1 / (1 + exp(-output));
    error = output * (1 - output) * (0.9 - output);
    for (size_t i = 0; i < HIDDEN; i++)
        ret_delta[i] = hidden[i] * (1 - hidden[i]) * error * 0.1;
}

static void backprop_run(struct work *work)
{
    size_t n = work->size;
    float *partial = work->buffers[PARTIAL].out;
    float *delta = work->buffers[DELTA].out;
    double sums[HIDDEN] = {0};
    double deltas[HIDDEN];

    LAUNCH(work, "forward", SHAPE2(HIDDEN, n, HIDDEN, HIDDEN), BUFFER(INPUT), BUFFER(WEIGHTS),
           BUFFER(PARTIAL));
    work_read(work, PARTIAL, partial, n * sizeof *partial);
    for (size_t i = 0; i < n; i++)
        sums[i % HIDDEN] += (double)partial[i];
    backprop_delta(sums, deltas);
    for (size_t i = 0; i < HIDDEN; i++)
        delta[i] = (float)deltas[i];
    work_write(work, DELTA, delta, HIDDEN * sizeof *delta);
    LAUNCH(work, "adjust", SHAPE2(HIDDEN, n, HIDDEN, HIDDEN), BUFFER(INPUT), BUFFER(DELTA), BUFFER(WEIGHTS),
           BUFFER(OLD), FLOAT(learning_rate), FLOAT(momentum));
}

static bool backprop_check(const struct work *work)
{
    const float *input = work->buffers[INPUT].in;
    const float *weights = work->buffers[WEIGHTS].in;
    const float *old = work->buffers[OLD].in;
    const float *got = work->buffers[WEIGHTS].out;
    const float *got_old = work->buffers[OLD].out;
    double sums[HIDDEN] = {0};
    double delta[HIDDEN];

    for (size_t i = 0; i < work->size * HIDDEN; i++)
        sums[i % HIDDEN] += (double)input[i / HIDDEN] * (double)weights[i];
    backprop_delta(sums, delta);
    for (size_t i = 0; i < work->size * HIDDEN; i++) {
        double change = (double)learning_rate * delta[i % HIDDEN] * (double)input[i / HIDDEN] +
                        (double)momentum * (double)old[i];
        if (!(fabs((double)weights[i] + change - (double)got[i]) <= 1e-5) ||
            !(fabs(change - (double)got_old[i]) <= 1e-5))
            return check_failed(work, "weight %zu is %g, not %g", i, (double)got[i],
                                (double)weights[i] + change);
    }
    return true;
}

const struct workload workload_backprop = {
    .name = "backprop",
    .row = "backprop (GPES)",
    .unit = "inputs",
    .sizes = {2048, 65536, 1 << 18},
    .source = OPENCL(
        kernel void forward(global const float *input, global const float *weights, global float *partial) {
            local float product[16][16];
            int unit = get_local_id(0);
            int y = get_local_id(1);
            size_t row = get_global_id(1);
            product[y][unit] = input[row] * weights[row * 16 + unit];
            for (int width = 8; width > 0; width /= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (y < width)
                    product[y][unit] += product[y + width][unit];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (y == 0)
                partial[get_group_id(1) * 16 + unit] = product[0][unit];
        }

        kernel void adjust(global const float *input, global const float *delta, global float *weights,
                           global float *old, float rate, float momentum) {
            size_t at = get_global_id(1) * 16 + get_global_id(0);
            float change = rate * delta[get_global_id(0)] * input[get_global_id(1)] + momentum * old[at];
            weights[at] += change;
            old[at] = change;
        }),
    .prepare = backprop_prepare,
    .run = backprop_run,
    .check = backprop_check,
};

/*
 * ---- k-nearest: of every point of 32 coordinates its eight nearest others, kept in order by its
 * work-item ----
 */

enum { POINTS, NEIGHBOURS, SQUARES };
enum { COORDINATES = 32, NEAREST = 8 };

static void knn_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, GROUP);

    work_buffer(work, POINTS, work_floats(work, n * COORDINATES, -1, 1), NULL,
                n * COORDINATES * sizeof(float));
    work_buffer(work, NEIGHBOURS, NULL, work_array(work, n * NEAREST * sizeof(uint32_t)),
                n * NEAREST * sizeof(uint32_t));
    work_buffer(work, SQUARES, NULL, work_array(work, n * NEAREST * sizeof(float)),
                n * NEAREST * sizeof(float));
}

static void knn_run(struct work *work)
{
    LAUNCH(work, "nearest", SHAPE1(work->size, GROUP / 4), BUFFER(POINTS), BUFFER(NEIGHBOURS),
           BUFFER(SQUARES));
}

static double square_between(const float *a, const float *b)
{
    double sum = 0;

    for (size_t c = 0; c < COORDINATES; c++)
        sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sum;
}

static int compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

/*
 * All distances, sorted; equal ones may change places, so the distances count, and that they are of
 * the named points.
 */
static bool knn_check(const struct work *work)
{
    const float *points = work->buffers[POINTS].in;
    const uint32_t *neighbours = work->buffers[NEIGHBOURS].out;
    const float *squares = work->buffers[SQUARES].out;
    size_t n = work->size;
    double *all = check_array(n * sizeof *all);
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        for (size_t j = 0; j < n; j++)
            all[j] = j == i ? HUGE_VAL : square_between(points + i * COORDINATES, points + j * COORDINATES);
        for (size_t k = i * NEAREST; ok && k < (i + 1) * NEAREST; k++)
            if (neighbours[k] >= n || !(fabs(all[neighbours[k]] - (double)squares[k]) <= 1e-4))
                ok = check_failed(work, "neighbour %zu of %zu is %u", k - i * NEAREST, i, neighbours[k]);
        qsort(all, n, sizeof *all, compare_numbers);
        for (size_t k = 0; ok && k < NEAREST; k++)
            if (!(fabs(all[k] - (double)squares[i * NEAREST + k]) <= 1e-4))
                ok = check_failed(work, "distance %zu of %zu is %g, not %g", k, i,
                                  (double)squares[i * NEAREST + k], all[k]);
    }
    free(all);
    return ok;
}

const struct workload workload_k_nearest = {
    .name = "k-nearest",
    .row = "K-nearest (Table II)",
    .unit = "points",
    .sizes = {192, 512, 3072},
    .source = OPENCL(
        kernel void nearest(global const float4 *points, global uint *neighbours, global float *squares) {
            uint n = get_global_size(0);
            uint i = get_global_id(0);
            float best[8];
            uint who[8];
            for (uint k = 0; k < 8; k++) {
                best[k] = FLT_MAX;
                who[k] = 0;
            }
            for (uint j = 0; j < n; j++) {
                float4 sum = 0;
                for (uint c = 0; c < 8; c++) {
                    float4 off = points[i * 8 + c] - points[j * 8 + c];
                    sum += off * off;
                }
                float square = sum.x + sum.y + sum.z + sum.w;
                if (j == i || square >= best[7])
                    continue;
                uint at = 7;
                for (; at > 0 && best[at - 1] > square; at--) {
                    best[at] = best[at - 1];
                    who[at] = who[at - 1];
                }
                best[at] = square;
                who[at] = j;
            }
            for (uint k = 0; k < 8; k++) {
                neighbours[i * 8 + k] = who[k];
                squares[i * 8 + k] = best[k];
            }
        }),
    .prepare = knn_prepare,
    .run = knn_run,
    .check = knn_check,
};
