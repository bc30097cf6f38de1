/* PTX: classification, paths, loops, calls, and what is rejected. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "harness.h"
#include "makespan/path/path.h"
#include "makespan/path/units.h"

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"

static int read_text(const char *text, const char *entry, const struct path_bound *bounds, size_t n_bounds,
                     bool first, char **ret_string, struct input_error *ret_error)
{
    struct path_settings settings = {
        .bounds = bounds, .n_bounds = n_bounds, .first_iteration = first, .weight = {1, 0.25, 1, 1}};
    struct kernel kernel = {0};
    int result = path_read("test.ptx", text, strlen(text), entry, &settings, &kernel, ret_error);

    if (result == 0) {
        *ret_string = kernel_format(kernel.units, kernel.n);
        kernel_done(&kernel);
    }
    return result;
}

static void expect(const char *text, const struct path_bound *bounds, size_t n, bool first,
                   const char *string)
{
    struct input_error error = {0};
    char *found = NULL;

    ck_assert_msg(read_text(text, NULL, bounds, n, first, &found, &error) == 0,
                  "%u:%u: expected %s, found %s", error.line, error.column, error.expected, error.found);
    ck_assert_str_eq(found, string);
    free(found);
}

static void expect_rejected(const char *text, const struct path_bound *bounds, size_t n, unsigned line,
                            const char *found)
{
    struct input_error error;
    char *string = NULL;

    ck_assert_int_eq(read_text(text, NULL, bounds, n, false, &string, &error), INPUT_REJECTED);
    ck_assert_uint_eq(error.line, line);
    ck_assert_msg(strstr(error.found, found) != NULL, "expected %s, found %s", error.expected, error.found);
}

START_TEST(instructions_go_to_their_units)
{
    static const struct {
        const char *opcode;
        enum kernel_unit unit;
    } known[] = {
        {"ld.global.v4.f32", UNIT_L},
        {"st.shared.f64", UNIT_L},
        {"ld.param.u64", UNIT_L},
        {"atom.global.add.f64", UNIT_L},
        {"red.global.add.u32", UNIT_L},
        {"tex.2d.v4.f32.f32", UNIT_L},
        {"sin.approx.f32", UNIT_S},
        {"rsqrt.approx.ftz.f32", UNIT_S},
        {"div.rn.f32", UNIT_S},
        {"div.rn.f64", UNIT_D},
        {"fma.rn.f64", UNIT_D},
        {"cvt.f64.f32", UNIT_D},
        {"setp.lt.f64", UNIT_D},
        {"mov.f64", UNIT_C},
        {"mad.lo.s32", UNIT_C},
        {"selp.f32", UNIT_C},
        {"bar.sync", UNIT_C},
        {"wmma.load.a.sync.aligned.row.m16n16k16.f16", UNIT_L},
        {"wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32", UNIT_C},
        {"bra.uni", UNIT_C},
        {"brx.idx", UNIT_C},
        {"call.uni", UNIT_C},
        {"ret", UNIT_C},
    };
    enum kernel_unit unit;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        ck_assert(units_of(known[i].opcode, strlen(known[i].opcode), &unit));
        ck_assert_msg(unit == known[i].unit, "%s", known[i].opcode);
    }
    ck_assert(!units_of("adds.f32", 8, &unit));
    ck_assert(!units_of("", 0, &unit));
}
END_TEST

START_TEST(the_voronoi_kernel_yields_its_string)
{
    /*
     * Counted by hand in voronoi.ptx. Before the loop: 5 parameter loads; 11 C up to the first
     * point's address; load x; sub, cvta; load y; then sub mul fma setp mov bra mov mov = 8 C. One
     * pass: add | load | sub add | load | sub mul fma setp selp selp add setp mov mov bra = 11 C.
     * After it: mad cvta mul add = 4 C, the store, ret. So neighbouring C join: 8 + 1 = 9, 11 + 1 =
     * 12 between passes, 11 + 4 = 15 at the end.
     */
    struct path_bound bound = {.label = "$L__BB0_2", .passes = 3};
    char *text;
    size_t size;

    ck_assert_int_eq(file_read(harness_data("makespan/voronoi.ptx"), 1 << 20, &text, &size), 0);
    expect(text, NULL, 0, true, "5L11CL2CL9CL2CL15CLC");
    expect(text, &bound, 1, false, "5L11CL2CL9CL2CL12CL2CL12CL2CL15CLC");
    expect_rejected(text, NULL, 0, 59, "$L__BB0_2");
    free(text);
}
END_TEST

START_TEST(the_program_of_figure_11_yields_the_string_of_section_VIII)
{
    /*
     * Fig. 11 in PTX that nvcc would accept: the paper writes mov.f32 for what it tags L (x, y, N
     * and the points come from memory). Its string ends with the branch back to the loop, so the
     * rest of the kernel, here one ret, is one C more.
     */
    static const char text[] =
        HEAD ".visible .entry voronoi(.param .u64 a)\n{\n"
             ".reg .pred %p, %q; .reg .f32 %f<9>; .reg .b32 %r<3>;\n"
             "ld.param.u32 %r0, [a]; ld.param.f32 %f1, [a]; ld.param.f32 %f2, [a];\n"
             "ld.global.f32 %f3, [a]; ld.global.f32 %f4, [a];\n"
             "sub.f32 %f5, %f1, %f3; mul.f32 %f6, %f5, %f5; sub.f32 %f7, %f2, %f4;\n"
             "fma.rn.f32 %f8, %f7, %f7, %f6; mov.f32 %f0, %f8; mov.u32 %r1, 1; mov.u32 %r2, 2;\n"
             "Loop: setp.gt.u32 %p, %r2, %r0;\n@%p bra Done;\n"
             "ld.global.f32 %f3, [a]; ld.global.f32 %f4, [a];\n"
             "sub.f32 %f5, %f1, %f3; mul.f32 %f6, %f5, %f5; sub.f32 %f7, %f2, %f4;\n"
             "fma.rn.f32 %f8, %f7, %f7, %f6; setp.ge.f32 %q, %f8, %f0;\n@%q bra If;\n"
             "mov.f32 %f0, %f8; mov.u32 %r1, %r2;\n"
             "If: add.u32 %r2, %r2, 1;\nbra Loop;\nDone: ret;\n}\n";
    struct path_bound bound = {.label = "Loop", .passes = 2};

    /*
     * Two passes of the label: one through the body (7 C + setp bra = 9 C; 2 L; 6 + 2 + 2 = 10 C),
     * then the test that ends it: 2 C, and ret.
     */
    expect(text, &bound, 1, false, "5L9C2L13C");
}
END_TEST

START_TEST(the_heavier_side_of_a_branch_is_taken)
{
    /* Then: two loads (weight 2); else: four C (weight 1). */
    expect(
        HEAD
        ".entry k()\n{\n@%p bra A;\nadd.s32 %r1, %r1, 1; add.s32 %r1, %r1, 1; add.s32 %r1, %r1, 1; bra B;\n"
        "A: ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1];\nB: ret;\n}\n",
        NULL, 0, false, "C2LC");
}
END_TEST

START_TEST(nested_loops_multiply)
{
    /* Outer 2 passes, inner 3: (S (CC)^3 C)^2 with the inner body add + bra, the outer tail bra. */
    struct path_bound bounds[] = {{"OUT", 2}, {"IN", 3}};

    expect(HEAD ".entry k()\n{\nOUT: sin.approx.f32 %f1, %f1;\nIN: add.s32 %r1, %r1, 1;\n@%p bra IN;\n@%q "
                "bra OUT;\nret;\n}\n",
           bounds, 2, false, "S7CS8C");
}
END_TEST

START_TEST(a_loop_may_begin_at_the_first_instruction_and_leave_from_its_middle)
{
    struct path_bound bound = {"TOP", 3};

    /* Passes: ld bra ex2 bra | ld bra ex2 bra | ld bra, then ret. */
    expect(HEAD ".entry k()\n{\nTOP: ld.global.u32 %r1, [%rd1];\n@%p bra END;\nex2.approx.f32 %f1, %f1;\nbra "
                "TOP;\nEND: ret;\n}\n",
           &bound, 1, false, "LCSCLCSCL2C");
}
END_TEST

START_TEST(calls_tables_scopes_and_directives_of_nvcc_are_read)
{
    expect(
        HEAD
        "\t// .globl k\n.extern .shared .align 16 .b8 buffer[];\n.global .align 4 .b8 t[8] = {1, 2, 3, 4};\n"
        ".func (.param .b32 r) helper(.param .b32 a);\n"
        ".visible .entry k(.param .u64 p)\n.maxntid 128, 1, 1\n{\n.loc 1 3 5\n.reg .b32 %r<4>;\n"
        "{ // callseq 0, 0\n.param .b32 p0;\nst.param.b32 [p0+0], %r1;\ncall.uni (r0), \nhelper, "
        "\n(\np0\n);\n"
        "ld.param.b32 %r2, [r0+0];\n} // callseq 0\n"
        "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n"
        "$T: .branchtargets A, B;\nbrx.idx %r1, $T;\n"
        "A: fma.rn.f64 %fd1, %fd1, %fd1, %fd1;\nB: /* a\ncomment */ ret;\n}\n"
        ".func (.param .b32 r) helper(.param .b32 a)\n{\nrcp.rn.f32 %f1, %f1;\nret;\n}\n"
        "\t.section\t.debug_str\n\t{\n$str:\n.b8 65\n}\n",
        NULL, 0, false, "LCSC2LCDC");
}
END_TEST

START_TEST(barriers_of_a_group_end_a_part)
{
    /*
     * Every form without a number of threads; named barriers are alike. One warp's own barrier is
     * none of the group.
     */
    expect(HEAD
           ".entry k()\n{\nld.shared.u32 %r1, [%rd1]; bar.sync 0;\nbarrier.sync "
           "%r1;\nbarrier.cta.sync.aligned 3;\n"
           "sin.approx.f32 %f1, %f1; bar.red.popc.u32 %r1, 0, %p;\nbarrier.cta.red.and.pred %p, 1, !%q;\n"
           "bar.warp.sync -1; ret;\n}\n",
           NULL, 0, false, "LC/C/C/SC/C/2C");
    /* In what is called, and in a loop. */
    expect(HEAD ".func f()\n{\nbar.sync 0;\nret;\n}\n.entry k()\n{\nA: ld.global.u32 %r1, [%rd1];\ncall "
                "f;\n@%p bra A;\nret;\n}\n",
           &(struct path_bound){"A", 2}, 1, false, "L2C/2CL2C/3C");
}
END_TEST

START_TEST(waits_that_the_model_does_not_have_are_rejected)
{
    static const char *const others[] = {"bar.sync 1, 64;",
                                         "barrier.sync 0, %r1;",
                                         "bar.red.popc.u32 %r1, 0, 64, %p;",
                                         "@%p bar.sync 0;",
                                         "bar.arrive 0, 64;",
                                         "barrier.cluster.arrive;",
                                         "barrier.cluster.wait;",
                                         "nanosleep.u32 100;",
                                         "griddepcontrol.wait;",
                                         "setmaxnreg.inc.sync.aligned.u32 64;",
                                         "mbarrier.try_wait.shared::cta.b64 p, [a], b;"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[256];

        (void)snprintf(text, sizeof text, HEAD ".entry k()\n{\n%s\nret;\n}\n", others[i]);
        expect_rejected(text, NULL, 0, 6, "");
    }
}
END_TEST

START_TEST(what_cannot_be_known_is_rejected_with_its_place)
{
    struct path_bound bound = {"NOWHERE", 2};

    expect_rejected("hello", NULL, 0, 1, "hello");
    expect_rejected("", NULL, 0, 1, "the end");
    expect_rejected(HEAD, NULL, 0, 0, "none");
    expect_rejected(HEAD ".entry a()\n{\nret;\n}\n.entry b()\n{\nret;\n}\n", NULL, 0, 0, "several");
    expect_rejected(HEAD ".entry k()\n{\nfrobnicate.u32 %r1;\n}\n", NULL, 0, 6, "frobnicate");
    expect_rejected(HEAD ".entry k()\n{\nbra MISSING;\n}\n", NULL, 0, 6, "MISSING");
    expect_rejected(HEAD ".entry k()\n{\ncall f, ();\nret;\n}\n", NULL, 0, 6, "f");
    expect_rejected(HEAD ".entry k()\n{\ncall (r), %rd1, (p), proto;\nret;\n}\n", NULL, 0, 6, "%rd1");
    expect_rejected(HEAD ".func f()\n{\ncall f;\nret;\n}\n.entry k()\n{\ncall f;\nret;\n}\n", NULL, 0, 4,
                    "f");
    expect_rejected(HEAD ".entry k()\n{\nA: add.u32 %r1, %r1, 1;\nbra A;\n}\n", &(struct path_bound){"A", 3},
                    1, 4, "k");
    expect_rejected(HEAD ".entry k()\n{\nA: ret;\nA: ret;\n}\n", NULL, 0, 7, "A again");
    expect_rejected(HEAD ".entry k()\n{\nret;\n", NULL, 0, 7, "the end");
    expect_rejected(HEAD ".entry k()\n{\nret;\n}\n", &bound, 1, 0, "none");
    /* Two ways into one loop: A from above, B from the branch. */
    expect_rejected(
        HEAD
        ".entry k()\n{\n@%p bra B;\nA: add.u32 %r1, %r1, 1;\nB: add.u32 %r1, %r1, 1;\n@%q bra A;\nret;\n}\n",
        &(struct path_bound){"A", 3}, 1, 8, "B");
    /* 2,000,000 instructions. */
    expect_rejected(HEAD ".entry k()\n{\nA: add.u32 %r1, %r1, 1;\n@%p bra A;\nret;\n}\n",
                    &(struct path_bound){"A", 1000000}, 1, 4, "k");
}
END_TEST

HARNESS_MAIN("makespan ptx", 60, instructions_go_to_their_units, the_voronoi_kernel_yields_its_string,
             the_program_of_figure_11_yields_the_string_of_section_VIII,
             the_heavier_side_of_a_branch_is_taken, nested_loops_multiply,
             a_loop_may_begin_at_the_first_instruction_and_leave_from_its_middle,
             calls_tables_scopes_and_directives_of_nvcc_are_read, barriers_of_a_group_end_a_part,
             waits_that_the_model_does_not_have_are_rejected, what_cannot_be_known_is_rejected_with_its_place)
