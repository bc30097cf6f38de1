/* What the analysis says of kernels whose nature is known. */
#include "harness.h"
#include "translate/piece.h"
#include "translate/translate.h"

#include <stdlib.h>
#include <string.h>

/* Translates `declarations` and one kernel k with this head and body. */
static struct translate_result result;

static const struct translate_kernel *kernel_of(const char *text)
{
    size_t length = strlen(text);
    struct translate_request request = {
        .sources = &text, .lengths = &length, .n_sources = 1, .options = "-cl-std=CL1.2"};
    int r;

    request.device =
        (struct translate_device){.version = "OpenCL 3.0", .c_version = "OpenCL C 1.2", .address_bits = 64};
    r = translate_program(&request, &result);
    ck_assert_msg(r == 0, "%s: %s", text, r > 0 ? result.reason : strerror(-r));
    ck_assert_ptr_nonnull(translate_find(&result, "k"));
    return translate_find(&result, "k");
}

static void expect_sliceable(const char *text, bool sliceable)
{
    const struct translate_kernel *kernel = kernel_of(text);

    ck_assert_msg(kernel->sliceable == sliceable, "%s: %s", text, kernel->reason);
    ck_assert_int_eq(kernel->reason[0] == 0, sliceable);
    translate_result_done(&result);
}

START_TEST(kernels_that_wait_for_other_groups_are_not_cut)
{
    static const char *const waiting[] = {
        "__kernel void k(__global volatile int *f) { while (*f == 0) ; }",
        "__kernel void k(__global volatile int *f) { int v; do { v = f[1]; } while (v < 4); }",
        "__kernel void k(__global int *f) { while (atomic_cmpxchg(f, 0, 1) == 1) ; *f = 0; }",
        "__kernel void k(__global int *f) { while (atomic_cmpxchg(f, 1, 0) != 1) ; }",
        "__kernel void k(__global int *f) { atomic_inc(f); while (atomic_add(f, 0) < (int)get_num_groups(0)) "
        "; }",
        "__kernel void k(__global int *f) { for (;;) { int v = atomic_or(f, 0); if (v == 3) break; } }",
        "__kernel void k(__global int *f) { int done = 0; while (!done) { if (atomic_xchg(f, 1) == 0) { "
        "f[1]++; atomic_xchg(f, 0); done = 1; } } }",
        "int peek(__global volatile int *f) { return *f; }\n__kernel void k(__global int *f) { while "
        "(!peek(f)) ; }",
        "void wait(__global volatile int *f) { while (!*f) ; }\n__kernel void k(__global int *f) { wait(f); "
        "}",
        "__kernel void k(__global int *f) { while (f[0] == 0) mem_fence(CLK_GLOBAL_MEM_FENCE); }",
        "__kernel void k(__global int *f) { again: if (atomic_add(f, 0) == 0) goto again; }",
        "__kernel void k(__global int *f, __local int *s) { while (1) { s[0] = atomic_inc(f); "
        "barrier(CLK_LOCAL_MEM_FENCE); if (s[0] > 9) return; } }",
    };

    for (size_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++)
        expect_sliceable(waiting[i], false);
}
END_TEST

START_TEST(kernels_that_only_look_like_waiting_are_cut)
{
    static const char *const harmless[] = {
        "__kernel void k(__global int *h, __global const int *d, int n) { for (int i = get_global_id(0); i < "
        "n; i += get_global_size(0)) atomic_inc(&h[d[i] & 7]); }",
        "__kernel void k(__global int *c, __global int *o, int n) { for (int i = 0; i < n; i++) { int at = "
        "atomic_inc(c); if (at < 9) o[at] = i; } }",
        "__kernel void k(__global const int *row, __global int *o) { int s = 0; for (int i = row[0]; i < "
        "row[1]; i++) s += i; *o = s; }",
        "__kernel void k(__global const int *next, __global int *o) { int n = 0; while (n != -1) { n = "
        "next[n]; } *o = n; }",
        "void add(volatile __global float *p, float v) { union { uint u; float f; } o, n; do { o.f = *p; n.f "
        "= o.f + v; } while "
        "(atomic_cmpxchg((volatile __global uint *)p, o.u, n.u) != o.u); }\n__kernel void k(__global float "
        "*p) { add(p, 1); }",
        "__kernel void k(__global int *p) { int old = *p, assumed; do { assumed = old; old = "
        "atomic_cmpxchg(p, assumed, assumed + 1); } while (assumed != old); }",
        "__kernel void k(__local int *p) { while (atomic_cmpxchg(p, 0, 1) == 1) ; }",
        "__kernel void k(__global int *p, int n) { for (int i = 0; i < n; i++) { if (p[0] > 7) break; p[1 + "
        "get_global_id(0)] += i; } }",
    };

    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        expect_sliceable(harmless[i], true);
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
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ck_assert_msg(!kernel_of(texts[i])->args[0].own_write, "%s", texts[i]);
        translate_result_done(&result);
    }
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

/* Every group exactly once, whatever the division's multipliers: the decoding of the kernel, in C, against plain division. */
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

HARNESS_MAIN("translate analysis", 60, kernels_that_wait_for_other_groups_are_not_cut,
             kernels_that_only_look_like_waiting_are_cut, what_is_read_and_written_is_told,
             writes_that_are_not_at_the_own_id_are_not_called_own, who_can_tell_the_local_size_is_known,
             the_multipliers_divide_exactly, launches_that_cannot_be_cut_are_answered)
