/* What the analysis says of kernels whose nature is known. */
#include "answering.h"
#include "harness.h"
#include "translate/piece.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The device offers neither half-precision nor queues of its own, so the program may use these
 * names.
 */
START_TEST(names_of_what_the_device_lacks_are_the_programs_own)
{
    static const char *const names[] = {"half2", "queue_t", "clk_event_t", "ndrange_t"};
    char text[200];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(text, sizeof text,
                       "__kernel void %s(__global int *a) { a[0] = 1; }\n"
                       "__kernel void k(__global int *a) { a[get_global_id(0)] = 2; }",
                       names[i]);
        ck_assert_msg(answer_for(text, "-cl-std=CL3.0") == 0, "%s: %s", names[i], result.reason);
        ck_assert(translate_find(&result, "k")->sliceable);
        ck_assert(translate_find(&result, names[i])->sliceable);
        translate_result_done(&result);
    }
    ck_assert_int_eq(answer_for("__kernel void k(__global int *a) { a[0] = lacking; }", ""), TRANSLATE_WHOLE);
    ck_assert_ptr_nonnull(strstr(result.reason, "lacking"));
    translate_result_done(&result);
}
END_TEST

START_TEST(what_is_read_and_written_is_told)
{
    const struct translate_kernel *kernel =
        kernel_of("void set(__global int *p, int v) { p[v] = v; } int get(__global int *p) { return *p; }\n"
                  "__kernel void k(__global const int *a, __global int *b, __global int *c, __global int *d, "
                  "__global int *e, __global int *f,\n"
                  "    int n, __local int *t, __constant int *g, __global float4 *h, __global int *unused)\n"
                  "{ size_t i = get_global_id(0); c[i] = a[i] + get(b); d[i] += n; set(e, n); __global int "
                  "*q = f + 3; *q = q[1]; t[0] = g[0]; h[i].x = 1; }");
    static const enum translate_access expected[] = {
        TRANSLATE_READ,  TRANSLATE_READ,       TRANSLATE_WRITE, TRANSLATE_READ_WRITE,
        TRANSLATE_WRITE, TRANSLATE_READ_WRITE, TRANSLATE_VALUE, TRANSLATE_VALUE,
        TRANSLATE_READ,  TRANSLATE_WRITE,      TRANSLATE_UNUSED};
    static const bool own[] = {false, false, true, true, false, false, false, false, false, true, false};

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        ck_assert_msg(kernel->args[i].access == expected[i], "argument %zu: %d", i,
                      (int)kernel->args[i].access);
        ck_assert_msg(kernel->args[i].own_write == own[i], "argument %zu: own_write %d", i,
                      kernel->args[i].own_write);
    }
    ck_assert(kernel->args[7].local);
    ck_assert_uint_eq(kernel->args[2].element, 4);
    ck_assert_uint_eq(kernel->args[9].element, 16);
    translate_result_done(&result);
}
END_TEST

START_TEST(writes_that_are_not_at_the_own_id_are_not_called_own)
{
    static const char *const texts[] = {
        "__kernel void k(__global int *o) { size_t i = get_global_id(0); i++; o[i] = 1; }",
        "__kernel void k(__global int *o) { size_t i = get_global_id(1); o[i] = 1; }",
        "__kernel void k(__global int *o) { uchar i = get_global_id(0); o[i] = 1; }",
        "__kernel void k(__global int *o) { o[get_global_id(0)] = 1; o[0] = 2; }",
        "__kernel void k(__global int *o) { o[get_global_id(0) / 2] = 1; }",
        ("void f(size_t *i) { *i = 0; }\n__kernel void k(__global int *o) { size_t i = get_global_id(0); "
         "f(&i); o[i] = 1; }"),
        "__kernel void k(__global int *o) { vstore4((int4)(1), 0, &o[get_global_id(0)]); }",
        "__kernel void k(__global int *o) { size_t i = get_global_id(0); *(&o[i] + 1) = 5; }",
        ("void two(__global int *p) { p[0] = 1; p[1] = 2; }\n__kernel void k(__global int *o) { "
         "two(&o[get_global_id(0)]); }"),
        ("__kernel void k(__global int *o) { size_t i = get_global_id(0); o[i] = 5; ((__global char "
         "*)o)[i] = 1; }"),
        "__kernel void k(__global int *o) { o[(short)get_global_id(0)] = 5; }",
        "__kernel void k(__global int *o) { o[(uchar)get_global_id(0)] = 5; }",
        "__kernel void k(__global int *o) { int i = (char)get_global_id(0); o[i] = 5; }",
        "__kernel void k(__global int *o) { float i = get_global_id(0); o[(int)i] = 5; }",
        "__kernel void k(__global int *o) { o[(int)(float)get_global_id(0)] = 5; }",
        "__kernel void k(__global int *o) { o[sizeof(get_global_id(0))] = 5; }",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ck_assert_msg(!kernel_of(texts[i])->args[0].own_write, "%s", texts[i]);
        translate_result_done(&result);
    }
}
END_TEST

START_TEST(stores_through_a_pointer_in_disguise_are_not_overlooked)
{
    static const char *const texts[] = {
        "__kernel void k(__global int *o) { *(__global int *)((ulong)o + 8) = 5; }",
        ("struct s { __global int *p; };\n__kernel void k(__global int *o) { ((struct s){o}).p[0] = "
         "5; }"),
        "__kernel void k(__global int *o) { ({ o; })[3] = 1; }",
        "__kernel void k(__global int o[4]) { o[get_global_id(0)] = 2; }",
        "__kernel void k(__global int o[]) { o[get_global_id(0)] = 2; }",
        ("typedef __global int *handle;\n__kernel void k(handle o) { handle a[2] = {o, o}; a[1][3] = "
         "1; }"),
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        enum translate_access access = kernel_of(texts[i])->args[0].access;

        ck_assert_msg(access == TRANSLATE_UNKNOWN || access == TRANSLATE_WRITE ||
                          access == TRANSLATE_READ_WRITE,
                      "%s: %d", texts[i], (int)access);
        translate_result_done(&result);
    }
}
END_TEST

/*
 * The rewritten program has its own: a kernel that runs whole would not see what a cut one stored.
 */
START_TEST(programs_with_variables_in_global_memory_are_left_alone)
{
    static const char *const texts[] = {
        "global int sum;\n__kernel void k(__global int *o) { sum = o[0]; }",
        "int sum = 3;\n__kernel void k(__global int *o) { o[0] = sum; }",
        "__kernel void k(__global int *o) { static global int calls; o[0] = calls++; }",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ck_assert_msg(answer_for(texts[i], "-cl-std=CL3.0") == TRANSLATE_WHOLE, "%s", texts[i]);
        translate_result_done(&result);
    }
    ck_assert_int_eq(
        answer_for("const int table[] = {1, 2};\n__kernel void k(__global int *o) { o[0] = table[o[1]]; }",
                   "-cl-std=CL3.0"),
        0);
    translate_result_done(&result);
}
END_TEST

START_TEST(who_can_tell_the_local_size_is_known)
{
    static const struct {
        const char *text;
        bool observes;
    } rows[] = {
        {"__kernel void k(__global int *o) { o[get_global_id(0)] = get_global_size(0); }", false},
        {"__kernel void k(__global int *o) { o[get_global_id(0)] = get_local_id(0); }", true},
        {"int f(void) { return get_num_groups(0); }\n__kernel void k(__global int *o) { o[0] = f(); }", true},
        {"__kernel void k(__global int *o) { barrier(CLK_GLOBAL_MEM_FENCE); o[0] = 1; }", true},
        {"__kernel void k(__global int *o) { __local int t[4]; t[0] = 1; o[0] = t[0]; }", true}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(kernel_of(rows[i].text)->observes_local_size == rows[i].observes, "%s", rows[i].text);
        translate_result_done(&result);
    }
}
END_TEST

/*
 * Every group exactly once, whatever the division's multipliers: the decoding of the kernel, in C,
 * against plain division.
 */
START_TEST(the_multipliers_divide_exactly)
{
    static const uint32_t sizes[] = {1,     2,     3,     5,       7,           641,         1000,       4096,
                                     65535, 65536, 65537, 1000003, 2147483647u, 2147483649u, 4294967295u};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct piece_launch launch = {.work_dim = 1, .global = {sizes[i]}, .local = {1}};
        struct piece piece;
        uint32_t n;

        ck_assert_int_eq(piece_of_launch(&launch, &piece, &n), 0);
        ck_assert_uint_eq(n, sizes[i]);
        for (uint64_t k = 0; k < 4000; k++) {
            uint32_t v = (uint32_t)(k * 2654435761u + (k & 1 ? sizes[i] * (uint32_t)k : 0) - (k & 2) / 2);
            uint32_t t = (uint32_t)((uint64_t)v * piece.magic[0] >> 32);

            ck_assert_uint_eq((t + ((v - t) >> (piece.shift & 255))) >> (piece.shift >> 8 & 255),
                              v / sizes[i]);
        }
    }
}
END_TEST

START_TEST(launches_that_cannot_be_cut_are_answered)
{
    struct piece_launch launch = {.work_dim = 2, .global = {100, 7}, .local = {10, 2}};
    struct piece piece;
    size_t global[3];
    uint32_t n;

    ck_assert_int_eq(piece_of_launch(&launch, &piece, &n), PIECE_NOT_UNIFORM);
    launch.local[1] = 0;
    ck_assert_int_eq(piece_of_launch(&launch, &piece, &n), PIECE_NOT_UNIFORM);
    launch = (struct piece_launch){.work_dim = 2, .global = {1 << 20, 1 << 20}, .local = {1, 1}};
    ck_assert_int_eq(piece_of_launch(&launch, &piece, &n), PIECE_TOO_MANY);
    launch = (struct piece_launch){.work_dim = 1, .global = {(size_t)1 << 36}, .local = {1 << 10}};
    ck_assert_int_eq(piece_of_launch(&launch, &piece, &n), 0);
    ck_assert_int_eq(piece_range(&piece, &launch, 0, n, 32, global), PIECE_TOO_MANY);
    ck_assert_int_eq(piece_range(&piece, &launch, 5, 9, 32, global), 0);
    ck_assert_uint_eq(global[0], 4096); /* 4 groups of 1024 */
    ck_assert_uint_eq(piece.first, 5);
}
END_TEST

HARNESS_MAIN("translate analysis", 60, names_of_what_the_device_lacks_are_the_programs_own,
             what_is_read_and_written_is_told, writes_that_are_not_at_the_own_id_are_not_called_own,
             stores_through_a_pointer_in_disguise_are_not_overlooked,
             programs_with_variables_in_global_memory_are_left_alone, who_can_tell_the_local_size_is_known,
             the_multipliers_divide_exactly, launches_that_cannot_be_cut_are_answered)
