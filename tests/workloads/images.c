/*
 * Pictures: box filter, Sobel (image objects), separable convolution, recursive Gaussian, bilateral
 * filter.
 */
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT, OUTPUT, BETWEEN, MASK };
enum { TILE = 16 };

static uint8_t *random_picture(struct work *work, size_t bytes)
{
    uint8_t *picture = work_array(work, bytes);

    for (size_t i = 0; i < bytes; i++)
        picture[i] = (uint8_t)random_below(&work->random, 256);
    return picture;
}

static size_t nearest(ptrdiff_t at, size_t n)
{
    return at < 0 ? 0 : (size_t)at >= n ? n - 1 : (size_t)at;
}

/* ---- box-filter: the mean of 9 x 9 pixels, rows first, then columns ---- */

enum { BOX = 4 };

static void box_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, TILE);

    work_buffer(work, INPUT, random_picture(work, 4 * n * n), NULL, 4 * n * n);
    work_buffer(work, BETWEEN, NULL, NULL, 4 * n * n);
    work_buffer(work, OUTPUT, NULL, work_array(work, 4 * n * n), 4 * n * n);
}

static void box_run(struct work *work)
{
    size_t n = work->size;

    LAUNCH(work, "box", SHAPE2(n, n, TILE, TILE), BUFFER(INPUT), BUFFER(BETWEEN), INT(1), INT(0));
    LAUNCH(work, "box", SHAPE2(n, n, TILE, TILE), BUFFER(BETWEEN), BUFFER(OUTPUT), INT(0), INT(1));
}

static bool box_check(const struct work *work)
{
    const uint8_t *in = work->buffers[INPUT].in;
    size_t n = work->size;
    uint8_t *between = check_array(4 * n * n);
    uint8_t *want = check_array(4 * n * n);
    bool ok;

    for (size_t i = 0; i < 4 * n * n; i++) {
        uint32_t sum = 0;
        for (ptrdiff_t d = -BOX; d <= BOX; d++)
            sum += in[(i / 4 / n * n + nearest((ptrdiff_t)(i / 4 % n) + d, n)) * 4 + i % 4];
        between[i] = (uint8_t)((sum + BOX) / (2 * BOX + 1));
    }
    for (size_t i = 0; i < 4 * n * n; i++) {
        uint32_t sum = 0;
        for (ptrdiff_t d = -BOX; d <= BOX; d++)
            sum += between[(nearest((ptrdiff_t)(i / 4 / n) + d, n) * n + i / 4 % n) * 4 + i % 4];
        want[i] = (uint8_t)((sum + BOX) / (2 * BOX + 1));
    }
    ok = check_bytes(work, work->buffers[OUTPUT].out, want, 4 * n * n);
    free(between);
    free(want);
    return ok;
}

const struct workload workload_box_filter = {
    .name = "box-filter",
    .row = "BoxFilter",
    .unit = "pixels a side",
    .sizes = {64, 256, 1024},
    .source = OPENCL(kernel void box(global const uchar4 *in, global uchar4 *out, int dx, int dy) {
        int width = get_global_size(0);
        int height = get_global_size(1);
        int x = get_global_id(0);
        int y = get_global_id(1);
        uint4 sum = (uint4)(4);
        for (int d = -4; d <= 4; d++)
            sum +=
                convert_uint4(in[clamp(y + d * dy, 0, height - 1) * width + clamp(x + d * dx, 0, width - 1)]);
        out[y * width + x] = convert_uchar4(sum / 9u);
    }),
    .prepare = box_prepare,
    .run = box_run,
    .check = box_check,
};

/* ---- sobel: |gx| + |gy| of each channel, through image objects and a sampler ---- */

static void sobel_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, TILE);

    work_image(work, INPUT, random_picture(work, 4 * n * n), NULL, n, n);
    work_image(work, OUTPUT, NULL, work_array(work, 4 * n * n), n, n);
}

static void sobel_run(struct work *work)
{
    size_t n = work->size;

    LAUNCH(work, "sobel", SHAPE2(n, n, TILE, TILE), BUFFER(INPUT), BUFFER(OUTPUT));
}

static bool sobel_check(const struct work *work)
{
    static const int weights[3] = {1, 2, 1};
    const uint8_t *in = work->buffers[INPUT].in;
    const uint8_t *out = work->buffers[OUTPUT].out;
    size_t n = work->size;

    for (size_t i = 0; i < 4 * n * n; i++) {
        ptrdiff_t x = (ptrdiff_t)(i / 4 % n);
        ptrdiff_t y = (ptrdiff_t)(i / 4 / n);
        int across = 0;
        int down = 0;
        int want;
        for (ptrdiff_t d = -1; d <= 1; d++) {
            across += weights[d + 1] * (in[(nearest(y + d, n) * n + nearest(x + 1, n)) * 4 + i % 4] -
                                        in[(nearest(y + d, n) * n + nearest(x - 1, n)) * 4 + i % 4]);
            down += weights[d + 1] * (in[(nearest(y + 1, n) * n + nearest(x + d, n)) * 4 + i % 4] -
                                      in[(nearest(y - 1, n) * n + nearest(x + d, n)) * 4 + i % 4]);
        }
        want = abs(across) + abs(down);
        if (out[i] != (want > 255 ? 255 : want))
            return check_failed(work, "byte %zu is %d, not %d", i, out[i], want);
    }
    return true;
}

const struct workload workload_sobel = {
    .name = "sobel",
    .row = "SobelFilter",
    .unit = "pixels a side",
    .sizes = {64, 256, 768},
    .source = OPENCL(
        constant sampler_t edge =
            CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

        int4 pixel(read_only image2d_t in, int x, int y) {
            return convert_int4(read_imageui(in, edge, (int2)(x, y)));
        }

        kernel void sobel(read_only image2d_t in, write_only image2d_t out) {
            int x = get_global_id(0);
            int y = get_global_id(1);
            int4 corners = pixel(in, x + 1, y + 1) - pixel(in, x - 1, y - 1);
            int4 others = pixel(in, x + 1, y - 1) - pixel(in, x - 1, y + 1);
            int4 across = corners + others + 2 * (pixel(in, x + 1, y) - pixel(in, x - 1, y));
            int4 down = corners - others + 2 * (pixel(in, x, y + 1) - pixel(in, x, y - 1));
            write_imageui(out, (int2)(x, y), min(abs(across) + abs(down), (uint4)(255)));
        }),
    .prepare = sobel_prepare,
    .run = sobel_run,
    .check = sobel_check,
};

/*
 * ---- convolution: 17 taps along rows, then along columns, tiles with their halo in local memory
 * ----
 */

enum { RADIUS = 8, LINE = 64 };

static void convolution_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, LINE);
    size_t bytes = n * n * sizeof(float);

    work_buffer(work, INPUT, work_floats(work, n * n, 0, 1), NULL, bytes);
    work_buffer(work, BETWEEN, NULL, NULL, bytes);
    work_buffer(work, OUTPUT, NULL, work_array(work, bytes), bytes);
    work_buffer(work, MASK, work_floats(work, 2 * RADIUS + 1, 0, 0.1), NULL,
                (2 * RADIUS + 1) * sizeof(float));
}

static void convolution_run(struct work *work)
{
    size_t n = work->size;

    LAUNCH(work, "rows", SHAPE2(n, n, LINE, 1), BUFFER(INPUT), BUFFER(MASK), BUFFER(BETWEEN));
    LAUNCH(work, "columns", SHAPE2(n, n, TILE, TILE), BUFFER(BETWEEN), BUFFER(MASK), BUFFER(OUTPUT));
}

/* Zero outside. */
static double along(const float *picture, const float *mask, size_t at, size_t position, size_t n,
                    size_t step)
{
    double sum = 0;

    for (size_t k = 0; k < 2 * RADIUS + 1; k++)
        if (position + k >= RADIUS && position + k - RADIUS < n)
            sum += (double)mask[k] * (double)picture[at + k * step - RADIUS * step];
    return sum;
}

static bool convolution_check(const struct work *work)
{
    const float *in = work->buffers[INPUT].in;
    const float *mask = work->buffers[MASK].in;
    size_t n = work->size;
    float *between = check_array(n * n * sizeof *between);
    float *want = check_array(n * n * sizeof *want);
    bool ok;

    for (size_t i = 0; i < n * n; i++)
        between[i] = (float)along(in, mask, i, i % n, n, 1);
    for (size_t i = 0; i < n * n; i++)
        want[i] = (float)along(between, mask, i, i / n, n, n);
    ok = check_floats(work, work->buffers[OUTPUT].out, want, n * n, 1e-5);
    free(between);
    free(want);
    return ok;
}

const struct workload workload_convolution = {
    .name = "convolution",
    .row = "SimpleConvolution",
    .unit = "pixels a side",
    .sizes = {64, 256, 1024},
    .source = OPENCL(
        kernel __attribute__((reqd_work_group_size(64, 1, 1))) void rows(
            global const float *in, constant float *mask, global float *out) {
            local float line[64 + 16];
            int n = get_global_size(0);
            int l = get_local_id(0);
            int first = get_group_id(0) * 64 - 8;
            size_t row = get_global_id(1) * (size_t)n;
            for (int i = l; i < 80; i += 64)
                line[i] = first + i >= 0 && first + i < n ? in[row + first + i] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            float sum = 0;
            for (int k = 0; k < 17; k++)
                sum += mask[k] * line[l + k];
            out[row + get_global_id(0)] = sum;
        }

        kernel void columns(global const float *in, constant float *mask, global float *out) {
            int n = get_global_size(0);
            int x = get_global_id(0);
            int y = get_global_id(1);
            float sum = 0;
            for (int k = max(0, 8 - y); k < min(17, n + 8 - y); k++)
                sum += mask[k] * in[(y + k - 8) * n + x];
            out[y * n + x] = sum;
        }),
    .prepare = convolution_prepare,
    .run = convolution_run,
    .check = convolution_check,
};

/*
 * ---- recursive-gaussian: Deriche's filter down and up every column, transposed, and again: few
 * long work-items ----
 */

static void gaussian_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, TILE);
    size_t bytes = n * n * sizeof(float);

    work_buffer(work, INPUT, work_floats(work, n * n, 0, 1), NULL, bytes);
    work_buffer(work, BETWEEN, NULL, NULL, bytes);
    work_buffer(work, OUTPUT, NULL, work_array(work, bytes), bytes);
}

/* a0..a3, b1, b2 for a deviation of four pixels. */
static void gaussian_coefficients(double *ret_c)
{
    double alpha = 1.695 / 4;
    double e = exp(-alpha);
    double k = (1 - e) * (1 - e) / (1 + 2 * alpha * e - e * e);

    ret_c[0] = k;
    ret_c[1] = k * (alpha - 1) * e;
    ret_c[2] = k * (alpha + 1) * e;
    ret_c[3] = -k * e * e;
    ret_c[4] = -2 * e;
    ret_c[5] = e * e;
}

static void gaussian_run(struct work *work)
{
    size_t n = work->size;
    double c[6];

    gaussian_coefficients(c);
    for (int pass = 0; pass < 2; pass++) {
        LAUNCH(work, "down_and_up", SHAPE1(n, TILE), BUFFER(pass ? OUTPUT : INPUT), BUFFER(BETWEEN), INT(n),
               FLOAT(c[0]), FLOAT(c[1]), FLOAT(c[2]), FLOAT(c[3]), FLOAT(c[4]), FLOAT(c[5]));
        LAUNCH(work, "transpose", SHAPE2(n, n, TILE, TILE), BUFFER(BETWEEN), BUFFER(OUTPUT));
    }
}

static void gaussian_line(double *values, double *scratch, size_t n, size_t step)
{
    double c[6];

    gaussian_coefficients(c);
    for (size_t i = 0; i < n; i++) {
        double x1 = i ? values[(i - 1) * step] : 0;
        double y1 = i ? scratch[i - 1] : 0;
        double y2 = i > 1 ? scratch[i - 2] : 0;
        scratch[i] = c[0] * values[i * step] + c[1] * x1 - c[4] * y1 - c[5] * y2;
    }
    for (size_t i = n; i-- > 0;) {
        double x1 = i + 1 < n ? values[(i + 1) * step] : 0;
        double x2 = i + 2 < n ? values[(i + 2) * step] : 0;
        double y1 = i + 1 < n ? scratch[n + i + 1] : 0;
        double y2 = i + 2 < n ? scratch[n + i + 2] : 0;
        scratch[n + i] = c[2] * x1 + c[3] * x2 - c[4] * y1 - c[5] * y2;
    }
    for (size_t i = 0; i < n; i++)
        values[i * step] = scratch[i] + scratch[n + i];
}

static bool gaussian_check(const struct work *work)
{
    const float *in = work->buffers[INPUT].in;
    const float *out = work->buffers[OUTPUT].out;
    size_t n = work->size;
    double *picture = check_array((n * n + 2 * n) * sizeof *picture);
    bool ok = true;

    for (size_t i = 0; i < n * n; i++)
        picture[i] = (double)in[i];
    for (size_t i = 0; i < n; i++)
        gaussian_line(picture + i, picture + n * n, n, n);
    for (size_t i = 0; i < n; i++)
        gaussian_line(picture + i * n, picture + n * n, n, 1);
    for (size_t i = 0; ok && i < n * n; i++)
        if (!(fabs(picture[i] - (double)out[i]) <= 1e-3))
            ok = check_failed(work, "pixel %zu is %g, not %g", i, (double)out[i], picture[i]);
    free(picture);
    return ok;
}

const struct workload workload_recursive_gaussian = {
    .name = "recursive-gaussian",
    .row = "RecursiveGaussian",
    .unit = "pixels a side",
    .sizes = {64, 256, 1024},
    .source = OPENCL(
        kernel void down_and_up(global const float *in, global float *out, int n, float a0, float a1,
                                float a2, float a3, float b1, float b2) {
            int x = get_global_id(0);
            float x1 = 0;
            float y1 = 0;
            float y2 = 0;
            for (int y = 0; y < n; y++) {
                float here = in[y * n + x];
                float result = a0 * here + a1 * x1 - b1 * y1 - b2 * y2;
                out[y * n + x] = result;
                x1 = here;
                y2 = y1;
                y1 = result;
            }
            float x2 = 0;
            x1 = y1 = y2 = 0;
            for (int y = n - 1; y >= 0; y--) {
                float here = in[y * n + x];
                float result = a2 * x1 + a3 * x2 - b1 * y1 - b2 * y2;
                out[y * n + x] += result;
                x2 = x1;
                x1 = here;
                y2 = y1;
                y1 = result;
            }
        }

        kernel void transpose(global const float *in, global float *out) {
            out[get_global_id(0) * get_global_size(1) + get_global_id(1)] =
                in[get_global_id(1) * get_global_size(0) + get_global_id(0)];
        }),
    .prepare = gaussian_prepare,
    .run = gaussian_run,
    .check = gaussian_check,
};

/*
 * ---- filter: bilateral, 4:3, grey: weights fall with distance and with the difference of
 * brightness ----
 */

enum { REACH = 4 };

static void filter_prepare(struct work *work)
{
    size_t width = work->size = work_rounded(work->size, (size_t)4 * TILE);
    size_t bytes = width * width * 3 / 4;

    work_buffer(work, INPUT, random_picture(work, bytes), NULL, bytes);
    work_buffer(work, OUTPUT, NULL, work_array(work, bytes), bytes);
}

static void filter_run(struct work *work)
{
    LAUNCH(work, "bilateral", SHAPE2(work->size, work->size * 3 / 4, TILE, TILE), BUFFER(INPUT),
           BUFFER(OUTPUT), FLOAT(1 / 18.0), FLOAT(1 / 3200.0));
}

static bool filter_check(const struct work *work)
{
    const uint8_t *in = work->buffers[INPUT].in;
    const uint8_t *out = work->buffers[OUTPUT].out;
    size_t width = work->size;
    size_t height = width * 3 / 4;

    for (size_t i = 0; i < width * height; i++) {
        double sum = 0;
        double weights = 0;
        for (int d = 0; d < (2 * REACH + 1) * (2 * REACH + 1); d++) {
            int dx = d % (2 * REACH + 1) - REACH;
            int dy = d / (2 * REACH + 1) - REACH;
            size_t x = nearest((ptrdiff_t)(i % width) + dx, width);
            size_t y = nearest((ptrdiff_t)(i / width) + dy, height);
            double off = (double)in[y * width + x] - (double)in[i];
            double weight = exp(-(dx * dx + dy * dy) / 18.0 - off * off / 3200.0);
            sum += weight * (double)in[y * width + x];
            weights += weight;
        }
        if (!(fabs(sum / weights - (double)out[i]) <= 0.51))
            return check_failed(work, "pixel %zu is %u, not %g", i, out[i], sum / weights);
    }
    return true;
}

const struct workload workload_filter = {
    .name = "filter",
    .row = "Filter (Table II)",
    .unit = "pixels wide",
    .sizes = {64, 192, 512},
    .source =
        OPENCL(kernel void bilateral(global const uchar *in, global uchar *out, float near, float alike) {
            int width = get_global_size(0);
            int height = get_global_size(1);
            int x = get_global_id(0);
            int y = get_global_id(1);
            float here = in[y * width + x];
            float sum = 0;
            float weights = 0;
            for (int dy = -4; dy <= 4; dy++) {
                for (int dx = -4; dx <= 4; dx++) {
                    float other = in[clamp(y + dy, 0, height - 1) * width + clamp(x + dx, 0, width - 1)];
                    float weight = exp(-(dx * dx + dy * dy) * near - (other - here) * (other - here) * alike);
                    sum += weight * other;
                    weights += weight;
                }
            }
            out[y * width + x] = convert_uchar_sat_rte(sum / weights);
        }),
    .prepare = filter_prepare,
    .run = filter_run,
    .check = filter_check,
};
