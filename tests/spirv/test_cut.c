/*
 * Rewriting SPIR-V (spirv/spirv_cut.h). The modules are pieces.cl and waits.cl as clang and
 * llvm-spirv 14 made them, without optimisation and with it; tests/spirv/pieces runs what comes
 * out.
 */
#include "base/arena.h"
#include "base/file.h"
#include "harness.h"
#include "spirv/spirv_cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static void cut_file(const char *name, struct spirv_cut *ret_cut)
{
    struct spirv_refusal refusal;
    char path[64];
    size_t length;
    char *bytes;

    (void)snprintf(path, sizeof path, "spirv/%s", name);
    ck_assert_int_eq(file_read(harness_data(path), 1 << 20, &bytes, &length), 0);
    arena_init(&arena, 0);
    ck_assert_msg(spirv_cut(&arena, bytes, length, ret_cut, &refusal) == 0, "%s: %s", name, refusal.reason);
    free(bytes);
}

START_TEST(kernels_that_wait_for_other_groups_run_whole)
{
    static const char *const files[] = {"waits-o0.spv", "waits-o2.spv"};

    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        size_t n_waiting = 0;
        size_t n_free = 0;
        struct spirv_cut cut;

        cut_file(files[f], &cut);
        for (size_t k = 0; k < cut.n_kernels; k++) {
            bool waits = !strncmp(cut.kernels[k].name, "wait_", 5);
            bool is_free = !strncmp(cut.kernels[k].name, "free_", 5);

            ck_assert_msg(!waits || cut.kernels[k].obstacle, "%s: %s is cut", files[f], cut.kernels[k].name);
            ck_assert_msg(!is_free || !cut.kernels[k].obstacle, "%s: %s is whole: %s", files[f],
                          cut.kernels[k].name, cut.kernels[k].obstacle);
            n_waiting += waits;
            n_free += is_free;
        }
        ck_assert_uint_eq(n_waiting, 6);
        ck_assert_uint_eq(n_free, 2);
        arena_done(&arena);
    }
}
END_TEST

START_TEST(a_retry_of_compare_and_exchange_is_cut)
{
    struct spirv_cut cut;

    cut_file("waits-o2.spv", &cut);
    for (size_t k = 0; k < cut.n_kernels; k++)
        if (!strcmp(cut.kernels[k].name, "retry_sum")) {
            ck_assert_ptr_null(cut.kernels[k].obstacle);
            arena_done(&arena);
            return;
        }
    ck_abort_msg("retry_sum is not there");
}
END_TEST

START_TEST(arguments_are_described)
{
    struct spirv_cut cut;

    cut_file("waits-o2.spv", &cut);
    for (size_t k = 0; k < cut.n_kernels; k++)
        if (!strcmp(cut.kernels[k].name, "free_reduce")) {
            ck_assert_uint_eq(cut.kernels[k].n_args, 3);
            ck_assert_int_eq(cut.kernels[k].args[0], SPIRV_MEMORY);
            ck_assert_int_eq(cut.kernels[k].args[2], SPIRV_LOCAL);
        }
    ck_assert(cut.observes_local_size);
    arena_done(&arena);
}
END_TEST

/* A module in the other byte order is the same module. */
START_TEST(either_byte_order_is_read)
{
    struct spirv_refusal refusal;
    struct spirv_cut straight;
    struct spirv_cut swapped;
    struct arena second;
    size_t length;
    char *bytes;

    cut_file("pieces-o2.spv", &straight);
    ck_assert_int_eq(file_read(harness_data("spirv/pieces-o2.spv"), 1 << 20, &bytes, &length), 0);
    for (size_t i = 0; i + 3 < length; i += 4) {
        char word[4];

        memcpy(word, bytes + i, 4);
        for (size_t b = 0; b < 4; b++)
            bytes[i + b] = word[3 - b];
    }
    arena_init(&second, 0);
    ck_assert_int_eq(spirv_cut(&second, bytes, length, &swapped, &refusal), 0);
    ck_assert_uint_eq(swapped.n_words, straight.n_words);
    ck_assert_mem_eq(swapped.words, straight.words, straight.n_words * sizeof *straight.words);
    free(bytes);
    arena_done(&second);
    arena_done(&arena);
}
END_TEST

START_TEST(what_is_no_module_is_refused)
{
    static const uint32_t empty[5] = {SPIRV_MAGIC, 0x10000, 0, 1, 0};
    static const uint32_t huge[5] = {SPIRV_MAGIC, 0x10000, 0, UINT32_MAX, 0};
    static const uint32_t short_one[6] = {SPIRV_MAGIC, 0x10000, 0, 9, 0, 0x00000015};
    struct spirv_refusal refusal;
    struct spirv_cut cut;

    arena_init(&arena, 1 << 24);
    ck_assert_int_eq(spirv_cut(&arena, "kernel void f() {}  ", 20, &cut, &refusal), 1);
    ck_assert_str_eq(refusal.reason, "not SPIR-V");
    ck_assert_int_eq(spirv_cut(&arena, empty, sizeof empty, &cut, &refusal), 1);
    ck_assert_int_eq(spirv_cut(&arena, huge, sizeof huge, &cut, &refusal), 1);
    ck_assert_int_eq(spirv_cut(&arena, short_one, sizeof short_one, &cut, &refusal), 1);
    ck_assert_ptr_nonnull(strstr(refusal.reason, "wrong length"));
    arena_done(&arena);
}
END_TEST

HARNESS_MAIN("spirv", 20, kernels_that_wait_for_other_groups_run_whole,
             a_retry_of_compare_and_exchange_is_cut, arguments_are_described, either_byte_order_is_read,
             what_is_no_module_is_refused)
