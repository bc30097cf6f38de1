/* The cache of rewritten programs: hits, damage, headers, folders, pruning, sharing. */
#include "asking.h"
#include "harness.h"
#include "translate/cache.h"
#include "translate/child.h"
#include "translate/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

START_TEST(a_second_translation_comes_from_the_cache_and_is_equal)
{
    struct translate_result first;
    struct translate_result second;
    char path[768];

    fresh_cache();
    ck_assert_int_eq(translate_text(simple, "-cl-mad-enable -DX=1", &first), 0);
    ck_assert_int_eq(translate_text(simple, "-cl-mad-enable -DX=1", &second), 0);
    ck_assert(!first.from_cache);
    ck_assert(second.from_cache);
    ck_assert_str_eq(first.source, second.source);
    ck_assert_str_eq(second.options, "-cl-mad-enable -w");
    ck_assert_uint_eq(second.n_kernels, 1);
    ck_assert_uint_eq(translate_find(&second, "k")->n_args, 1);
    ck_assert_uint_eq(entries(path, sizeof path), 1);
    translate_result_done(&first);
    translate_result_done(&second);
}
END_TEST

START_TEST(other_options_or_text_are_other_entries)
{
    struct translate_result result;
    char path[768];

    fresh_cache();
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    translate_result_done(&result);
    ck_assert_int_eq(translate_text(simple, "-DX", &result), 0);
    ck_assert(!result.from_cache);
    translate_result_done(&result);
    ck_assert_int_eq(translate_text("__kernel void other(void) {}", "", &result), 0);
    ck_assert(!result.from_cache);
    translate_result_done(&result);
    ck_assert_uint_eq(entries(path, sizeof path), 3);
}
END_TEST

START_TEST(an_entry_damaged_or_cut_at_any_byte_is_made_again)
{
    struct translate_result result;
    char path[768];
    char bytes[16384];
    size_t n;
    FILE *file;

    fresh_cache();
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    translate_result_done(&result);
    ck_assert_uint_eq(entries(path, sizeof path), 1);
    file = fopen(path, "r");
    n = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    for (size_t i = 0; i < 12; i++) { /* six cuts, six flipped bits, all over the entry */
        size_t at = n * (i / 2) / 6 + i;

        file = fopen(path, "w");
        bytes[at] ^= (char)(i & 1);
        ck_assert_uint_eq(fwrite(bytes, 1, i & 1 ? n : at, file), i & 1 ? n : at);
        bytes[at] ^= (char)(i & 1);
        (void)fclose(file);
        ck_assert_int_eq(translate_text(simple, "", &result), 0);
        ck_assert_msg(!result.from_cache, "byte %zu of %zu", at, n);
        translate_result_done(&result);
        ck_assert_int_eq(translate_text(simple, "", &result), 0);
        ck_assert(result.from_cache);
        translate_result_done(&result);
    }
}
END_TEST

START_TEST(a_changed_or_newly_found_header_is_noticed)
{
    static const char text[] =
        "#include \"value.h\"\n__kernel void k(__global int *out) { out[get_global_id(0)] = VALUE; }\n";
    struct translate_result result;
    char options[1024];
    char path[512];
    FILE *file;

    fresh_cache();
    (void)snprintf(path, sizeof path, "%s/first", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(options, sizeof options, "-I %s/first -I %s", folder, folder);
    expect_whole(text, options, "not found");
    for (int i = 1; i <= 3; i++) {
        char expected[32];

        (void)snprintf(path, sizeof path, i < 3 ? "%s/value.h" : "%s/first/value.h", folder);
        file = fopen(path, "w");
        (void)fprintf(file, "#pragma once\n#define VALUE %d00\n", i);
        (void)fclose(file);
        ck_assert_int_eq(translate_text(text, options, &result), 0);
        (void)snprintf(expected, sizeof expected, "= %d00", i);
        ck_assert_msg(strstr(result.source, expected), "%s", result.source);
        ck_assert(!result.from_cache);
        translate_result_done(&result);
        ck_assert_int_eq(translate_text(text, options, &result), 0);
        ck_assert(result.from_cache);
        translate_result_done(&result);
    }
}
END_TEST

/* As hashcat writes it: the path is made by macros of the build options, and no folder is given. */
START_TEST(a_header_named_from_the_root_needs_no_folder)
{
    static const char text[] = "#include M2S(INCLUDE_PATH/value.h)\n#include M2S(INCLUDE_PATH/value.h)\n"
                               "__kernel void k(__global int *out) { out[get_global_id(0)] = VALUE; }\n";
    struct translate_result result;
    char options[1024];
    char path[512];
    FILE *file;

    fresh_cache();
    (void)snprintf(options, sizeof options, "-D INCLUDE_PATH=%s -D XM2S(x)=#x -D M2S(x)=XM2S(x)", folder);
    expect_whole(text, options, "not found");
    (void)snprintf(path, sizeof path, "%s/value.h", folder);
    file = fopen(path, "w");
    (void)fprintf(file, "#pragma once\n#include <%s/number.h>\n#define VALUE NUMBER\n", folder);
    (void)fclose(file);
    expect_whole(text, options, "number.h");
    (void)snprintf(path, sizeof path, "%s/number.h", folder);
    file = fopen(path, "w");
    (void)fprintf(file, "#define NUMBER 700\n");
    (void)fclose(file);
    ck_assert_int_eq(translate_text(text, options, &result), 0);
    ck_assert_msg(strstr(result.source, "= 700"), "%s", result.source);
    translate_result_done(&result);
}
END_TEST

START_TEST(without_a_cache_folder_the_answer_is_the_same)
{
    struct translate_result result;

    fresh_cache();
    ck_assert_int_eq(setenv("BATON_CACHE_DIR", "/proc/nowhere", 1), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(translate_text(simple, "", &result), 0);
        ck_assert(!result.from_cache);
        translate_result_done(&result);
    }
}
END_TEST

START_TEST(a_folder_that_others_can_write_is_not_trusted)
{
    struct translate_result result;
    char path[512];

    fresh_cache();
    (void)snprintf(path, sizeof path, "%s/translate", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(chmod(path, 0777), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(translate_text(simple, "", &result), 0);
        ck_assert(!result.from_cache);
        translate_result_done(&result);
    }
    ck_assert_uint_eq(entries(path, sizeof path), 0);
}
END_TEST

START_TEST(a_full_disk_leaves_no_half_entry)
{
    const struct rlimit little = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    struct translate_result result;
    char path[768];

    if (strcmp(harness_sanitizer(), "thread") == 0)
        return; /* whose run time writes a file when the translator starts, and dies of the limit */
    fresh_cache();
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little),
                     0); /* writes fail after 1000 bytes, as on a full disk */
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    translate_result_done(&result);
    ck_assert_uint_eq(entries(path, sizeof path), 0);
    ck_assert_int_eq(translate_text(simple, "", &result), 0);
    ck_assert(!result.from_cache);
    translate_result_done(&result);
}
END_TEST

START_TEST(pruning_keeps_the_newest_entries)
{
    char path[768];
    char *place;

    fresh_cache();
    place = cache_folder();
    for (int i = 0; i < 20; i++) {
        char key[16];
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};

        (void)snprintf(key, sizeof key, "entry%02d", i);
        ck_assert_int_eq(cache_write(place, key, (const uint8_t *)"x", 1), 0);
        (void)snprintf(path, sizeof path, "%s/%s", place, key);
        ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    cache_prune(place, 5);
    ck_assert_uint_eq(entries(path, sizeof path), 5);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(path, sizeof path, "%s/entry%02d", place, i);
        ck_assert_int_eq(access(path, F_OK) == 0, i >= 15);
    }
    free(place);
}
END_TEST

/* A file of a dead process, named as one of this process would be named before. */
static void leave_file(const char *place, const char *name, time_t written_at)
{
    const struct timespec times[2] = {{.tv_sec = written_at}, {.tv_sec = written_at}};
    char path[512];
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", place, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(futimens(fd, times), 0);
    ck_assert_int_eq(close(fd), 0);
}

START_TEST(what_dead_processes_left_keeps_no_entry_out_and_goes)
{
    char *place;
    char name[64], path[512];

    fresh_cache();
    place = cache_folder();
    for (unsigned i = 0; i < 3; i++) { /* an earlier process may have had this one's number */
        (void)snprintf(name, sizeof name, ".new-%ld-%u", (long)getpid(), i);
        leave_file(place, name, 1);
    }
    leave_file(place, ".new-0123456789abcdef", time(NULL)); /* under way in another process */
    leave_file(place, ".mark-77", 1);
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "entry%u", i);
        ck_assert_int_eq(cache_write(place, name, (const uint8_t *)"bytes", 5), 0);
    }
    cache_prune(place, 100);
    ck_assert_uint_eq(entries(path, sizeof path), 3);
    (void)snprintf(path, sizeof path, "%s/.mark-77", place);
    ck_assert_int_ne(access(path, F_OK), 0);
    (void)snprintf(path, sizeof path, "%s/.new-0123456789abcdef", place);
    ck_assert_int_eq(access(path, F_OK), 0);
    free(place);
}
END_TEST

START_TEST(the_mark_of_a_folder_stays_as_long_as_the_folder)
{
    char first[CACHE_MARK], again[CACHE_MARK], path[1200], *place;
    FILE *file;

    fresh_cache();
    place = cache_folder();
    ck_assert_ptr_nonnull(place);
    ck_assert_int_eq(cache_mark(place, first), 0);
    ck_assert_uint_eq(strlen(first), 8);
    cache_prune(place, 0); /* removes entries only */
    ck_assert_int_eq(cache_mark(place, again), 0);
    ck_assert_str_eq(first, again);
    (void)snprintf(path, sizeof path, "%s/mark", place);
    file = fopen(path, "w");
    ck_assert(file && fputs("damaged!", file) >= 0 && fclose(file) == 0);
    ck_assert_int_eq(cache_mark(place, again), 0); /* 1 in 2^32 that it is the same by chance */
    ck_assert_str_ne(first, again);
    ck_assert_uint_eq(strspn(again, "0123456789abcdef"), 8);
    ck_assert_int_eq(chmod(place, 0500), 0);
    if (geteuid() != 0 && unlink(path) == 0)
        ck_assert_int_lt(cache_mark(place, again), 0);
    ck_assert_int_eq(chmod(place, 0700), 0);
    free(place);
}
END_TEST

START_TEST(an_entry_that_is_of_use_is_removed_last)
{
    const struct timespec old[2] = {{1000, 0}, {1000, 0}}, older[2] = {{500, 0}, {500, 0}};
    char path[1200], *place;

    fresh_cache();
    place = cache_folder();
    ck_assert_int_eq(cache_write(place, "used", (const uint8_t *)"x", 1), 0);
    ck_assert_int_eq(cache_write(place, "unused", (const uint8_t *)"x", 1), 0);
    (void)snprintf(path, sizeof path, "%s/used", place);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, older, 0), 0);
    (void)snprintf(path, sizeof path, "%s/unused", place);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
    cache_touch(place, "used");
    cache_touch(place, "missing");
    cache_prune(place, 1);
    ck_assert_int_ne(access(path, F_OK), 0);
    (void)snprintf(path, sizeof path, "%s/used", place);
    ck_assert_int_eq(access(path, F_OK), 0);
    free(place);
}
END_TEST

static void *translate_often(void *arg)
{
    for (int i = 0; i < 6; i++) {
        struct translate_result result;
        char text[200];

        (void)snprintf(text, sizeof text, "__kernel void k%d(__global int *o) { o[get_global_id(0)] = %d; }",
                       i, i);
        if (translate_text(text, "", &result) != 0)
            return arg;
        translate_result_done(&result);
    }
    return NULL;
}

START_TEST(threads_and_processes_share_one_cache)
{
    pthread_t threads[4];
    char path[768];
    pid_t child;
    int status;

    fresh_cache();
    child = fork();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, translate_often, folder), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    if (child == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(entries(path, sizeof path), 6);
}
END_TEST

HARNESS_MAIN("translate cache", 60, a_second_translation_comes_from_the_cache_and_is_equal,
             other_options_or_text_are_other_entries, an_entry_damaged_or_cut_at_any_byte_is_made_again,
             a_changed_or_newly_found_header_is_noticed, a_header_named_from_the_root_needs_no_folder,
             without_a_cache_folder_the_answer_is_the_same, a_folder_that_others_can_write_is_not_trusted,
             a_full_disk_leaves_no_half_entry, pruning_keeps_the_newest_entries,
             what_dead_processes_left_keeps_no_entry_out_and_goes,
             the_mark_of_a_folder_stays_as_long_as_the_folder, an_entry_that_is_of_use_is_removed_last,
             threads_and_processes_share_one_cache)
