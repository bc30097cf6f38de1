/*
 * Rewritten kernels in random pieces against the originals run whole, byte for byte, on a real
 * driver.
 */
#include "runner.h"
#include "samples.h"
#include "driver_faults.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN = 4096, OUT = 1 << 18, SEED = 20240607 };

static void fill(int *values, size_t n, struct random_state *random)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (int)random_u64(random);
}

static void set_args(const struct sample *sample, cl_kernel kernel, cl_mem in, cl_mem out)
{
    cl_int n = OUT - 1;

    ck_assert_int_eq(clSetKernelArg(kernel, 0, sizeof in, &in), CL_SUCCESS);
    ck_assert_int_eq(clSetKernelArg(kernel, 1, sizeof out, &out), CL_SUCCESS);
    ck_assert_int_eq(clSetKernelArg(kernel, 2, sizeof n, &n), CL_SUCCESS);
    if (sample->local_bytes)
        ck_assert_int_eq(clSetKernelArg(kernel, 3, sample->local_bytes, NULL), CL_SUCCESS);
}

static void read_back(const struct runner *runner, cl_mem out, int *ret)
{
    ck_assert_int_eq(
        clEnqueueReadBuffer(runner->queue, out, CL_TRUE, 0, OUT * sizeof *ret, ret, 0, NULL, NULL),
        CL_SUCCESS);
}

/*
 * Runs one launch both ways; the answer says that they agree. Launches that write a cell twice are
 * kept out by the kernels.
 */
static bool agree(const struct runner *runner, const struct sample *sample, const struct pair *pair,
                  const struct piece_launch *launch, struct random_state *random)
{
    static int in[IN];
    static int before[OUT];
    static int whole[OUT];
    static int pieces[OUT];
    const struct translate_kernel *description = translate_find(&pair->result, "k");
    cl_kernel kernels[2] = {clCreateKernel(pair->whole, "k", NULL), clCreateKernel(pair->pieces, "k", NULL)};
    cl_mem input;

    fill(in, IN, random);
    fill(before, OUT, random);
    input = runner_buffer(runner, sizeof in, in);
    for (int i = 0; i < 2; i++) {
        cl_mem output = runner_buffer(runner, sizeof before, before);

        set_args(sample, kernels[i], input, output);
        if (i)
            runner_pieces(runner, kernels[i], description->n_args, launch, random);
        else
            runner_whole(runner, kernels[i], launch);
        read_back(runner, output, i ? pieces : whole);
        clReleaseMemObject(output);
        clReleaseKernel(kernels[i]);
    }
    clReleaseMemObject(input);
    ck_assert_msg(memcmp(whole, before, sizeof whole) != 0, "%s: the kernel does nothing", sample->what);
    return memcmp(whole, pieces, sizeof whole) == 0;
}

/* Three times as many items along x, and as many groups as before, where a group has one or two. */
static void enlarge_small_groups(struct piece_launch *launch)
{
    size_t items = 1;

    for (uint32_t d = 0; d < launch->work_dim; d++)
        items *= launch->local[d];
    if (items <= 2) {
        launch->local[0] *= 3;
        launch->global[0] *= 3;
    }
}

static void compare(const struct runner *runner, const struct sample *sample, size_t rounds,
                    struct random_state *random)
{
    bool enlarge = strstr(sample->source, "i <= l; i++") &&
                   driver_fault(runner->device, FAULT_SMALL_GROUPS_CRASH) != NULL;
    struct piece_launch launch;
    struct pair pair;

    pair_build(runner, sample->source, sample->options, &pair);
    ck_assert_msg(translate_find(&pair.result, "k")->sliceable, "%s: %s", sample->what,
                  translate_find(&pair.result, "k")->reason);
    for (size_t i = 0; i < rounds; i++) {
        if (i % 3 == 0) /* PoCL compiles anew for every local size: vary the rest more often */
            launch = runner_random_launch(random, 4000);
        else
            runner_vary(random, &launch);
        if (sample->work_dim == 1)
            launch.work_dim = 1;
        if (enlarge)
            enlarge_small_groups(&launch);
        ck_assert_msg(
            agree(runner, sample, &pair, &launch, random),
            "%s: differs, round %zu: %u-D, global %zu %zu %zu, local %zu %zu %zu, offset %zu %zu %zu",
            sample->what, i, launch.work_dim, launch.global[0], launch.global[1], launch.global[2],
            launch.local[0], launch.local[1], launch.local[2], launch.offset[0], launch.offset[1],
            launch.offset[2]);
    }
    pair_free(&pair);
}

START_TEST(pieces_of_every_sample_kernel_equal_the_whole)
{
    struct random_state random;
    struct runner runner;

    runner_open(&runner);
    random_init(&random, SEED, 1);
    for (size_t i = 0; i < n_samples; i++)
        compare(&runner, &samples[i], harness_scale(3, 100), &random);
    runner_close(&runner);
}
END_TEST

/* Kernels of the kinds that Rodinia has, written here: (in, out, n) like the samples. */
static const struct sample programs[] = {
    {"matrix product in tiles",
     "#define T 8\n__kernel __attribute__((reqd_work_group_size(T, T, 1))) void k(__global const int *in, "
     "__global int *out, int n)\n"
     "{ __local float a[T][T], b[T][T]; int x = get_global_id(0), y = get_global_id(1), lx = "
     "get_local_id(0), ly = get_local_id(1);\n"
     "  int w = get_global_size(0); float s = 0; __global const float *f = (__global const float *)in;\n"
     "  for (int t = 0; t < 4; t++) { a[ly][lx] = (float)(in[(y * w + t * T + lx) & 4095] & 15); b[ly][lx] = "
     "(float)(in[((t * T + ly) * w + x) & 4095] & 15);\n"
     "    barrier(CLK_LOCAL_MEM_FENCE); for (int i = 0; i < T; i++) s = mad(a[ly][i], b[i][lx], s); "
     "barrier(CLK_LOCAL_MEM_FENCE); }\n"
     "  out[(get_group_id(1) * get_num_groups(0) + get_group_id(0)) * T * T + ly * T + lx] = as_int(s); "
     "(void)f; }\n",
     "", 2, 8},
    {"hotspot-like stencil",
     "float at(__global const int *in, int x, int y, int w, int h) { x = clamp(x, 0, w - 1); y = clamp(y, 0, "
     "h - 1); return (float)(in[(y * w + x) & 4095] & 255); }\n"
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ int w = get_global_size(0), h = get_global_size(1), x = get_global_id(0), y = get_global_id(1); if "
     "(x >= w || y >= h) return;\n"
     "  float c = at(in, x, y, w, h); out[y * w + x] = as_int(c + 0.1f * (at(in, x - 1, y, w, h) + at(in, x "
     "+ 1, y, w, h) + at(in, x, y - 1, w, h) + at(in, x, y + 1, w, h) - 4 * c)); }\n",
     "", 2, 8},
    {"reduction whose last group finishes",
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ __local int t[64]; __local int last; int l = get_local_id(0); t[l] = in[get_global_id(0) & 4095] & "
     "1023; barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  if (l == 0) { int s = 0; for (int i = 0; i < (int)get_local_size(0); i++) s += t[i]; out[64 + "
     "get_group_id(0)] = s; atomic_add(&out[1], s);\n"
     "    last = atomic_inc(&out[0]) - in[0] + in[0] == (int)get_num_groups(0); } }\n",
     "", 1, 64},
    {"breadth-first step",
     "typedef struct { int start, n; } node;\n__kernel void k(__global const int *in, __global int *out, int "
     "n)\n"
     "{ int i = get_global_id(0) - get_global_offset(0); __global const node *g = (__global const node *)in; "
     "if (in[i & 4095] & 1)\n"
     "  for (int e = 0; e < (g[i & 1023].n & 7); e++) { int id = in[(g[i & 1023].start + e) & 4095] & 1023; "
     "out[id + 4096] = 7; out[i] = e; } }\n",
     "", 1, 16},
    {"lud-like elimination with a strided loop",
     "__kernel void k(__global const int *in, __global int *out, int n)\n"
     "{ for (int i = get_group_id(0); i < 500; i += get_num_groups(0)) for (int j = get_local_id(0); j < 64; "
     "j += get_local_size(0))\n"
     "    out[i * 64 + j] = in[(i + j) & 4095] / ((in[j] & 7) + 1) + i; }\n",
     "", 1, 16},
};

static void compare_fixed(const struct runner *runner, const struct sample *sample,
                          struct random_state *random)
{
    struct sample plain = *sample;
    struct pair pair;

    plain.local_bytes = 0; /* here: the local size */
    pair_build(runner, sample->source, sample->options, &pair);
    ck_assert_msg(translate_find(&pair.result, "k")->sliceable, "%s: %s", sample->what,
                  translate_find(&pair.result, "k")->reason);
    for (int i = 0; i < 3; i++) {
        struct piece_launch launch = {.work_dim = sample->work_dim,
                                      .local = {sample->local_bytes, sample->local_bytes, 1}};

        for (uint32_t d = 0; d < launch.work_dim; d++)
            launch.global[d] = launch.local[d] * (1 + random_below(random, 20));
        ck_assert_msg(agree(runner, &plain, &pair, &launch, random), "%s: differs", sample->what);
    }
    pair_free(&pair);
}

START_TEST(pieces_of_programs_like_rodinia_equal_the_whole)
{
    struct random_state random;
    struct runner runner;

    runner_open(&runner);
    random_init(&random, SEED, 2);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        compare_fixed(&runner, &programs[i], &random);
    runner_close(&runner);
}
END_TEST

/*
 * A random expression over ids, inputs and calls of helpers already written (0 .. n_helpers - 1).
 */
static size_t random_expression(char *out, size_t room, struct random_state *random, int depth, int n_helpers)
{
    static const char *const leaves[] = {"get_global_id(%u)",
                                         "get_group_id(%u)",
                                         "get_num_groups(%u)",
                                         "get_global_size(%u)",
                                         "get_global_offset(%u)",
                                         "get_local_id(%u)",
                                         "get_local_size(%u)",
                                         "get_work_dim() + %u",
                                         "x + %u",
                                         "in[(x + %u) & 4095]",
                                         "get_global_id((x >> 3) + %u)",
                                         "GET(num_groups)(%u)",
                                         "sizeof(get_group_id(%u))",
                                         "WHERE(%u).at",
                                         "LIST(get_group_id, %u)",
                                         "('(' + get_num_groups(x & 7) * %u)"};
    static const char *const operators[] = {"+", "-", "*", "^", "&", "|"};
    unsigned number = (unsigned)random_below(random, 4);
    size_t n;

    if (depth <= 0 || !random_below(random, 4)) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        n = (size_t)snprintf(out, room, leaves[random_below(random, sizeof leaves / sizeof leaves[0])],
                             number);
#pragma GCC diagnostic pop
        return n;
    }
    if (n_helpers && !random_below(random, 3)) {
        n = (size_t)snprintf(out, room, "f%u((int)(", (unsigned)random_below(random, (uint64_t)n_helpers));
        n += random_expression(out + n, room - n, random, depth - 1, n_helpers);
        return n + (size_t)snprintf(out + n, room - n, "), in)");
    }
    if (!random_below(random, 4)) {
        n = (size_t)snprintf(out, room, "(x & %u ? (int)(", 1 + number);
        n += random_expression(out + n, room - n, random, depth - 1, n_helpers);
        n += (size_t)snprintf(out + n, room - n, ") : (x++, (int)(");
        n += random_expression(out + n, room - n, random, depth - 1, n_helpers);
        return n + (size_t)snprintf(out + n, room - n, ")))");
    }
    n = (size_t)snprintf(out, room, "((int)(");
    n += random_expression(out + n, room - n, random, depth - 1, n_helpers);
    n += (size_t)snprintf(out + n, room - n, ") %s M((int)(", operators[random_below(random, 6)]);
    n += random_expression(out + n, room - n, random, depth - 1, n_helpers);
    return n + (size_t)snprintf(out + n, room - n, ")))");
}

/*
 * Built-ins by pasting, by their bare name as an argument, in struct-valued helpers; declared
 * before, after, with attributes.
 */
static const char random_prelude[] = "#define M(v) ((v) * 3 + (int)get_group_id(0))\n"
                                     "#define GET(what) get_##what\n"
                                     "#define LIST(f, ...) (f(__VA_ARGS__) + f(0))\n"
                                     "#define gid get_global_id\n"
                                     "#define WHERE(d) where((d), &in[1])\n"
                                     "typedef struct __attribute__((packed)) { char c; int at; } place;\n"
                                     "place where(uint, __global const int *);\n"
                                     "place where(uint d, __global const int in[2])\n"
                                     "{ place p = {1, (int)gid(d) + in[0]}; return p; }\n"
                                     "#undef gid\n"
                                     "#define gid(d) get_group_id(d)\n";

/* The ways to begin the kernel; all have the same parameters. */
static const char *const random_heads[] = {
    "__kernel void k(__global const int *in, __global int *out, int n)\n{ ",
    "kernel __attribute__((vec_type_hint(int))) void k(global const int in[], global int *restrict out, "
    "const int n)\n{ ",
    "__kernel void k(__global const int *in, __global int *out, int n);\n"
    "__kernel void\nk(__global const int *in, __global int *out, int n)\n{ ",
    "#define KERNEL(name, ...) __kernel void name(__VA_ARGS__)\n"
    "KERNEL(k, __global const int *in, __global int *out, int n)\n{ ",
    "__kernel void part(__global const int *in, __global int *out, int n);\n"
    "__kernel void k(__global const int *in, __global int *out, int n) { part(in, out, n); }\n"
    "__kernel void part(__global const int *in, __global int *out, int n)\n{ "};

/* Statements before and after the expression; %s is it. */
static const char *const random_bodies[] = {
    "out[w & n] = (int)(%s);",
    "switch (get_group_id(0) %% 3) { case 0: x += 5; break; case 1: x ^= gid(1); default: x -= "
    "get_num_groups(0); }\n"
    "  out[w & n] = (int)(%s);",
    "for (size_t i = get_group_id(0); i < get_num_groups(0); i += 2) x += (int)i;\n  out[w & n] = (int)(%s);",
    "__local int t[512]; size_t l = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * "
    "get_local_size(0) + "
    "get_local_id(0);\n"
    "  t[l & 511] = x; barrier(CLK_LOCAL_MEM_FENCE); x += t[0] + (int)gid(2); barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  out[w & n] = (int)(%s);",
    "int at[sizeof(get_global_id(0))] = {get_group_id(0), [3] = get_num_groups(1)}; x += at[x & 7];\n"
    "  if (x & 1) { out[w & n] = x; return; }\n  out[w & n] = (int)(%s);",
    "do { x += 1 + (get_global_size(0) & 1); } while (x & 1 && x < 100);\n"
    "  int2 v = (int2)(x, get_group_id(0)); x ^= v.y; out[w & n] = (int)(%s);"};

static const char *pick(const char *const list[], size_t n, struct random_state *random)
{
    return list[random_below(random, n)];
}

static void random_program(char *out, size_t room, struct random_state *random)
{
    static char expression[100000];
    int n_helpers = (int)random_below(random, 4);
    size_t n = (size_t)snprintf(out, room, "%s", random_prelude);

    for (int i = 0; i < n_helpers; i++) {
        n += (size_t)snprintf(out + n, room - n,
                              "%sint f%d(int x, __global const int *in) { int s = 0; for (int i = 0; i < %u; "
                              "i++) { x += i; s ^= (int)(",
                              random_below(random, 2) ? "" : "__attribute__((always_inline)) ", i,
                              1 + (unsigned)random_below(random, 3));
        n += random_expression(out + n, room - n, random, 3, i);
        n += (size_t)snprintf(out + n, room - n, "); } return s; }\n");
    }
    n += (size_t)snprintf(
        out + n, room - n,
        "%s size_t w = ((get_global_id(2) - get_global_offset(2)) * "
        "get_global_size(1) + get_global_id(1) - get_global_offset(1)) * "
        "get_global_size(0) + get_global_id(0) - get_global_offset(0);\n  int x = (int)w;\n  ",
        pick(random_heads, sizeof random_heads / sizeof random_heads[0], random));
    (void)random_expression(expression, sizeof expression, random, 4, n_helpers);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    n += (size_t)snprintf(out + n, room - n,
                          pick(random_bodies, sizeof random_bodies / sizeof random_bodies[0], random),
                          expression);
#pragma GCC diagnostic pop
    (void)snprintf(out + n, room - n, " }\n");
}

START_TEST(pieces_of_random_kernels_equal_the_whole)
{
    static char text[200000];
    const char *device = getenv("POCL_DEVICES");
    bool only_soaks = device && strcmp(device, "pthread") == 0;
    struct random_state random;
    struct runner runner;

    /* What is rewritten does not depend on the device. PoCL's basic one has them every time. */
    runner_open(&runner);
    for (size_t i = 0; i < harness_scale(only_soaks ? 0 : 8, 500); i++) {
        struct sample sample = {.what = text, .source = text, .options = i & 1 ? "-cl-std=CL1.2" : ""};

        random_init(&random, SEED, 100 + i); /* replay: this stream */
        random_program(text, sizeof text, &random);
        compare(&runner, &sample, 3, &random);
    }
    runner_close(&runner);
}
END_TEST

START_TEST(images_and_samplers_work_in_pieces)
{
    static const char text[] = "__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | "
                               "CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
                               "float4 load(read_only image2d_t i, int dx) { return read_imagef(i, s, "
                               "(int2)(get_global_id(0) + dx, get_global_id(1))); }\n"
                               "__kernel void k(read_only image2d_t in, write_only image2d_t out)\n"
                               "{ write_imagef(out, (int2)(get_global_id(0), get_global_id(1)), load(in, 0) "
                               "* 0.5f + load(in, 1) * 0.25f + get_group_id(0)); }\n";
    enum { W = 40, H = 24 };
    const cl_image_format format = {.image_channel_order = CL_RGBA, .image_channel_data_type = CL_FLOAT};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = W, .image_height = H};
    const struct piece_launch launch = {.work_dim = 2, .global = {W, H}, .local = {8, 4}};
    static float pixels[2][W * H * 4];
    const size_t origin[3] = {0, 0, 0};
    const size_t region[3] = {W, H, 1};
    struct random_state random;
    struct runner runner;
    struct pair pair;
    cl_mem in;

    runner_open(&runner);
    random_init(&random, SEED, 3);
    pair_build(&runner, text, "", &pair);
    ck_assert_int_eq(translate_find(&pair.result, "k")->args[0].access, TRANSLATE_READ);
    ck_assert_int_eq(translate_find(&pair.result, "k")->args[1].access, TRANSLATE_WRITE);
    for (size_t i = 0; i < (size_t)W * H * 4; i++)
        pixels[0][i] = (float)random_unit(&random);
    in = clCreateImage(runner.context, CL_MEM_COPY_HOST_PTR, &format, &shape, pixels[0], NULL);
    for (int i = 0; i < 2; i++) {
        cl_kernel kernel = clCreateKernel(i ? pair.pieces : pair.whole, "k", NULL);
        cl_mem out = clCreateImage(runner.context, 0, &format, &shape, NULL, NULL);

        ck_assert_int_eq(clSetKernelArg(kernel, 0, sizeof in, &in), CL_SUCCESS);
        ck_assert_int_eq(clSetKernelArg(kernel, 1, sizeof out, &out), CL_SUCCESS);
        if (i)
            runner_pieces(&runner, kernel, 2, &launch, &random);
        else
            runner_whole(&runner, kernel, &launch);
        ck_assert_int_eq(
            clEnqueueReadImage(runner.queue, out, CL_TRUE, origin, region, 0, 0, pixels[i], 0, NULL, NULL),
            CL_SUCCESS);
        clReleaseMemObject(out);
        clReleaseKernel(kernel);
    }
    clReleaseMemObject(in);
    ck_assert_mem_eq(pixels[0], pixels[1], sizeof pixels[0]);
    pair_free(&pair);
    runner_close(&runner);
}
END_TEST

/* Compiles both texts apart and links them: as written (translated = 0), or rewritten. */
static cl_program link_two(const struct runner *runner, const char *const text[2], bool translated,
                           uint32_t *ret_n_args)
{
    cl_program objects[2];
    cl_program program;
    cl_int error;

    for (int i = 0; i < 2; i++) {
        struct translate_result result = {0};
        const char *source = text[i];

        if (translated) {
            ck_assert_int_eq(runner_translate(runner, text[i], "", TRANSLATE_COMPILE, &result), 0);
            source = result.source;
            if (translate_find(&result, "k"))
                *ret_n_args = translate_find(&result, "k")->n_args;
        }
        objects[i] = clCreateProgramWithSource(runner->context, 1, &source, NULL, NULL);
        ck_assert_int_eq(clCompileProgram(objects[i], 1, &runner->device, "", 0, NULL, NULL, NULL, NULL),
                         CL_SUCCESS);
        translate_result_done(&result);
    }
    program = clLinkProgram(runner->context, 1, &runner->device, "", 2, objects, NULL, NULL, &error);
    ck_assert_int_eq(error, CL_SUCCESS);
    return program;
}

START_TEST(objects_compiled_apart_and_linked_work_in_pieces)
{
    static const char *const text[2] = {
        "int where(int d) { return (int)get_global_id(d) * 5 + (int)get_group_id(d); }\n",
        "int where(int d);\n__kernel void k(__global const int *in, __global int *out, int n)\n"
        "{ out[get_global_id(0) & n] = where(0) + in[where(1) & 4095]; }\n"};
    const struct piece_launch launch = {.work_dim = 1, .global = {320}, .local = {16}, .offset = {32}};
    const struct sample sample = {.what = "linked", .work_dim = 1};
    static int in[IN];
    static int out[2][OUT];
    struct random_state random;
    struct runner runner;
    cl_mem input;

    runner_open(&runner);
    random_init(&random, SEED, 4);
    fill(in, IN, &random);
    input = runner_buffer(&runner, sizeof in, in);
    for (int i = 0; i < 2; i++) {
        uint32_t n_args = 0;
        cl_program program = link_two(&runner, text, i, &n_args);
        cl_kernel kernel = clCreateKernel(program, "k", NULL);
        cl_mem output = runner_buffer(&runner, sizeof out[1], out[1]);

        set_args(&sample, kernel, input, output);
        if (i)
            runner_pieces(&runner, kernel, n_args, &launch, &random);
        else
            runner_whole(&runner, kernel, &launch);
        read_back(&runner, output, out[i]);
        clReleaseMemObject(output);
        if (!i)
            memset(out[1], 0, sizeof out[1]);
    }
    ck_assert_int_eq(memcmp(out[0], out[1], sizeof out[0]), 0);
    clReleaseMemObject(input);
    runner_close(&runner);
}
END_TEST

HARNESS_MAIN("translate pieces", 120, pieces_of_every_sample_kernel_equal_the_whole,
             pieces_of_programs_like_rodinia_equal_the_whole, pieces_of_random_kernels_equal_the_whole,
             images_and_samplers_work_in_pieces, objects_compiled_apart_and_linked_work_in_pieces)
