/* Cutting from the application's side: the child process, the cache on disk, hostile texts. */
#include "base/file.h"
#include "harness.h"
#include "translate/translate_cut.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static const char simple[] = HEAD ".visible .entry k(.param .u64 a)\n{\n.reg .b32 %r1;\nmov.u32 %r1, "
                                  "%ctaid.x;\nret;\n}\n.visible .entry w()\n{\n.reg .b32 %r1;\nmov.u32 %r1, "
                                  "%envreg1;\nret;\n}\n";

static char folder[64];

static void fresh_cache(void)
{
    harness_folder(folder);
    ck_assert_int_eq(setenv("BATON_CACHE_DIR", folder, 1), 0);
}

static bool cut_it(const char *text, size_t size, struct ptx_cut *ret_cut)
{
    bool from_cache = false;

    ck_assert_int_eq(translate_cut(text, size, ret_cut, &from_cache), 0);
    return from_cache;
}

static void expect_simple(const struct ptx_cut *cut)
{
    struct ptx_cut direct;

    ck_assert_int_eq(cut->reason, PTX_CUT);
    ck_assert_uint_eq(cut->n_entries, 2);
    ck_assert_str_eq(cut->entries[0].name, "k");
    ck_assert_str_eq(cut->entries[0].piece_name, "k_baton_piece");
    ck_assert_uint_eq(cut->entries[0].piece_offset, 8);
    ck_assert_uint_eq(cut->entries[0].n_parameters, 1);
    ck_assert_uint_eq(cut->entries[0].parameters[0].offset, 0);
    ck_assert_uint_eq(cut->entries[0].parameters[0].size, 8);
    ck_assert_int_eq(cut->entries[1].reason, PTX_WHOLE_GRID_SYNC);
    ck_assert_uint_eq(cut->entries[1].line, 13);
    ck_assert_int_eq(ptx_cut(simple, strlen(simple), &direct), 0);
    ck_assert_uint_eq(direct.size, cut->size);
    ck_assert_str_eq(direct.text, cut->text);
    ptx_cut_done(&direct);
}

START_TEST(a_second_answer_comes_from_the_cache_and_is_equal)
{
    struct ptx_cut first;
    struct ptx_cut second;

    fresh_cache();
    ck_assert(!cut_it(simple, strlen(simple), &first));
    expect_simple(&first);
    ck_assert(cut_it(simple, sizeof simple, &second)); /* a 0 at the end makes no other text */
    expect_simple(&second);
    ptx_cut_done(&first);
    ptx_cut_done(&second);
}
END_TEST

/* The one entry of the cache. */
static void find_entry(char path[static 512])
{
    DIR *dir;
    const struct dirent *at;

    (void)snprintf(path, 512, "%s/translate", folder);
    dir = opendir(path);
    ck_assert(dir != NULL);
    while ((at = readdir(dir))) /* NOLINT(concurrency-mt-unsafe): a stream of our own */
        if (strlen(at->d_name) == 64)
            (void)snprintf(path, 512, "%s/translate/%s", folder, at->d_name);
    (void)closedir(dir);
}

static void write_entry(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "w");

    ck_assert(file != NULL);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(an_entry_that_is_damaged_anywhere_is_made_again)
{
    struct ptx_cut cut;
    char path[512];
    char *bytes;
    size_t n;

    fresh_cache();
    ck_assert(!cut_it(simple, strlen(simple), &cut));
    ptx_cut_done(&cut);
    find_entry(path);
    ck_assert_int_eq(file_read(path, 1 << 20, &bytes, &n), 0);
    for (size_t i = 0; i < 24; i++) {
        size_t at = i * (n - 1) / 23;
        char old = bytes[at];

        bytes[at] = (char)(old ^ 0x20);
        write_entry(path, bytes, i % 3 == 2 ? at : n); /* changed, or cut off there */
        bytes[at] = old;
        ck_assert(!cut_it(simple, strlen(simple), &cut));
        expect_simple(&cut);
        ptx_cut_done(&cut);
    }
    ck_assert(cut_it(simple, strlen(simple), &cut));
    ptx_cut_done(&cut);
    free(bytes);
}
END_TEST

START_TEST(a_missing_failing_or_babbling_translator_is_a_reason)
{
    static const char *const programs[] = {"/nonexistent/baton-cut", "/bin/false", "/bin/cat", "/bin/echo"};

    fresh_cache();
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        struct ptx_cut cut;

        ck_assert_int_eq(setenv("BATON_CUT", programs[i], 1), 0);
        ck_assert(!cut_it(simple, strlen(simple), &cut));
        ck_assert_msg(cut.reason == PTX_WHOLE_TRANSLATOR && cut.detail[0] && !cut.n_entries && !cut.text,
                      "%s", programs[i]);
        ptx_cut_done(&cut);
    }
}
END_TEST

/* Passes so much of the answer on, and dies. */
static void write_dying_translator(const char *path, const char *real, size_t n)
{
    FILE *script = fopen(path, "w");

    ck_assert(script != NULL);
    (void)fprintf(script, "#!/bin/sh\n'%s' | head -c %zu\nkill -KILL $$\n", real, n);
    ck_assert_int_eq(fclose(script), 0);
    ck_assert_int_eq(chmod(path, 0700), 0);
}

START_TEST(a_translator_that_is_killed_in_its_answer_is_a_reason_and_not_kept)
{
    char path[512], script[96];
    char *real = strdup(getenv("BATON_CUT"));
    struct ptx_cut cut;
    size_t n;
    char *bytes;

    fresh_cache();
    ck_assert(!cut_it(simple, strlen(simple), &cut));
    ptx_cut_done(&cut);
    find_entry(path);
    ck_assert_int_eq(file_read(path, 1 << 20, &bytes, &n), 0); /* an entry is an answer */
    free(bytes);
    fresh_cache();
    (void)snprintf(script, sizeof script, "%s/cut", folder);
    ck_assert_int_eq(setenv("BATON_CUT", script, 1), 0);
    for (size_t i = 0; i < 8; i++) {
        write_dying_translator(script, real, i * (n - 1) / 7);
        ck_assert(!cut_it(simple, strlen(simple), &cut));
        ck_assert_msg(cut.reason == PTX_WHOLE_TRANSLATOR && cut.detail[0] && !cut.n_entries && !cut.text,
                      "%zu of %zu bytes", i * (n - 1) / 7, n);
        ptx_cut_done(&cut);
    }
    ck_assert_int_eq(setenv("BATON_CUT", real, 1), 0);
    ck_assert(!cut_it(simple, strlen(simple), &cut));
    expect_simple(&cut);
    ptx_cut_done(&cut);
    free(real);
}
END_TEST

START_TEST(without_a_cache_folder_the_answer_is_the_same)
{
    struct ptx_cut cut;

    ck_assert_int_eq(setenv("BATON_CACHE_DIR", "/proc/nothing", 1), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert(!cut_it(simple, strlen(simple), &cut));
        expect_simple(&cut);
        ptx_cut_done(&cut);
    }
}
END_TEST

/* An answer, whatever the text: with a reason when it cannot be read or takes too much. */
static void expect_answer(const char *what, const char *text, size_t size)
{
    struct ptx_cut cut;

    (void)cut_it(text, size, &cut);
    ck_assert_msg(cut.reason != PTX_CUT && cut.detail && !cut.text, "%s", what);
    ptx_cut_done(&cut);
}

START_TEST(hostile_texts_are_answered)
{
    static const char open[] = HEAD ".visible .entry k()\n{\n";
    static const char label[4] = {'L', ':', 'a', ';'};
    size_t size = (size_t)100 << 20;
    char *text = malloc(size);
    unsigned seed = 1;

    fresh_cache();
    ck_assert(text != NULL);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)((seed = seed * 1103515245U + 12345) >> 16);
    expect_answer("100 MB of noise", text, size);
    size = (size_t)16 << 20; /* within the limit of a text: nothing but tokens */
    memset(text, ';', size);
    memcpy(text, open, sizeof open - 1);
    expect_answer("16 MB of semicolons", text, size);
    for (size_t i = strlen(open); i + 4 <= size; i += 4)
        memcpy(text + i, label, sizeof label);
    expect_answer("the same label a million times", text, size);
    memset(text + strlen(open), '{', size - strlen(open));
    expect_answer("braces without end", text, size);
    for (size_t n = 0; n < sizeof simple - 1; n += 31) {
        struct ptx_cut cut;

        (void)cut_it(simple, n, &cut);
        ptx_cut_done(&cut);
    }
    free(text);
}
END_TEST

HARNESS_MAIN("cut translate", 120, a_second_answer_comes_from_the_cache_and_is_equal,
             an_entry_that_is_damaged_anywhere_is_made_again,
             a_missing_failing_or_babbling_translator_is_a_reason,
             a_translator_that_is_killed_in_its_answer_is_a_reason_and_not_kept,
             without_a_cache_folder_the_answer_is_the_same, hostile_texts_are_answered)
