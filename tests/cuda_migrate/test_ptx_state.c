/* Which PTX leaves something behind on a GPU besides what is in the memory that it is given. */
#include <string.h>

#include "cuda/migrate/code.h"
#include "harness.h"

#define HEAD  ".version 7.0\n.target sm_80\n.address_size 64\n"
#define ENTRY ".visible .entry e(.param .u64 .ptr .global .align 4 p)\n{\n .reg .b32 %r<2>;\n ret;\n}\n"

START_TEST(kernels_of_parameters_leave_nothing)
{
    ck_assert_ptr_null(ptx_state(HEAD ENTRY));
    ck_assert_ptr_null(ptx_state(HEAD ".const .align 4 .u32 c = 3;\n" ENTRY));
    ck_assert_ptr_null(ptx_state(HEAD ".shared .align 4 .b8 s[64];\n.extern .shared .b8 d[];\n" ENTRY));
    ck_assert_ptr_null(ptx_state(HEAD ".weak .entry w(.param .u32 n)\n{ ret; }\n"));
    ck_assert_ptr_null(ptx_state(HEAD ".func (.reg .b32 r) f(.reg .b32 a)\n{ ret; }\n" ENTRY));
    ck_assert_ptr_null(ptx_state(HEAD "// .global .u32 x;\n/* .global .u32 y; */" ENTRY));
    ck_assert_ptr_null(ptx_state(HEAD ".visible .entry e()\n{\n ld.global.u32 %r1, [%rd1];\n ret;\n}\n"));
    ck_assert_ptr_null(ptx_state(HEAD ".file 1 \"a.global .global x;\"\n" ENTRY));
}
END_TEST

START_TEST(variables_functions_and_textures_are_state)
{
    ck_assert_ptr_nonnull(ptx_state(HEAD ".global .align 4 .u32 counter = 7;\n" ENTRY));
    ck_assert_ptr_nonnull(ptx_state(HEAD ENTRY ".visible .global .align 8 .b8 table[16];\n"));
    ck_assert_ptr_nonnull(ptx_state(HEAD ".global .attribute(.managed) .u32 m;\n" ENTRY));
    ck_assert_ptr_nonnull(ptx_state(HEAD ".weak .global .u32 w;\n" ENTRY));
    ck_assert_ptr_nonnull(ptx_state(HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 a);\n" ENTRY));
    ck_assert_ptr_nonnull(ptx_state(HEAD ".extern .const .align 4 .u32 c;\n" ENTRY));
    ck_assert_ptr_nonnull(ptx_state(HEAD ".global .texref t;\n" ENTRY));
    ck_assert_ptr_nonnull(ptx_state(HEAD ".tex .u32 t;\n" ENTRY));
}
END_TEST

START_TEST(what_cannot_be_read_is_state)
{
    ck_assert_ptr_nonnull(ptx_state(HEAD ".visible .entry e()\n{\n ret;\n"));
    ck_assert_ptr_nonnull(ptx_state(HEAD "}\n" ENTRY));
    ck_assert_ptr_nonnull(ptx_state(HEAD ENTRY "/* no end"));
    ck_assert_ptr_nonnull(ptx_state(HEAD ENTRY ".file 1 \"no end"));
    ck_assert_ptr_nonnull(ptx_state(HEAD ".file 1 \"a\\\"b\"\n.global .u32 x;\n.file 2 \"c\"\n" ENTRY));
    ck_assert(!ptx_is("\177ELF"));
    ck_assert(!ptx_is(""));
    ck_assert(ptx_is("// a comment\n" HEAD));
}
END_TEST

HARNESS_MAIN("ptx state", 10, kernels_of_parameters_leave_nothing, variables_functions_and_textures_are_state,
             what_cannot_be_read_is_state)
