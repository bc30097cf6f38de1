#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/draft.h"
#include "base/file.h"
#include "base/input_error.h"
#include "base/list.h"
#include "base/patience.h"
#include "base/random.h"
#include "harness.h"

START_TEST(arena_blocks_are_zeroed_aligned_and_apart)
{
    struct arena arena;
    unsigned char *previous = NULL;

    arena_init(&arena, 0);
    for (size_t size = 1; size < 200000; size = size * 3 + 1) {
        unsigned char *block = arena_calloc(&arena, 1, size);

        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % sizeof(long double), 0);
        for (size_t i = 0; i < size; i++)
            ck_assert_uint_eq(block[i], 0);
        memset(block, 0xff, size);
        ck_assert_ptr_ne(block, previous);
        previous = block;
    }
    arena_done(&arena);
}
END_TEST

START_TEST(arena_answers_null_past_its_limit_and_on_overflow)
{
    struct arena arena;

    arena_init(&arena, 1000);
    ck_assert_ptr_nonnull(arena_calloc(&arena, 1, 900));
    ck_assert_ptr_null(arena_calloc(&arena, 1, 200));
    ck_assert_ptr_nonnull(arena_calloc(&arena, 1, 10));
    ck_assert_ptr_null(arena_calloc(&arena, SIZE_MAX, 2));
    ck_assert_ptr_null(arena_calloc(&arena, SIZE_MAX, 1));
    arena_done(&arena);
}
END_TEST

START_TEST(random_numbers_repeat_for_a_seed_and_differ_between_streams)
{
    struct random_state a;
    struct random_state b;
    struct random_state c;
    int same = 0;

    random_init(&a, 7, 0);
    random_init(&b, 7, 0);
    random_init(&c, 7, 1);
    for (int i = 0; i < 100; i++) {
        uint64_t x = random_u64(&a);

        ck_assert_uint_eq(x, random_u64(&b));
        same += x == random_u64(&c);
    }
    ck_assert_int_eq(same, 0);
}
END_TEST

START_TEST(random_below_is_uniform)
{
    /*
     * Chi-squared with 9 degrees of freedom: 27.9 is exceeded with probability 0.001; the seed is
     * fixed.
     */
    struct random_state state;
    unsigned counts[10] = {0};
    double chi = 0;

    random_init(&state, 1, 0);
    for (int i = 0; i < 100000; i++)
        counts[random_below(&state, 10)]++;
    for (int i = 0; i < 10; i++)
        chi += (counts[i] - 10000.0) * (counts[i] - 10000.0) / 10000.0;
    ck_assert_double_lt(chi, 27.9);
}
END_TEST

START_TEST(random_below_a_number_that_does_not_divide_the_range_is_uniform_too)
{
    /*
     * Below 3 * 2^62 the scaling alone maps two of four neighbours to multiples of 3: a half of
     * all, where a third is right.
     */
    struct random_state state;
    unsigned multiples = 0;

    random_init(&state, 1, 0);
    for (int i = 0; i < 30000; i++)
        multiples += random_below(&state, UINT64_C(3) << 62) % 3 == 0;
    ck_assert_uint_gt(multiples, 9500);
    ck_assert_uint_lt(multiples, 10500);
}
END_TEST

START_TEST(random_between_covers_both_ends_and_the_whole_range)
{
    struct random_state state;
    int low = 0;
    int high = 0;

    random_init(&state, 1, 0);
    for (int i = 0; i < 1000; i++) {
        int64_t x = random_between(&state, -2, 2);

        ck_assert_int_ge(x, -2);
        ck_assert_int_le(x, 2);
        low += x == -2;
        high += x == 2;
    }
    ck_assert_int_gt(low, 0);
    ck_assert_int_gt(high, 0);
    (void)random_between(&state, INT64_MIN, INT64_MAX);
}
END_TEST

struct item {
    struct list link;
    int value;
};

START_TEST(a_list_keeps_order_and_removal_is_harmless_twice)
{
    struct list head;
    struct item items[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
    int sum = 0;
    int expected = 1;

    list_init(&head);
    for (int i = 0; i < 3; i++)
        list_append(&head, &items[i].link);
    list_for_each(at, &head) ck_assert_int_eq(list_entry(at, struct item, link)->value, expected++);
    list_remove(&items[1].link);
    list_remove(&items[1].link);
    list_for_each_safe(at, after, &head)
    {
        sum += list_entry(at, struct item, link)->value;
        list_remove(at);
    }
    ck_assert_int_eq(sum, 4);
    ck_assert(list_empty(&head));
}
END_TEST

START_TEST(a_rejection_prints_where_what_was_expected_and_what_was_found)
{
    struct input_error error;
    char text[512];

    ck_assert_int_eq(input_reject(&error, "a.yaml", 3, 7, "x\ny", "a number above %d", 0), INPUT_REJECTED);
    input_error_format(&error, text, sizeof text);
    ck_assert_str_eq(text, "a.yaml:3:7: expected a number above 0, found x?y");
}
END_TEST

static void in_scratch(char folder[64])
{
    harness_folder(folder);
    ck_assert_int_eq(chdir(folder), 0);
}

START_TEST(a_file_is_replaced_whole_and_keeps_its_mode)
{
    char folder[64];
    struct stat status;
    char *text;
    size_t size;

    in_scratch(folder);
    ck_assert_int_eq(file_write_atomic("f", "old", 3), 0);
    ck_assert_int_eq(chmod("f", 0640), 0);
    ck_assert_int_eq(file_write_atomic("f", "newer", 5), 0);
    ck_assert_int_eq(stat("f", &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0640);
    ck_assert_int_eq(file_read("f", 100, &text, &size), 0);
    ck_assert_uint_eq(size, 5);
    ck_assert_str_eq(text, "newer");
    free(text);
    unlink("f");
    rmdir(folder);
}
END_TEST

START_TEST(a_failed_write_leaves_the_old_file_and_nothing_else)
{
    char folder[64];
    struct rlimit limit = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
    char *text;
    size_t size;

    in_scratch(folder);
    ck_assert_int_eq(file_write_atomic("f", "old", 3), 0);
    /*
     * The nearest thing to a full disk that a test may make: no file of this process may pass 10
     * bytes.
     */
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    ck_assert_int_eq(file_write_atomic("f", "longer than ten bytes", 21), -EFBIG);
    ck_assert_int_eq(file_read("f", 100, &text, &size), 0);
    ck_assert_str_eq(text, "old");
    free(text);
    unlink("f");
    ck_assert_int_eq(rmdir(folder), 0); /* fails if a temporary file were left */
}
END_TEST

START_TEST(an_output_is_checked_before_there_is_anything_to_write)
{
    char folder[] = "/tmp/baton-base-XXXXXX";
    char *text;
    size_t size;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(file_check_output("none/f"), -ENOENT);
    ck_assert_int_eq(file_check_output("."), -EISDIR);
    ck_assert_int_eq(file_check_output("-"), 0);
    ck_assert_int_eq(file_check_output("/dev/null"), 0);
    ck_assert_int_eq(file_check_output("f"), 0);
    ck_assert_int_eq(file_write_atomic("g", "old", 3), 0);
    ck_assert_int_eq(file_check_output("g"), 0);
    ck_assert_int_eq(file_read("g", 100, &text, &size), 0);
    ck_assert_str_eq(text, "old");
    free(text);
    ck_assert_int_eq(unlink("g"), 0);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing else was in it */
}
END_TEST

START_TEST(reading_stops_at_the_limit_and_says_why)
{
    char folder[64];
    char *text;
    size_t size;

    in_scratch(folder);
    ck_assert_int_eq(file_write_atomic("f", "12345", 5), 0);
    ck_assert_int_eq(file_read("f", 5, &text, &size), 0);
    free(text);
    ck_assert_int_eq(file_read("f", 4, &text, &size), -EFBIG);
    ck_assert_int_eq(file_read("absent", 4, &text, &size), -ENOENT);
    ck_assert_int_eq(file_read("/dev/zero", 1 << 20, &text, &size), -EFBIG);
    unlink("f");
    rmdir(folder);
}
END_TEST

START_TEST(a_new_file_gets_the_mode_that_the_umask_leaves)
{
    char folder[64];
    struct stat status;

    in_scratch(folder);
    (void)umask(027);
    ck_assert_int_eq(file_write_atomic("f", "text", 4), 0);
    ck_assert_int_eq(stat("f", &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0640);
    unlink("f");
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(what_a_crash_left_behind_does_not_stand_in_the_way)
{
    char folder[64];
    char left[64];
    char *text;
    size_t size;

    in_scratch(folder);
    (void)snprintf(left, sizeof left, "f.%ld-0", (long)getpid());
    ck_assert_int_eq(symlink("elsewhere", left), 0); /* nor is it followed */
    ck_assert_int_eq(file_write_atomic("f", "text", 4), 0);
    ck_assert_int_eq(file_read("f", 100, &text, &size), 0);
    ck_assert_str_eq(text, "text");
    ck_assert_int_eq(access("elsewhere", F_OK), -1);
    free(text);
    unlink("f");
    unlink(left);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(a_draft_becomes_a_file_only_when_it_is_whole)
{
    char folder[64];
    struct draft draft;
    char *text = NULL;
    size_t size;

    in_scratch(folder);
    ck_assert_int_eq(draft_begin(&draft), 0);
    (void)fprintf(draft.out, "half");
    ck_assert_int_eq(draft_finish(&draft, "f", -EIO), -EIO);
    ck_assert_int_eq(file_read("f", 100, &text, &size), -ENOENT);
    ck_assert_int_eq(draft_begin(&draft), 0);
    (void)fprintf(draft.out, "whole");
    ck_assert_int_eq(draft_finish(&draft, "f", 0), 0);
    ck_assert_uint_eq(draft.size, 5);
    ck_assert_int_eq(file_read("f", 100, &text, &size), 0);
    ck_assert_str_eq(text, "whole");
    free(text);
    unlink("f");
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(a_draft_can_be_taken_or_dropped)
{
    struct draft draft;
    char *text = NULL;
    size_t size = 0;

    ck_assert_int_eq(draft_begin(&draft), 0);
    (void)fprintf(draft.out, "words");
    ck_assert_int_eq(draft_take(&draft, 0, &text, &size), 0);
    ck_assert_str_eq(text, "words");
    ck_assert_uint_eq(size, 5);
    free(text);
    text = NULL;
    ck_assert_int_eq(draft_begin(&draft), 0);
    ck_assert_int_eq(draft_take(&draft, -EPERM, &text, &size), -EPERM);
    ck_assert_ptr_null(text);
    draft_drop(&draft); /* has ended: nothing happens */
    ck_assert_int_eq(draft_begin(&draft), 0);
    draft_drop(&draft);
    ck_assert_ptr_null(draft.out);
}
END_TEST

START_TEST(limits_of_time_are_multiplied_by_a_whole_number_that_a_test_gives)
{
    static const char *const refused[] = {"", "0", "1", "-3", "1001", "3x", "2.5", "many"};

    ck_assert_int_eq(unsetenv("BATON_TEST_PATIENCE"), 0);
    ck_assert_int_eq(patience_limit(7), 7);
    ck_assert_int_eq(setenv("BATON_TEST_PATIENCE", "3", 1), 0);
    ck_assert_int_eq(patience_limit(7), 21);
    ck_assert_int_eq(patience_limit(0), 0);
    ck_assert_int_eq(setenv("BATON_TEST_PATIENCE", "1000", 1), 0);
    ck_assert_int_eq(patience_limit(7), 7000);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ck_assert_int_eq(setenv("BATON_TEST_PATIENCE", refused[i], 1), 0);
        ck_assert_int_eq(patience_limit(7), 7);
    }
}
END_TEST

HARNESS_MAIN("base", 20, arena_blocks_are_zeroed_aligned_and_apart,
             arena_answers_null_past_its_limit_and_on_overflow,
             random_numbers_repeat_for_a_seed_and_differ_between_streams, random_below_is_uniform,
             random_below_a_number_that_does_not_divide_the_range_is_uniform_too,
             random_between_covers_both_ends_and_the_whole_range,
             a_list_keeps_order_and_removal_is_harmless_twice,
             a_rejection_prints_where_what_was_expected_and_what_was_found,
             a_file_is_replaced_whole_and_keeps_its_mode, a_failed_write_leaves_the_old_file_and_nothing_else,
             a_new_file_gets_the_mode_that_the_umask_leaves,
             what_a_crash_left_behind_does_not_stand_in_the_way, a_draft_becomes_a_file_only_when_it_is_whole,
             a_draft_can_be_taken_or_dropped, an_output_is_checked_before_there_is_anything_to_write,
             reading_stops_at_the_limit_and_says_why,
             limits_of_time_are_multiplied_by_a_whole_number_that_a_test_gives)
