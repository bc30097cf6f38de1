/*
 * Forms of instructions that touch memory or other lanes: atomics and reductions in every space,
 * loads and stores of every type and width, warp operations. Each form is a kernel of its own, made
 * here; expected values follow the definitions in the PTX manual, one lane at a time.
 */
#include "device.h"

#include "base/draft.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 32 };

static struct device device;
static uint64_t *a, *b, *c, *out;

/* Edge values and noise; those of 32 bits are the low halves. */
static uint64_t operand(unsigned lane, unsigned salt)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     UINT64_MAX,
                                     UINT64_C(0x8000000080000000),
                                     UINT64_C(0x7fffffff7fffffff),
                                     UINT64_C(0xffffffff00000001),
                                     2,
                                     UINT64_C(0x80000000ffffffff)};

    return (lane + salt) % 4 ? edges[(lane * 5 + salt * 3) % 8]
                             : (lane + 1) * UINT64_C(0x9e3779b97f4a7c15) * (salt + 3);
}

static void begin(struct draft *draft)
{
    ck_assert_int_eq(draft_begin(draft), 0);
    fputs(".version 8.0\n.target sm_90\n.address_size 64\n", draft->out);
}

static void end(struct draft *draft)
{
    char *text;
    size_t size;

    ck_assert_int_eq(draft_take(draft, 0, &text, &size), 0);
    device.haste = IMAGE_SOON;
    device_open(&device, text, size);
    free(text);
    a = device_memory(&device, LANES * 8);
    b = device_memory(&device, LANES * 8);
    c = device_memory(&device, LANES * 8);
    out = device_memory(&device, LANES * 32);
}

/* k<number>(a, b, c, out): each thread has its own 8 bytes of a, b and c, and 32 of out. */
static void head(FILE *text, unsigned number)
{
    fprintf(
        text,
        ".visible .entry k%u(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 po)\n{\n"
        ".reg .b64 %%a, %%b, %%c, %%o, %%t, %%x<8>;\n.reg .b32 %%r<8>, %%lane;\n.reg .b16 %%h<8>;\n"
        ".reg .f32 %%f<4>;\n.reg .f64 %%d<4>;\n.reg .pred %%p<4>;\n.shared .align 16 .b8 cells%u[512];\n"
        ".local .align 16 .b8 own%u[64];\n"
        "mov.u32 %%lane, %%tid.x;\nmul.wide.u32 %%t, %%lane, 8;\n"
        "ld.param.u64 %%a, [pa];\nadd.u64 %%a, %%a, %%t;\nld.param.u64 %%b, [pb];\nadd.u64 %%b, %%b, %%t;\n"
        "ld.param.u64 %%c, [pc];\nadd.u64 %%c, %%c, %%t;\nmul.wide.u32 %%x0, %%lane, 32;\n"
        "ld.param.u64 %%o, [po];\nadd.u64 %%o, %%o, %%x0;\n",
        number, number, number);
}

/* --- atomics --- */

struct atomic_form {
    const char *operation, *type;
    unsigned bits;
};

static const struct atomic_form atomics[] = {
    {"add", "u32", 32},  {"add", "s32", 32}, {"add", "u64", 64}, {"add", "f32", 32}, {"add", "f64", 64},
    {"min", "u32", 32},  {"min", "s32", 32}, {"min", "u64", 64}, {"min", "s64", 64}, {"max", "u32", 32},
    {"max", "s32", 32},  {"max", "u64", 64}, {"max", "s64", 64}, {"and", "b32", 32}, {"and", "b64", 64},
    {"or", "b32", 32},   {"or", "b64", 64},  {"xor", "b32", 32}, {"xor", "b64", 64}, {"exch", "b32", 32},
    {"exch", "b64", 64}, {"cas", "b16", 16}, {"cas", "b32", 32}, {"cas", "b64", 64}, {"inc", "u32", 32},
    {"dec", "u32", 32},
};
static const char *const spaces[] = {"global", "shared", ""};
static const char *const orders[] = {"", ".relaxed.sys", ".acq_rel.gpu", ".release.cta"};

enum { N_ATOMICS = sizeof atomics / sizeof atomics[0], N_SPACES = 3 };

static uint64_t low(uint64_t x, unsigned bits)
{
    return bits == 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

static int64_t signed_of(uint64_t x, unsigned bits)
{
    return bits == 32 ? (int32_t)(uint32_t)x : bits == 16 ? (int16_t)(uint16_t)x : (int64_t)x;
}

static uint64_t sum_of_reals(const struct atomic_form *form, uint64_t x, uint64_t y)
{
    if (form->bits == 32) {
        uint32_t bits[2] = {(uint32_t)x, (uint32_t)y};
        float f[2];

        memcpy(f, bits, sizeof f);
        f[0] += f[1];
        memcpy(bits, f, 4);
        return bits[0];
    }
    double d[2];

    memcpy(&d[0], &x, 8);
    memcpy(&d[1], &y, 8);
    d[0] += d[1];
    memcpy(&x, &d[0], 8);
    return x;
}

/* What the cell holds after the operation; z is the new value of a compare-and-swap. */
static uint64_t after(const struct atomic_form *form, uint64_t x, uint64_t y, uint64_t z)
{
    bool is_signed = form->type[0] == 's';
    const char *o = form->operation;
    bool less = is_signed ? signed_of(x, form->bits) < signed_of(y, form->bits) : x < y;

    if (form->type[0] == 'f')
        return sum_of_reals(form, x, y);
    return low(!strcmp(o, "add")    ? x + y
               : !strcmp(o, "min")  ? (less ? x : y)
               : !strcmp(o, "max")  ? (less ? y : x)
               : !strcmp(o, "and")  ? (x & y)
               : !strcmp(o, "or")   ? (x | y)
               : !strcmp(o, "xor")  ? (x ^ y)
               : !strcmp(o, "exch") ? y
               : !strcmp(o, "cas")  ? (x == y ? z : x)
               : !strcmp(o, "inc")  ? (x >= y ? 0 : x + 1)
                                    : (x == 0 || x > y ? y : x - 1),
               form->bits);
}

static void print_atomic(FILE *text, unsigned number, const struct atomic_form *form, unsigned space,
                         const char *order)
{
    const char *kind = form->bits == 16 ? "h" : form->bits == 32 ? "r" : "x";
    const char *cell = space == 1 ? "[%r7]" : space == 0 ? "[%a]" : "[%x7]";
    bool is_cas = !strcmp(form->operation, "cas");
    bool has_red = strcmp(form->operation, "cas") != 0 && strcmp(form->operation, "exch") != 0;

    head(text, number);
    fprintf(text,
            "mov.u32 %%r6, cells%u;\nmad.lo.u32 %%r7, %%lane, 16, %%r6;\ncvt.u64.u32 %%x6, %%r7;\n"
            "cvta.shared.u64 %%x7, %%x6;\nld.global.b%u %%%s1, [%%b];\nld.global.b%u %%%s2, [%%c];\n"
            "ld.global.b%u %%%s3, [%%a];\nst.shared.b%u [%%r7], %%%s3;\n",
            number, form->bits, kind, form->bits, kind, form->bits, kind, form->bits, kind);
    fprintf(text, "atom%s%s%s.%s.%s %%%s4, ", order, space < 2 ? "." : "", spaces[space], form->operation,
            form->type, kind);
    fputs(cell, text);
    fprintf(text, ", %%%s1", kind);
    if (is_cas)
        fprintf(text, ", %%%s2", kind);
    fprintf(text, ";\nst.global.b%u [%%o], %%%s4;\nld%s%s.b%u %%%s5, ", form->bits, kind,
            space < 2 ? "." : "", spaces[space], form->bits, kind);
    fputs(cell, text);
    fprintf(text, ";\nst.global.b%u [%%o+8], %%%s5;\n", form->bits, kind);
    if (has_red) { /* once more, without the old value */
        fprintf(text, "red%s%s.%s.%s ", space < 2 ? "." : "", spaces[space], form->operation, form->type);
        fputs(cell, text);
        fprintf(text, ", %%%s1;\n", kind);
    }
    fprintf(text, "ld%s%s.b%u %%%s5, ", space < 2 ? "." : "", spaces[space], form->bits, kind);
    fputs(cell, text);
    fprintf(text, ";\nst.global.b%u [%%o+16], %%%s5;\nret;\n}\n", form->bits, kind);
}

static bool same(const struct atomic_form *form, uint64_t found, uint64_t expected)
{
    bool is_nan =
        form->type[0] == 'f' && (form->bits == 32 ? (expected & 0x7fffffff) > 0x7f800000
                                                  : (expected & INT64_MAX) > UINT64_C(0x7ff0000000000000));

    if (is_nan) /* any pattern of no number */
        return form->bits == 32 ? (found & 0x7fffffff) > 0x7f800000
                                : (found & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    return found == expected;
}

START_TEST(every_atomic_answers_the_old_value_and_leaves_the_new_one)
{
    struct draft draft;

    begin(&draft);
    for (unsigned i = 0; i < N_ATOMICS * N_SPACES; i++)
        print_atomic(draft.out, i, &atomics[i / N_SPACES], i % N_SPACES,
                     orders[i % 4 == 3 && !strcmp(atomics[i / N_SPACES].operation, "cas") ? 0 : i % 4]);
    end(&draft);
    for (unsigned i = 0; i < N_ATOMICS * N_SPACES; i++) {
        const struct atomic_form *form = &atomics[i / N_SPACES];
        bool has_red = strcmp(form->operation, "cas") != 0 && strcmp(form->operation, "exch") != 0;
        char name[16];

        for (unsigned t = 0; t < LANES; t++) {
            a[t] = operand(t, 1);
            b[t] = t % 3 ? operand(t, 2) : a[t]; /* sometimes equal */
            c[t] = operand(t, 3);
        }
        memset(out, 0, LANES * 32);
        (void)snprintf(name, sizeof name, "k%u", i);
        ck_assert_msg(device_run(&device, name, 1, LANES, "llll", a, b, c, out) == CPU_OK, "%s.%s: %s",
                      form->operation, form->type, device.fault.text);
        for (unsigned t = 0; t < LANES; t++) {
            uint64_t x = low(operand(t, 1), form->bits), y = low(b[t], form->bits), z = low(c[t], form->bits);
            uint64_t once = after(form, x, y, z), twice = has_red ? after(form, once, y, z) : once;

            ck_assert_msg(
                out[t * 4] == x && same(form, out[t * 4 + 1], once) && same(form, out[t * 4 + 2], twice),
                "atom%s.%s.%s of %llx and %llx: %llx, then %llx and %llx; expected %llx, %llx, %llx",
                spaces[i % N_SPACES], form->operation, form->type, (unsigned long long)x,
                (unsigned long long)y, (unsigned long long)out[t * 4], (unsigned long long)out[t * 4 + 1],
                (unsigned long long)out[t * 4 + 2], (unsigned long long)x, (unsigned long long)once,
                (unsigned long long)twice);
        }
    }
    device_close(&device);
}
END_TEST

/* --- loads and stores --- */

static const char *const loads[] = {"u8",  "s8",  "b8",  "u16", "s16", "b16",
                                    "u32", "s32", "b32", "u64", "s64", "b64"};
static const char *const ways[] = {".global",
                                   ".global.nc",
                                   ".global.cg",
                                   ".volatile.global",
                                   ".relaxed.gpu.global",
                                   ".acquire.sys.global",
                                   "",
                                   ".shared",
                                   ".volatile.shared",
                                   ".local"};

enum { N_LOADS = sizeof loads / sizeof loads[0], N_WAYS = sizeof ways / sizeof ways[0] };

static unsigned bits_of(const char *type)
{
    return (unsigned)strtoul(type + 1, NULL, 10);
}

/* The value goes through the space: stored with its width, loaded with its type into 64 bits. */
static void print_load(FILE *text, unsigned number, const char *type, const char *way)
{
    bool is_shared = strstr(way, "shared"), is_local = strstr(way, "local");
    unsigned bits = bits_of(type);
    const char *cell = is_shared ? "[%r7]" : is_local ? "[%x7]" : "[%a]";

    head(text, number);
    fprintf(text,
            "mov.u32 %%r6, cells%u;\nmad.lo.u32 %%r7, %%lane, 16, %%r6;\nmov.u64 %%x7, own%u;\n"
            "ld.global.u64 %%x1, [%%a];\n",
            number, number);
    if (is_shared || is_local)
        fprintf(text, "st.%s.b%u %s, %%x1;\n", is_shared ? "shared" : "local", bits, cell);
    fprintf(text, "ld%s.%s %%x2, %s;\nst.global.u64 [%%o], %%x2;\n", way, type, cell);
    if (bits < 64) /* and into 32 bits */
        fprintf(text, "ld%s.%s %%r1, %s;\nst.global.u32 [%%o+8], %%r1;\n", way, type, cell);
    fprintf(text, "st.global.b%u [%%o+16], %%x1;\nret;\n}\n", bits);
}

START_TEST(loads_extend_by_their_type_and_stores_write_their_width)
{
    struct draft draft;

    begin(&draft);
    for (unsigned i = 0; i < N_LOADS * N_WAYS; i++)
        print_load(draft.out, i, loads[i / N_WAYS], ways[i % N_WAYS]);
    end(&draft);
    for (unsigned i = 0; i < N_LOADS * N_WAYS; i++) {
        const char *type = loads[i / N_WAYS];
        unsigned bits = bits_of(type);
        char name[16];

        for (unsigned t = 0; t < LANES; t++)
            a[t] = operand(t, 1) ^ (t % 2 ? 0x80 : 0x8000);
        memset(out, 0, LANES * 32);
        (void)snprintf(name, sizeof name, "k%u", i);
        ck_assert_msg(device_run(&device, name, 1, LANES, "llll", a, b, c, out) == CPU_OK, "ld%s.%s: %s",
                      ways[i % N_WAYS], type, device.fault.text);
        for (unsigned t = 0; t < LANES; t++) {
            uint64_t x = low(a[t], bits);
            uint64_t wide = type[0] != 's' ? x
                            : bits == 8    ? (uint64_t)(int8_t)x
                                           : (uint64_t)signed_of(x, bits);

            ck_assert_msg(
                out[t * 4] == wide && (bits == 64 || out[t * 4 + 1] == (uint32_t)wide) && out[t * 4 + 2] == x,
                "ld%s.%s of %llx: %llx and %llx, stored %llx; expected %llx", ways[i % N_WAYS], type,
                (unsigned long long)a[t], (unsigned long long)out[t * 4], (unsigned long long)out[t * 4 + 1],
                (unsigned long long)out[t * 4 + 2], (unsigned long long)wide);
        }
    }
    device_close(&device);
}
END_TEST

/* --- warp operations --- */

static const char *const shuffles[] = {"up", "down", "bfly", "idx"};
static const uint32_t bounds[] = {0x1f, 0, 0x1800, 0x181f, 0x1c07, 0x10f, 0x1f1f};

enum { N_BOUNDS = sizeof bounds / sizeof bounds[0] };

/* The pseudocode of the manual. */
static uint32_t shuffle(unsigned mode, uint32_t lane, uint32_t distance, uint32_t bound, uint32_t *ret_lane)
{
    uint32_t segment = bound >> 8 & 31;
    int most = (int)((lane & segment) | (bound & 31 & ~segment));
    int least = (int)(lane & segment);
    int d = (int)(distance & 31);
    int j = mode == 0   ? (int)lane - d
            : mode == 1 ? (int)lane + d
            : mode == 2 ? (int)(lane ^ (uint32_t)d)
                        : (int)((uint32_t)least | ((uint32_t)d & ~segment));
    bool p = mode == 0 ? j >= most : j <= most;

    *ret_lane = p ? (uint32_t)j : lane;
    return p;
}

START_TEST(shuffles_follow_the_manual)
{
    struct draft draft;

    begin(&draft);
    for (unsigned i = 0; i < 4 * N_BOUNDS; i++) {
        head(draft.out, i);
        fprintf(draft.out,
                "ld.global.u32 %%r1, [%%a];\nld.global.u32 %%r2, [%%b];\n"
                "shfl.sync.%s.b32 %%r3|%%p1, %%r1, %%r2, %u, 0xffffffff;\nselp.u32 %%r4, 1, 0, %%p1;\n"
                "st.global.u32 [%%o], %%r3;\nst.global.u32 [%%o+8], %%r4;\nret;\n}\n",
                shuffles[i / N_BOUNDS], bounds[i % N_BOUNDS]);
    }
    end(&draft);
    for (unsigned i = 0; i < 4 * N_BOUNDS; i++)
        for (unsigned d = 0; d < 33; d++) {
            char name[16];

            for (unsigned t = 0; t < LANES; t++) {
                a[t] = 1000 + t;
                b[t] = d;
            }
            memset(out, 0, LANES * 32);
            (void)snprintf(name, sizeof name, "k%u", i);
            ck_assert_int_eq(device_run(&device, name, 1, LANES, "llll", a, b, c, out), CPU_OK);
            for (unsigned t = 0; t < LANES; t++) {
                uint32_t from, flag = shuffle(i / N_BOUNDS, t, d, bounds[i % N_BOUNDS], &from);

                ck_assert_msg(out[t * 4] == 1000 + from && out[t * 4 + 1] == flag,
                              "shfl.%s by %u, bound %x, lane %u: %u and %u, expected %u and %u",
                              shuffles[i / N_BOUNDS], d, bounds[i % N_BOUNDS], t, (unsigned)out[t * 4],
                              (unsigned)out[t * 4 + 1], 1000 + from, flag);
            }
        }
    device_close(&device);
}
END_TEST

static const char *const reductions[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                         "max.s32", "and.b32", "or.b32",  "xor.b32"};

enum { N_REDUCTIONS = sizeof reductions / sizeof reductions[0], N_VOTES = 4, N_MATCHES = 4 };

static uint32_t reduce(unsigned which, uint32_t x, uint32_t y)
{
    switch (which) {
    case 0:
    case 1:
        return x + y;
    case 2:
        return x < y ? x : y;
    case 3:
        return (int32_t)x < (int32_t)y ? x : y;
    case 4:
        return x > y ? x : y;
    case 5:
        return (int32_t)x > (int32_t)y ? x : y;
    case 6:
        return x & y;
    case 7:
        return x | y;
    default:
        return x ^ y;
    }
}

/* Lanes with an even number and the others take different ways: the mask names those of each. */
static void print_parted(FILE *text, unsigned number)
{
    static const char *const votes[N_VOTES] = {"vote.sync.all.pred %p2", "vote.sync.any.pred %p2",
                                               "vote.sync.uni.pred %p2", "vote.sync.ballot.b32 %r4"};
    static const char *const matches[N_MATCHES] = {
        "match.any.sync.b32 %r4, %r1", "match.any.sync.b64 %r4, %x1", "match.all.sync.b32 %r4|%p2, %r1",
        "match.all.sync.b64 %r4|%p2, %x1"};

    head(text, number);
    fputs("ld.global.u64 %x1, [%a];\nld.global.u32 %r1, [%a];\nsetp.lt.s32 %p1, %r1, 0;\nmov.u32 %r4, 0;\n"
          "setp.ne.u32 %p2, %r4, 0;\nand.b32 %r5, %lane, 1;\nsetp.eq.u32 %p3, %r5, 0;\n@%p3 bra EVEN;\n",
          text);
    for (unsigned side = 0; side < 2; side++) {
        const char *mask = side ? "0x55555555" : "0xaaaaaaaa";

        if (number < N_REDUCTIONS)
            fprintf(text, "redux.sync.%s %%r4, %%r1, %s;\n", reductions[number], mask);
        else if (number < N_REDUCTIONS + N_VOTES)
            fprintf(text, "%s, %%p1, %s;\n", votes[number - N_REDUCTIONS], mask);
        else
            fprintf(text, "%s, %s;\n", matches[number - N_REDUCTIONS - N_VOTES], mask);
        fputs(side ? "OUT:\n" : "bra OUT;\nEVEN:\n", text);
    }
    fputs("selp.u32 %r5, 1, 0, %p2;\nst.global.u32 [%o], %r4;\nst.global.u32 [%o+8], %r5;\nret;\n}\n", text);
}

static void expect_parted(unsigned number, unsigned lane, uint32_t *ret_value, uint32_t *ret_flag)
{
    uint32_t value = 0, ballot = 0, mask = lane % 2 ? 0xaaaaaaaa : 0x55555555, equal = 0;
    unsigned v = number - N_REDUCTIONS, m = v - N_VOTES;
    bool is_wide = m % 2;

    for (unsigned t = lane % 2; t < LANES; t += 2) {
        value = t < 2                   ? (uint32_t)a[t]
                : number < N_REDUCTIONS ? reduce(number, value, (uint32_t)a[t])
                                        : value;
        ballot |= (uint32_t)((int32_t)a[t] < 0) << t;
        equal |= (uint32_t)(is_wide ? a[t] == a[lane] : (uint32_t)a[t] == (uint32_t)a[lane]) << t;
    }
    *ret_value = *ret_flag = 0;
    if (number < N_REDUCTIONS)
        *ret_value = value;
    else if (v < N_VOTES)
        *(v == 3 ? ret_value : ret_flag) = v == 0   ? ballot == mask
                                           : v == 1 ? ballot != 0
                                           : v == 2 ? ballot == 0 || ballot == mask
                                                    : ballot;
    else if (m < 2)
        *ret_value = equal;
    else {
        *ret_flag = equal == mask;
        *ret_value = equal == mask ? mask : 0;
    }
}

START_TEST(votes_matches_and_reductions_take_the_lanes_of_their_mask)
{
    struct draft draft;

    begin(&draft);
    for (unsigned i = 0; i < N_REDUCTIONS + N_VOTES + N_MATCHES; i++)
        print_parted(draft.out, i);
    end(&draft);
    for (unsigned i = 0; i < N_REDUCTIONS + N_VOTES + N_MATCHES; i++)
        for (unsigned round = 0; round < 4; round++) {
            char name[16];

            for (unsigned t = 0; t < LANES; t++) /* different, few different, equal per side, all negative */
                a[t] = round == 0   ? operand(t, 1)
                       : round == 1 ? operand(t / 6, 2)
                       : round == 2 ? operand(t % 2, 3)
                                    : UINT64_C(0xfffffff000000000) | 0x80000000U | t;
            memset(out, 0, LANES * 32);
            (void)snprintf(name, sizeof name, "k%u", i);
            ck_assert_int_eq(device_run(&device, name, 1, LANES, "llll", a, b, c, out), CPU_OK);
            for (unsigned t = 0; t < LANES; t++) {
                uint32_t value, flag;

                expect_parted(i, t, &value, &flag);
                ck_assert_msg(out[t * 4] == value && out[t * 4 + 1] == flag,
                              "form %u, round %u, lane %u: %llx and %llx, expected %x and %x", i, round, t,
                              (unsigned long long)out[t * 4], (unsigned long long)out[t * 4 + 1], value,
                              flag);
            }
        }
    device_close(&device);
}
END_TEST

HARNESS_MAIN("cuda_cpu forms", 240, every_atomic_answers_the_old_value_and_leaves_the_new_one,
             loads_extend_by_their_type_and_stores_write_their_width, shuffles_follow_the_manual,
             votes_matches_and_reductions_take_the_lanes_of_their_mask)
