/* Transforms: cosine of 8 x 8 blocks, Haar wavelets, Walsh, and the compression of textures. */
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT, OUTPUT, BETWEEN, TABLE };
enum { GROUP = 64 };

/* ---- dct: forward, then back; both are outputs ---- */

static void dct_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, 8);
    size_t bytes = n * n * sizeof(float);
    float *table = work_array(work, 64 * sizeof *table);

    for (int u = 0; u < 8; u++)
        for (int x = 0; x < 8; x++)
            table[u * 8 + x] =
                (float)((u ? 0.5 : sqrt(0.125)) * cos((2 * x + 1) * u * 3.14159265358979323846 / 16));
    work_buffer(work, INPUT, work_floats(work, n * n, 0, 255), NULL, bytes);
    work_buffer(work, BETWEEN, NULL, work_array(work, bytes), bytes);
    work_buffer(work, OUTPUT, NULL, work_array(work, bytes), bytes);
    work_buffer(work, TABLE, table, NULL, 64 * sizeof *table);
}

static void dct_run(struct work *work)
{
    size_t n = work->size;

    LAUNCH(work, "dct", SHAPE2(n, n, 8, 8), BUFFER(INPUT), BUFFER(BETWEEN), BUFFER(TABLE), INT(0));
    LAUNCH(work, "dct", SHAPE2(n, n, 8, 8), BUFFER(BETWEEN), BUFFER(OUTPUT), BUFFER(TABLE), INT(1));
}

/*
 * The definition, for the coefficients of every seventh block; the picture must come back
 * everywhere.
 */
static bool dct_check(const struct work *work)
{
    const float *in = work->buffers[INPUT].in;
    const float *got = work->buffers[BETWEEN].out;
    size_t n = work->size;

    for (size_t block = 0; block < n / 8 * (n / 8); block += 7) {
        size_t base = block / (n / 8) * 8 * n + block % (n / 8) * 8;
        for (int uv = 0; uv < 64; uv++) {
            int u = uv % 8;
            int v = uv / 8;
            double sum = 0;
            for (int xy = 0; xy < 64; xy++) {
                int x = xy % 8;
                int y = xy / 8;
                sum += (double)in[base + (size_t)y * n + (size_t)x] *
                       cos((2 * x + 1) * u * 3.14159265358979323846 / 16) *
                       cos((2 * y + 1) * v * 3.14159265358979323846 / 16);
            }
            sum *= 0.25 * (u ? 1 : sqrt(0.5)) * (v ? 1 : sqrt(0.5));
            if (!(fabs(sum - (double)got[base + (size_t)v * n + (size_t)u]) <= 1e-2))
                return check_failed(work, "block %zu, coefficient %d,%d is %g, not %g", block, u, v,
                                    (double)got[base + (size_t)v * n + (size_t)u], sum);
        }
    }
    return check_floats(work, work->buffers[OUTPUT].out, in, n * n, 1e-4);
}

const struct workload workload_dct = {
    .name = "dct",
    .row = "DCT8x8x",
    .unit = "pixels a side",
    .sizes = {64, 256, 768},
    .source = OPENCL(kernel __attribute__((reqd_work_group_size(8, 8, 1))) void dct(
        global const float *in, global float *out, constant float *table, int back) {
        local float block[8][8];
        local float half_done[8][8];
        int x = get_local_id(0);
        int y = get_local_id(1);
        size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);
        float sum = 0;
        block[y][x] = in[at];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 8; k++)
            sum += block[y][k] * (back ? table[k * 8 + x] : table[x * 8 + k]);
        half_done[y][x] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum = 0;
        for (int k = 0; k < 8; k++)
            sum += half_done[k][x] * (back ? table[k * 8 + y] : table[y * 8 + k]);
        out[at] = sum;
    }),
    .prepare = dct_prepare,
    .run = dct_run,
    .check = dct_check,
};

/*
 * ---- haar: seven levels per launch in local memory; details scatter to their level's place,
 * averages go on ----
 */

static void haar_prepare(struct work *work)
{
    size_t n = work->size = work_power_of_two(work->size, 2 * GROUP);

    work_buffer(work, INPUT, work_floats(work, n, -1, 1), NULL, n * sizeof(float));
    work_buffer(work, OUTPUT, NULL, work_array(work, n * sizeof(float)), n * sizeof(float));
    work_buffer(work, BETWEEN, NULL, NULL, n / GROUP * sizeof(float));
    work_buffer(work, TABLE, NULL, NULL, n / GROUP * sizeof(float));
}

static void haar_run(struct work *work)
{
    size_t from = INPUT;
    size_t to = BETWEEN;

    for (size_t n = work->size; n > 1;) {
        size_t local = n / 2 < GROUP ? n / 2 : GROUP;
        LAUNCH(work, "haar", SHAPE1(n / 2, local), BUFFER(from), BUFFER(OUTPUT), BUFFER(to),
               LOCAL(2 * local * sizeof(float)));
        n /= 2 * local;
        from = to;
        to = to == BETWEEN ? TABLE : BETWEEN;
    }
}

static bool haar_check(const struct work *work)
{
    const float *in = work->buffers[INPUT].in;
    const float *out = work->buffers[OUTPUT].out;
    double *averages = check_array(work->size * sizeof *averages);
    bool ok = true;

    for (size_t i = 0; i < work->size; i++)
        averages[i] = (double)in[i];
    for (size_t n = work->size / 2; ok && n > 0; n /= 2) {
        for (size_t i = 0; ok && i < n; i++) {
            double detail = (averages[2 * i] - averages[2 * i + 1]) * sqrt(0.5);
            averages[i] = (averages[2 * i] + averages[2 * i + 1]) * sqrt(0.5);
            if (!(fabs(detail - (double)out[n + i]) <= 1e-4))
                ok = check_failed(work, "detail %zu is %g, not %g", n + i, (double)out[n + i], detail);
        }
    }
    if (ok && !(fabs(averages[0] - (double)out[0]) <= 1e-2))
        ok = check_failed(work, "the average is %g, not %g", (double)out[0], averages[0]);
    free(averages);
    return ok;
}

const struct workload workload_haar = {
    .name = "haar",
    .row = "DwtHarr1D",
    .unit = "numbers",
    .sizes = {4096, 1 << 17, 1 << 20},
    .source = OPENCL(kernel void haar(global const float *in, global float *out, global float *averages,
                                      local float *part) {
        uint l = get_local_id(0);
        uint group = get_group_id(0);
        uint n = get_global_size(0);
        uint width = get_local_size(0);
        float a = in[2 * get_global_id(0)];
        float b = in[2 * get_global_id(0) + 1];
        while (width > 0) {
            if (l < width) {
                out[n + group * width + l] = (a - b) * M_SQRT1_2_F;
                part[l] = (a + b) * M_SQRT1_2_F;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            width /= 2;
            n /= 2;
            if (l < width) {
                a = part[2 * l];
                b = part[2 * l + 1];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (l == 0) {
            averages[group] = part[0];
            if (get_num_groups(0) == 1)
                out[0] = part[0];
        }
    }),
    .prepare = haar_prepare,
    .run = haar_run,
    .check = haar_check,
};

/* ---- walsh: butterflies in place, one launch per step ---- */

static void walsh_prepare(struct work *work)
{
    size_t n = work->size = work_power_of_two(work->size, 2 * GROUP);

    work_buffer(work, INPUT, work_floats(work, n, -1, 1), work_array(work, n * sizeof(float)),
                n * sizeof(float));
}

static void walsh_run(struct work *work)
{
    for (size_t far = 1; far < work->size; far *= 2)
        LAUNCH(work, "butterfly", SHAPE1(work->size / 2, GROUP), BUFFER(INPUT), INT(far));
}

/* By the definition, for a few outputs: the sign of term j in output i is the parity of i and j. */
static bool walsh_check(const struct work *work)
{
    const float *in = work->buffers[INPUT].in;
    const float *out = work->buffers[INPUT].out;
    size_t n = work->size;

    for (size_t k = 0; k < 32; k++) {
        size_t i = k * 2654435761U % n;
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += __builtin_parityll(i & j) ? -(double)in[j] : (double)in[j];
        if (!(fabs(sum - (double)out[i]) <= 1e-5 * (double)n))
            return check_failed(work, "output %zu is %g, not %g", i, (double)out[i], sum);
    }
    return true;
}

const struct workload workload_walsh = {
    .name = "walsh",
    .row = "FastWalshTransform",
    .unit = "numbers",
    .sizes = {4096, 1 << 16, 1 << 20},
    .source = OPENCL(kernel void butterfly(global float *values, uint far) {
        uint i = get_global_id(0);
        uint left = i / far * 2 * far + i % far;
        float a = values[left];
        float b = values[left + far];
        values[left] = a + b;
        values[left + far] = a - b;
    }),
    .prepare = walsh_prepare,
    .run = walsh_run,
    .check = walsh_check,
};

/*
 * ---- dxt: 4 x 4 pixels become two colours of 16 bits and sixteen choices of two bits (DXT1), by
 * range fit in integers ----
 */

static void dxt_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, 4);
    uint8_t *picture = work_array(work, 4 * n * n);

    for (size_t i = 0; i < 4 * n * n; i++) /* neighbours are alike, as in pictures */
        picture[i] =
            (uint8_t)((i / 4 % n * 3 + i / 4 / n * 5 + i % 4 * 40 + random_below(&work->random, 48)) & 255);
    work_buffer(work, INPUT, picture, NULL, 4 * n * n);
    work_buffer(work, OUTPUT, NULL, work_array(work, n * n / 2), n * n / 2);
}

static void dxt_run(struct work *work)
{
    LAUNCH(work, "compress", SHAPE1(work->size * work->size, 16), BUFFER(INPUT), BUFFER(OUTPUT),
           INT(work->size));
}

static uint32_t to_565(const int colour[3])
{
    return (uint32_t)(colour[0] >> 3) << 11 | (uint32_t)(colour[1] >> 2) << 5 | (uint32_t)(colour[2] >> 3);
}

static void from_565(uint32_t packed, int ret_colour[3])
{
    int r = (int)(packed >> 11);
    int g = (int)(packed >> 5 & 63);
    int b = (int)(packed & 31);

    ret_colour[0] = r << 3 | r >> 2;
    ret_colour[1] = g << 2 | g >> 4;
    ret_colour[2] = b << 3 | b >> 2;
}

static void dxt_block(const uint8_t *picture, size_t n, size_t block, uint32_t ret_words[2])
{
    const uint8_t *pixels[16];
    int low[3] = {255, 255, 255};
    int high[3] = {0, 0, 0};
    int palette[4][3];

    for (size_t i = 0; i < 16; i++) {
        pixels[i] = picture + 4 * ((block / (n / 4) * 4 + i / 4) * n + block % (n / 4) * 4 + i % 4);
        for (int c = 0; c < 3; c++) {
            low[c] = pixels[i][c] < low[c] ? pixels[i][c] : low[c];
            high[c] = pixels[i][c] > high[c] ? pixels[i][c] : high[c];
        }
    }
    ret_words[0] = to_565(high) | to_565(low) << 16;
    ret_words[1] = 0;
    from_565(ret_words[0] & 0xffff, palette[0]);
    from_565(ret_words[0] >> 16, palette[1]);
    for (int c = 0; c < 3; c++) {
        palette[2][c] = (2 * palette[0][c] + palette[1][c]) / 3;
        palette[3][c] = (palette[0][c] + 2 * palette[1][c]) / 3;
    }
    for (uint32_t i = 0; i < 16; i++) {
        int best = INT32_MAX;
        uint32_t choice = 0;
        for (uint32_t p = 0; p < 4; p++) {
            int cost = 0;
            for (int c = 0; c < 3; c++)
                cost += (pixels[i][c] - palette[p][c]) * (pixels[i][c] - palette[p][c]);
            if (cost < best) {
                best = cost;
                choice = p;
            }
        }
        ret_words[1] |= choice << 2 * i;
    }
}

static bool dxt_check(const struct work *work)
{
    const uint32_t *out = work->buffers[OUTPUT].out;
    size_t n = work->size;

    for (size_t block = 0; block < n * n / 16; block++) {
        uint32_t want[2];
        dxt_block(work->buffers[INPUT].in, n, block, want);
        if (memcmp(out + 2 * block, want, sizeof want) != 0)
            return check_failed(work, "block %zu is %08x %08x, not %08x %08x", block, out[2 * block],
                                out[2 * block + 1], want[0], want[1]);
    }
    return true;
}

const struct workload workload_dxt = {
    .name = "dxt",
    .row = "DXTCompression",
    .unit = "pixels a side",
    .sizes = {64, 256, 1024},
    .source = OPENCL(
        uint pack(uchar4 colour) {
            return (uint)(colour.x >> 3) << 11 | (uint)(colour.y >> 2) << 5 | (uint)(colour.z >> 3);
        }

        int4 unpack(uint word) {
            int r = word >> 11;
            int g = word >> 5 & 63;
            int b = word & 31;
            return (int4)(r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2, 0);
        }

        kernel __attribute__((reqd_work_group_size(16, 1, 1))) void compress(global const uchar4 *picture,
                                                                             global uint2 *out, uint n) {
            local uchar4 low[16];
            local uchar4 high[16];
            local uint choices[16];
            uint l = get_local_id(0);
            uint block = get_group_id(0);
            uchar4 mine = picture[(block / (n / 4) * 4 + l / 4) * n + block % (n / 4) * 4 + l % 4];
            low[l] = high[l] = mine;
            for (uint width = 8; width > 0; width /= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l < width) {
                    low[l] = min(low[l], low[l + width]);
                    high[l] = max(high[l], high[l + width]);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            uint ends = pack(high[0]) | pack(low[0]) << 16;
            int4 first = unpack(ends & 0xffff);
            int4 second = unpack(ends >> 16);
            int4 palette[4];
            palette[0] = first;
            palette[1] = second;
            palette[2] = (2 * first + second) / 3;
            palette[3] = (first + 2 * second) / 3;
            int best = INT_MAX;
            uint choice = 0;
            for (uint p = 0; p < 4; p++) {
                int4 off = convert_int4(mine) - palette[p];
                int cost = off.x * off.x + off.y * off.y + off.z * off.z;
                if (cost < best) {
                    best = cost;
                    choice = p;
                }
            }
            choices[l] = choice << 2 * l;
            for (uint width = 8; width > 0; width /= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l < width)
                    choices[l] |= choices[l + width];
            }
            if (l == 0)
                out[block] = (uint2)(ends, choices[0]);
        }),
    .prepare = dxt_prepare,
    .run = dxt_run,
    .check = dxt_check,
};
