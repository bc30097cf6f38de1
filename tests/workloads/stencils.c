/*
 * Neighbourhoods: heat on a chip (hotspot), speckle reduction (srad), waves in a volume (fdtd3d).
 */
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 16 };

/* ---- hotspot: one launch per step, from one grid into the other ---- */

enum { HEAT, HEAT_NEXT, POWER };
enum { HOTSPOT_STEPS = 8 };

static void hotspot_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, TILE);
    size_t bytes = n * n * sizeof(float);

    work_buffer(work, HEAT, work_floats(work, n * n, 320, 340), work_array(work, bytes), bytes);
    work_buffer(work, HEAT_NEXT, NULL, NULL, bytes);
    work_buffer(work, POWER, work_floats(work, n * n, 0, 1), NULL, bytes);
}

static void hotspot_run(struct work *work)
{
    size_t n = work->size;

    for (size_t step = 0; step < HOTSPOT_STEPS; step++)
        LAUNCH(work, "hotspot", SHAPE2(n, n, TILE, TILE), BUFFER(step % 2 ? HEAT_NEXT : HEAT), BUFFER(POWER),
               BUFFER(step % 2 ? HEAT : HEAT_NEXT), FLOAT(0.1), FLOAT(0.05), FLOAT(300));
}

static size_t clamped(size_t at, int by, size_t n)
{
    return by < 0 ? (at ? at - 1 : 0) : (at + (size_t)by < n ? at + (size_t)by : n - 1);
}

static bool hotspot_check(const struct work *work)
{
    const float *power = work->buffers[POWER].in;
    size_t n = work->size;
    float *heat = check_array(n * n * sizeof *heat);
    float *next = check_array(n * n * sizeof *next);
    bool ok;

    memcpy(heat, work->buffers[HEAT].in, n * n * sizeof *heat);
    for (size_t step = 0; step < HOTSPOT_STEPS; step++) {
        for (size_t y = 0; y < n; y++) {
            for (size_t x = 0; x < n; x++) {
                double here = (double)heat[y * n + x];
                double around =
                    (double)heat[clamped(y, -1, n) * n + x] + (double)heat[clamped(y, 1, n) * n + x] +
                    (double)heat[y * n + clamped(x, -1, n)] + (double)heat[y * n + clamped(x, 1, n)];
                next[y * n + x] = (float)(here + 0.1 * (around - 4 * here) + (double)power[y * n + x] +
                                          0.05 * (300 - here));
            }
        }
        memcpy(heat, next, n * n * sizeof *heat);
    }
    ok = check_floats(work, work->buffers[HEAT].out, heat, n * n, 1e-5);
    free(heat);
    free(next);
    return ok;
}

const struct workload workload_hotspot = {
    .name = "hotspot",
    .row = "hotspot (GPES)",
    .unit = "cells a side",
    .sizes = {64, 512, 1024},
    .source = OPENCL(kernel void hotspot(global const float *heat, global const float *power,
                                         global float *next, float spread, float loss, float ambient) {
        int n = get_global_size(0);
        int x = get_global_id(0);
        int y = get_global_id(1);
        float here = heat[y * n + x];
        float around = heat[max(y - 1, 0) * n + x] + heat[min(y + 1, n - 1) * n + x] +
                       heat[y * n + max(x - 1, 0)] + heat[y * n + min(x + 1, n - 1)];
        next[y * n + x] = here + spread * (around - 4 * here) + power[y * n + x] + loss * (ambient - here);
    }),
    .prepare = hotspot_prepare,
    .run = hotspot_run,
    .check = hotspot_check,
};

/* ---- srad: per step the host takes the noise of a strip, then two dependent kernels ---- */

enum { PICTURE, NORTH, SOUTH, WEST, EAST, DIFFUSION };
enum { SRAD_STEPS = 4, STRIP = 16 };

static void srad_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, TILE);
    size_t bytes = n * n * sizeof(float);

    work_buffer(work, PICTURE, work_floats(work, n * n, 1, 2), work_array(work, bytes), bytes);
    for (size_t i = NORTH; i <= DIFFUSION; i++)
        work_buffer(work, i, NULL, NULL, bytes);
    work_array(work, STRIP * n * sizeof(float)); /* the last array: the strip */
}

/* Variance over mean squared of the strip. */
static float srad_noise(const float *strip, size_t n)
{
    double sum = 0;
    double squares = 0;
    double mean;

    for (size_t i = 0; i < n; i++) {
        sum += (double)strip[i];
        squares += (double)strip[i] * (double)strip[i];
    }
    mean = sum / (double)n;
    return (float)((squares / (double)n - mean * mean) / (mean * mean));
}

static void srad_run(struct work *work)
{
    size_t n = work->size;
    float *strip = work->arrays[work->n_arrays - 1];

    for (size_t step = 0; step < SRAD_STEPS; step++) {
        work_read(work, PICTURE, strip, STRIP * n * sizeof *strip);
        LAUNCH(work, "coefficients", SHAPE2(n, n, TILE, TILE), BUFFER(PICTURE), BUFFER(NORTH), BUFFER(SOUTH),
               BUFFER(WEST), BUFFER(EAST), BUFFER(DIFFUSION), FLOAT(srad_noise(strip, STRIP * n)));
        LAUNCH(work, "diffuse", SHAPE2(n, n, TILE, TILE), BUFFER(PICTURE), BUFFER(NORTH), BUFFER(SOUTH),
               BUFFER(WEST), BUFFER(EAST), BUFFER(DIFFUSION), FLOAT(0.5));
    }
}

/* The coefficient at one pixel (Yu and Acton's instantaneous variation). */
static double srad_coefficient(const double *picture, size_t n, size_t x, size_t y, double noise)
{
    double here = picture[y * n + x];
    double north = picture[clamped(y, -1, n) * n + x] - here;
    double south = picture[clamped(y, 1, n) * n + x] - here;
    double west = picture[y * n + clamped(x, -1, n)] - here;
    double east = picture[y * n + clamped(x, 1, n)] - here;
    double gradient = (north * north + south * south + west * west + east * east) / (here * here);
    double laplacian = (north + south + west + east) / here;
    double denominator = 1 + 0.25 * laplacian;
    double variation = (0.5 * gradient - laplacian * laplacian / 16) / (denominator * denominator);
    double c = 1 / (1 + (variation - noise) / (noise * (1 + noise)));

    return c < 0 ? 0 : c > 1 ? 1 : c;
}

static void srad_step(double *picture, double *c, double *next, size_t n)
{
    double sum = 0;
    double squares = 0;
    double mean;
    double noise;

    for (size_t i = 0; i < STRIP * n; i++) {
        sum += picture[i];
        squares += picture[i] * picture[i];
    }
    mean = sum / (double)(STRIP * n);
    noise = (squares / (double)(STRIP * n) - mean * mean) / (mean * mean);
    for (size_t y = 0; y < n; y++)
        for (size_t x = 0; x < n; x++)
            c[y * n + x] = srad_coefficient(picture, n, x, y, noise);
    for (size_t y = 0; y < n; y++) {
        for (size_t x = 0; x < n; x++) {
            double here = picture[y * n + x];
            double flow = c[y * n + x] * (picture[clamped(y, -1, n) * n + x] - here) +
                          c[clamped(y, 1, n) * n + x] * (picture[clamped(y, 1, n) * n + x] - here) +
                          c[y * n + x] * (picture[y * n + clamped(x, -1, n)] - here) +
                          c[y * n + clamped(x, 1, n)] * (picture[y * n + clamped(x, 1, n)] - here);
            next[y * n + x] = here + 0.25 * 0.5 * flow;
        }
    }
    memcpy(picture, next, n * n * sizeof *picture);
}

static bool srad_check(const struct work *work)
{
    const float *in = work->buffers[PICTURE].in;
    const float *out = work->buffers[PICTURE].out;
    size_t n = work->size;
    double *picture = check_array(3 * n * n * sizeof *picture);
    bool ok = true;

    for (size_t i = 0; i < n * n; i++)
        picture[i] = (double)in[i];
    for (size_t step = 0; step < SRAD_STEPS; step++)
        srad_step(picture, picture + n * n, picture + 2 * n * n, n);
    for (size_t i = 0; ok && i < n * n; i++)
        if (!(fabs(picture[i] - (double)out[i]) <= 1e-3))
            ok = check_failed(work, "pixel %zu is %g, not %g", i, (double)out[i], picture[i]);
    free(picture);
    return ok;
}

const struct workload workload_srad = {
    .name = "srad",
    .row = "srad2 (GPES)",
    .unit = "pixels a side",
    .sizes = {64, 384, 768},
    .source = OPENCL(
        kernel void coefficients(global const float *picture, global float *north, global float *south,
                                 global float *west, global float *east, global float *c, float noise) {
            int n = get_global_size(0);
            int x = get_global_id(0);
            int y = get_global_id(1);
            int at = y * n + x;
            float here = picture[at];
            float up = picture[max(y - 1, 0) * n + x] - here;
            float down = picture[min(y + 1, n - 1) * n + x] - here;
            float left = picture[y * n + max(x - 1, 0)] - here;
            float right = picture[y * n + min(x + 1, n - 1)] - here;
            float gradient = (up * up + down * down + left * left + right * right) / (here * here);
            float laplacian = (up + down + left + right) / here;
            float denominator = 1 + 0.25f * laplacian;
            float variation = (0.5f * gradient - laplacian * laplacian / 16) / (denominator * denominator);
            c[at] = clamp(1 / (1 + (variation - noise) / (noise * (1 + noise))), 0.0f, 1.0f);
            north[at] = up;
            south[at] = down;
            west[at] = left;
            east[at] = right;
        }

        kernel void diffuse(global float *picture, global const float *north, global const float *south,
                            global const float *west, global const float *east, global const float *c,
                            float lambda) {
            int n = get_global_size(0);
            int x = get_global_id(0);
            int y = get_global_id(1);
            int at = y * n + x;
            float flow = c[at] * north[at] + c[min(y + 1, n - 1) * n + x] * south[at] + c[at] * west[at] +
                         c[y * n + min(x + 1, n - 1)] * east[at];
            picture[at] += 0.25f * lambda * flow;
        }),
    .prepare = srad_prepare,
    .run = srad_run,
    .check = srad_check,
};

/*
 * ---- fdtd3d: four neighbours to each of the six sides, over a volume with a border that no item
 * writes ----
 */

enum { VOLUME, VOLUME_NEXT };
enum { REACH = 4, FDTD_STEPS = 4, EDGE = 8 };

static const float fdtd_weights[REACH + 1] = {0.3F, 0.05F, 0.03F, 0.02F, 0.01F};

static void fdtd_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, EDGE);
    size_t padded = n + 2 * REACH;
    size_t bytes = padded * padded * padded * sizeof(float);
    float *volume = work_floats(work, padded * padded * padded, 0, 1);

    work_buffer(work, VOLUME, volume, work_array(work, bytes), bytes);
    work_buffer(work, VOLUME_NEXT, volume, NULL, bytes);
}

static void fdtd_run(struct work *work)
{
    size_t n = work->size;

    for (size_t step = 0; step < FDTD_STEPS; step++)
        LAUNCH(work, "fdtd", SHAPE3(n, n, n, EDGE, EDGE, 1), BUFFER(step % 2 ? VOLUME_NEXT : VOLUME),
               BUFFER(step % 2 ? VOLUME : VOLUME_NEXT), FLOAT(fdtd_weights[0]), FLOAT(fdtd_weights[1]),
               FLOAT(fdtd_weights[2]), FLOAT(fdtd_weights[3]), FLOAT(fdtd_weights[4]));
}

static double fdtd_cell(const float *volume, size_t at, size_t padded)
{
    double sum = (double)fdtd_weights[0] * (double)volume[at];

    for (size_t r = 1; r <= REACH; r++)
        sum += (double)fdtd_weights[r] *
               ((double)volume[at - r] + (double)volume[at + r] + (double)volume[at - r * padded] +
                (double)volume[at + r * padded] + (double)volume[at - r * padded * padded] +
                (double)volume[at + r * padded * padded]);
    return sum;
}

static bool fdtd_check(const struct work *work)
{
    size_t padded = work->size + 2 * REACH;
    size_t cells = padded * padded * padded;
    float *volume = check_array(cells * sizeof *volume);
    float *next = check_array(cells * sizeof *next);
    bool ok;

    memcpy(volume, work->buffers[VOLUME].in, cells * sizeof *volume);
    memcpy(next, volume, cells * sizeof *next);
    for (size_t step = 0; step < FDTD_STEPS; step++) {
        for (size_t z = REACH; z < padded - REACH; z++)
            for (size_t y = REACH; y < padded - REACH; y++)
                for (size_t x = REACH; x < padded - REACH; x++)
                    next[(z * padded + y) * padded + x] =
                        (float)fdtd_cell(volume, (z * padded + y) * padded + x, padded);
        memcpy(volume, next, cells * sizeof *volume);
    }
    ok = check_floats(work, work->buffers[VOLUME].out, volume, cells, 1e-5);
    free(volume);
    free(next);
    return ok;
}

const struct workload workload_fdtd3d = {
    .name = "fdtd3d",
    .row = "FDTD3d",
    .unit = "cells a side",
    .sizes = {16, 48, 80},
    .source = OPENCL(kernel void fdtd(global const float *volume, global float *next, float w0, float w1,
                                      float w2, float w3, float w4) {
        int row = get_global_size(0) + 8;
        int plane = row * (get_global_size(1) + 8);
        int at = (get_global_id(2) + 4) * plane + (get_global_id(1) + 4) * row + get_global_id(0) + 4;
        float weights[5] = {w0, w1, w2, w3, w4};
        float sum = w0 * volume[at];
        for (int r = 1; r <= 4; r++)
            sum += weights[r] * (volume[at - r] + volume[at + r] + volume[at - r * row] +
                                 volume[at + r * row] + volume[at - r * plane] + volume[at + r * plane]);
        next[at] = sum;
    }),
    .prepare = fdtd_prepare,
    .run = fdtd_run,
    .check = fdtd_check,
};
