/* What is cut and what is not, with reason and line; what siblings look like. */
#include "harness.h"
#include "ptx/cut/ptx_cut.h"
#include "ptx/cut/ptx_piece.h"
#include "ptx/ptx_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD      ".version 8.0\n.target sm_80\n.address_size 64\n"
#define REGISTERS ".reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.reg .f32 %f<8>;\n.reg .pred %p<4>;\n"
#define BODY(x)   "{\n" REGISTERS x "\nret;\n}\n"
#define ENTRY(x)  ".visible .entry k(.param .u64 a, .param .u32 n)\n" BODY(x)
#define KERNEL(x) HEAD ENTRY(x)
#define BODY_LINE 10 /* of the first statement in KERNEL */
#define NUMBER    "mov.u32 %r1, %ctaid.x;\n"

static struct ptx_cut cut;

static const struct ptx_cut_entry *cut_text(const char *text)
{
    ck_assert_int_eq(ptx_cut(text, strlen(text), &cut), 0);
    ck_assert_msg(cut.reason == PTX_CUT, "%u: %s", cut.line, cut.detail);
    ck_assert_uint_gt(cut.n_entries, 0);
    return &cut.entries[cut.n_entries - 1];
}

/* The rewritten text is valid for the device's strict reader; answers its routine of that name. */
static const struct ptx_routine *read_sibling(struct ptx_module *module, const char *name)
{
    struct input_error error = {0};
    bool refused;
    int r = ptx_module_read(module, "cut", cut.text, cut.size, &refused, &error);

    ck_assert_msg(r == 0, "%u: expected %s, found %s in\n%s", error.line, error.expected, error.found,
                  cut.text);
    for (const struct ptx_routine *f = module->routines; f; f = f->next)
        if (ptx_name_is(f->name, name))
            return f;
    ck_abort_msg("no %s in\n%s", name, cut.text);
}

static const struct {
    const char *text;
    enum ptx_whole reason;
    unsigned line;
} whole_cases[] = {
    {KERNEL("\nmov.u32 %r1, %envreg1;"), PTX_WHOLE_GRID_SYNC, BODY_LINE + 1},
    {KERNEL("mov.u32 %r1, %envreg2;"), PTX_WHOLE_GRID_SYNC, BODY_LINE},
    {KERNEL("mov.u64 %d1, %gridid;"), PTX_WHOLE_GRID_ID, BODY_LINE},
    {KERNEL("mov.u32 %r1, %smid;"), PTX_WHOLE_PLACEMENT, BODY_LINE},
    {KERNEL("mov.u32 %r1, %nsmid;"), PTX_WHOLE_PLACEMENT, BODY_LINE},
    {KERNEL("griddepcontrol.wait;"), PTX_WHOLE_DEPENDENT_LAUNCH, BODY_LINE},
    {KERNEL("griddepcontrol.launch_dependents;"), PTX_WHOLE_DEPENDENT_LAUNCH, BODY_LINE},
    {KERNEL("barrier.cluster.arrive;"), PTX_WHOLE_CLUSTERS, BODY_LINE},
    {KERNEL("barrier.cluster.wait.acquire.aligned;"), PTX_WHOLE_CLUSTERS, BODY_LINE},
    {KERNEL("mapa.shared::cluster.u32 %r1, %r2, 1;"), PTX_WHOLE_CLUSTERS, BODY_LINE},
    {KERNEL("getctarank.u64 %r1, %d1;"), PTX_WHOLE_CLUSTERS, BODY_LINE},
    {KERNEL("mov.u32 %r1, %cluster_ctarank;"), PTX_WHOLE_CLUSTERS, BODY_LINE},
    {KERNEL("mov.u32 %r1, %clusterid.x;"), PTX_WHOLE_CLUSTERS, BODY_LINE},
    {KERNEL("ld.shared::cluster.u32 %r1, [%r2];"), PTX_WHOLE_CLUSTERS, BODY_LINE},
    {KERNEL("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];"),
     PTX_WHOLE_CLUSTERS, BODY_LINE},
    {KERNEL("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], "
            "[%d1], 16, [%r2], 3;"),
     PTX_WHOLE_CLUSTERS, BODY_LINE},
    {KERNEL("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], 32;"), PTX_WHOLE_CLUSTERS,
     BODY_LINE},
    {KERNEL("clusterlaunchcontrol.try_cancel.async.b128 [%r1], [%r2];"), PTX_WHOLE_CLUSTERS, BODY_LINE},
    {HEAD ".visible .entry k() .reqnctapercluster 2, 1, 1\n{\nret;\n}\n", PTX_WHOLE_CLUSTERS, 4},
    {HEAD ".visible .entry k() .explicitcluster\n{\nret;\n}\n", PTX_WHOLE_CLUSTERS, 4},
    {KERNEL("multimem.red.global.add.u32 [%d1], %r1;"), PTX_WHOLE_MULTICAST, BODY_LINE},
    {KERNEL("P: .callprototype (.param .b32 _) _ (.param .b64 _);\n{ .param .b64 x; .param .b32 y;\n"
            "call (y), %d1, (x), P; }"),
     PTX_WHOLE_INDIRECT_CALL, BODY_LINE + 2},
    {HEAD ".extern .func f();\n" ENTRY("call f, ();"), PTX_WHOLE_EXTERNAL_CALL, BODY_LINE + 1},
    {KERNEL("call nowhere, ();"), PTX_WHOLE_EXTERNAL_CALL, BODY_LINE},
    {HEAD ".extern .func cudaLaunchDeviceV2();\n" ENTRY("call cudaLaunchDeviceV2, ();"),
     PTX_WHOLE_DEVICE_LAUNCH, BODY_LINE + 1},
    {HEAD ".extern .func cudaCGSynchronizeGrid();\n" ENTRY("call cudaCGSynchronizeGrid, ();"),
     PTX_WHOLE_GRID_SYNC, BODY_LINE + 1},
    {HEAD ".func f()\n" BODY(NUMBER) ENTRY("call f, ();"), PTX_WHOLE_FUNCTION_READS_BLOCK, BODY_LINE},
    {HEAD ".func g()\n" BODY("mov.u32 %r1, %nctaid.y;") ".func f()\n" BODY("call g, ();")
         ENTRY("call f, ();"),
     PTX_WHOLE_FUNCTION_READS_BLOCK, BODY_LINE},
    {HEAD ".func f();\n.func g()\n" BODY("call f, ();") ".func f()\n" BODY("call g, ();")
         ENTRY("call f, ();"),
     PTX_WHOLE_RECURSION, BODY_LINE + 1},
    {KERNEL("mov.v4.u32 {%r1, %r2, %r3, %r4}, %ctaid;"), PTX_WHOLE_BLOCK_NUMBER_FORM, BODY_LINE},
    {KERNEL(".reg .b16 %h;\nmov.u16 %h, %ctaid.x;"), PTX_WHOLE_BLOCK_NUMBER_FORM, BODY_LINE + 1},
    {KERNEL("mov.u32 %r1, %ctaid.w;"), PTX_WHOLE_BLOCK_NUMBER_FORM, BODY_LINE},
    {KERNEL("mov.u32 %r1, %something_new;"), PTX_WHOLE_UNKNOWN, BODY_LINE},
    {KERNEL("synchronise.the.grid;"), PTX_WHOLE_UNKNOWN, BODY_LINE},
    {KERNEL("bra nowhere;"), PTX_WHOLE_UNKNOWN, BODY_LINE},
    {KERNEL(".global .u32 mine;\nst.global.u32 [mine], %r1;"), PTX_WHOLE_OWN_VARIABLES, BODY_LINE},
    {".version 8.0\n.target sm_80\n.address_size 32\n.visible .entry k()\n{\nret;\n}\n", PTX_WHOLE_UNKNOWN,
     4},
};

START_TEST(what_cannot_be_in_a_piece_is_named_with_its_line)
{
    for (size_t i = 0; i < sizeof whole_cases / sizeof whole_cases[0]; i++) {
        const struct ptx_cut_entry *entry = cut_text(whole_cases[i].text);

        ck_assert_msg(entry->reason == whole_cases[i].reason && entry->line == whole_cases[i].line &&
                          entry->detail[0] && !entry->piece_name[0],
                      "%s, line %u (%s) for\n%s", ptx_whole_name(entry->reason), entry->line, entry->detail,
                      whole_cases[i].text);
        ck_assert(ptx_whole_name(entry->reason)[0] && ptx_whole_sentence(entry->reason)[0] &&
                  ptx_whole_help(entry->reason)[0]);
        ck_assert_msg(!cut.text, "%s", cut.text);
        ptx_cut_done(&cut);
    }
}
END_TEST

START_TEST(what_is_new_or_strange_but_harmless_is_cut)
{
    static const char *const texts[] = {
        KERNEL(NUMBER "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2, "
                      "%r3, %r4}, {%r5, %r6}, {%f0, %f1, %f2, %f3};"),
        KERNEL(NUMBER
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d1, %d2, %p1, "
               "1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;"),
        KERNEL(NUMBER "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                      "[%r2], [%d1, {%r1, %r3}], [%r4];"),
        KERNEL(NUMBER "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];"),
        KERNEL(NUMBER "vadd2.s32.s32.s32 %r2, %r3, %r4, %r5;"),
        KERNEL(NUMBER "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;"),
        KERNEL(NUMBER "createpolicy.fractional.L2::evict_last.b64 %d1, 1.0;"),
        KERNEL("cvt.u64.u32 %d1, %ctaid.y;\nmad.lo.u32 %r2, %ctaid.z, %nctaid.x, %r3;"),
        HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n" ENTRY(
            "{ .param .b64 x; .param .b64 y; .param .b32 z; call (z), vprintf, (x, y); }"),
        HEAD ".func f()\n" BODY("mov.u32 %r1, %tid.x;") ENTRY(NUMBER "call f, ();"),
        HEAD ".weak .entry k()\n{\nret;\n}\n",
        HEAD ".entry k\n{\nret;\n}\n",
        HEAD ".visible .entry k()\n.maxntid 128, 2, 1\n.minnctapersm 2\n.maxnreg 40\n{\nret;\n}\n",
        HEAD ".global .texref t;\n.visible .func unused(.param .u32 a) .noreturn\n{\nret;\n}\n.alias b, "
             "unused;\n" ENTRY(NUMBER),
        ".version 6.0\n.target sm_60, texmode_independent\n.address_size 64\n" ENTRY(NUMBER),
        ".version 9.0\n.target sm_120a\n.address_size 64\n" ENTRY(NUMBER),
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct ptx_cut_entry *entry = cut_text(texts[i]);

        ck_assert_msg(entry->reason == PTX_CUT, "%s: %s for\n%s", ptx_whole_name(entry->reason),
                      entry->detail, texts[i]);
        ck_assert_msg(!strncmp(cut.text, texts[i], strlen(texts[i])), "the text comes first:\n%s", cut.text);
        ck_assert_str_eq(entry->piece_name, "k_baton_piece");
        ptx_cut_done(&cut);
    }
}
END_TEST

START_TEST(siblings_keep_parameters_directives_and_linkage)
{
    const struct ptx_cut_entry *entry = cut_text(
        HEAD ".global .u32 shared_by_both = 7;\n.extern .shared .align 16 .b8 dynamic[];\n"
             ".weak .entry k(.param .u64 a, .param .align 8 .b8 s[12], .param .u8 c)\n"
             ".maxntid 64, 2, 1\n.maxnreg 40\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n"
             "mov.u32 %r1, %ctaid.y;\nmov.u32 %r2, %nctaid.z;\nmov.u64 %d1, shared_by_both;\nret;\n}\n");
    const struct ptx_routine *sibling;
    const struct ptx_variable *last;
    struct ptx_module module;

    ck_assert_int_eq(entry->reason, PTX_CUT);
    ck_assert_uint_eq(entry->n_parameters, 3);
    for (size_t i = 0; i < 3; i++) {
        static const struct ptx_cut_parameter expected[] = {{0, 8}, {8, 12}, {20, 1}};

        ck_assert_uint_eq(entry->parameters[i].offset, expected[i].offset);
        ck_assert_uint_eq(entry->parameters[i].size, expected[i].size);
    }
    ck_assert_uint_eq(entry->bytes, 21);        /* 8 + 12 + 1 */
    ck_assert_uint_eq(entry->piece_offset, 24); /* the next multiple of 4 */
    sibling = read_sibling(&module, "k_baton_piece");
    ck_assert_int_eq(sibling->linkage, PTX_WEAK);
    ck_assert_uint_eq(sibling->max_threads[0], 64);
    ck_assert_uint_eq(sibling->max_threads[1], 2);
    ck_assert_uint_eq(sibling->max_registers, 40);
    ck_assert_uint_eq(sibling->n_parameters, 4);
    for (last = sibling->parameters; last->next; last = last->next)
        ;
    ck_assert_uint_eq(last->size, sizeof(struct ptx_piece));
    ck_assert_uint_eq(last->offset, entry->piece_offset);
    ck_assert_uint_eq(module.n_variables, 2); /* as before: nothing was copied */
    ptx_module_done(&module);
    ptx_cut_done(&cut);
}
END_TEST

/*
 * The CPU device tells by registers that are written once which values all threads of a block
 * share.
 */
START_TEST(siblings_write_each_register_once)
{
    const struct ptx_routine *sibling;
    struct ptx_module module;
    unsigned n = 0;

    (void)cut_text(KERNEL("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %ctaid.z;"));
    sibling = read_sibling(&module, "k_baton_piece");
    for (size_t i = 0; i < sibling->n; i++) {
        const struct ptx_statement *one = &sibling->statements[i];

        if (one->n_operands < 2 || one->operands[0].kind != PTX_OP_REGISTER)
            continue;
        n++;
        for (size_t k = i + 1; k < sibling->n; k++) {
            const struct ptx_statement *other = &sibling->statements[k];

            ck_assert_msg(other->n_operands < 2 || other->operands[0].kind != PTX_OP_REGISTER ||
                              other->operands[0].reg != one->operands[0].reg ||
                              other->operands[0].index != one->operands[0].index,
                          "statements %zu and %zu write one register in\n%s", i, k, cut.text);
        }
    }
    ck_assert_uint_ge(n, 3 + 3 + 2 * 8); /* the body's, the block's number, two divisions */
    ptx_module_done(&module);
    ptx_cut_done(&cut);
}
END_TEST

START_TEST(names_that_are_taken_are_avoided)
{
    const struct ptx_cut_entry *entry =
        cut_text(HEAD ".visible .entry k_baton_piece()\n{\nret;\n}\n// _baton_piece1\n"
                      ".visible .entry k()\n{\n.reg .b32 %r1;\nmov.u32 %r1, %ctaid.x;\nret;\n}\n");
    struct ptx_module module;

    ck_assert_str_eq(entry->piece_name, "k_baton_piece2");
    ck_assert_str_eq(cut.entries[0].piece_name, "k_baton_piece_baton_piece2");
    (void)read_sibling(&module, "k_baton_piece2");
    ptx_module_done(&module);
    ptx_cut_done(&cut);
}
END_TEST

START_TEST(parameters_leave_room_for_the_descriptor)
{
    static const struct {
        const char *head;
        unsigned bytes;
        bool fits;
    } cases[] = {
        /* 4096 bytes until PTX 8.0 and sm_60, 32764 from PTX 8.1 and sm_70 on */
        {".version 8.0\n.target sm_80\n.address_size 64\n", 4064, true},
        {".version 8.0\n.target sm_80\n.address_size 64\n", 4065, false},
        {".version 8.1\n.target sm_60\n.address_size 64\n", 4065, false},
        {".version 8.1\n.target sm_70\n.address_size 64\n", 4065, true},
        {".version 8.1\n.target sm_70\n.address_size 64\n", 32732, true},
        {".version 8.1\n.target sm_70\n.address_size 64\n", 32733, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];

        (void)snprintf(text, sizeof text, "%s.visible .entry k(.param .align 1 .b8 p[%u])\n{\nret;\n}\n",
                       cases[i].head, cases[i].bytes);
        ck_assert_int_eq(cut_text(text)->reason, cases[i].fits ? PTX_CUT : PTX_WHOLE_PARAMETERS);
        ptx_cut_done(&cut);
    }
}
END_TEST

/* Debug information names labels and lines of the original: the sibling has none of them. */
START_TEST(debug_information_stays_with_the_original)
{
    struct ptx_module module;

    (void)cut_text(HEAD ".file 1 \"a.cu\"\n.visible .entry k()\n{\n.loc 1 3 0\n.reg .b32 %r1;\n"
                        "$L__func_begin0:\n.loc 1 4 5, function_name $L__tmp1, inlined_at 1 3 2 mov.u32 %r1, "
                        "%ctaid.x;\nbra $L__tmp1;\n$L__tmp1:\n"
                        "ret;\n$L__func_end0:\n}\n"
                        ".section .debug_info\n{\n.b64 $L__func_begin0\n.b64 $L__func_end0\n.b32 "
                        "$L__tmp1\n}\n");
    (void)read_sibling(&module, "k_baton_piece");
    ck_assert_ptr_eq(strstr(strstr(cut.text, "k_baton_piece"), ".loc"), NULL);
    ck_assert_ptr_ne(strstr(cut.text, "mov.u32 %r1, %ctaid_x_baton_piece;"), NULL);
    ck_assert_ptr_ne(strstr(cut.text, "bra $L__tmp1_baton_piece;"), NULL);
    ck_assert_ptr_ne(strstr(cut.text, "$L__func_end0_baton_piece:"), NULL);
    ptx_module_done(&module);
    ptx_cut_done(&cut);
}
END_TEST

START_TEST(entries_of_one_module_are_judged_apart)
{
    (void)cut_text(
        HEAD
        ".func f()\n" BODY(NUMBER) ".visible .entry a()\n" BODY("call f, ();") ".visible .entry b()\n" BODY(
            NUMBER) ".visible .entry c()\n" BODY("mov.u64 %d1, %gridid;") ".visible .entry d()\n" BODY(""));
    ck_assert_uint_eq(cut.n_entries, 4);
    ck_assert_int_eq(ptx_cut_find(&cut, "a")->reason, PTX_WHOLE_FUNCTION_READS_BLOCK);
    ck_assert_int_eq(ptx_cut_find(&cut, "b")->reason, PTX_CUT);
    ck_assert_int_eq(ptx_cut_find(&cut, "c")->reason, PTX_WHOLE_GRID_ID);
    ck_assert_int_eq(ptx_cut_find(&cut, "d")->reason, PTX_CUT);
    ck_assert_ptr_eq(ptx_cut_find(&cut, "f"), NULL);
    ptx_cut_done(&cut);
}
END_TEST

START_TEST(what_is_no_ptx_is_answered)
{
    static const char *const texts[] = {"",
                                        "hello",
                                        ".version",
                                        ".version 8.0",
                                        "\x7f\x45LF",
                                        HEAD ".entry",
                                        HEAD ".visible .entry k(",
                                        KERNEL("add.u32 %r1"),
                                        HEAD "/*"};
    char *large;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t size = i == 7 ? strlen(texts[i]) - 8 : strlen(texts[i]);

        ck_assert_int_eq(ptx_cut(texts[i], size, &cut), 0);
        ck_assert_msg(cut.reason == PTX_WHOLE_UNREADABLE && cut.line > 0 && cut.detail[0] && !cut.text &&
                          !cut.n_entries,
                      "%s", texts[i]);
        ptx_cut_done(&cut);
    }
    large = malloc((size_t)100 << 20);
    ck_assert(large != NULL);
    memset(large, ' ', (size_t)100 << 20);
    ck_assert_int_eq(ptx_cut(large, (size_t)100 << 20, &cut), 0);
    ck_assert_int_eq(cut.reason, PTX_WHOLE_UNREADABLE);
    ptx_cut_done(&cut);
    free(large);
    /* A module without kernels is no error. */
    ck_assert_int_eq(ptx_cut(HEAD, strlen(HEAD), &cut), 0);
    ck_assert(cut.reason == PTX_CUT && !cut.text && !cut.n_entries);
    ptx_cut_done(&cut);
}
END_TEST

/* Sizes at which anything quadratic would not end within the limit of the case. */
START_TEST(large_kernels_are_answered)
{
    struct {
        const char *before, *repeated, *after;
    } shapes[] = {
        {"", "add.u32 %r1, %r1, 1;\n", ""},
        {"L: ", "ld.volatile.global.u32 %r1, [%d1];\nsetp.eq.u32 %p1, %r1, 3;\n@%p1 bra L;\n", ""},
        {"L:\n", "ld.global.u32 %r1, [%d1];\nst.shared.u32 [%r2], %r1;\n",
         "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;"},
        {"", "{\nld.volatile.global.u32 %r1, [%d1];\n}\n", ""},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        size_t room = 400 + 60000 * strlen(shapes[i].repeated);
        char *text = malloc(room);
        size_t n;

        ck_assert(text != NULL);
        n = (size_t)snprintf(text, room, "%s%s",
                             HEAD ".visible .entry k()\n{\n.reg .b32 %r<4>;\n.reg .b64 "
                                  "%d<4>;\n.reg .pred %p<2>;\nst.global.u32 [%d1], %r1;\n",
                             shapes[i].before);
        for (size_t k = 0; k < 60000; k++)
            n += (size_t)snprintf(text + n, room - n, "%s", shapes[i].repeated);
        n += (size_t)snprintf(text + n, room - n, "%s\nret;\n}\n", shapes[i].after);
        ck_assert_int_eq(ptx_cut(text, n, &cut), 0);
        ck_assert_uint_eq(cut.n_entries, 1);
        ptx_cut_done(&cut);
        free(text);
    }
}
END_TEST

HARNESS_MAIN("cut", 60, what_cannot_be_in_a_piece_is_named_with_its_line,
             what_is_new_or_strange_but_harmless_is_cut, siblings_keep_parameters_directives_and_linkage,
             siblings_write_each_register_once, names_that_are_taken_are_avoided,
             parameters_leave_room_for_the_descriptor, debug_information_stays_with_the_original,
             entries_of_one_module_are_judged_apart, what_is_no_ptx_is_answered, large_kernels_are_answered)
