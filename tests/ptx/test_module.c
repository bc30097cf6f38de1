/* The reader of PTX: what it understands, and where it says why not. */
#include "harness.h"
#include "ptx/flow_graph.h"
#include "ptx/ptx_module.h"

#include <stdlib.h>
#include <string.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY(x)                                                                                             \
    HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.reg .f32 %f<4>;\n.reg " \
         ".pred %p<2>;\n" x "\nret;\n}\n"
#define BODY_LINE 10 /* of the first statement in ENTRY */

static struct ptx_module module;
static struct input_error error;
static bool refused;

static int read_text(const char *text)
{
    memset(&error, 0, sizeof error);
    return ptx_module_read(&module, "test", text, strlen(text), &refused, &error);
}

static void expect_rejected(const char *text, unsigned line, const char *expected)
{
    int r = read_text(text);

    ck_assert_msg(r == INPUT_REJECTED, "%d for %s", r, text);
    ck_assert_msg(error.line == line && strstr(error.expected, expected),
                  "%u:%u: expected %s, found %s (%u: %s)", error.line, error.column, error.expected,
                  error.found, line, expected);
    ptx_module_done(&module);
}

START_TEST(a_module_is_read_with_its_places)
{
    const struct ptx_routine *f;

    ck_assert_int_eq(
        read_text(
            HEAD
            ".global .align 8 .u64 t[2] = {generic(v)+4, 0x10};\n.global .u32 v = 7;\n"
            ".extern .func (.param .b32 r) g(.param .b64 a);\n"
            ".visible .entry k(.param .u32 n, .param .align 8 .b8 s[12])\n.maxntid 64, 2, 1\n{\n"
            ".reg .b32 %r<3>;\n// a comment\nTOP: ld.param.u32 %r1, [s+4];\n@%p add.s32 %r2, %r1, -3;\n}\n"),
        INPUT_REJECTED); /* %p is not declared */
    ck_assert_uint_eq(error.line, 13);
    ck_assert_uint_eq(error.column, 2);
    ptx_module_done(&module);
    ck_assert_int_eq(read_text(ENTRY("TOP: ld.param.u64 %rd1, [p];\n@!%p1 add.s32 %r2, %r1, -3;\nbra TOP;")),
                     0);
    f = module.routines;
    ck_assert_uint_eq(module.version, 80);
    ck_assert_uint_eq(module.target, 80);
    ck_assert_uint_eq(f->n, 5);
    ck_assert_int_eq(f->statements[0].kind, PTX_STATEMENT_LABEL);
    ck_assert_int_eq(f->statements[1].match.row->family, PTX_LOAD);
    ck_assert_str_eq(f->statements[2].match.function, "add_s32");
    ck_assert(f->statements[2].guard->is_negated);
    ck_assert_uint_eq(f->statements[2].opcode->line, BODY_LINE + 1);
    ck_assert_uint_eq(f->statements[3].operands[0].label, 0);
    ptx_module_done(&module);
}
END_TEST

START_TEST(tokens_give_the_text_back)
{
    static const char text[] =
        ENTRY("add.s32 %r1, %r2, 0x10; /* kept */\nfma.rn.f32 %f1, %f2, 0f3F800000, 1.5;");
    size_t at = 0;

    ck_assert_int_eq(read_text(text), 0);
    for (size_t i = 0; i + 1 < module.source.n; i++) { /* in order, without overlap, each at its line */
        const struct ptx_token *token = &module.source.tokens[i];
        unsigned line = 1;

        ck_assert_uint_ge(token->offset, at);
        at = token->offset + token->length;
        for (size_t k = 0; k < token->offset; k++)
            line += text[k] == '\n';
        ck_assert_uint_eq(line, token->line);
    }
    ptx_module_done(&module);
}
END_TEST

START_TEST(bad_text_is_refused_with_line_and_reason)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *expected;
    } bad[] = {
        {"", 1, ".version"},
        {".version 99.0\n.target sm_80\n", 1, "a PTX version"},
        {".version 8.0\n.target gpu\n", 2, "a target"},
        {HEAD ".address_size 32\n", 4, "a directive"},
        {".version 8.0\n.target sm_80\n.address_size 32\n", 3, "64-bit addresses"},
        {HEAD ".visible .entry k(\n", 5, "a parameter"},
        {HEAD ".visible .entry k() {\nret;\n", 6, "an instruction"},
        {HEAD "/* without an end\n", 4, "an end of the comment"},
        {HEAD ".global .u32 a[99999999999999];\n", 4, "a size from 1"},
        {HEAD ".global .u32 a[2] = {1, 2, 3};\n", 4, "at most 2 values"},
        {HEAD ".global .u32 a;\n.global .u32 a;\n", 5, "not taken"},
        {ENTRY("add.s32 %r1, %r9, 1;"), BODY_LINE, "a declared register"},
        {ENTRY("\nadd.s32 %r1, %rd1, 1;"), BODY_LINE + 1, "type .s32"},
        {ENTRY("add.f32 %f1, %f2, 1;"), BODY_LINE, "type .f32"},
        {ENTRY("add.s33 %r1, %r2, 1;"), BODY_LINE, "can have"},
        {ENTRY("frob.s32 %r1, %r2;"), BODY_LINE, "an instruction"},
        {ENTRY("add.s32 %r1, %r2;"), BODY_LINE, "another operand"},
        {ENTRY("add.s32 %r1, %r2, %r3, %r0;"), BODY_LINE, "no more operands"},
        {ENTRY("bra NOWHERE;"), BODY_LINE, "a declared register, variable, function or label"},
        {ENTRY("A: bra A;\nA: bra A;"), BODY_LINE + 1, "not taken"},
        {ENTRY("ld.global.u32 %r1, [%r2];"), BODY_LINE, "64-bit register"},
        {ENTRY("ld.param.u32 %r1, [p+8];"), BODY_LINE, "an offset within"},
        {ENTRY("call nothing, ();"), BODY_LINE, "a declared function"},
        {ENTRY("mov.u32 %r1, 99999999999999999999;"), BODY_LINE, "64 bits"},
        {ENTRY("mov.f32 %f1, 0f123;"), BODY_LINE, "8 hexadecimal digits"},
        {ENTRY(".reg .b32 %x<99999999>;"), BODY_LINE, "registers"},
        {ENTRY("setp.lo.s32 %p1, %r1, %r2;"), BODY_LINE, "can have"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_rejected(bad[i].text, bad[i].line, bad[i].expected);
}
END_TEST

START_TEST(what_the_device_lacks_is_refused_by_name)
{
    static const char *const texts[] = {
        ENTRY("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%f2}, {%f3}, {%f0};"),
        ENTRY("wgmma.fence.sync.aligned;"),
        ENTRY("cp.async.bulk.commit_group;"),
        ENTRY("mapa.u64 %rd1, %rd2, %r1;"),
        ENTRY("barrier.cluster.arrive;"),
        HEAD ".visible .entry k() .reqnctapercluster 2, 1, 1\n{\nret;\n}\n",
        HEAD ".global .texref t;\n",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ck_assert_msg(read_text(texts[i]) == INPUT_REJECTED && refused, "%s", texts[i]);
        ck_assert_uint_gt(error.line, 3);
        ptx_module_done(&module);
    }
    ck_assert_int_eq(read_text(texts[0]), INPUT_REJECTED);
    ck_assert_msg(strncmp(error.found, "mma.sync.aligned.m16n8k16", 25) == 0, "%s", error.found);
    ptx_module_done(&module);
}
END_TEST

START_TEST(large_and_deep_texts_end)
{
    size_t size = (size_t)100 << 20;
    char *text = malloc(size + 1);

    ck_assert(text != NULL);
    memset(text, ' ', size);
    text[size] = 0;
    ck_assert_int_eq(ptx_module_read(&module, "test", text, size, &refused, &error), INPUT_REJECTED);
    ck_assert_msg(strstr(error.expected, "bytes of PTX") != NULL, "%s", error.expected);
    ptx_module_done(&module);
    size = (size_t)4 << 20;
    memset(text, '{', size); /* nested without end */
    memcpy(text, HEAD ".visible .entry k() ", strlen(HEAD ".visible .entry k() "));
    ck_assert_int_eq(ptx_module_read(&module, "test", text, size, &refused, &error), INPUT_REJECTED);
    ck_assert_msg(strstr(error.expected, "nested") != NULL, "%s", error.expected);
    ptx_module_done(&module);
    free(text);
}
END_TEST

START_TEST(cycles_of_the_graph_are_found)
{
    uint32_t component[16];
    bool cyclic[16];

    ck_assert_int_eq(read_text(ENTRY("mov.u32 %r1, 1;\nA:\nadd.s32 %r1, %r1, 1;\nsetp.lt.s32 %p1, %r1, "
                                     "9;\n@%p1 bra A;\nmov.u32 %r2, 1;")),
                     0);
    ck_assert_int_eq(ptx_components(module.routines, component, cyclic), 0);
    for (size_t i = 0; i < module.routines->n; i++) /* A, add, setp, bra */
        ck_assert_int_eq(cyclic[i], i >= 1 && i <= 4);
    ck_assert_uint_eq(component[1], component[4]);
    ck_assert_uint_ne(component[0], component[1]);
    ptx_module_done(&module);
}
END_TEST

START_TEST(types_and_names_are_those_of_the_table)
{
    /* No row repeats another one: the first would hide the second. */
    for (size_t i = 0; i < ptx_n_rows; i++)
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(strcmp(ptx_rows[i].opcode, ptx_rows[k].opcode) != 0 ||
                              strcmp(ptx_rows[i].modifiers, ptx_rows[k].modifiers) != 0,
                          "%s %s", ptx_rows[i].opcode, ptx_rows[i].modifiers);
    ck_assert(ptx_type_fits(PTX_B32, PTX_F32, false) && ptx_type_fits(PTX_U32, PTX_S32, false) &&
              !ptx_type_fits(PTX_F32, PTX_S32, false));
    ck_assert(ptx_type_fits(PTX_B64, PTX_U8, true) && !ptx_type_fits(PTX_B64, PTX_U8, false) &&
              !ptx_type_fits(PTX_B16, PTX_U32, true));
}
END_TEST

HARNESS_MAIN("ptx", 60, a_module_is_read_with_its_places, tokens_give_the_text_back,
             bad_text_is_refused_with_line_and_reason, what_the_device_lacks_is_refused_by_name,
             large_and_deep_texts_end, cycles_of_the_graph_are_found, types_and_names_are_those_of_the_table)
