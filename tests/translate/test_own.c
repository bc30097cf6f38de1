/* Which kernels read only what their own work-items write. Only such may run on several devices, each with a copy of the buffer. */
#include "harness.h"
#include "translate/translate.h"

#include <string.h>

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

static void expect_own_reads(const char *const texts[], size_t n, bool own)
{
    for (size_t i = 0; i < n; i++) {
        const struct translate_arg *arg = &kernel_of(texts[i])->args[0];

        ck_assert_msg(arg->access == TRANSLATE_READ_WRITE || arg->access == TRANSLATE_UNKNOWN, "%s",
                      texts[i]);
        ck_assert_msg(arg->own_read == own, "%s", texts[i]);
        translate_result_done(&result);
    }
}

START_TEST(items_that_read_only_what_they_write_are_recognised)
{
    static const char *const texts[] = {
        "__kernel void k(__global int *o) { o[get_global_id(0)] += 1; }",
        "__kernel void k(__global int *o) { o[get_global_id(0)]++; }",
        "__kernel void k(__global int *o, int n) { int i = get_global_id(0); if (i < n) o[i] = o[i] / n; }",
        "__kernel void k(__global int *o) { int i; i = get_global_id(0); int x = o[i]; o[i] = x + 1; }",
        "__kernel void k(__global int2 *o) { o[get_group_id(0)] = o[get_group_id(0)] + 1; }",
        "__kernel void k(__global int *o, int n) { o[get_global_id(1) * n + get_global_id(0)] *= 2; }",
        /* a butterfly, and one of a sorting network */
        "__kernel void k(__global int *o, uint far) { uint i = get_global_id(0); uint l = i / far * 2 * far "
        "+ i % "
        "far; int a = o[l]; int b = o[l + far]; o[l] = a + b; o[l + far] = a - b; }",
        "__kernel void k(__global int *o, uint far) { uint i = get_global_id(0); uint l = 2 * i - (i & (far "
        "- 1)); "
        "uint r = l + far; if (o[l] > o[l + far]) { int t = o[l]; o[l] = o[r]; o[r] = t; } }",
        /* loops with equal heads */
        "__kernel void k(__global int *o, __local int *t) { uint b = get_group_id(0) * 256; for (uint i = "
        "get_local_id(0); i < 256; i += 64) t[i] = o[b + i]; barrier(CLK_LOCAL_MEM_FENCE); for (uint i = "
        "get_local_id(0); i < 256; i += 64) o[b + i] = t[255 - i]; }",
        "__kernel void k(__global int *o, int n) { for (int i = get_global_id(0); i < n; i += "
        "get_global_size(0)) "
        "o[i] = o[i] * 3; }",
        /* a window per item */
        "__kernel void k(__global int *o) { __global int *w = o + get_global_id(0) * 624; for (uint i = 0; i "
        "< 624; "
        "i++) w[i] = i; for (uint i = 0; i < 9; i++) w[i % 624] ^= w[(i + 397) % 624]; }",
        "struct s { int a, b; }; __kernel void k(__global struct s *o) { int i = get_global_id(0); o[i].a = "
        "o[i].b; "
        "}",
    };

    expect_own_reads(texts, sizeof texts / sizeof texts[0], true);
}
END_TEST

START_TEST(items_that_may_read_what_others_write_are_recognised)
{
    static const char *const texts[] = {
        "__kernel void k(__global float *o, int n) { int i = get_global_id(0); if (i == 0) o[0] = 1; if (i < "
        "n) "
        "o[i] = o[0] + i; }",
        "__kernel void k(__global float *o, __global float *c, int n) { int i = get_global_id(0); o[i] = "
        "o[i] / n; "
        "if (i == 0) for (int x = 0; x < n; x++) c[x] = o[x]; }",
        "__kernel void k(__global int *o, int n) { if (get_global_id(0) == 0) for (int x = 1; x < n; x++) "
        "o[x] = "
        "o[x] + o[x - 1]; }",
        "__kernel void k(__global int *o) { int i = get_global_id(0); o[i] = o[i + 1]; }",
        "__kernel void k(__global int *o) { int i = get_global_id(0); o[i] = o[i - 1] + o[i] + o[i + 1]; }",
        "__kernel void k(__global int *o) { int i = get_global_id(0); int x = o[i]; i++; o[i] = x; }",
        "__kernel void k(__global int *o, __global int *at) { int i = get_global_id(0); o[i] = o[at[i]]; }",
        "__kernel void k(__global int *o) { o[get_local_id(0)] += get_global_id(0); }",
        "__kernel void k(__global int *o) { *o = *o + get_global_id(0); }",
        "int get(__global int *p, int i) { return p[i]; }\n__kernel void k(__global int *o) { int i = "
        "get_global_id(0); o[i] = get(o, i); }",
        "__kernel void k(__global int *o) { int i = get_global_id(0); __global int *p = o; p++; o[i] = p[i]; "
        "}",
        "__kernel void k(__global int *o) { int i = get_global_id(0); __global int *p = o + 1; o[i] = p[i]; "
        "}",
        "__kernel void k(__global int *o) { int i = get_global_id(0); o[i] = ((__global char *)o)[i]; }",
        "__kernel void k(__global int *o) { o[get_global_id(0)] = o[(uchar)get_global_id(0)]; }",
        "__kernel void k(__global int *o, int n) { o[get_global_id(0)] = o[n]; n = 3; }",
        "__kernel void k(__global int *o, int n) { for (int i = get_global_id(0); i < n; i += 64) o[i] = 1; "
        "for "
        "(int i = get_global_id(0); i < n; i += 32) n -= o[i]; }",
        /* the item's own element, and one that another item may read */
        "__kernel void k(__global int *o, __global int *at, int n) { int i = get_global_id(0); int x = o[i]; "
        "if (n < 0) o[i] = 5; o[at[i]] = x * 3; }",
        "__kernel void k(__global int *o) { uint i = get_global_id(0); int x = o[i]; o[i] = x; o[(i + 4096) "
        "& 65535] = x + 1; }",
        "__kernel void k(__global int *o, int n) { int i = get_global_id(0); o[i] += 1; o[i + n] = 2; }",
        /* indices that several groups have */
        "__kernel void k(__global int *o) { uint i = get_global_id(0) % 64; if (o[i] == 10) o[i] = 99; }",
        "__kernel void k(__global int *o) { o[get_global_id(0) / 200] += 1; }",
        "__kernel void k(__global int *o, int n) { o[n + (get_global_id(0) & 63) * 4]++; }",
        "__kernel void k(__global int *o) { __global int *w = o + (get_global_id(0) >> 9); w[3] += 1; }",
        /* windows that are too small, or of no item */
        "__kernel void k(__global int *o) { __global int *w = o + get_global_id(0) * 8; for (uint i = 0; i < "
        "8; i++) "
        "w[i] = w[(i + 3) % 9]; }",
        "__kernel void k(__global int *o) { __global int *w = o + get_local_id(0) * 8; for (uint i = 0; i < "
        "8; i++) "
        "w[i] = w[(i + 3) % 8]; }",
        "__kernel void k(__global int *o, int n) { __global int *w = o + get_global_id(0) * 8; for (int i = "
        "n; i < 8; "
        "i++) w[i] = w[(uint)(i + 3) % 8]; }",
        /* Floyd and Warshall: only the values say that the row and the column of `via` do not change. */
        "__kernel void k(__global uint *d, uint via) { uint n = get_global_size(0), x = get_global_id(0), y "
        "= "
        "get_global_id(1); d[y * n + x] = min(d[y * n + x], d[y * n + via] + d[via * n + x]); }",
    };

    expect_own_reads(texts, sizeof texts / sizeof texts[0], false);
}
END_TEST

HARNESS_MAIN("translate own", 60, items_that_read_only_what_they_write_are_recognised,
             items_that_may_read_what_others_write_are_recognised)
