/*
 * Cubes, mipmaps, gathers, reductions on surfaces, and filtering between any two texels. The
 * evaluations go the other way round than the device does: a direction is made from a face and a
 * place on it, a gradient from a level.
 */
#include "device.h"

#include "harness.h"

#include <math.h>
#include <string.h>

enum { N = 8, LEVELS = 4 };

#define BEGIN(name)                                                                                          \
    ".visible .entry " name "(.param .u64 o, .param .u64 in, .param .u64 out)\n{\n"                          \
    ".reg .b64 %d<8>;\n.reg .f32 %f<12>;\n.reg .b32 %r<12>;\n"                                               \
    "ld.param.u64 %d1, [o];\nld.param.u64 %d2, [in];\nld.param.u64 %d3, [out];\n"                            \
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d4, %r1, 16;\nadd.s64 %d2, %d2, %d4;\nadd.s64 %d3, %d3, %d4;\n"     \
    "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d2];\ncvt.rzi.s32.f32 %r2, %f4;\n"
#define END "st.global.v4.f32 [%d3], {%f5, %f6, %f7, %f8};\nret;\n}\n"
#define REDUCE(name, operation)                                                                              \
    ".visible .entry " name "(.param .u64 o, .param .u64 in, .param .u64 out)\n{\n"                          \
    ".reg .b64 %d<8>;\n.reg .b32 %r<8>;\nld.param.u64 %d1, [o];\nld.param.u64 %d2, [in];\n"                  \
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d4, %r1, 4;\nadd.s64 %d2, %d2, %d4;\nld.global.u32 %r2, [%d2];\n"   \
    "and.b32 %r3, %r1, 1;\nshl.b32 %r3, %r3, 2;\nmov.u32 %r4, 1;\n"                                          \
    "sured.b." operation ".trap [%d1, {%r3, %r4}], %r2;\nret;\n}\n"

static const char *const kernels[] = {
    ".version 8.0\n.target sm_80\n.address_size 64\n",
    BEGIN("cube") "tex.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d1, {%f1, %f2, %f3, %f3}];\n" END,
    BEGIN("cubes") "tex.acube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d1, {%r2, %f1, %f2, %f3}];\n" END,
    BEGIN("line") "tex.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d1, {%f1}];\n" END,
    BEGIN("level") "tex.level.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d1, {%f1, %f2}], %f3;\n" END,
    BEGIN("gradient") "mov.f32 %f9, 0f00000000;\ntex.grad.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, "
                      "[%d1, {%f1, %f2}], {%f3, %f9}, {%f9, %f4};\n" END,
    BEGIN("gather_r") "tld4.r.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d1, {%f1, %f2}];\n" END,
    BEGIN("gather_g") "tld4.g.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%d1, {%f1, %f2}];\n" END,
    REDUCE("add", "add.2d.u32"),
    REDUCE("smallest", "min.2d.s32"),
    REDUCE("largest", "max.2d.u32"),
    REDUCE("all", "and.2d.b32"),
    REDUCE("any", "or.2d.b32"),
};

static struct device d;
static struct texture texture;
static struct surface surface;

static const struct texture *find_texture(void *context, uint64_t handle)
{
    (void)context;
    return handle == 11 ? &texture : NULL;
}

static const struct surface *find_surface(void *context, uint64_t handle)
{
    (void)context;
    return handle == 12 ? &surface : NULL;
}

static void open_device(void)
{
    static char text[1 << 14];

    text[0] = 0;
    for (unsigned i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        strcat(text, kernels[i]);
    device_open(&d, text, strlen(text));
    d.launch.calls.texture = find_texture;
    d.launch.calls.surface = find_surface;
    texture = (struct texture){.n_levels = 1,
                               .is_normalized = true,
                               .level_high = 15,
                               .address = {TEXTURE_CLAMP, TEXTURE_CLAMP, TEXTURE_CLAMP}};
}

static struct texture_image image_of(void *texels, uint32_t width, uint32_t height, uint32_t channels)
{
    return (struct texture_image){.address = (uint64_t)(uintptr_t)texels,
                                  .row_pitch = (uint64_t)width * channels * 4,
                                  .slice_pitch = (uint64_t)width * (height ? height : 1) * channels * 4,
                                  .width = width,
                                  .height = height,
                                  .channels = channels,
                                  .format = TEXTURE_FLOAT};
}

/*
 * Faces as the documentation orders them: +x, -x, +y, -y, +z, -z. The direction through a place
 * (s, t) of a face is its normal + (2s - 1) along + (2t - 1) down.
 */
static const float normals[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
static const float along[6][3] = {{0, 0, -1}, {0, 0, 1}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {-1, 0, 0}};
static const float down[6][3] = {{0, -1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}, {0, -1, 0}, {0, -1, 0}};

START_TEST(cubes_are_read_by_direction)
{
    enum { CUBES = 2, PLACES = 6 * N * N };
    static float(*in)[4], (*out)[4];
    float *texels;

    open_device();
    texels = device_memory(&d, (size_t)CUBES * PLACES * 4);
    in = device_memory(&d, PLACES * sizeof *in);
    out = device_memory(&d, PLACES * sizeof *out);
    for (unsigned i = 0; i < CUBES * PLACES; i++)
        texels[i] = (float)i;
    texture.levels[0] = image_of(texels, N, N, 1);
    for (unsigned cube = 0; cube < CUBES; cube++) {
        texture.levels[0].layers = cube ? 6 * CUBES : 6;
        for (unsigned i = 0; i < PLACES; i++) {
            unsigned face = i / (N * N), y = i / N % N, x = i % N;
            float s = ((float)x + 0.5F) / N, t = ((float)y + 0.5F) / N, length = 0.25F * (float)(1 + i % 7);

            for (unsigned a = 0; a < 3; a++)
                in[i][a] =
                    length * (normals[face][a] + (2 * s - 1) * along[face][a] + (2 * t - 1) * down[face][a]);
            in[i][3] = (float)cube;
        }
        ck_assert_int_eq(device_run(&d, cube ? "cubes" : "cube", 1, PLACES, "lll", (uint64_t)11, in, out),
                         CPU_OK);
        for (unsigned i = 0; i < PLACES; i++)
            ck_assert_msg(out[i][0] == (float)(cube * PLACES + i), "cube %u, face %u, place %u: %g", cube,
                          i / (N * N), i % (N * N), (double)out[i][0]);
    }
    device_close(&d);
}
END_TEST

/* A level is a plane of one number, so that only the choice of levels shows: 100, 200, 300, 400. */
static void make_levels(void)
{
    texture.n_levels = LEVELS;
    for (unsigned l = 0; l < LEVELS; l++) {
        float *texels = device_memory(&d, (size_t)(N >> l) * (N >> l) * 4);

        for (unsigned i = 0; i < (unsigned)(N >> l) * (N >> l); i++)
            texels[i] = 100.0F * (float)(l + 1);
        texture.levels[l] = image_of(texels, N >> l, N >> l, 1);
    }
}

START_TEST(levels_of_a_mipmap)
{
    static const float asked[] = {-1, 0, 0.25F, 0.75F, 1, 1.5F, 2.25F, 3, 9};
    enum { CASES = sizeof asked / sizeof asked[0] };
    float(*in)[4], (*out)[4];

    open_device();
    make_levels();
    in = device_memory(&d, CASES * sizeof *in);
    out = device_memory(&d, CASES * sizeof *out);
    for (unsigned i = 0; i < CASES; i++)
        memcpy(in[i], (float[4]){0.5F, 0.5F, asked[i], 0}, sizeof in[i]);
    for (unsigned which = 0; which < 4; which++) {
        bool is_linear = which & 1;
        float bias = which & 2 ? 0.5F : 0, low = which & 2 ? 1 : 0, high = which & 2 ? 2.5F : 15;

        texture.is_mip_linear = is_linear;
        texture.level_bias = bias;
        texture.level_low = low;
        texture.level_high = high;
        ck_assert_int_eq(device_run(&d, "level", 1, CASES, "lll", (uint64_t)11, in, out), CPU_OK);
        for (unsigned i = 0; i < CASES; i++) {
            double level = fmin(fmax(fmin(fmax((double)asked[i] + bias, low), high), 0), LEVELS - 1);
            double expected = is_linear ? 100 * (level + 1) : 100 * (floor(level + 0.5) + 1);

            ck_assert_msg(out[i][0] == expected, "level %g, way %u: %g, not %g", (double)asked[i], which,
                          (double)out[i][0], expected);
        }
    }
    device_close(&d);
}
END_TEST

/* A step of 2^k texels of the whole image, along x or y, is level k. */
START_TEST(gradients_choose_the_level)
{
    float(*in)[4], (*out)[4];

    open_device();
    make_levels();
    in = device_memory(&d, 2 * LEVELS * sizeof *in);
    out = device_memory(&d, 2 * LEVELS * sizeof *out);
    for (unsigned i = 0; i < 2 * LEVELS; i++) {
        float step = (float)(1U << i / 2) / N;

        memcpy(in[i], (float[4]){0.5F, 0.5F, i % 2 ? step : step / 4, i % 2 ? 0 : step}, sizeof in[i]);
    }
    ck_assert_int_eq(device_run(&d, "gradient", 1, 2 * LEVELS, "lll", (uint64_t)11, in, out), CPU_OK);
    for (unsigned i = 0; i < 2 * LEVELS; i++) {
        unsigned level = i / 2;

        ck_assert_msg(out[i][0] == (float)(100 * (level + 1)), "gradient %u: %g", i, (double)out[i][0]);
    }
    device_close(&d);
}
END_TEST

/* Around (x, y): lower left, lower right, upper right, upper left; y points down in the image. */
START_TEST(gathers_read_the_four_texels_of_the_filter)
{
    float *texels, (*in)[4], (*out)[4];

    open_device();
    texels = device_memory(&d, (size_t)N * N * 8);
    in = device_memory(&d, N * N * sizeof *in);
    out = device_memory(&d, N * N * sizeof *out);
    for (unsigned i = 0; i < N * N; i++) {
        texels[2 * i] = (float)i;
        texels[2 * i + 1] = (float)(1000 + i);
    }
    texture.levels[0] = image_of(texels, N, N, 2);
    for (unsigned i = 0; i < N * N; i++) { /* a quarter of a texel behind each corner between texels */
        unsigned x = i % N, y = i / N;

        memcpy(in[i], (float[4]){((float)x + 0.75F) / N, ((float)y + 0.75F) / N, 0, 0}, sizeof in[i]);
    }
    for (unsigned which = 0; which < 2; which++) {
        ck_assert_int_eq(
            device_run(&d, which ? "gather_g" : "gather_r", 1, N * N, "lll", (uint64_t)11, in, out), CPU_OK);
        for (unsigned i = 0; i < N * N; i++) {
            unsigned x = i % N, y = i / N, right = x + 1 < N ? x + 1 : x, under = y + 1 < N ? y + 1 : y;
            const unsigned expected[4] = {under * N + x, under * N + right, y * N + right, y * N + x};

            for (unsigned c = 0; c < 4; c++)
                ck_assert_msg(out[i][c] == (float)(1000 * which + expected[c]),
                              "gather %u at %u, %u: %u is %g", which, x, y, c, (double)out[i][c]);
        }
    }
    device_close(&d);
}
END_TEST

/* Weights have eight bits of fraction: between texels 0 and 256 the answer is a whole number. */
START_TEST(linear_filtering_rounds_its_weights)
{
    enum { PLACES = 1000 };
    float *texels, (*in)[4], (*out)[4];

    open_device();
    texels = device_memory(&d, 8);
    in = device_memory(&d, PLACES * sizeof *in);
    out = device_memory(&d, PLACES * sizeof *out);
    texels[1] = 256;
    texture.levels[0] = image_of(texels, 2, 0, 1);
    texture.is_linear = true;
    texture.is_normalized = false;
    for (unsigned i = 0; i < PLACES; i++)
        in[i][0] = 0.5F + (float)i / PLACES;
    ck_assert_int_eq(device_run(&d, "line", 1, PLACES, "lll", (uint64_t)11, in, out), CPU_OK);
    for (unsigned i = 0; i < PLACES; i++) {
        double exact = ((double)in[i][0] - 0.5) * 256;

        ck_assert_msg(out[i][0] == floorf(out[i][0]) && fabs((double)out[i][0] - exact) <= 0.5,
                      "%g: %g, not %g", (double)in[i][0], (double)out[i][0], exact);
    }
    device_close(&d);
}
END_TEST

START_TEST(reductions_on_a_surface)
{
    enum { THREADS = 64 };
    static const char *const names[] = {"add", "smallest", "largest", "all", "any"};
    uint32_t *words, *in;

    open_device();
    words = device_memory(&d, (size_t)N * N * 4);
    in = device_memory(&d, THREADS * 4);
    surface.image = image_of(words, N, N, 1);
    surface.image.format = TEXTURE_UNSIGNED_32;
    for (unsigned i = 0; i < THREADS; i++)
        in[i] = (i * 2654435761U) | 0x10101010U;
    for (unsigned which = 0; which < 5; which++) {
        uint32_t expected[2];

        for (unsigned i = 0; i < N * N; i++)
            words[i] = which == 3 ? UINT32_MAX : which == 1 ? 5 : i;
        for (unsigned k = 0; k < 2; k++)
            expected[k] = words[N + k];
        for (unsigned i = 0; i < THREADS; i++) { /* odd threads meet in one word, even ones in another */
            uint32_t *e = &expected[i & 1];

            *e = which == 0   ? *e + in[i]
                 : which == 1 ? ((int32_t)in[i] < (int32_t)*e ? in[i] : *e)
                 : which == 2 ? (in[i] > *e ? in[i] : *e)
                 : which == 3 ? *e & in[i]
                              : *e | in[i];
        }
        ck_assert_int_eq(device_run(&d, names[which], 1, THREADS, "lll", (uint64_t)12, in, in), CPU_OK);
        for (unsigned i = 0; i < N * N; i++)
            ck_assert_msg(words[i] == (i == N || i == N + 1 ? expected[i - N]
                                       : which == 3         ? UINT32_MAX
                                       : which == 1         ? 5
                                                            : i),
                          "%s, word %u: %x", names[which], i, words[i]);
    }
    device_close(&d);
}
END_TEST

HARNESS_MAIN("cuda_cpu texture forms", 240, cubes_are_read_by_direction, levels_of_a_mipmap,
             gradients_choose_the_level, gathers_read_the_four_texels_of_the_filter,
             linear_filtering_rounds_its_weights, reductions_on_a_surface)
