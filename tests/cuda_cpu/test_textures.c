/*
 * Textures and surfaces by object, in every shape, address mode and filter, against an evaluation
 * that shares nothing with the device's: an axis is written out as five copies of the image side by
 * side, as the address mode arranges them, and filtering is a sum over all texels with a tent of
 * width two around each centre. Places are multiples of 1/16 texel and texels small integers, so
 * that every sum is exact.
 */
#include "device.h"

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { W = 8, H = 4, D = 4, THREADS = 256, COPIES = 5, BEFORE = 2 };

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define BEGIN(name)                                                                                          \
    ".visible .entry " name "(.param .u64 o, .param .u64 in, .param .u64 out)\n{\n"                          \
    ".reg .b64 %d<8>;\n.reg .f32 %f<12>;\n.reg .b32 %r<12>;\n"                                               \
    "ld.param.u64 %d1, [o];\nld.param.u64 %d2, [in];\nld.param.u64 %d3, [out];\n"                            \
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d4, %r1, 16;\nadd.s64 %d2, %d2, %d4;\nadd.s64 %d3, %d3, %d4;\n"
#define TEXTURE(shape, type, place)                                                                          \
    BEGIN("tex_" shape "_" type)                                                                             \
    "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d2];\ncvt.rzi.s32.f32 %r2, %f4;\n"                             \
    "tex." shape ".v4." type ".f32 {%r3, %r4, %r5, %r6}, [%d1, {" place "}];\n"                              \
    "st.global.v4.b32 [%d3], {%r3, %r4, %r5, %r6};\nret;\n}\n"
/* The fourth word of `in` is the value to store; what is read back is the answer. */
#define SURFACE(shape, outside, place)                                                                       \
    BEGIN("surf_" shape "_" outside)                                                                         \
    "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d2];\n"                                                        \
    "sust.b." shape ".b32." outside " [%d1, {" place "}], %r5;\n"                                            \
    "suld.b." shape ".b32." outside " %r6, [%d1, {" place "}];\nst.global.u32 [%d3], %r6;\nret;\n}\n"

static const char *const kernels[] = {
    TEXTURE("1d", "f32", "%f1"),
    TEXTURE("2d", "f32", "%f1, %f2"),
    TEXTURE("3d", "f32", "%f1, %f2, %f3, %f3"),
    TEXTURE("a1d", "f32", "%r2, %f1"),
    TEXTURE("a2d", "f32", "%r2, %f1, %f2, %f2"),
    TEXTURE("2d", "u32", "%f1, %f2"),
    TEXTURE("2d", "s32", "%f1, %f2"),
    SURFACE("1d", "trap", "%r2"),
    SURFACE("2d", "trap", "%r2, %r3"),
    SURFACE("3d", "trap", "%r2, %r3, %r4, %r4"),
    SURFACE("a1d", "trap", "%r4, %r2"),
    SURFACE("a2d", "trap", "%r4, %r2, %r3, %r3"),
    SURFACE("2d", "zero", "%r2, %r3"),
    SURFACE("2d", "clamp", "%r2, %r3"),
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
    static char text[1 << 14] = HEAD;

    if (strlen(text) == strlen(HEAD))
        for (unsigned i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
            strcat(text, kernels[i]);
    device_open(&d, text, strlen(text));
    d.launch.calls.texture = find_texture;
    d.launch.calls.surface = find_surface;
}

/* --- the evaluation --- */

struct shape {
    const char *name;
    unsigned dimensions;
    bool is_layered;
};
static const struct shape shapes[] = {
    {"1d", 1, false}, {"2d", 2, false}, {"3d", 3, false}, {"a1d", 1, true}, {"a2d", 2, true}};
static const int extents[3] = {W, H, D};
static float image[D][H][W];

/* The texel that stands at place j of the written-out axis; -1: the border. */
static int stands_at(enum texture_address mode, int j, int n)
{
    int copy = (j + BEFORE * n) / n - BEFORE;
    int k = (j + BEFORE * n) % n;

    if (copy == 0 || mode == TEXTURE_WRAP)
        return k;
    if (mode == TEXTURE_MIRROR)
        return copy % 2 ? n - 1 - k : k;
    return mode == TEXTURE_BORDER ? -1 : copy < 0 ? 0 : n - 1;
}

/* How much the texel at place j counts at x. */
static double weight(bool is_linear, double x, int j)
{
    double distance = x > j + 0.5 ? x - (j + 0.5) : j + 0.5 - x;

    if (!is_linear)
        return j <= x && x < j + 1;
    return distance < 1 ? 1 - distance : 0;
}

/* at: in texels. */
static double evaluate(const struct shape *shape, enum texture_address mode, bool is_linear,
                       const double at[3], int layer)
{
    double sum = 0;
    int from[3] = {0, 0, 0};
    int to[3] = {1, 1, 1};

    for (unsigned a = 0; a < shape->dimensions; a++) {
        from[a] = -BEFORE * extents[a];
        to[a] = (COPIES - BEFORE) * extents[a];
    }
    for (int z = from[2]; z < to[2]; z++)
        for (int y = from[1]; y < to[1]; y++)
            for (int x = from[0]; x < to[0]; x++) {
                const int place[3] = {x, y, z};
                int found[3] = {0, 0, 0};
                double w = 1;
                bool is_border = false;

                for (unsigned a = 0; a < shape->dimensions && w > 0; a++) {
                    w *= weight(is_linear, at[a], place[a]);
                    found[a] = stands_at(mode, place[a], extents[a]);
                    is_border = is_border || found[a] < 0;
                }
                if (w > 0)
                    sum += w *
                           (is_border ? 64 : image[shape->is_layered ? layer : found[2]][found[1]][found[0]]);
            }
    return sum;
}

/* --- textures --- */

static void make_image(const struct shape *shape)
{
    float *texels = device_memory(&d, sizeof image);

    for (int i = 0; i < D * H * W; i++)
        (&image[0][0][0])[i] = (float)(i * 37 % 101);
    memcpy(texels, image, sizeof image);
    texture.levels[0] = (struct texture_image){.address = (uint64_t)(uintptr_t)texels,
                                               .row_pitch = sizeof image[0][0],
                                               .slice_pitch = sizeof image[0],
                                               .width = W,
                                               .height = shape->dimensions > 1 ? H : 0,
                                               .depth = shape->dimensions > 2 ? D : 0,
                                               .layers = shape->is_layered ? D : 0,
                                               .channels = 1,
                                               .format = TEXTURE_FLOAT};
}

/* One launch: places at random, most of them beyond the image. */
static void check_texture(const struct shape *shape, enum texture_address mode, bool is_linear,
                          bool is_normalized, unsigned seed)
{
    /* Without normalised coordinates images do not repeat: documented as clamping. */
    enum texture_address acts = is_normalized || mode == TEXTURE_BORDER ? mode : TEXTURE_CLAMP;
    float(*in)[4] = device_memory(&d, THREADS * sizeof *in);
    float(*out)[4] = device_memory(&d, THREADS * sizeof *out);
    static double at[THREADS][3];
    char name[32];

    texture.address[0] = texture.address[1] = texture.address[2] = mode;
    texture.is_linear = is_linear;
    texture.is_normalized = is_normalized;
    for (unsigned i = 0; i < THREADS; i++) {
        for (unsigned a = 0; a < 3; a++) {
            seed = seed * 1103515245 + 12345;
            at[i][a] = (int)(seed >> 8) % (3 * 16 * extents[a]) / 16.0 - extents[a];
            in[i][a] = (float)(is_normalized ? at[i][a] / extents[a] : at[i][a]);
        }
        in[i][3] = (float)(i % D);
    }
    (void)snprintf(name, sizeof name, "tex_%s_f32", shape->name);
    ck_assert_int_eq(device_run(&d, name, 1, THREADS, "lll", (uint64_t)11, in, out), CPU_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        double expected = evaluate(shape, acts, is_linear, at[i], (int)(i % D));

        ck_assert_msg(out[i][0] == expected && out[i][1] == 0 && out[i][3] == 1,
                      "%s, mode %d, %s, %s, at %g %g %g: %g, not %g", shape->name, (int)mode,
                      is_linear ? "linear" : "point", is_normalized ? "normalised" : "texels", at[i][0],
                      at[i][1], at[i][2], (double)out[i][0], expected);
    }
}

START_TEST(textures_of_every_shape_mode_and_filter)
{
    open_device();
    texture = (struct texture){.n_levels = 1, .border = {64, 0, 0, 1}};
    for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        make_image(&shapes[s]);
        for (unsigned which = 0; which < 16; which++)
            check_texture(&shapes[s], (enum texture_address)(which % 4), which & 4, which & 8,
                          16 * s + which);
    }
    device_close(&d);
}
END_TEST

START_TEST(a_layer_that_is_not_there_is_the_last)
{
    float(*in)[4];
    float(*out)[4];

    open_device();
    texture = (struct texture){.n_levels = 1, .address = {TEXTURE_CLAMP, TEXTURE_CLAMP, TEXTURE_CLAMP}};
    make_image(&shapes[4]);
    in = device_memory(&d, sizeof *in);
    out = device_memory(&d, sizeof *out);
    (*in)[0] = 2.5F;
    (*in)[1] = 1.5F;
    (*in)[3] = 99;
    ck_assert_int_eq(device_run(&d, "tex_a2d_f32", 1, 1, "lll", (uint64_t)11, in, out), CPU_OK);
    ck_assert((*out)[0] == image[D - 1][1][2]);
    device_close(&d);
}
END_TEST

/* Texel bytes, and what the documentation makes of them: the type's fraction, or the integer. */
START_TEST(texels_of_every_format)
{
    static const struct {
        enum texture_format format;
        bool as_float;
        unsigned channels;
        uint8_t bytes[16];
        const char *kernel;
        float f[4];
        uint32_t u[4];
    } cases[] = {
        {TEXTURE_UNSIGNED_8, true, 4, {0, 255, 51, 102}, "tex_2d_f32", {0, 1, 0.2F, 0.4F}, {0}},
        {TEXTURE_SIGNED_8, true, 4, {127, 129, 128, 0}, "tex_2d_f32", {1, -1, -1, 0}, {0}},
        {TEXTURE_UNSIGNED_16, true, 2, {255, 255, 0x33, 0x33}, "tex_2d_f32", {1, 0.2F, 0, 1}, {0}},
        {TEXTURE_SIGNED_16, true, 2, {0xff, 0x7f, 0, 0x80}, "tex_2d_f32", {1, -1, 0, 1}, {0}},
        {TEXTURE_HALF, false, 2, {0, 0x3c, 0, 0xc1}, "tex_2d_f32", {1, -2.5F, 0, 1}, {0}},
        {TEXTURE_FLOAT, false, 1, {0, 0, 0xc0, 0x3f}, "tex_2d_f32", {1.5F, 0, 0, 1}, {0}},
        {TEXTURE_UNSIGNED_8, false, 4, {0, 255, 51, 7}, "tex_2d_u32", {0}, {0, 255, 51, 7}},
        {TEXTURE_SIGNED_8, false, 1, {0xfe}, "tex_2d_s32", {0}, {0xfffffffe, 0, 0, 1}},
        {TEXTURE_UNSIGNED_16, false, 1, {0xfe, 0xff}, "tex_2d_u32", {0}, {0xfffe, 0, 0, 1}},
        {TEXTURE_SIGNED_16, false, 2, {0xfe, 0xff, 1}, "tex_2d_s32", {0}, {0xfffffffe, 1, 0, 1}},
        {TEXTURE_UNSIGNED_32, false, 2, {1, 2, 3, 0xf4, 5}, "tex_2d_u32", {0}, {0xf4030201, 5, 0, 1}},
        {TEXTURE_SIGNED_32, false, 1, {0xff, 0xff, 0xff, 0xff}, "tex_2d_s32", {0}, {0xffffffff, 0, 0, 1}},
    };
    uint8_t *texel;
    float *in;
    uint32_t *out;

    open_device();
    texel = device_memory(&d, 16);
    in = device_memory(&d, 16);
    out = device_memory(&d, 16);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float f[4];

        texture = (struct texture){.n_levels = 1, .reads_as_float = cases[i].as_float};
        texture.levels[0] = (struct texture_image){.address = (uint64_t)(uintptr_t)texel,
                                                   .row_pitch = 16,
                                                   .width = 1,
                                                   .height = 1,
                                                   .channels = cases[i].channels,
                                                   .format = cases[i].format};
        memcpy(texel, cases[i].bytes, 16);
        ck_assert_int_eq(device_run(&d, cases[i].kernel, 1, 1, "lll", (uint64_t)11, in, out), CPU_OK);
        memcpy(f, out, sizeof f);
        for (unsigned c = 0; c < 4; c++)
            ck_assert_msg(strcmp(cases[i].kernel, "tex_2d_f32") == 0 ? f[c] == cases[i].f[c]
                                                                     : out[c] == cases[i].u[c],
                          "case %u, channel %u: %g, %x", i, c, (double)f[c], out[c]);
    }
    device_close(&d);
}
END_TEST

/* --- surfaces --- */

enum { PITCH = 64, SLICE = PITCH * H };

static unsigned char *make_surface(const struct shape *shape)
{
    unsigned char *bytes = device_memory(&d, (size_t)SLICE * D);

    surface.image = (struct texture_image){.address = (uint64_t)(uintptr_t)bytes,
                                           .row_pitch = PITCH,
                                           .slice_pitch = SLICE,
                                           .width = W,
                                           .height = shape->dimensions > 1 ? H : 0,
                                           .depth = shape->dimensions > 2 ? D : 0,
                                           .layers = shape->is_layered ? D : 0,
                                           .channels = 1,
                                           .format = TEXTURE_UNSIGNED_32};
    return bytes;
}

START_TEST(surfaces_of_every_shape)
{
    open_device();
    for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const struct shape *shape = &shapes[s];
        int rows = shape->dimensions > 1 ? H : 1;
        int slices = shape->dimensions > 2 || shape->is_layered ? D : 1;
        unsigned char *bytes = make_surface(shape);
        int32_t(*in)[4] = device_memory(&d, THREADS * sizeof *in);
        int32_t(*out)[4] = device_memory(&d, THREADS * sizeof *out);
        char name[32];

        for (int i = 0; i < W * rows * slices; i++) {
            int32_t row[4] = {i % W * 4, i / W % rows, i / (W * rows), 1000 + i};

            memcpy(in[i], row, sizeof row);
        }
        (void)snprintf(name, sizeof name, "surf_%s_trap", shape->name);
        ck_assert_int_eq(device_run(&d, name, 1, (unsigned)(W * rows * slices), "lll", (uint64_t)12, in, out),
                         CPU_OK);
        for (int i = 0; i < SLICE * D / 4; i++) {
            int x = i % (PITCH / 4);
            int y = i / (PITCH / 4) % H;
            int z = i / (SLICE / 4);
            int32_t word;

            memcpy(&word, bytes + (size_t)i * 4, 4); /* nothing between the rows is written */
            ck_assert_int_eq(word, x < W && y < rows && z < slices ? 1000 + x + W * (y + rows * z) : 0);
        }
        for (int i = 0; i < W * rows * slices; i++)
            ck_assert_int_eq(out[i][0], 1000 + i);
        in[0][0] = W * 4; /* behind the row */
        ck_assert_int_eq(device_run(&d, name, 1, 1, "lll", (uint64_t)12, in, out), CPU_ILLEGAL_ADDRESS);
        in[0][0] = 2;
        ck_assert_int_eq(device_run(&d, name, 1, 1, "lll", (uint64_t)12, in, out), CPU_MISALIGNED);
    }
    device_close(&d);
}
END_TEST

START_TEST(what_a_surface_does_outside)
{
    static const int32_t outside[][4] = {{-4, 1, 0, 7}, {W * 4, 1, 0, 7}, {4, -1, 0, 7}, {4, H, 0, 7}};
    static const int clamped[][2] = {{0, 1}, {W - 1, 1}, {1, 0}, {1, H - 1}};
    unsigned char *bytes;
    int32_t *in;
    int32_t *out;
    int32_t word;

    open_device();
    in = device_memory(&d, 16);
    out = device_memory(&d, 16);
    for (unsigned i = 0; i < 4; i++) {
        bytes = make_surface(&shapes[1]);
        memcpy(in, outside[i], sizeof outside[i]);
        *out = 99;
        ck_assert_int_eq(device_run(&d, "surf_2d_zero", 1, 1, "lll", (uint64_t)12, in, out), CPU_OK);
        ck_assert_int_eq(*out, 0);
        for (unsigned k = 0; k < SLICE; k++)
            ck_assert_int_eq(bytes[k], 0);
        ck_assert_int_eq(device_run(&d, "surf_2d_clamp", 1, 1, "lll", (uint64_t)12, in, out), CPU_OK);
        memcpy(&word, bytes + (size_t)clamped[i][1] * PITCH + (size_t)clamped[i][0] * 4, 4);
        ck_assert(word == 7 && *out == 7);
    }
    device_close(&d);
}
END_TEST

HARNESS_MAIN("cuda_cpu textures", 240, textures_of_every_shape_mode_and_filter,
             a_layer_that_is_not_there_is_the_last, texels_of_every_format, surfaces_of_every_shape,
             what_a_surface_does_outside)
