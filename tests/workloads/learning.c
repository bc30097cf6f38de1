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

/* ---- backprop: n inputs, 16 hidden units, one output; forward on the device, deltas on the host, weights on the device ---- */

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
